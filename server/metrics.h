/* metrics.h: what a worker counts, and how the whole process shows it to Prometheus. */
#ifndef BATON_SERVER_METRICS_H
#define BATON_SERVER_METRICS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct happening;
struct route;

enum {
    METRICS_ROUTES = 24,     /* more than there are; the last one is "none" */
    METRICS_STATUSES = 12,   /* the statuses that metrics.c lists, and any other */
    METRICS_HAPPENINGS = 24, /* more kinds than there are */
};

/* One for each worker, which alone writes to it; read when scraped, from any thread. */
struct metrics {
    atomic_uint_fast64_t requests[METRICS_ROUTES][METRICS_STATUSES];
    atomic_uint_fast64_t happenings[METRICS_HAPPENINGS]; /* by kind */
    atomic_uint_fast64_t undelivered; /* replies that did not reach their client */
    atomic_uint_fast64_t hung_up;     /* clients that went while their request waited */
    atomic_uint_fast64_t waiting;     /* requests that wait now */
    atomic_uint_fast64_t connections; /* open now */
    atomic_uint_fast64_t late_heads;  /* of requests: their connections were ended */
    atomic_uint_fast64_t late_bodies;
    atomic_uint_fast64_t unread_replies;
    atomic_uint_fast64_t idle_ends;    /* connections ended that were idle for too long */
    atomic_uint_fast64_t turned_away;  /* connections beyond what an address may have */
    atomic_uint_fast64_t out_of_place; /* times that accepting paused for want of places */
    atomic_uint_fast64_t redis_connects;
    atomic_uint_fast64_t redis_losses;
    atomic_bool redis_up;
};

/* Adds to one of the numbers above; -1 takes one away. */
void metrics_add(atomic_uint_fast64_t *number, int change);

/* Counts a request; `route` is NULL where none fitted. */
void metrics_count(struct metrics *metrics, const struct route *route, unsigned status);

/* Counts what has happened to a lock. */
void metrics_happened(struct metrics *metrics, const struct happening *happening);

/* Writes all of them together in the Prometheus text format. The text is the caller's, to be given
 * to free. */
char *metrics_text(const struct metrics *all, size_t count, time_t started);

#endif
