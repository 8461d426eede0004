/* problem.h: every error that a client can get, and its problem document (RFC 9457). */
#ifndef BATON_API_HTTP_PROBLEM_H
#define BATON_API_HTTP_PROBLEM_H

#include "locks/locks.h"

#include <jansson.h>

struct exchange;

/* X(name, code, status, title). openapi.yaml lists the same codes; a test compares them. */
#define PROBLEMS(X)                                                                                \
    X(PROBLEM_INVALID_REQUEST, "invalid_request", 400, "The request is not proper HTTP")           \
    X(PROBLEM_INVALID_NAME, "invalid_name", 400, "The lock's name is not valid")                   \
    X(PROBLEM_INVALID_PARAMETER, "invalid_parameter", 400, "A parameter is not valid")             \
    X(PROBLEM_INVALID_JSON, "invalid_json", 400, "The body cannot be read as JSON")                \
    X(PROBLEM_UNAUTHORIZED, "unauthorized", 401, "It is not known who asks")                       \
    X(PROBLEM_FORBIDDEN, "forbidden", 403, "Whoever asks may not do this")                         \
    X(PROBLEM_UNTRUSTED_ORIGIN, "untrusted_origin", 403,                                           \
      "The request may come from a page of another site")                                          \
    X(PROBLEM_NOT_FOUND, "not_found", 404, "There is no such resource")                            \
    X(PROBLEM_METHOD_NOT_ALLOWED, "method_not_allowed", 405, "The resource has no such method")    \
    X(PROBLEM_LOCKED, "locked", 409, "The lock is held by others")                                 \
    X(PROBLEM_NOT_HELD, "not_held", 409, "The token holds nothing here")                           \
    X(PROBLEM_LIMIT_MISMATCH, "limit_mismatch", 409, "The lock has another limit")                 \
    X(PROBLEM_WAIT_TIMEOUT, "wait_timeout", 409, "The wait has ended without the lock")            \
    X(PROBLEM_SUPERSEDED, "superseded", 409, "A later request waits in its place")                 \
    X(PROBLEM_UPGRADE_CONFLICT, "upgrade_conflict", 409, "Another upgrade waits already")          \
    X(PROBLEM_TOO_LARGE, "too_large", 413, "The body is too large")                                \
    X(PROBLEM_UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", 415, "The body is not plain JSON") \
    X(PROBLEM_TOO_MANY_WAITERS, "too_many_waiters", 429, "Too many requests wait")                 \
    X(PROBLEM_RATE_LIMITED, "rate_limited", 429, "Too many requests in a second")                  \
    X(PROBLEM_DAMAGED, "damaged", 500, "What Redis keeps of the lock cannot be read")              \
    X(PROBLEM_UNSUPPORTED, "unsupported", 501, "This is not offered here")                         \
    X(PROBLEM_STORE_UNAVAILABLE, "store_unavailable", 503, "Redis cannot be used now")             \
    X(PROBLEM_UNCONFIRMED, "unconfirmed", 503, "Too few replicas of Redis have confirmed it")      \
    X(PROBLEM_QUARANTINED, "quarantined", 503, "Redis may have lost locks that are still held")    \
    X(PROBLEM_DRAINING, "draining", 503, "This batond is stopping")                                \
    X(PROBLEM_STUCK, "stuck", 503, "A worker of this batond is stuck")

/* The problems of a connection, a head or a body, which any operation may get. */
#define CONNECTION_PROBLEMS(X)                                                                     \
    X(PROBLEM_HEAD_TOO_LARGE, "head_too_large", 431, "The head of the request is too large")       \
    X(PROBLEM_TOO_MANY_BODIES, "too_many_bodies", 429, "Too many bodies are on their way")         \
    X(PROBLEM_REQUEST_TIMEOUT, "request_timeout", 408, "The request did not arrive in time")       \
    X(PROBLEM_TOO_MANY_CONNECTIONS, "too_many_connections", 429, "Too many connections are open")

#define PROBLEM_NAME(name, code, status, title) name,
enum problem { PROBLEMS(PROBLEM_NAME) PROBLEM_COUNT, CONNECTION_PROBLEMS(PROBLEM_NAME) };
#undef PROBLEM_NAME

/* Begins a problem document. `detail`, a printf format, says what is wrong and what to do. Add
 * members if you need some, then call problem_answer. */
json_t *problem_new(const struct exchange *exchange, enum problem problem, const char *detail, ...)
    __attribute__((format(printf, 3, 4)));

/* Answers with the document and takes it over. If the client asked for text, the reply is one line
 * `code: detail`. A 503 gets Retry-After; that of `quarantined` is the caller's. */
void problem_answer(struct exchange *exchange, enum problem problem, json_t *document);

/* problem_new and problem_answer, for a problem without further members. */
void problem_simply(struct exchange *exchange, enum problem problem, const char *detail, ...)
    __attribute__((format(printf, 3, 4)));

/* Answers invalid_parameter for the parameter `name`. */
void problem_parameter(struct exchange *exchange, const char *name, const char *detail);

/* Answers a renewal that too few replicas have confirmed. */
void problem_unconfirmed_renewal(struct exchange *exchange, const char *error);

/* Answers store_unavailable: Redis could not be asked. */
void problem_unavailable(struct exchange *exchange, const char *error);

/* Answers store_unavailable or damaged, for LOCKS_UNAVAILABLE or LOCKS_DAMAGED. */
void problem_unanswered(struct exchange *exchange, enum locks_result result, const char *error);

/* Writes the detail of `damaged`, as snprintf does. */
void problem_damage(char *ret, size_t size, const char *error);

/* A problem without an exchange, as one line of JSON for free(3). */
char *problem_line(enum problem problem, const char *detail);

#endif
