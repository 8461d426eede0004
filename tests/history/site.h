/* site.h: a Redis with servers in front of it, and words for what tests ask of them. */
#ifndef BATON_TESTS_HISTORY_SITE_H
#define BATON_TESTS_HISTORY_SITE_H

#include "tests/support/batond_process.h"
#include "tests/support/http.h"
#include "tests/support/redis_process.h"

enum { SITE_SERVERS = 2 };

struct site {
    struct redis_process redis;
    struct batond_process batond[SITE_SERVERS];
    struct http_client *http[SITE_SERVERS]; /* for the test's own thread */
};

/* Starts all of it, each server with two workers and these flags (NULL-terminated; may be NULL).
 * Fails the test if it cannot. */
void site_start(struct site *site, const char *const *flags);

/* Ends it. Takes a zeroed one. Returns 0 if every server ended well. */
int site_stop(struct site *site);

/* For cmocka: one site for all tests of a program, *state, its Redis emptied before each. */
int site_set_up(void **state);
int site_tear_down(void **state);
int site_clean(void **state);

/* The status of a request by printf-like path (with query), without a body. */
__attribute__((format(printf, 3, 4))) long ask(struct http_client *http, const char *method,
                                               const char *path, ...);

/* The same with a Lock-Token header. */
__attribute__((format(printf, 4, 5))) long ask_with(struct http_client *http, const char *token,
                                                    const char *method, const char *path, ...);

/* The token of the latest reply; to be freed. */
char *token_of(const struct http_client *http);

/* A member of the first holder in the latest reply: -1 where there is none. */
int64_t holder_integer(const struct http_client *http, const char *member);

/* Runs `work` on this many threads at once, each given its own item of `size` bytes, and waits for
 * all of them. cmocka must not be used in `work`. */
void side_by_side(size_t count, void (*work)(void *item), void *items, size_t size);

#endif
