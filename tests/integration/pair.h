/* pair.h: two batonds on one Redis, which notice what becomes of it. */
#ifndef BATON_TESTS_INTEGRATION_PAIR_H
#define BATON_TESTS_INTEGRATION_PAIR_H

#include "tests/integration/service.h"

struct pair {
    struct redis_process redis;
    struct batond_process batond[2];
    struct http_client *client[2];
};

/* `flag` is one more for both, such as "--quarantine=auto", or `arguments` are all. pair_close
 * fails the test where one did not end as it should. */
void pair_open(struct pair *pair, const struct redis_options *redis, const char *flag);
void pair_open_with(struct pair *pair, const struct redis_options *redis,
                    const char *const *arguments);
void pair_close(struct pair *pair);

/* The batonds alone, while that Redis goes on. */
void pair_open_batonds(struct pair *pair, const char *flag);
void pair_close_batonds(struct pair *pair);

/* Kills Redis and starts it again, and waits until both batonds are ready. */
void pair_restart(struct pair *pair);

/* Whether the latest reply says that the name is in quarantine. */
bool is_quarantined(struct http_client *client);

/* For clock_wait_until: asks for the lock until the answer is that. */
struct asking {
    struct http_client *client;
    const char *path;
};
bool comes_to_quarantine(void *asking);

/* Asks for the lock once. Fails the test where it is granted before `from`, or not by `until` (by
 * clock_ms), or anything is answered but a grant, a quarantine or 409. */
bool is_granted_between(struct http_client *client, const char *path, int64_t from, int64_t until);

/* The same until it is granted. */
void assert_granted_between(struct http_client *client, const char *path, int64_t from,
                            int64_t until);

#endif
