/* metrics.h: the counters of a worker; server/metrics/exposition.h shows them to Prometheus. */
#ifndef BATON_SERVER_METRICS_METRICS_H
#define BATON_SERVER_METRICS_METRICS_H

#include "locks/quarantine/quarantine.h"
#include "server/metrics/histogram.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct lock_event;
struct route;

enum {
    METRICS_ROUTES = 24,      /* more than exist; the last one is "none" */
    METRICS_METHODS = 6,      /* those in metrics.c, and "other" */
    METRICS_STATUSES = 17,    /* those in metrics.c, and "other" */
    METRICS_LOCK_EVENTS = 24, /* more kinds than exist */
    METRICS_CACHE_LINE = 64,
};

/* How a wait ended. */
enum metrics_wait { WAIT_GRANTED, WAIT_TIMEOUT, WAIT_ABANDONED, WAIT_OTHER, METRICS_WAITS };

/* Each worker has one and alone writes to it; any thread reads it for a scrape. */
struct metrics {
    _Alignas(METRICS_CACHE_LINE)
        atomic_uint_fast64_t undelivered; /* replies that did not reach their client */
    atomic_uint_fast64_t hung_up;         /* clients that went while their request waited */
    atomic_uint_fast64_t waiting;         /* requests that wait now */
    atomic_uint_fast64_t waiters;         /* requests that wait for a lock now */
    atomic_uint_fast64_t watchers;    /* requests that wait for an event, and streams of events */
    atomic_uint_fast64_t streams;     /* replies that go on now */
    atomic_uint_fast64_t connections; /* open now */
    atomic_uint_fast64_t late_heads;  /* connections ended for a late head of a request */
    atomic_uint_fast64_t late_bodies;
    atomic_uint_fast64_t unread_replies;
    atomic_uint_fast64_t idle_ends;    /* connections ended as idle */
    atomic_uint_fast64_t turned_away;  /* connections beyond the limit of an address */
    atomic_uint_fast64_t out_of_place; /* times that accepting paused at max-connections */
    atomic_uint_fast64_t redis_up;     /* 1: its connection is usable */
    atomic_uint_fast64_t redis_connects;
    atomic_uint_fast64_t redis_losses;
    atomic_uint_fast64_t redis_switches; /* to another server */
    atomic_uint_fast64_t left_out;       /* see locks_left_out */
    atomic_uint_fast64_t damages;        /* see locks_damages */
    atomic_uint_fast64_t draining;       /* 1: the worker is about to stop */
    atomic_uint_fast64_t busy;           /* microseconds of processor time of its thread */
    atomic_uint_fast64_t fence;          /* the greatest that was granted; 0: none */
    atomic_uint_fast64_t lock_events[METRICS_LOCK_EVENTS]; /* by enum lock_event_kind */
    struct histogram redis_commands;
    struct histogram handovers;
    struct histogram confirmations;                            /* those in time */
    atomic_uint_fast64_t unconfirmed;                          /* the others */
    atomic_uint_fast64_t quarantine_seconds;                   /* left; 0: no quarantine */
    atomic_uint_fast64_t loss_would_cost_seconds;              /* of quarantine */
    atomic_uint_fast64_t quarantines[QUARANTINE_REASON_COUNT]; /* that this worker noticed first */
    struct histogram waits[METRICS_WAITS];
    struct histogram holds[METRICS_LOCK_EVENTS]; /* of the kinds that end a hold */
    atomic_uint_fast64_t requests[METRICS_ROUTES][METRICS_METHODS][METRICS_STATUSES];
    struct histogram durations[METRICS_ROUTES][METRICS_METHODS];
};

/* The values of labels by index, without the last, "other". */
extern const char *const METRICS_METHOD_NAMES[METRICS_METHODS - 1];
extern const unsigned METRICS_STATUS_CODES[METRICS_STATUSES - 1];

/* Adds to a number above. Only the worker's own thread may call this; -1 takes one away. */
static inline void metrics_add(atomic_uint_fast64_t *number, int change)
{
    uint64_t before = atomic_load_explicit(number, memory_order_relaxed);
    atomic_store_explicit(number, before + (uint64_t)change, memory_order_relaxed);
}

static inline void metrics_set(atomic_uint_fast64_t *number, uint64_t value)
{
    atomic_store_explicit(number, value, memory_order_relaxed);
}

/* Counts a request; `route` is NULL if no route matched. */
void metrics_count(struct metrics *metrics, const struct route *route, const char *method,
                   unsigned status);

/* Adds the time of a request that did not wait, from its last byte to its reply. */
void metrics_took(struct metrics *metrics, const struct route *route, const char *method,
                  uint64_t nanoseconds);

/* Adds the time from the message about a grant to the reply to its waiter. */
void metrics_handed_over(struct metrics *metrics, uint64_t nanoseconds);

/* Counts a lock event. */
void metrics_happened(struct metrics *metrics, const struct lock_event *event);

/* Adds the time of a script to Redis and back. */
void metrics_redis_took(struct metrics *metrics, uint64_t nanoseconds);

/* Counts whether replicas confirmed a change, and the time since its script was sent. */
void metrics_confirmed(struct metrics *metrics, uint64_t nanoseconds, bool is_confirmed);

/* Sets the processor time that the calling thread has used so far. */
void metrics_note_busy(struct metrics *metrics);

#endif
