/* problem.h: every error that a client can get, and its problem document (RFC 9457). */
#ifndef BATON_API_HTTP_PROBLEM_H
#define BATON_API_HTTP_PROBLEM_H

#include "locks/locks.h"

#include <jansson.h>

struct exchange;

/* X(name, code, status, title). openapi.yaml lists the same codes; a test compares them. */
#define PROBLEMS(X)                                                                                \
    X(PROBLEM_INVALID_REQUEST, "invalid_request", 400, "The request is not valid HTTP")            \
    X(PROBLEM_INVALID_NAME, "invalid_name", 400, "The lock's name is not valid")                   \
    X(PROBLEM_INVALID_PARAMETER, "invalid_parameter", 400, "A parameter is not valid")             \
    X(PROBLEM_INVALID_JSON, "invalid_json", 400, "The body cannot be read as JSON")                \
    X(PROBLEM_UNAUTHORIZED, "unauthorized", 401,                                                   \
      "The request has no valid API key or certificate")                                           \
    X(PROBLEM_FORBIDDEN, "forbidden", 403, "The caller may not do this")                           \
    X(PROBLEM_UNTRUSTED_ORIGIN, "untrusted_origin", 403,                                           \
      "The request may come from another web site")                                                \
    X(PROBLEM_NOT_FOUND, "not_found", 404, "There is nothing at this path")                        \
    X(PROBLEM_METHOD_NOT_ALLOWED, "method_not_allowed", 405, "This path has no such method")       \
    X(PROBLEM_LOCKED, "locked", 409, "The lock is taken")                                          \
    X(PROBLEM_NOT_HELD, "not_held", 409, "The token does not hold the lock")                       \
    X(PROBLEM_HOLD_ENDED, "hold_ended", 409, "The hold to break has ended")                        \
    X(PROBLEM_MAX_HELD, "max_held", 409, "The hold cannot be renewed any more")                    \
    X(PROBLEM_WAIT_TIMEOUT, "wait_timeout", 409, "The wait ended before your turn came")           \
    X(PROBLEM_SUPERSEDED, "superseded", 409, "A later request with this token replaces this one")  \
    X(PROBLEM_UPGRADE_CONFLICT, "upgrade_conflict", 409, "Another owner is waiting to re-enter")   \
    X(PROBLEM_TOKEN_IN_USE, "token_in_use", 409, "The token was used for another request")         \
    X(PROBLEM_TOO_LARGE, "too_large", 413, "The body is too large")                                \
    X(PROBLEM_UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", 415, "The body is not plain JSON") \
    X(PROBLEM_TOO_MANY_WAITERS, "too_many_waiters", 429, "Too many requests are waiting")          \
    X(PROBLEM_RATE_LIMITED, "rate_limited", 429, "Too many requests per second")                   \
    X(PROBLEM_DAMAGED, "damaged", 500, "The data of the lock in Redis is damaged")                 \
    X(PROBLEM_UNSUPPORTED, "unsupported", 501, "This is not supported here")                       \
    X(PROBLEM_STORE_UNAVAILABLE, "store_unavailable", 503, "Redis is not available")               \
    X(PROBLEM_UNCONFIRMED, "unconfirmed", 503, "Too few replicas of Redis have confirmed")         \
    X(PROBLEM_QUARANTINED, "quarantined", 503, "New locks are paused: Redis may have lost some")   \
    X(PROBLEM_DRAINING, "draining", 503, "This batond is stopping")                                \
    X(PROBLEM_STUCK, "stuck", 503, "A worker of this batond is stuck")

/* The problems of a connection, a head or a body, which any operation may get. */
#define CONNECTION_PROBLEMS(X)                                                                     \
    X(PROBLEM_HEAD_TOO_LARGE, "head_too_large", 431, "The head of the request is too large")       \
    X(PROBLEM_TOO_MANY_BODIES, "too_many_bodies", 429,                                             \
      "Too many request bodies are arriving at once")                                              \
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
 * `code: detail`. A 503 gets Retry-After, except `quarantined`, for which the caller adds it. */
void problem_answer(struct exchange *exchange, enum problem problem, json_t *document);

/* problem_new and problem_answer, for a problem without further members. */
void problem_simply(struct exchange *exchange, enum problem problem, const char *detail, ...)
    __attribute__((format(printf, 3, 4)));

/* Answers invalid_parameter for the parameter `name`. */
void problem_parameter(struct exchange *exchange, const char *name, const char *detail);

/* Begins the document of an `error` from a lower layer; `advice`, a sentence, follows it. */
json_t *problem_of_error(const struct exchange *exchange, enum problem problem, const char *error,
                         const char *advice);

/* Answers a renewal that too few replicas have confirmed. */
void problem_unconfirmed_renewal(struct exchange *exchange, const char *error);

/* Answers store_unavailable: Redis did not answer. */
void problem_unavailable(struct exchange *exchange, const char *error);

/* Answers store_unavailable or damaged, for LOCKS_UNAVAILABLE or LOCKS_DAMAGED. */
void problem_unanswered(struct exchange *exchange, enum locks_result result, const char *error);

/* Begins the document of `damaged`. */
json_t *problem_damage(const struct exchange *exchange, const char *error);

/* A problem without an exchange, as one line of JSON for free(3). */
char *problem_line(enum problem problem, const char *detail);

#endif
