#include "server/http/head_check.h"
#include "tests/support/cmocka.h"

#include <string.h>

#define TEXT(literal)                                                                              \
    {                                                                                              \
        literal, sizeof(literal) - 1                                                               \
    }
#define LINE(method, target, version)                                                              \
    {                                                                                              \
        TEXT(method), TEXT(target), TEXT(version)                                                  \
    }
#define GET(target) LINE("GET", target, "HTTP/1.1")
#define FIELD(name, value)                                                                         \
    {                                                                                              \
        TEXT(name), TEXT(value)                                                                    \
    }
#define HOST FIELD("Host", "h")

enum { FIELDS = 4 };

/* A request, and a word of why it is refused; NULL where it may pass. */
static const struct row {
    const char *why;
    struct slice line[3];
    struct {
        struct slice name, value;
    } fields[FIELDS];
} ROWS[] = {
    {NULL, GET("/locks/a"), {HOST}},
    {NULL, GET("/"), {FIELD("hOST", "h")}},
    {NULL, LINE("GET", "/", "HTTP/1.0"), {FIELD("", "")}},
    {NULL, LINE("GET", "/", "HTTP/1.0"), {HOST}},
    {NULL, LINE("M-SEARCH!", "/", "HTTP/1.1"), {HOST}},
    {NULL, LINE("OPTIONS", "*", "HTTP/1.1"), {HOST}},
    {NULL, GET("/a?b={c}|d\"e\\f[g]%"), {HOST}},

    {"method", LINE("", "/", "HTTP/1.1"), {HOST}},
    {"method", LINE("G(T", "/", "HTTP/1.1"), {HOST}},
    {"method", LINE("G\tT", "/", "HTTP/1.1"), {HOST}},
    {"method", LINE("G\0T", "/", "HTTP/1.1"), {HOST}},
    {"method", LINE("G\xc3\x9cT", "/", "HTTP/1.1"), {HOST}},
    {"version", LINE("GET", "/", "HTTP/1.2"), {HOST}},
    {"version", LINE("GET", "/", "HTTP/2.0"), {HOST}},
    {"version", LINE("GET", "/", "http/1.1"), {HOST}},
    {"version", LINE("GET", "/", "HTTP/1.1 "), {HOST}},
    {"version", LINE("GET", "/", ""), {HOST}},

    {"The target has", GET("/a b"), {HOST}},
    {"The target has", GET("/a\tb"), {HOST}},
    {"The target has", GET("/a\rb"), {HOST}},
    {"The target has", GET("/a\0b"), {HOST}},
    {"The target has", GET("/a\x7f"), {HOST}},
    {"The target has", GET("/a\x80"), {HOST}},
    {"The target has", GET("/a#b"), {HOST}},
    {"The target: expected a path", GET(""), {HOST}},
    {"The target: expected a path", GET("a"), {HOST}},
    {"The target: expected a path", GET("*"), {HOST}},
    {"The target: expected a path", GET("ftp://h/"), {HOST}},
    {"The target: expected a path", GET("http:/h/"), {HOST}},
    {"The target: expected a path", LINE("CONNECT", "h:1", "HTTP/1.1"), {FIELD("Host", "h:1")}},

    {NULL, GET("http://h/a"), {HOST}},
    {NULL, GET("HTTP://H/a"), {HOST}},
    {NULL, GET("http://h"), {HOST}},
    {NULL, GET("http://h?a"), {HOST}},
    {NULL, GET("http://h:80/"), {HOST}},
    {NULL, GET("http://a.H.:80/"), {FIELD("Host", "a.h")}},
    {NULL, GET("https://h/"), {FIELD("Host", "h:443")}},
    {NULL, GET("http://h:/"), {HOST}},
    {NULL, GET("http://[::1]:7420/"), {FIELD("Host", "[::1]:7420")}},
    {NULL, LINE("GET", "http://h/", "HTTP/1.0"), {FIELD("", "")}},
    {"different hosts", GET("http://g/"), {HOST}},
    {"different hosts", GET("http://h./"), {HOST}},
    {"different hosts", GET("http://h../"), {HOST}},
    {"different hosts", GET("http://hh/"), {HOST}},
    {"different hosts", GET("http://h:81/"), {HOST}},
    {"different hosts", GET("https://h:80/"), {HOST}},
    {"different hosts", GET("http://1/"), {FIELD("Host", "2")}},
    {"different hosts", LINE("GET", "http://g/", "HTTP/1.0"), {HOST}},
    {"after the scheme", GET("http:///a"), {HOST}},
    {"after the scheme", GET("http://h@h/a"), {HOST}},
    {"after the scheme", GET("http://h:x/a"), {HOST}},

    {"no Host", GET("/"), {FIELD("", "")}},
    {"several Host", GET("/"), {HOST, HOST}},
    {"several Host", LINE("GET", "/", "HTTP/1.0"), {HOST, FIELD("HOST", "g")}},
    {NULL, GET("/"), {FIELD("Host", "h \t")}},
    {NULL, GET("/"), {FIELD("Host", "a-b_c.d~e%20.example.:65535")}},
    {NULL, GET("/"), {FIELD("Host", "[fe80::1.2.3.4]")}},
    {"Host: expected", GET("/"), {FIELD("Host", "")}},
    {"Host: expected", GET("/"), {FIELD("Host", " ")}},
    {"Host: expected", GET("/"), {FIELD("Host", "a b")}},
    {"Host: expected", GET("/"), {FIELD("Host", "a,b")}},
    {"Host: expected", GET("/"), {FIELD("Host", "a/b")}},
    {"Host: expected", GET("/"), {FIELD("Host", "a@b")}},
    {"Host: expected", GET("/"), {FIELD("Host", ":80")}},
    {"Host: expected", GET("/"), {FIELD("Host", "h:http")}},
    {"Host: expected", GET("/"), {FIELD("Host", "h:1:2")}},
    {"Host: expected", GET("/"), {FIELD("Host", "h:123456")}},
    {"Host: expected", GET("/"), {FIELD("Host", "[::1")}},
    {"Host: expected", GET("/"), {FIELD("Host", "[]")}},
    {"Host: expected", GET("/"), {FIELD("Host", "[::1]a")}},
    {"Host: expected", GET("/"), {FIELD("Host", "[a/b]")}},
    {"Host: expected", GET("/"), {FIELD("Host", "h\xc3\xa4")}},

    {NULL, GET("/"), {HOST, FIELD("Content-Length", "0")}},
    {NULL, GET("/"), {HOST, FIELD("content-length", "999999999999999999")}},
    {NULL, GET("/"), {HOST, FIELD("Content-Length", "0000000000000000000000000005")}},
    {"several Content-Length",
     GET("/"),
     {HOST, FIELD("Content-Length", "5"), FIELD("Content-length", "5")}},
    {"Content-Length: expected", GET("/"), {HOST, FIELD("Content-Length", "")}},
    {"Content-Length: expected", GET("/"), {HOST, FIELD("Content-Length", "+5")}},
    {"Content-Length: expected", GET("/"), {HOST, FIELD("Content-Length", "-5")}},
    {"Content-Length: expected", GET("/"), {HOST, FIELD("Content-Length", "5 ")}},
    {"Content-Length: expected", GET("/"), {HOST, FIELD("Content-Length", "5 5")}},
    {"Content-Length: expected", GET("/"), {HOST, FIELD("Content-Length", "5, 5")}},
    {"Content-Length: expected", GET("/"), {HOST, FIELD("Content-Length", "0x5")}},
    {"Content-Length: expected", GET("/"), {HOST, FIELD("Content-Length", "5.0")}},
    {"Content-Length: expected", GET("/"), {HOST, FIELD("Content-Length", "1000000000000000000")}},
    {"Content-Length: expected", GET("/"), {HOST, FIELD("Content-Length", "18446744073709551621")}},

    {NULL, GET("/"), {HOST, FIELD("Transfer-Encoding", "chunked")}},
    {NULL, GET("/"), {HOST, FIELD("transfer-encoding", "Chunked")}},
    {"several Transfer-Encoding",
     GET("/"),
     {HOST, FIELD("Transfer-Encoding", "chunked"), FIELD("Transfer-Encoding", "chunked")}},
    {"Transfer-Encoding: expected", GET("/"), {HOST, FIELD("Transfer-Encoding", "")}},
    {"Transfer-Encoding: expected", GET("/"), {HOST, FIELD("Transfer-Encoding", "identity")}},
    {"Transfer-Encoding: expected", GET("/"), {HOST, FIELD("Transfer-Encoding", "gzip, chunked")}},
    {"Transfer-Encoding: expected", GET("/"), {HOST, FIELD("Transfer-Encoding", "chunked ")}},
    {"Transfer-Encoding: expected", GET("/"), {HOST, FIELD("Transfer-Encoding", "xchunked")}},
    {"Transfer-Encoding: expected", GET("/"), {HOST, FIELD("Transfer-Encoding", "chunked;a=b")}},
    {"HTTP/1.0 has no", LINE("GET", "/", "HTTP/1.0"), {FIELD("Transfer-Encoding", "chunked")}},
    {"one of them",
     GET("/"),
     {HOST, FIELD("Transfer-Encoding", "chunked"), FIELD("Content-Length", "0")}},
    {"one of them",
     GET("/"),
     {HOST, FIELD("Content-Length", "5"), FIELD("Transfer-Encoding", "chunked")}},

    {NULL, GET("/"), {HOST, FIELD("X!#$%&'*+-.^_`|~9", "a \t\"\xff~")}},
    {NULL, GET("/"), {HOST, FIELD("X", "")}},
    {"The name of", GET("/"), {HOST, FIELD("", "a"), FIELD("X", "")}},
    {"The name of", GET("/"), {HOST, FIELD("X ", "a")}},
    {"The name of", GET("/"), {HOST, FIELD(" X", "a")}},
    {"The name of", GET("/"), {HOST, FIELD("X\t", "a")}},
    {"The name of", GET("/"), {HOST, FIELD("X\0", "a")}},
    {"The name of", GET("/"), {HOST, FIELD("X(a)", "a")}},
    {"The name of", GET("/"), {HOST, FIELD("X\x80", "a")}},
    {"The value of", GET("/"), {HOST, FIELD("X", "a\0b")}},
    {"The value of", GET("/"), {HOST, FIELD("X", "a\rb")}},
    {"The value of", GET("/"), {HOST, FIELD("X", "a\nb")}},
    {"The value of", GET("/"), {HOST, FIELD("X", "\x01")}},
    {"The value of", GET("/"), {HOST, FIELD("X", "\x7f")}},
};

static const char *judge(const struct row *row)
{
    struct head_check check;
    size_t count = FIELDS;
    while (count > 0 && !row->fields[count - 1].name.length)
        count--;
    head_check_begin(&check, row->line[0], row->line[1], row->line[2]);
    for (size_t i = 0; i < count; i++)
        head_check_field(&check, row->fields[i].name, row->fields[i].value);
    assert_true(head_check_passes(&check) == !check.refusal);
    return check.refusal;
}

TEST(requests_are_judged)
{
    for (size_t i = 0; i < LENGTH(ROWS); i++) {
        const struct row *row = &ROWS[i];
        const char *why = judge(row);
        if (!why != !row->why || (why && !strstr(why, row->why)))
            fail_msg("%s %s %s, %s: %s: \"%s\" in place of \"%s\"", row->line[0].bytes,
                     row->line[1].bytes, row->line[2].bytes, row->fields[1].name.bytes,
                     row->fields[1].value.bytes, why, row->why);
    }
}

/* The first thing that is wrong is what the client is told. */
TEST(the_first_reason_counts)
{
    struct head_check check;
    head_check_begin(&check, slice_of("GET"), slice_of("/#"), slice_of("HTTP/9.9"));
    head_check_field(&check, slice_of("X Y"), slice_of(""));
    assert_false(head_check_passes(&check));
    assert_non_null(strstr(check.refusal, "target"));
}
