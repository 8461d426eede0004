/* subscription.h: the names that have waiters or watches at this worker. Sends heartbeats for these
 * names and runs their ticks. Internal to locks/. */
#ifndef BATON_LOCKS_WAITING_SUBSCRIPTION_H
#define BATON_LOCKS_WAITING_SUBSCRIPTION_H

#include "locks/watching/watch.h"

#include <sys/queue.h>
#include <uv.h>

struct subscription;

/* What waiters and watches do at the request of their subscription. */
struct subscription_users {
    /* See waiting_check, waiting_count and waiting_granted. */
    size_t (*check_waiters)(struct subscription *subscription);
    size_t (*count_waiters)(const struct subscription *subscription);
    void (*granted)(struct locks *locks, struct slice key, struct slice attempt,
                    struct slice token);
    const struct watched_kind *watched;
};

/* All subscriptions, by key and in the order of their next heartbeat. */
struct subscriptions {
    const struct subscription_users *users;
    void *by_key; /* of base/tree.h */
    TAILQ_HEAD(subscription_list, subscription) list;
    uv_timer_t heartbeat; /* when the first is due */
};

struct subscription {
    struct slice key; /* the first member: as base/tree.h wants */
    TAILQ_ENTRY(subscription) others;
    struct locks *locks;
    unsigned users; /* waiters, watches, scripts under way, `supervised_until`; freed at 0 */
    TAILQ_HEAD(waiter_list, waiter) waiters; /* in the order of arrival at this worker */
    struct watched watched;
    uint64_t supervised_until; /* loop time, ms; 0: nothing to supervise */
    uv_timer_t tick;           /* fires when the next hold of the name ends */
    uint64_t heartbeat_at;     /* the last one; loop time, ms */
    uint64_t registered;       /* the last check of all users; loop time, ms */
    bool unsure;               /* a message may have been missed: all users must be checked */
    char key_bytes[];
};

/* `locks` has its loop and its times already. */
void subscriptions_open(struct locks *locks, const struct subscription_users *users);

/* Call this from the loop, when all subscriptions have ended. `closed` is called later. */
void subscriptions_close(struct locks *locks, uv_close_cb closed);

/* Finds or makes the subscription of a name, and counts one more user. Each user calls
 * subscription_leave at its end. */
struct subscription *subscription_join(struct locks *locks, struct slice key);
void subscription_leave(struct subscription *subscription);

/* NULL if this worker has no subscription of the name. */
struct subscription *subscription_find(const struct locks *locks, struct slice key);

/* Whether the shard of the name is up. */
bool subscription_can_ask(const struct subscription *subscription);

/* The next hold of the name ends in `next_ms` ms: plans a tick for that. An earlier planned tick
 * stays, since messages and replies overtake each other. -1: no hold ends. */
void subscription_plan(struct subscription *subscription, int64_t next_ms);

/* A script of this worker has asked another worker to act within `in_ms`, such as to claim a grant.
 * The message may be lost, so this worker runs a tick after `in_ms`, even without a waiter for that
 * name. If `in_ms` is longer than the period of the heartbeats, the other worker's own heartbeat
 * comes first; then this worker plans a tick only if it already has the subscription. */
void subscription_supervise(struct locks *locks, struct slice key, int64_t in_ms);

/* Stops supervising: other workers' heartbeats notice what was lost. */
void subscriptions_drain(struct locks *locks);

/* Answers all watches with the present state of their names. */
void subscriptions_drain_watches(struct locks *locks);

/* Call this if messages may have been lost: checks each waiter and watch again, in batches that
 * Redis answers well before its deadline. */
void subscriptions_check(struct locks *locks);

/* The same for the names that this shard serves. */
void subscriptions_check_shard(struct locks *locks, unsigned shard);

/* The same for one name, at once. Returns about how many scripts that takes. */
size_t subscription_check(struct subscription *subscription);

#endif
