/* rows.h: the table of raw requests: what is sent, and what is to come back. */
#ifndef BATON_TESTS_EDGE_ROWS_H
#define BATON_TESTS_EDGE_ROWS_H

#include <stddef.h>

enum sending {
    AT_ONCE,
    SLOWLY,     /* byte by byte, each in a segment of its own */
    AND_NO_MORE /* the client's side of the connection is closed behind it */
};

/* What is to come is told in words: the status of each reply in turn, with the code of its problem
 * where batond made it, `part` for bytes that are no whole reply, and at last
 *   end    the connection is closed by the other side
 *   open   it is not, and the next request on it is answered as it should be
 *   waits  it is not, and nothing comes, since the request is not complete
 * Where `|` is between, either will do: the proxies of Debian 12 and 13 differ, and the first is
 * the one with fewer replies. What batond does depends on libmicrohttpd, which refuses some itself.
 * A request that must not be served takes the lock `smuggled`, one that may be takes `row`. */
struct row {
    const char *name;
    const char *bytes;
    size_t length;
    const char *on_0_9; /* directly, with libmicrohttpd 0.9 */
    const char *on_1_0; /* directly, with libmicrohttpd 1.0 */
    const char *haproxy;
    const char *nginx;
    enum sending sending;
    size_t padding; /* so many letters in place of @; 0: there is none */
};

struct rows {
    const struct row *rows;
    size_t count;
};

/* By subject: the request line; header fields; hosts; lengths and codings, chunks; many requests on
 * a connection, and parts of one. */
extern const struct rows LINE_ROWS, FIELD_ROWS, HOST_ROWS, LENGTH_ROWS, CHUNK_ROWS, STREAM_ROWS;

#define ROWS(table)                                                                                \
    {                                                                                              \
        table, sizeof(table) / sizeof *(table)                                                     \
    }

#define ROW_LIKE(how, padding, name, bytes, on_0_9, on_1_0, haproxy, nginx)                        \
    {                                                                                              \
        name, bytes, sizeof(bytes) - 1, on_0_9, on_1_0, haproxy, nginx, how, padding               \
    }
#define ROW(...)                 ROW_LIKE(AT_ONCE, 0, __VA_ARGS__)
#define ROW_SENT(how, ...)       ROW_LIKE(how, 0, __VA_ARGS__)
#define ROW_PADDED(padding, ...) ROW_LIKE(AT_ONCE, padding, __VA_ARGS__)

/* What comes back most often. */
#define SERVED       "200 open"
#define LOCKED       "201 open"
#define GATE         "400:invalid_request end" /* batond's own refusal */
#define LARGE        "431:head_too_large end"
#define REFUSED      "400 end"                  /* the library's, or a proxy's */
#define CLOSED       "end"                      /* without a word */
#define LARGE_BEHIND "431:head_too_large open"  /* the same, and the proxy's connection stays */
#define PASSED_ON    "400:invalid_request open" /* a proxy has let it through to the gate */

/* Pieces of requests. */
#define CRLF     "\r\n"
#define HOST     "Host: h\r\n"
#define JSON     "Content-Type: application/json\r\n"
#define CHUNKED  "Transfer-Encoding: chunked\r\n"
#define GET      "GET /livez HTTP/1.1\r\n"
#define POST     "POST /locks/row HTTP/1.1\r\n" HOST JSON
#define SMUGGLED "POST /locks/smuggled HTTP/1.1\r\nHost: h\r\n\r\n"

#endif
