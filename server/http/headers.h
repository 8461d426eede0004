/* headers.h: finds all header fields that Baton reads in one pass over a request. */
#ifndef BATON_SERVER_HTTP_HEADERS_H
#define BATON_SERVER_HTTP_HEADERS_H

#include <microhttpd.h>
#include <stdbool.h>

#define HEADERS(X)                                                                                 \
    X(HEADER_ACCEPT, "Accept")                                                                     \
    X(HEADER_AUTHORIZATION, "Authorization")                                                       \
    X(HEADER_CONNECTION, "Connection")                                                             \
    X(HEADER_CONTENT_ENCODING, "Content-Encoding")                                                 \
    X(HEADER_CONTENT_LENGTH, "Content-Length")                                                     \
    X(HEADER_CONTENT_TYPE, "Content-Type")                                                         \
    X(HEADER_FETCH_SITE, "Sec-Fetch-Site")                                                         \
    X(HEADER_FORWARDED_FOR, "X-Forwarded-For")                                                     \
    X(HEADER_HOST, "Host")                                                                         \
    X(HEADER_IDEMPOTENCY_KEY, "Idempotency-Key")                                                   \
    X(HEADER_IF_NONE_MATCH, "If-None-Match")                                                       \
    X(HEADER_LAST_EVENT_ID, "Last-Event-ID")                                                       \
    X(HEADER_LOCK_TOKEN, "Lock-Token")                                                             \
    X(HEADER_ORIGIN, "Origin")                                                                     \
    X(HEADER_REQUESTED_WITH, "X-Requested-With")                                                   \
    X(HEADER_REQUEST_ID, "X-Request-Id")                                                           \
    X(HEADER_TRACEPARENT, "traceparent")                                                           \
    X(HEADER_TRANSFER_ENCODING, "Transfer-Encoding")                                               \
    X(HEADER_X_LOCK_TOKEN, "X-Lock-Token")

#define HEADER_KIND(kind, name) kind,
enum header_kind { HEADERS(HEADER_KIND) HEADER_KINDS };
#undef HEADER_KIND

/* If a field comes once, `first` and `last` are the same text; if it does not come, NULL. The texts
 * are libmicrohttpd's and last as long as the request. */
struct headers {
    const char *first[HEADER_KINDS];
    const char *last[HEADER_KINDS];
    size_t memory; /* bytes that the library uses besides their texts, roughly */
};

void headers_read(struct MHD_Connection *connection, struct headers *ret);

/* True if a field comes more than once, so that its value is ambiguous. */
bool headers_repeat(const struct headers *headers, enum header_kind kind);

#endif
