/* subscription.h: the names that this server has waiters or watches of: it sends heartbeats for
 * them, and runs their ticks. Internal to locks/. */
#ifndef BATON_LOCKS_WAITING_SUBSCRIPTION_H
#define BATON_LOCKS_WAITING_SUBSCRIPTION_H

#include "locks/watching/watch.h"

#include <sys/queue.h>
#include <uv.h>

struct subscription;

/* What is done for those who have subscribed to a name. */
struct subscription_users {
    /* As their namesakes of waiting.h. */
    size_t (*check_waiters)(struct subscription *subscription);
    size_t (*count_waiters)(const struct subscription *subscription);
    void (*granted)(struct locks *locks, struct slice key, struct slice attempt,
                    struct slice token);
    const struct watched_kind *watched;
};

/* All of them: found by key, and in the order in which Redis is to be told that this server is
 * still there for them. */
struct subscriptions {
    const struct subscription_users *users;
    void *by_key;                                     /* of base/tree.h */
    TAILQ_HEAD(subscription_list, subscription) list; /* in the order of their next heartbeat */
    uv_timer_t heartbeat;                             /* when the first is due */
};

struct subscription {
    struct slice key; /* the first member: as base/tree.h wants */
    TAILQ_ENTRY(subscription) others;
    struct locks *locks;
    unsigned users; /* waiters, watches, scripts under way, and `minded`; without any it goes */
    TAILQ_HEAD(waiter_list, waiter) waiters; /* in the order in which they came here */
    struct watched watched;
    uint64_t minded;       /* until then, in loop time, ms; 0: not; see subscription_mind */
    uv_timer_t tick;       /* runs out when the next hold of the name ends */
    uint64_t heartbeat_at; /* loop time, ms */
    uint64_t registered;
    bool unsure; /* something may have been missed: all is to be registered again */
    char key_bytes[];
};

/* `locks` has its loop and its times already. */
void subscriptions_open(struct locks *locks, const struct subscription_users *users);

/* To be called from the loop, when there are no subscriptions any more: `closed` will be. */
void subscriptions_close(struct locks *locks, uv_close_cb closed);

/* Finds or makes the subscription of a name, and counts one more user. Each user calls
 * subscription_leave at its end. */
struct subscription *subscription_join(struct locks *locks, struct slice key);
void subscription_leave(struct subscription *subscription);

/* NULL if this server has no subscription of the name. */
struct subscription *subscription_find(const struct locks *locks, struct slice key);

/* Whether the shard of the name is up. */
bool subscription_can_ask(const struct subscription *subscription);

/* The next hold of the name ends in `next_ms` milliseconds: then its tick runs. An earlier one that
 * is planned already stays, since messages and replies overtake each other. -1: there is none. */
void subscription_plan(struct subscription *subscription, int64_t next_ms);

/* A script of this server has told others of something that they have to do by then, such as to
 * claim a grant. The message may be lost: in so many milliseconds this server sees to it that it
 * was done, whether it has waiters of that name or not. What is further ahead than they take to
 * look by themselves is left to them. */
void subscription_mind(struct locks *locks, struct slice key, int64_t in_ms);

/* No name is minded any more, and none will be: their waiters find out by themselves. */
void subscriptions_drain(struct locks *locks);

/* Answers all watches with the present state of their names. */
void subscriptions_drain_watches(struct locks *locks);

/* What was heard of them may have been incomplete: each waiter and watch is checked again, as many
 * at once as Redis answers well before its deadline. */
void subscriptions_check(struct locks *locks);

/* The same for the names that this shard serves. */
void subscriptions_check_shard(struct locks *locks, unsigned shard);

/* The same for one name, at once. Returns how many scripts that takes, about. */
size_t subscription_check(struct subscription *subscription);

#endif
