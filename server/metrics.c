#include "server/metrics.h"

#include "api/happening.h"
#include "api/routes.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const unsigned STATUSES[] = {200, 201, 304, 400, 404, 405, 409, 413, 415, 429, 503};

enum { STATUS_COUNT = sizeof STATUSES / sizeof STATUSES[0] };

static_assert((int)HAPPENING_KINDS <= (int)METRICS_HAPPENINGS, "each kind is counted");
static_assert(sizeof STATUSES / sizeof STATUSES[0] < METRICS_STATUSES, "one is for any other");

static size_t status_index(unsigned status)
{
    size_t i = 0;
    while (i < STATUS_COUNT && STATUSES[i] != status)
        i++;
    return i;
}

static size_t route_index(const struct route *route)
{
    return route ? (size_t)(route - ROUTES) : ROUTE_COUNT;
}

void metrics_add(atomic_uint_fast64_t *number, int change)
{
    atomic_fetch_add_explicit(number, (uint64_t)change, memory_order_relaxed);
}

void metrics_count(struct metrics *metrics, const struct route *route, unsigned status)
{
    metrics_add(&metrics->requests[route_index(route)][status_index(status)], 1);
}

void metrics_happened(struct metrics *metrics, const struct happening *happening)
{
    metrics_add(&metrics->happenings[happening->kind], (int)happening->count);
}

static uint64_t sum(const struct metrics *all, size_t count, size_t offset)
{
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        const char *place = (const char *)&all[i] + offset;
        total += atomic_load_explicit((atomic_uint_fast64_t *)place, memory_order_relaxed);
    }
    return total;
}

static void write_head(FILE *out, const char *name, const char *type, const char *help)
{
    fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void write_requests(FILE *out, const struct metrics *all, size_t count)
{
    write_head(out, "baton_http_requests_total", "counter",
               "Requests answered, by operation and status.");
    for (size_t route = 0; route <= ROUTE_COUNT; route++) {
        for (size_t status = 0; status <= STATUS_COUNT; status++) {
            uint64_t total = sum(all, count, offsetof(struct metrics, requests[route][status]));
            if (total == 0)
                continue;
            fprintf(out, "baton_http_requests_total{operation=\"%s\",status=\"",
                    route < ROUTE_COUNT ? ROUTES[route].operation_id : "none");
            if (status < STATUS_COUNT)
                fprintf(out, "%u", STATUSES[status]);
            else
                fprintf(out, "other");
            fprintf(out, "\"} %" PRIu64 "\n", total);
        }
    }
}

/* All of them from the start: a rate misses the first of what was not there before. */
static void write_happenings(FILE *out, const struct metrics *all, size_t count, const char *name,
                             const char *label, enum happening_kind first, enum happening_kind last)
{
    for (enum happening_kind kind = first; kind <= last; kind++)
        fprintf(out, "%s{%s=\"%s\"} %" PRIu64 "\n", name, label, happening_word(kind),
                sum(all, count, offsetof(struct metrics, happenings[kind])));
}

static void write_acquires(FILE *out, const struct metrics *all, size_t count)
{
    static const char ACQUIRES[] = "baton_acquires_total", ENDS[] = "baton_holds_ended_total";
    write_head(out, ACQUIRES, "counter", "Acquires that ended, a name each, by how they did.");
    write_happenings(out, all, count, ACQUIRES, "result", 0, HAPPENING_ACQUIRE_LAST);
    write_head(out, ENDS, "counter", "Holds that ended, by how they did.");
    write_happenings(out, all, count, ENDS, "reason", HAPPENING_END_FIRST, HAPPENING_END_LAST);
}

/* The numbers without labels. */
static const struct number {
    size_t offset;
    const char *type;
    const char *name;
    const char *help;
} NUMBERS[] = {
    {offsetof(struct metrics, waiting), "gauge", "baton_http_waiting",
     "Requests that wait for a lock or an event now."},
    {offsetof(struct metrics, hung_up), "counter", "baton_http_hung_up_total",
     "Clients that went while their request waited, or left a stream."},
    {offsetof(struct metrics, undelivered), "counter", "baton_http_undelivered_total",
     "Replies that did not reach their client; a grant among them was taken back."},
    {offsetof(struct metrics, connections), "gauge", "baton_http_connections",
     "Connections that are open now."},
    {offsetof(struct metrics, late_heads), "counter", "baton_http_late_heads_total",
     "Connections ended because the head of a request took longer than head-timeout."},
    {offsetof(struct metrics, late_bodies), "counter", "baton_http_late_bodies_total",
     "Connections ended because the body of a request took longer than body-timeout."},
    {offsetof(struct metrics, unread_replies), "counter", "baton_http_unread_replies_total",
     "Connections ended because a reply was not read within idle-timeout."},
    {offsetof(struct metrics, idle_ends), "counter", "baton_http_idle_ends_total",
     "Connections ended because no request came within idle-timeout."},
    {offsetof(struct metrics, turned_away), "counter", "baton_http_turned_away_total",
     "Connections answered 429: max-connections-per-address was reached."},
    {offsetof(struct metrics, out_of_place), "counter", "baton_http_out_of_place_total",
     "Times that new connections had to wait: max-connections was reached."},
    {offsetof(struct metrics, redis_connects), "counter", "baton_redis_connects_total",
     "Connections to Redis that became usable."},
    {offsetof(struct metrics, redis_losses), "counter", "baton_redis_losses_total",
     "Times that Redis was lost or could not be reached."},
};

static size_t workers_with_redis(const struct metrics *all, size_t count)
{
    size_t up = 0;
    for (size_t i = 0; i < count; i++)
        up += atomic_load_explicit(&all[i].redis_up, memory_order_relaxed);
    return up;
}

char *metrics_text(const struct metrics *all, size_t count, time_t started)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    write_head(out, "baton_build_info", "gauge", "The version that runs.");
    fprintf(out, "baton_build_info{version=\"%s\"} 1\n", BATON_VERSION);
    write_head(out, "process_start_time_seconds", "gauge", "When the process began.");
    fprintf(out, "process_start_time_seconds %lld\n", (long long)started);
    write_head(out, "baton_workers", "gauge", "Threads that serve.");
    fprintf(out, "baton_workers %zu\n", count);
    write_head(out, "baton_workers_with_redis", "gauge", "Workers whose connection is usable.");
    fprintf(out, "baton_workers_with_redis %zu\n", workers_with_redis(all, count));
    for (size_t i = 0; i < sizeof NUMBERS / sizeof NUMBERS[0]; i++) {
        write_head(out, NUMBERS[i].name, NUMBERS[i].type, NUMBERS[i].help);
        fprintf(out, "%s %" PRIu64 "\n", NUMBERS[i].name, sum(all, count, NUMBERS[i].offset));
    }
    write_requests(out, all, count);
    write_acquires(out, all, count);
    fclose(out);
    return text;
}
