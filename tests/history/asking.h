/* asking.h: words for what tests ask of two batonds. */
#ifndef BATON_TESTS_HISTORY_ASKING_H
#define BATON_TESTS_HISTORY_ASKING_H

#include "tests/support/fixtures/pair.h"

/* The status of a request by printf-like path (with query), without a body. */
__attribute__((format(printf, 3, 4))) long ask(struct http_client *http, const char *method,
                                               const char *path, ...);

/* The same with a Lock-Token header. */
__attribute__((format(printf, 4, 5))) long ask_with(struct http_client *http, const char *token,
                                                    const char *method, const char *path, ...);

/* The token of the latest reply; to be freed. */
char *token_of(const struct http_client *http);

/* Runs `work` on this many threads at once, each given its own item of `size` bytes, and waits for
 * all of them. cmocka must not be used in `work`. */
void side_by_side(size_t count, void (*work)(void *item), void *items, size_t size);

#endif
