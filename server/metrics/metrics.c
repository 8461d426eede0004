#include "server/metrics/metrics.h"

#include "api/routes.h"
#include "api/stats/lock_event.h"

#include <assert.h>
#include <string.h>
#include <time.h>

const char *const METRICS_METHOD_NAMES[] = {"GET", "POST", "PUT", "DELETE", "HEAD"};
const unsigned METRICS_STATUS_CODES[] = {200, 201, 302, 304, 400, 401, 403, 404,
                                         405, 408, 409, 413, 415, 429, 431, 503};

static_assert((int)LOCK_EVENT_KINDS <= (int)METRICS_LOCK_EVENTS, "each kind is counted");

/* Compares first letters only, as this runs twice for each request. Routes have these methods only.
 */
static size_t method_index(const struct route *route, const char *method)
{
    size_t i = METRICS_METHODS - 1;
    switch (method[0]) {
    case 'G':
        i = 0;
        break;
    case 'P':
        i = method[1] == 'O' ? 1 : 2;
        break;
    case 'D':
        i = 3;
        break;
    case 'H':
        i = 4;
        break;
    default:
        return i;
    }
    bool is_known = route || strcmp(METRICS_METHOD_NAMES[i], method) == 0;
    return is_known ? i : METRICS_METHODS - 1;
}

static size_t status_index(unsigned status)
{
    size_t i = 0;
    while (i < METRICS_STATUSES - 1 && METRICS_STATUS_CODES[i] != status)
        i++;
    return i;
}

static size_t route_index(const struct route *route)
{
    return route ? (size_t)(route - ROUTES) : METRICS_ROUTES - 1;
}

void metrics_count(struct metrics *metrics, const struct route *route, const char *method,
                   unsigned status)
{
    metrics_add(
        &metrics->requests[route_index(route)][method_index(route, method)][status_index(status)],
        1);
}

static uint64_t in_microseconds(uint64_t nanoseconds)
{
    return (nanoseconds + 500) / 1000;
}

void metrics_took(struct metrics *metrics, const struct route *route, const char *method,
                  uint64_t nanoseconds)
{
    histogram_observe(&metrics->durations[route_index(route)][method_index(route, method)],
                      HISTOGRAM_QUICK, in_microseconds(nanoseconds));
}

void metrics_handed_over(struct metrics *metrics, uint64_t nanoseconds)
{
    histogram_observe(&metrics->handovers, HISTOGRAM_QUICK, in_microseconds(nanoseconds));
}

static enum metrics_wait wait_of(enum lock_event_kind kind)
{
    switch (kind) {
    case LOCK_EVENT_GRANTED:
        return WAIT_GRANTED;
    case LOCK_EVENT_TIMEOUT:
        return WAIT_TIMEOUT;
    case LOCK_EVENT_ABANDONED:
        return WAIT_ABANDONED;
    default:
        return WAIT_OTHER;
    }
}

void metrics_happened(struct metrics *metrics, const struct lock_event *event)
{
    enum lock_event_kind kind = event->kind;
    metrics_add(&metrics->lock_events[kind], (int)event->count);
    if (event->waited_us >= 0)
        histogram_observe(&metrics->waits[wait_of(kind)], HISTOGRAM_WAITS,
                          (uint64_t)event->waited_us);
    if (event->held_ms >= 0)
        histogram_observe(&metrics->holds[kind], HISTOGRAM_HOLDS, (uint64_t)event->held_ms * 1000);
    if (kind == LOCK_EVENT_GRANTED && event->fence > (int64_t)metrics->fence)
        metrics_set(&metrics->fence, (uint64_t)event->fence);
}

void metrics_redis_took(struct metrics *metrics, uint64_t nanoseconds)
{
    histogram_observe(&metrics->redis_commands, HISTOGRAM_QUICK, in_microseconds(nanoseconds));
}

void metrics_confirmed(struct metrics *metrics, uint64_t nanoseconds, bool is_confirmed)
{
    if (is_confirmed)
        histogram_observe(&metrics->confirmations, HISTOGRAM_QUICK, in_microseconds(nanoseconds));
    else
        metrics_add(&metrics->unconfirmed, 1);
}

void metrics_note_busy(struct metrics *metrics)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    metrics_set(&metrics->busy, (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_nsec / 1000);
}
