#include "tests/edge/rows.h"

/* Header fields. */
#define TEN(text)     text text text text text text text text text text
#define HUNDRED(text) TEN(TEN(text))
#define FIELD_OF_100  "X: " TEN("123456789") "12345\r\n"

static const struct row TABLE[] = {
    ROW("a field of any kind", GET HOST "X!#$%&'*+-.^_`|~9: a \t b\r\n\r\n", SERVED, SERVED, SERVED,
        SERVED),
    ROW("an empty value", GET HOST "X:\r\n\r\n", SERVED, SERVED, SERVED, SERVED),
    ROW("bytes beyond ASCII in a value", GET HOST "X: caf\xc3\xa9 \xff\r\n\r\n", SERVED, SERVED,
        SERVED, SERVED),
    ROW("Connection: close", GET HOST "Connection: close\r\n\r\n", "200 end", "200 end", "200 end",
        "200 end"),
    ROW("Connection names what frames the request",
        GET HOST "Connection: Host, Content-Length, Transfer-Encoding\r\n\r\n", SERVED, SERVED,
        SERVED, SERVED),
    ROW("an upgrade to HTTP/2",
        GET HOST "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2a\r\nHTTP2-Settings: "
                 "AAMAAABkAAQAAP__\r\n\r\n",
        SERVED, SERVED, SERVED, SERVED),
    ROW("40 fields", GET HOST TEN("A: a\r\nB: b\r\nC: c\r\nD: 12345678901234567890\r\n") CRLF,
        SERVED, SERVED, SERVED, SERVED),
    ROW("100 fields and more", GET HOST HUNDRED("A: 12345678901234567890123456789012\r\n") CRLF,
        "431 end", "431 end", REFUSED, "431 open"),
    ROW("two heads of 2 KB",
        GET HOST TEN(FIELD_OF_100 FIELD_OF_100) CRLF GET HOST TEN(FIELD_OF_100 FIELD_OF_100) CRLF,
        "200 200 open", "200 200 open", "200 200 open", "200 200 open"),
    ROW_PADDED(5000, "a value of 5 KB", GET HOST "X: @\r\n\r\n", SERVED, SERVED, SERVED, SERVED),
    ROW_PADDED(5000, "cookies of 5 KB", GET HOST "Cookie: a=@\r\n\r\n", LARGE, "431 end",
               "431:head_too_large open|431 open", "431:head_too_large open|431 open"),
    ROW_PADDED(7900, "a value of 7.9 KB", GET HOST "X: @\r\n\r\n", LARGE, LARGE, LARGE_BEHIND,
               LARGE_BEHIND),
    ROW("200 parameters", "GET /livez?" HUNDRED("a=1&") HUNDRED("b=2&") " HTTP/1.1\r\n" HOST CRLF,
        "400:invalid_parameter open", "400:invalid_parameter open", "400:invalid_parameter open",
        "400:invalid_parameter open"),
    ROW_PADDED(10000, "a value of 10 KB", GET HOST "X: @\r\n\r\n" GET HOST CRLF, "431 end",
               "431 end", "431 200 open", REFUSED),
    ROW_PADDED(10000, "a target of 10 KB", "GET /@ HTTP/1.1\r\n" HOST CRLF GET HOST CRLF, "414 end",
               "414 end", "414 200 open", "414 end"),
    ROW_PADDED(10000, "a head without an end", GET HOST "@", "431 end", "431 end", "waits",
               REFUSED),

    /* names */
    ROW("a space before the colon", GET HOST "X : a\r\n\r\n", GATE, REFUSED, REFUSED, REFUSED),
    ROW("a space in a name", GET HOST "X Y: a\r\n\r\n", GATE, REFUSED, REFUSED, REFUSED),
    ROW("no name", GET HOST ": a\r\n\r\n", GATE, REFUSED, REFUSED, REFUSED),
    ROW("a line without a name ends the head", GET HOST ":\r\n" SMUGGLED, GATE, REFUSED, REFUSED,
        REFUSED),
    ROW("no colon", GET HOST "X\r\n\r\n", REFUSED, REFUSED, REFUSED, SERVED),
    ROW("no token as name", GET HOST "X(a): a\r\n\r\n", GATE, GATE, REFUSED, SERVED),
    ROW("a NUL in a name", GET HOST "X\0Y: a\r\n\r\n", REFUSED, REFUSED, REFUSED, REFUSED),
    ROW("a CR in a name", GET HOST "X\rY: a\r\n\r\n", GATE, REFUSED, REFUSED, REFUSED),
    /* values */
    ROW("a NUL in a value", GET HOST "X: a\0b\r\n\r\n", GATE, REFUSED,
        "400:invalid_request open|400 end", REFUSED),
    ROW("a CR in a value", GET HOST "X: a\rb\r\n\r\n", GATE, REFUSED, REFUSED, REFUSED),
    ROW("a CR at the end of a value", GET HOST "X: a\r\r\n\r\n", GATE, REFUSED, REFUSED, SERVED),
    ROW("a vertical tab in a value", GET HOST "X: a\vb\r\n\r\n", GATE, GATE, PASSED_ON, PASSED_ON),
    /* lines */
    ROW("a folded line", GET HOST "X: a\r\n b\r\n\r\n", GATE, REFUSED, SERVED, REFUSED),
    ROW("a line folded by a tab", GET HOST "X: a\r\n\tb\r\n\r\n", GATE, REFUSED, SERVED, REFUSED),
    ROW("the first line begins with a space", GET " X: a\r\n" HOST CRLF, GATE, REFUSED, REFUSED,
        REFUSED),
    ROW("a name is made by folding",
        GET HOST "Transfer-: chunked\r\n Encoding\r\n\r\n"
                 "0\r\n\r\n",
        GATE, REFUSED, "200 400 end", REFUSED),
    ROW("Host is folded", GET "Host:\r\n h\r\n\r\n", GATE, REFUSED, SERVED, REFUSED),
    ROW("LF ends a line", GET "X: a\n" HOST CRLF, GATE, REFUSED, SERVED, SERVED),
    ROW("LF hides a field", GET HOST "X: a\nContent-Length: 42\r\n\r\n" SMUGGLED, GATE, REFUSED,
        "400:invalid_parameter open", "400:invalid_parameter open"),
    ROW("CR hides a field", GET HOST "X: a\rContent-Length: 42\r\n\r\n" SMUGGLED, GATE, REFUSED,
        REFUSED, REFUSED),
    ROW("CR CR LF ends a line", GET "X: a\r\r\n" HOST CRLF, GATE, REFUSED, REFUSED, SERVED),
    ROW("LF ends the head", GET HOST "\n", GATE, REFUSED, SERVED, SERVED),
    ROW("CR CR LF ends the head", GET HOST "\r\r\n", REFUSED, REFUSED, REFUSED, REFUSED),
    ROW("a NUL ends the head", GET HOST "\0X: a\r\n" SMUGGLED, GATE, REFUSED, REFUSED, REFUSED),
    ROW("NUL and LF end a line", GET "X: a\0\n" HOST CRLF, SERVED, REFUSED,
        "400:invalid_request open|400 end", REFUSED),
    ROW("NUL and LF end the head", GET HOST "\0\n" GET HOST CRLF, "200 200 open", REFUSED, REFUSED,
        REFUSED),
};

const struct rows FIELD_ROWS = ROWS(TABLE);
