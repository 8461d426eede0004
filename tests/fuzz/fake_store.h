/* fake_store.h: a store whose scripts are never run: a fuzz target answers for Redis. It takes the
 * place of redis/store.c. */
#ifndef BATON_TESTS_FUZZ_FAKE_STORE_H
#define BATON_TESTS_FUZZ_FAKE_STORE_H

#include "redis/store.h"

/* How many calls wait for an answer. */
size_t fake_store_waiting(const struct store *store);

/* Answers the call that waits longest; nothing where none does. Between two turns of the loop. */
void fake_store_answer(struct store *store, const struct store_result *result);

/* What whoever opened it wants to be told. */
const struct store_events *fake_store_events(const struct store *store);

#endif
