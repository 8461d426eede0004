/* locks_fixture.h: two servers' locks on one loop of the test's own, over a real Redis. */
#ifndef BATON_TESTS_LOCKS_LOCKS_FIXTURE_H
#define BATON_TESTS_LOCKS_LOCKS_FIXTURE_H

#include "locks/locks.h"
#include "tests/support/redis_process.h"

enum {
    FIXTURE_CLAIM_MS = 800,
    FIXTURE_LEASE_MS = 1000, /* of a server's waiters */
    FIXTURE_WAITERS = 5,     /* of one name, at most */
};

/* What was told of as expired: the last one, and how many there were in all. */
struct expiries_told {
    int count;
    char name[NAME_LENGTH + 1];
    char owner[OWNER_LENGTH + 1];
    enum lock_mode mode;
    int64_t fence;
    int64_t held_ms;
};

/* One server's part. */
struct site {
    struct locks_fixture *fixture;
    const struct store *store;
    struct locks *locks;
    int ups;
    int downs;
    int listens;
    int messages;
    struct expiries_told expired;
};

struct locks_fixture {
    struct redis_process redis;
    uv_loop_t loop;
    uv_timer_t guard; /* ends a wait that takes too long */
    uint64_t deadline;
    bool late;
    struct site here;
    struct site there;
};

/* What became of one operation. The texts of `reply` are not valid any more, but for `owner`. */
struct answer {
    struct locks_reply reply;
    int count;
    int looks;  /* how often fixture_is_connected was asked */
    int queued; /* for a test's own `queued` of an acquirer */
    bool gone;  /* what fixture_is_connected tells of the client */
    char owner[OWNER_LENGTH + 1];
};

/* For cmocka: start it all with Redis up; end it, and fail the test where a handle is left. */
int fixture_start(void **state);
int fixture_stop(void **state);

/* Runs the loop until the number is at least `least`. Fails the test after 10 s. */
void fixture_await(struct locks_fixture *fixture, const int *number, int least);

/* Runs the loop for so long. */
void fixture_idle(struct locks_fixture *fixture, int ms);

/* A `locks_done`; its context is a struct answer. */
void fixture_answered(void *context, const struct locks_reply *reply);

/* For locks_wait, with the answer as the context. */
bool fixture_is_connected(void *context);

/* Starts one server, as of this process; fixture_start has done it for both, each of its own. */
void site_open(struct site *site, struct locks_fixture *fixture, uint32_t process);

/* Ends one server in good order; fixture_stop does it for those that are left. */
void site_close(struct site *site);

/* An exclusive hold for the owner "somebody". */
struct acquire fixture_request(const char *name, const char *token, int64_t ttl_ms);

/* These wait for the answer. */
struct answer fixture_acquire(struct site *site, const struct acquire *acquire);
struct answer fixture_lock(struct site *site, const char *name, const char *token, int64_t ttl_ms);
struct answer fixture_renew(struct site *site, const char *name, const char *token, int64_t ttl_ms);
struct answer fixture_release(struct site *site, const char *name, const char *token);
struct answer fixture_break(struct site *site, const char *name);
struct answer fixture_inspect(struct site *site, const char *name);

/* How long the hold that ends soonest still lasts; 0 where the name is free. */
int64_t fixture_remaining(struct site *site, const char *name);

#endif
