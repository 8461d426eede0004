/* metrics.h: what a worker counts; server/metrics/exposition.h shows it to Prometheus. */
#ifndef BATON_SERVER_METRICS_METRICS_H
#define BATON_SERVER_METRICS_METRICS_H

#include "locks/types/quarantine.h"
#include "server/metrics/histogram.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct lock_event;
struct route;

enum {
    METRICS_ROUTES = 24,      /* more than there are; the last one is "none" */
    METRICS_METHODS = 6,      /* those that metrics.c lists, and any other */
    METRICS_STATUSES = 17,    /* the statuses that metrics.c lists, and any other */
    METRICS_LOCK_EVENTS = 24, /* more kinds than there are */
    METRICS_CACHE_LINE = 64,
};

/* The ends of waits that are told apart. */
enum metrics_wait { WAIT_GRANTED, WAIT_TIMEOUT, WAIT_ABANDONED, WAIT_OTHER, METRICS_WAITS };

/* One for each worker, which alone writes to it; read when scraped, from any thread. */
struct metrics {
    _Alignas(METRICS_CACHE_LINE) atomic_uint_fast64_t undelivered; /* replies: to their clients */
    atomic_uint_fast64_t hung_up;     /* clients that went while their request waited */
    atomic_uint_fast64_t waiting;     /* requests that wait now: */
    atomic_uint_fast64_t waiters;     /* those of them that wait for a lock */
    atomic_uint_fast64_t watchers;    /* the others, and streams of events */
    atomic_uint_fast64_t streams;     /* replies that go on now */
    atomic_uint_fast64_t connections; /* open now */
    atomic_uint_fast64_t late_heads;  /* of requests: their connections were ended */
    atomic_uint_fast64_t late_bodies;
    atomic_uint_fast64_t unread_replies;
    atomic_uint_fast64_t idle_ends;    /* connections ended that were idle for too long */
    atomic_uint_fast64_t turned_away;  /* connections beyond what an address may have */
    atomic_uint_fast64_t out_of_place; /* times that accepting paused for want of places */
    atomic_uint_fast64_t redis_up;     /* 1: its connection is usable */
    atomic_uint_fast64_t redis_connects;
    atomic_uint_fast64_t redis_losses;
    atomic_uint_fast64_t redis_switches; /* to another server */
    atomic_uint_fast64_t left_out;       /* see locks_left_out */
    atomic_uint_fast64_t damages;        /* see locks_damages */
    atomic_uint_fast64_t draining;       /* 1: the worker is about to stop */
    atomic_uint_fast64_t busy;           /* microseconds of processor time of its thread */
    atomic_uint_fast64_t fence;          /* the greatest of those that were granted; 0: none */
    atomic_uint_fast64_t lock_events[METRICS_LOCK_EVENTS]; /* by enum lock_event_kind */
    struct histogram redis_commands;
    struct histogram handovers;
    struct histogram confirmations;                            /* those that were given in time */
    atomic_uint_fast64_t unconfirmed;                          /* the others */
    atomic_uint_fast64_t quarantine_seconds;                   /* that are left; 0: there is none */
    atomic_uint_fast64_t quarantines[QUARANTINE_REASON_COUNT]; /* that it has noticed first */
    struct histogram waits[METRICS_WAITS];
    struct histogram holds[METRICS_LOCK_EVENTS]; /* of those kinds that end one */
    atomic_uint_fast64_t requests[METRICS_ROUTES][METRICS_METHODS][METRICS_STATUSES];
    struct histogram durations[METRICS_ROUTES][METRICS_METHODS];
};

/* The labels' values in the order of the indices above, without the last, which is "other". */
extern const char *const METRICS_METHOD_NAMES[METRICS_METHODS - 1];
extern const unsigned METRICS_STATUS_CODES[METRICS_STATUSES - 1];

/* Adds to one of the numbers above, which is the calling thread's; -1 takes one away. */
static inline void metrics_add(atomic_uint_fast64_t *number, int change)
{
    uint64_t before = atomic_load_explicit(number, memory_order_relaxed);
    atomic_store_explicit(number, before + (uint64_t)change, memory_order_relaxed);
}

static inline void metrics_set(atomic_uint_fast64_t *number, uint64_t value)
{
    atomic_store_explicit(number, value, memory_order_relaxed);
}

/* Counts a request; `route` is NULL where none fitted. */
void metrics_count(struct metrics *metrics, const struct route *route, const char *method,
                   unsigned status);

/* Counts how long a request took that did not wait, from its being complete to its reply. */
void metrics_took(struct metrics *metrics, const struct route *route, const char *method,
                  uint64_t nanoseconds);

/* Counts how long a grant took from this process' hearing of it to the reply of who waited. */
void metrics_handed_over(struct metrics *metrics, uint64_t nanoseconds);

/* Counts what happened to a lock. */
void metrics_happened(struct metrics *metrics, const struct lock_event *event);

/* Counts a script's way to Redis and back. */
void metrics_redis_took(struct metrics *metrics, uint64_t nanoseconds);

/* Counts whether replicas had what Redis answered, and how long that took from asking Redis. */
void metrics_confirmed(struct metrics *metrics, uint64_t nanoseconds, bool is_confirmed);

/* Notes how much processor time the calling thread has had so far. */
void metrics_note_busy(struct metrics *metrics);

#endif
