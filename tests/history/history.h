/* history.h: what the clients of a run saw, one event for each request. */
#ifndef BATON_TESTS_HISTORY_HISTORY_H
#define BATON_TESTS_HISTORY_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum operation { ACQUIRE, RENEW, RELEASE, BREAK, INSPECT, OPERATIONS };

enum outcome {
    UNKNOWN,          /* no reply, or a 503: it may have happened, then or a little later */
    DONE,             /* 201 of an acquire, else 200 */
    HOLDING,          /* 200 of an acquire: the token has the hold already */
    LOCKED,           /* 409 locked */
    NOT_HELD,         /* 409 not_held */
    UNCHANGED,        /* 304 */
    TIMED_OUT,        /* 409 wait_timeout */
    CANCELLED,        /* 200 of a release that took a waiter out of the queue */
    FULL,             /* 429 too_many_waiters */
    UPGRADE_CONFLICT, /* 409 upgrade_conflict */
    TOKEN_IN_USE,     /* 409 token_in_use */
    SUPERSEDED,       /* 409 superseded: a later request of the token waits in its place */
    STRANGE,          /* any other */
    OUTCOMES
};

enum { NOBODY = -1, EVERYBODY = -2, SHOWN_MOST = 10 };

/* A hold as an inspection or a refusal shows it. */
struct shown {
    int64_t fence;
    int owner;
    bool shared;
    bool released; /* it only keeps the name taken */
    int permits;   /* 0: 1 */
};

/* For how many a hold counts by a limit. */
static inline int count_of(int permits)
{
    return permits > 0 ? permits : 1;
}

/* Names, tokens and owners are numbers here. Times are microseconds of the monotonic clock. */
struct event {
    int64_t sent;     /* before the first byte of the request was */
    int64_t received; /* after the last byte of the reply was; 0 where there was none */
    enum operation operation;
    enum outcome outcome;

    /* What was asked for. */
    int name;
    int token; /* EVERYBODY: of a break */
    int owner;
    bool reentrant;
    int limit;   /* 0: none */
    int permits; /* 0: 1 */
    int server;  /* which one was asked, from 1; 0: any */
    /* What the reply said; 0 or NOBODY where it did not. */
    int hold_owner;
    int hold_limit;
    int hold_permits;
    bool hold_shared;
    bool not_mine;

    bool shared;         /* asked for */
    int64_t ttl_ms;      /* 0: none given */
    int64_t at_least_ms; /* what an acquire with this token asks for; 0: nothing */
    int64_t wait_ms;
    int64_t keep_ms;
    int64_t hung_up; /* the client began to, and had done so at `received`; 0: it did not */
    int64_t queued;  /* it was certainly in the queue by then, as somebody saw; 0: nobody did */

    /* Said by the reply, too. */
    int64_t version;
    int64_t fence;
    int64_t left_ms;
    int64_t holds;
    int64_t held_ms;
    int64_t count;   /* holds broken, or holds there are */
    int64_t queue;   /* how many wait */
    int64_t granted; /* when the hold was, by Redis's clock put on ours; 0: unknown */
    size_t shown_count;
    struct shown shown[SHOWN_MOST];
};

/* While a server is disturbed, those that wait there may be passed over. */
struct disturbance {
    int server; /* from 1; 0: all */
    int64_t from;
    int64_t to;
};

/* What the checker may hold the servers to. */
struct terms {
    int64_t claim_us;  /* a grant that nobody collects blocks the next for so long */
    int64_t slack_us;  /* and so much longer may the next be kept waiting */
    int64_t settle_us; /* a request that has not been answered after that waits in the queue */
    const struct disturbance *disturbances;
    size_t disturbance_count;
    bool is_confirmed; /* by replicas, each grant and renewal, which takes its time off the TTL */
};

#endif
