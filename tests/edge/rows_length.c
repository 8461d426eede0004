#include "tests/edge/rows.h"

/* Where a request ends, by its own account. */
static const struct row TABLE[] = {
    ROW("a body",
        POST "Content-Length: 2\r\n\r\n"
             "{}",
        LOCKED, LOCKED, LOCKED, LOCKED),
    ROW("a body on 1.0", "POST /locks/row HTTP/1.0\r\n" JSON "Content-Length: 2\r\n\r\n{}",
        "201 end", "201 end", "201 end", "400:invalid_request end|400 end"),
    ROW("zeros in front of the length",
        POST "Content-Length: 0000000000000000000000002\r\n\r\n"
             "{}",
        LOCKED, LOCKED, LOCKED, LOCKED),
    ROW("a body for GET", GET HOST "Content-Length: 42\r\n\r\n" SMUGGLED,
        "400:invalid_parameter open", "400:invalid_parameter open", "400:invalid_parameter open",
        "400:invalid_parameter open"),
    ROW("a length of nothing",
        POST "Content-Length: 0\r\n\r\n"
             "",
        LOCKED, LOCKED, LOCKED, LOCKED),
    /* lengths */
    ROW("two lengths",
        POST "Content-Length: 2\r\nContent-Length: 44\r\n\r\n"
             "{}" SMUGGLED,
        GATE, GATE, REFUSED, REFUSED),
    ROW("two lengths, the longer first",
        POST "Content-Length: 44\r\nContent-Length: 2\r\n\r\n"
             "{}" SMUGGLED,
        GATE, GATE, REFUSED, REFUSED),
    ROW("the same length twice",
        POST "Content-Length: 2\r\nContent-Length: 2\r\n\r\n"
             "{}",
        GATE, GATE, LOCKED, REFUSED),
    ROW("a list of lengths",
        POST "Content-Length: 2, 2\r\n\r\n"
             "{}",
        TWICE, REFUSED, LOCKED, REFUSED),
    ROW("a list of two lengths",
        POST "Content-Length: 2, 46\r\n\r\n"
             "{}" SMUGGLED,
        TWICE, REFUSED, REFUSED, REFUSED),
    ROW("plus",
        POST "Content-Length: +2\r\n\r\n"
             "{}",
        TWICE, REFUSED, REFUSED, REFUSED),
    ROW("minus",
        POST "Content-Length: -2\r\n\r\n"
             "{}",
        TWICE, REFUSED, REFUSED, REFUSED),
    ROW("minus nothing",
        POST "Content-Length: -0\r\n\r\n"
             "",
        TWICE, REFUSED, REFUSED, REFUSED),
    ROW("a space behind the length",
        POST "Content-Length: 2 \r\n\r\n"
             "{}",
        TWICE, LOCKED, LOCKED, LOCKED),
    ROW("a tab before the length",
        POST "Content-Length:\t2\r\n\r\n"
             "{}",
        LOCKED, LOCKED, LOCKED, REFUSED),
    ROW("a space in the length",
        POST "Content-Length: 2 0\r\n\r\n"
             "{}",
        TWICE, REFUSED, REFUSED, REFUSED),
    ROW("a vertical tab before the length",
        POST "Content-Length: \v2\r\n\r\n"
             "{}",
        TWICE, REFUSED, REFUSED, REFUSED),
    ROW("hexadecimal",
        POST "Content-Length: 0x2\r\n\r\n"
             "{}",
        TWICE, REFUSED, REFUSED, REFUSED),
    ROW("an exponent",
        POST "Content-Length: 2e0\r\n\r\n"
             "{}",
        TWICE, REFUSED, REFUSED, REFUSED),
    ROW("a fraction",
        POST "Content-Length: 2.0\r\n\r\n"
             "{}",
        TWICE, REFUSED, REFUSED, REFUSED),
    ROW("a parameter",
        POST "Content-Length: 2;a=b\r\n\r\n"
             "{}",
        TWICE, REFUSED, REFUSED, REFUSED),
    ROW("quotes",
        POST "Content-Length: \"2\"\r\n\r\n"
             "{}",
        TWICE, REFUSED, REFUSED, REFUSED),
    ROW("another kind of digit",
        POST "Content-Length: \xd9\xa2\r\n\r\n"
             "{}",
        TWICE, REFUSED, REFUSED, REFUSED),
    ROW("an empty length",
        POST "Content-Length:\r\n\r\n"
             "{}",
        TWICE, REFUSED, REFUSED, REFUSED),
    ROW("a length of 2^63",
        POST "Content-Length: 9223372036854775808\r\n\r\n"
             "{}",
        GATE, GATE, REFUSED, REFUSED),
    ROW("a length of 2^64 - 1",
        POST "Content-Length: 18446744073709551615\r\n\r\n"
             "{}",
        GATE, "413 end", "400:invalid_request waits|413 waits", REFUSED),
    ROW("a length of 2^64 + 2",
        POST "Content-Length: 18446744073709551618\r\n\r\n"
             "{}",
        "413 part end", "413 end", "413 open", REFUSED),
    ROW("a length of a hundred digits",
        POST "Content-Length: "
             "9999999999999999999999999999999999999999999999999999999999999999999999999999999999999"
             "999999999999999\r\n\r\n"
             "{}",
        "413 part end", "413 end", REFUSED, REFUSED),
    ROW("a space before the colon of a length",
        POST "Content-Length : 2\r\n\r\n"
             "{}" SMUGGLED,
        GATE, REFUSED, REFUSED, REFUSED),
    ROW("a length that is folded",
        POST "Content-Length:\r\n 2\r\n\r\n"
             "{}",
        GATE, REFUSED, LOCKED, REFUSED),
    ROW("a length that is folded to a longer one",
        POST "Content-Length: 2\r\n 0\r\n\r\n"
             "{}" SMUGGLED,
        GATE, REFUSED, REFUSED, REFUSED),
    ROW("an underscore in the name", GET HOST "Content_Length: 42\r\n\r\n" GET HOST CRLF,
        "200 200 open", "200 200 open", "200 200 open", "200 200 open"),
    /* lengths and codings */
    ROW("CL.TE", POST "Content-Length: 47\r\n" CHUNKED "\r\n0\r\n\r\n" SMUGGLED, GATE, REFUSED,
        "201 end", REFUSED),
    ROW("TE.CL", POST CHUNKED "Content-Length: 4\r\n\r\n2a\r\n" SMUGGLED "\r\n0\r\n\r\n", GATE,
        REFUSED, "400:invalid_json end", REFUSED),
    ROW("CL.0", POST "Content-Length: 0\r\n" CHUNKED "\r\n0\r\n\r\n" SMUGGLED, GATE, REFUSED,
        "201 end", REFUSED),
    ROW("TE.0", "OPTIONS /livez HTTP/1.1\r\n" HOST CHUNKED "\r\n2a\r\n" SMUGGLED "\r\n0\r\n\r\n",
        "405:method_not_allowed end", "405:method_not_allowed end", "405:method_not_allowed open",
        "405:method_not_allowed open"),
    ROW("an odd coding and a length",
        POST "Content-Length: 2\r\nTransfer-Encoding: x\r\n\r\n{}" SMUGGLED, GATE, REFUSED, REFUSED,
        "501 end"),
    /* codings */
    ROW("chunks",
        POST "Transfer-Encoding: chunked\r\n\r\n"
             "2\r\n{}\r\n0\r\n\r\n",
        LOCKED, LOCKED, LOCKED, LOCKED),
    ROW("chunks in other letters",
        POST "transfer-encoding: Chunked\r\n\r\n"
             "2\r\n{}\r\n0\r\n\r\n",
        LOCKED, LOCKED, LOCKED, LOCKED),
    ROW("chunks on 1.0", "POST /locks/row HTTP/1.0\r\n" JSON CHUNKED "\r\n2\r\n{}\r\n0\r\n\r\n",
        GATE, GATE, GATE, REFUSED),
    ROW("xchunked",
        POST "Transfer-Encoding: xchunked\r\n\r\n"
             "0\r\n\r\n" SMUGGLED,
        GATE, REFUSED, REFUSED, "501 end"),
    ROW("chunk",
        POST "Transfer-Encoding: chunk\r\n\r\n"
             "0\r\n\r\n" SMUGGLED,
        GATE, REFUSED, REFUSED, "501 end"),
    ROW("chunked twice",
        POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"
             "0\r\n\r\n" SMUGGLED,
        GATE, GATE, REFUSED, REFUSED),
    ROW("chunked twice in one field",
        POST "Transfer-Encoding: chunked, chunked\r\n\r\n"
             "0\r\n\r\n" SMUGGLED,
        GATE, REFUSED, REFUSED, "501 end"),
    ROW("identity",
        POST "Transfer-Encoding: identity\r\n\r\n"
             "0\r\n\r\n" SMUGGLED,
        GATE, REFUSED, REFUSED, "501 end"),
    ROW("chunked and identity",
        POST "Transfer-Encoding: chunked, identity\r\n\r\n"
             "0\r\n\r\n" SMUGGLED,
        GATE, REFUSED, REFUSED, "501 end"),
    ROW("chunked, then another field with identity",
        POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n"
             "0\r\n\r\n" SMUGGLED,
        GATE, GATE, REFUSED, REFUSED),
    ROW("identity, then another field with chunked",
        POST "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n"
             "0\r\n\r\n" SMUGGLED,
        GATE, REFUSED, "422 end", REFUSED),
    ROW("gzip and chunked",
        POST "Transfer-Encoding: gzip, chunked\r\n\r\n"
             "0\r\n\r\n" SMUGGLED,
        GATE, REFUSED, "422 end", "501 end"),
    ROW("an empty coding",
        POST "Transfer-Encoding:\r\n\r\n"
             "0\r\n\r\n" SMUGGLED,
        GATE, REFUSED, REFUSED, "501 end"),
    ROW("a comma behind chunked",
        POST "Transfer-Encoding: chunked,\r\n\r\n"
             "0\r\n\r\n" GET HOST CRLF,
        GATE, REFUSED, "400 end|400:invalid_request 200 open", "501 end"),
    ROW("a comma before chunked",
        POST "Transfer-Encoding: ,chunked\r\n\r\n"
             "0\r\n\r\n" SMUGGLED,
        GATE, REFUSED, "422 end|400 end", "501 end"),
    ROW("a space behind chunked",
        POST "Transfer-Encoding: chunked \r\n\r\n"
             "0\r\n\r\n" GET HOST CRLF,
        GATE, "201 200 open", "201 200 open", "201 200 open"),
    ROW("a tab before chunked",
        POST "Transfer-Encoding:\tchunked\r\n\r\n"
             "0\r\n\r\n" GET HOST CRLF,
        "201 200 open", "201 200 open", "201 200 open", "501 end"),
    ROW("a vertical tab before chunked",
        POST "Transfer-Encoding: \vchunked\r\n\r\n"
             "0\r\n\r\n" SMUGGLED,
        GATE, REFUSED, REFUSED, "501 end"),
    ROW("a vertical tab behind chunked",
        POST "Transfer-Encoding: chunked\v\r\n\r\n"
             "0\r\n\r\n" SMUGGLED,
        GATE, REFUSED, REFUSED, "501 end"),
    ROW("a NUL before chunked",
        POST "Transfer-Encoding: \0chunked\r\n\r\n"
             "0\r\n\r\n" SMUGGLED,
        GATE, REFUSED, REFUSED, REFUSED),
    ROW("a NUL behind chunked",
        POST "Transfer-Encoding: chunked\0\r\n\r\n"
             "0\r\n\r\n" SMUGGLED,
        GATE, REFUSED, REFUSED, REFUSED),
    ROW("a byte beyond ASCII in chunked",
        POST "Transfer-Encoding: chun\xc5\xa3"
             "ed\r\n\r\n"
             "0\r\n\r\n" SMUGGLED,
        GATE, REFUSED, REFUSED, "501 end"),
    ROW("quotes around chunked",
        POST "Transfer-Encoding: \"chunked\"\r\n\r\n"
             "0\r\n\r\n" SMUGGLED,
        GATE, REFUSED, REFUSED, "501 end"),
    ROW("a parameter of chunked",
        POST "Transfer-Encoding: chunked;a=b\r\n\r\n"
             "0\r\n\r\n" SMUGGLED,
        GATE, REFUSED, REFUSED, "501 end"),
    ROW("a space before the colon of a coding",
        POST "Transfer-Encoding : chunked\r\n\r\n"
             "0\r\n\r\n" SMUGGLED,
        GATE, REFUSED, REFUSED, REFUSED),
    ROW("a space before the name of a coding",
        POST "X: a\r\n Transfer-Encoding: chunked\r\n\r\n"
             "0\r\n\r\n" SMUGGLED,
        GATE, REFUSED, "201 400 end", REFUSED),
    ROW("a coding behind CR",
        POST "X: a\rTransfer-Encoding: chunked\r\n\r\n"
             "0\r\n\r\n" SMUGGLED,
        GATE, REFUSED, REFUSED, REFUSED),
    ROW("a coding behind LF",
        POST "X: a\nTransfer-Encoding: chunked\r\n\r\n"
             "0\r\n\r\n" GET HOST CRLF,
        GATE, REFUSED, "201 200 open", "201 200 open"),
    ROW("a coding that is folded",
        POST "Transfer-Encoding:\r\n chunked\r\n\r\n"
             "0\r\n\r\n" GET HOST CRLF,
        GATE, REFUSED, "201 200 open", REFUSED),
    ROW("LF before the colon of a coding",
        POST "Transfer-Encoding\n: chunked\r\n\r\n"
             "0\r\n\r\n" SMUGGLED,
        REFUSED, REFUSED, REFUSED, REFUSED),
    ROW("an underscore in the name of a coding",
        GET HOST "Transfer_Encoding: chunked\r\n\r\n" GET HOST CRLF, "200 200 open", "200 200 open",
        "200 200 open", "200 200 open"),
};

const struct rows LENGTH_ROWS = ROWS(TABLE);
