#include "server/metrics/exposition.h"

#include "api/routes.h"
#include "api/stats/lock_event.h"
#include "server/metrics/process_figures.h"

#include <inttypes.h>

#define LENGTH(table) (sizeof(table) / sizeof((table)[0]))

enum { LABELS_LENGTH = 128 };

static void write_head(FILE *out, const char *name, const char *type, const char *help)
{
    fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void write_number(FILE *out, const char *name, const char *type, const char *help,
                         uint64_t number)
{
    write_head(out, name, type, help);
    fprintf(out, "%s %" PRIu64 "\n", name, number);
}

/* These join the numbers of two workers. */
static uint64_t sum(uint64_t one, uint64_t other)
{
    return one + other;
}

static uint64_t most(uint64_t one, uint64_t other)
{
    return one > other ? one : other;
}

static uint64_t least(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

static uint64_t exposition_number(const struct metrics *metrics, size_t offset)
{
    const void *place = (const char *)metrics + offset;
    return atomic_load_explicit((const atomic_uint_fast64_t *)place, memory_order_relaxed);
}

static uint64_t exposition_join(const struct exposition *from, size_t offset,
                                uint64_t (*join)(uint64_t, uint64_t))
{
    uint64_t total = exposition_number(&from->metrics[0], offset);
    for (size_t i = 1; i < from->workers; i++)
        total = join(total, exposition_number(&from->metrics[i], offset));
    return total;
}

/* The numbers without labels. */
static const struct number {
    size_t offset;
    uint64_t (*join)(uint64_t, uint64_t);
    const char *type;
    const char *name;
    const char *help;
} NUMBERS[] = {
    {offsetof(struct metrics, draining), most, "gauge", "baton_draining",
     "1: this process is about to stop."},
    {offsetof(struct metrics, waiters), sum, "gauge", "baton_waiters",
     "Requests that wait for a lock now."},
    {offsetof(struct metrics, watchers), sum, "gauge", "baton_watchers",
     "Requests and streams that wait for events now."},
    {offsetof(struct metrics, streams), sum, "gauge", "baton_streams",
     "Replies that are still open: streams of events, and holds of connections."},
    {offsetof(struct metrics, fence), most, "gauge", "baton_last_fence",
     "The greatest fence that this process has reported to a client; 0: none so far."},
    {offsetof(struct metrics, waiting), sum, "gauge", "baton_http_waiting",
     "Requests that wait for a lock or an event now."},
    {offsetof(struct metrics, hung_up), sum, "counter", "baton_http_hung_up_total",
     "Clients that disconnected while their request waited, or left a stream."},
    {offsetof(struct metrics, undelivered), sum, "counter", "baton_http_undelivered_total",
     "Replies that did not reach their client; a grant among them was taken back."},
    {offsetof(struct metrics, connections), sum, "gauge", "baton_http_connections",
     "Connections that are open now."},
    {offsetof(struct metrics, late_heads), sum, "counter", "baton_http_late_heads_total",
     "Connections ended because the head of a request took longer than head-timeout."},
    {offsetof(struct metrics, late_bodies), sum, "counter", "baton_http_late_bodies_total",
     "Connections ended because the body of a request took longer than body-timeout."},
    {offsetof(struct metrics, unread_replies), sum, "counter", "baton_http_unread_replies_total",
     "Connections ended because a reply was not read within idle-timeout."},
    {offsetof(struct metrics, idle_ends), sum, "counter", "baton_http_idle_ends_total",
     "Connections ended because no request came within idle-timeout, or to make room for others."},
    {offsetof(struct metrics, turned_away), sum, "counter", "baton_http_turned_away_total",
     "Connections answered 429: max-connections-per-address was reached."},
    {offsetof(struct metrics, out_of_place), sum, "counter", "baton_http_out_of_place_total",
     "Times that new connections had to wait: max-connections was reached."},
    {offsetof(struct metrics, redis_up), least, "gauge", "baton_redis_up",
     "1: each worker's connection to Redis is usable."},
    {offsetof(struct metrics, redis_up), sum, "gauge", "baton_workers_with_redis",
     "Workers whose connection to Redis is usable."},
    {offsetof(struct metrics, redis_connects), sum, "counter", "baton_redis_connects_total",
     "Connections to Redis that became usable."},
    {offsetof(struct metrics, redis_losses), sum, "counter", "baton_redis_losses_total",
     "Times that Redis was lost or could not be reached."},
    {offsetof(struct metrics, redis_switches), sum, "counter", "baton_redis_switches_total",
     "Times that a worker changed to another server because Sentinel said so."},
    {offsetof(struct metrics, unconfirmed), sum, "counter", "baton_unconfirmed_total",
     "Grants and renewals that too few replicas of Redis had in time."},
    {offsetof(struct metrics, quarantine_seconds), most, "gauge", "baton_quarantine_seconds",
     "How long nothing will be granted, because Redis may have lost locks; 0: there is no "
     "quarantine."},
    {offsetof(struct metrics, loss_would_cost_seconds), most, "gauge",
     "baton_loss_would_cost_seconds",
     "How long nothing would be granted if Redis lost its data now: the longest recent hold "
     "decides."},
    {offsetof(struct metrics, damages), sum, "counter", "baton_damaged_total",
     "Times that the record of a lock in Redis could not be read: asked for, or left out of a "
     "list."},
    {offsetof(struct metrics, left_out), sum, "counter", "baton_expiries_left_out_total",
     "Grants and renewals whose expiry this batond does not watch, for want of memory."},
};

static void write_numbers(FILE *out, const struct exposition *from)
{
    for (size_t i = 0; i < LENGTH(NUMBERS); i++) {
        const struct number *number = &NUMBERS[i];
        write_number(out, number->name, number->type, number->help,
                     exposition_join(from, number->offset, number->join));
    }
}

static struct histograms histograms_at(const struct exposition *from, size_t offset)
{
    const void *first = (const char *)from->metrics + offset;
    return (struct histograms){first, sizeof from->metrics[0], from->workers};
}

static const char *method_name(size_t method)
{
    return method < METRICS_METHODS - 1 ? METRICS_METHOD_NAMES[method] : "other";
}

static const char *route_path(size_t route)
{
    return route < ROUTE_COUNT ? ROUTES[route].path : "none";
}

static void write_requests_of(FILE *out, const struct exposition *from, size_t route, size_t method)
{
    for (size_t status = 0; status < METRICS_STATUSES; status++) {
        uint64_t total =
            exposition_join(from, offsetof(struct metrics, requests[route][method][status]), sum);
        if (total == 0)
            continue;
        fprintf(out, "baton_http_requests_total{route=\"%s\",method=\"%s\",code=\"",
                route_path(route), method_name(method));
        if (status < METRICS_STATUSES - 1)
            fprintf(out, "%u\"} %" PRIu64 "\n", METRICS_STATUS_CODES[status], total);
        else
            fprintf(out, "other\"} %" PRIu64 "\n", total);
    }
}

static void write_duration_of(FILE *out, const struct exposition *from, size_t route, size_t method)
{
    char labels[LABELS_LENGTH];
    struct histograms all = histograms_at(from, offsetof(struct metrics, durations[route][method]));
    if (histograms_total(&all) == 0)
        return;
    snprintf(labels, sizeof labels, "route=\"%s\",method=\"%s\",", route_path(route),
             method_name(method));
    histograms_write(out, &all, HISTOGRAM_QUICK, "baton_http_request_duration_seconds", labels);
}

/* Leaves out pairs of a route and a method that never occurred: most cannot. Several routes share a
 * path and differ by method. */
static void write_by_route(FILE *out, const struct exposition *from,
                           void (*write)(FILE *, const struct exposition *, size_t, size_t))
{
    for (size_t route = 0; route < METRICS_ROUTES; route++)
        for (size_t method = 0; method < METRICS_METHODS; method++)
            write(out, from, route, method);
}

static void write_http(FILE *out, const struct exposition *from)
{
    write_head(out, "baton_http_requests_total", "counter",
               "Requests answered, by route, method and status.");
    write_by_route(out, from, write_requests_of);
    write_head(
        out, "baton_http_request_duration_seconds", "histogram",
        "Time from a complete request to its reply; without requests that wait, and streams.");
    write_by_route(out, from, write_duration_of);
}

/* Writes zeros, too: a rate would miss the first event of a new series. */
static void write_lock_events(FILE *out, const struct exposition *from, const char *name,
                              const char *label, enum lock_event_kind first,
                              enum lock_event_kind last)
{
    for (enum lock_event_kind kind = first; kind <= last; kind++)
        fprintf(out, "%s{%s=\"%s\"} %" PRIu64 "\n", name, label, lock_event_word(kind),
                exposition_join(from, offsetof(struct metrics, lock_events[kind]), sum));
}

/* Writes the histogram of a label's value, unless it is empty. */
static void write_histogram(FILE *out, const struct exposition *from, size_t offset,
                            const histogram_scale scale, const char *name, const char *label,
                            const char *value)
{
    char labels[LABELS_LENGTH];
    struct histograms all = histograms_at(from, offset);
    if (histograms_total(&all) == 0)
        return;
    snprintf(labels, sizeof labels, "%s=\"%s\",", label, value);
    histograms_write(out, &all, scale, name, labels);
}

static void write_quarantines(FILE *out, const struct exposition *from)
{
    static const char NAME[] = "baton_quarantines_total";
    write_head(out, NAME, "counter",
               "Quarantines by reason, counted by the worker that noticed first.");
    for (enum quarantine_reason i = QUARANTINE_NONE + 1; i < QUARANTINE_REASON_COUNT; i++)
        fprintf(out, "%s{reason=\"%s\"} %" PRIu64 "\n", NAME, quarantine_word(i),
                exposition_join(from, offsetof(struct metrics, quarantines[i]), sum));
}

static void write_acquires(FILE *out, const struct exposition *from)
{
    static const char *const RESULTS[METRICS_WAITS] = {"granted", "timeout", "abandoned", "other"};
    static const char ACQUIRES[] = "baton_acquires_total", WAITS[] = "baton_wait_duration_seconds";
    write_head(out, ACQUIRES, "counter", "Acquires that ended, one for each name, by result.");
    write_lock_events(out, from, ACQUIRES, "result", 0, LOCK_EVENT_ACQUIRE_LAST);
    write_head(out, WAITS, "histogram",
               "Time in the queue of acquires that had to wait, to their end.");
    for (size_t i = 0; i < METRICS_WAITS; i++)
        write_histogram(out, from, offsetof(struct metrics, waits[i]), HISTOGRAM_WAITS, WAITS,
                        "result", RESULTS[i]);
}

static void write_holds(FILE *out, const struct exposition *from)
{
    static const char ENDS[] = "baton_holds_ended_total", HOLDS[] = "baton_hold_duration_seconds";
    write_head(out, ENDS, "counter", "Holds that ended, by reason.");
    write_lock_events(out, from, ENDS, "reason", LOCK_EVENT_END_FIRST, LOCK_EVENT_END_LAST);
    write_head(out, HOLDS, "histogram",
               "Time from the grant to the end of a hold, where it is known.");
    for (size_t kind = LOCK_EVENT_END_FIRST; kind <= LOCK_EVENT_END_LAST; kind++)
        write_histogram(out, from, offsetof(struct metrics, holds[kind]), HISTOGRAM_HOLDS, HOLDS,
                        "reason", lock_event_word((enum lock_event_kind)kind));
}

/* Writes nothing, rather than 0, until the first count is complete. */
static void write_hold_count(FILE *out, const struct hold_counter *hold_counter)
{
    int64_t holds = hold_counter ? hold_counter->holds : -1;
    if (holds < 0)
        return;
    int64_t counted_ms = hold_counter->counted_ms;
    write_number(out, "baton_holds", "gauge",
                 "Holds in Redis, of all batonds, at the last complete count.", (uint64_t)holds);
    write_head(out, "baton_holds_counted_timestamp_seconds", "gauge",
               "When the last complete count of the holds in Redis ended, since 1970.");
    fprintf(out, "baton_holds_counted_timestamp_seconds %" PRId64 ".%03" PRId64 "\n",
            counted_ms / 1000, counted_ms % 1000);
}

static void write_handovers(FILE *out, const struct exposition *from)
{
    struct histograms all = histograms_at(from, offsetof(struct metrics, waits[WAIT_GRANTED]));
    write_number(out, "baton_handovers_total", "counter", "Locks granted to waiters.",
                 histograms_total(&all));
}

/* The histograms without labels. */
static const struct quick {
    size_t offset;
    const char *name;
    const char *help;
} QUICK[] = {
    {offsetof(struct metrics, handovers), "baton_handover_duration_seconds",
     "Time from the message about a grant until the reply to its waiter; without requests for "
     "several "
     "locks."},
    {offsetof(struct metrics, redis_commands), "baton_redis_command_duration_seconds",
     "Time from sending a script to Redis to its reply."},
    {offsetof(struct metrics, confirmations), "baton_confirm_duration_seconds",
     "Time from sending a script to Redis until replicas have confirmed its grant or renewal."},
};

static void write_quick(FILE *out, const struct exposition *from)
{
    for (size_t i = 0; i < LENGTH(QUICK); i++) {
        struct histograms all = histograms_at(from, QUICK[i].offset);
        write_head(out, QUICK[i].name, "histogram", QUICK[i].help);
        histograms_write(out, &all, HISTOGRAM_QUICK, QUICK[i].name, "");
    }
}

static void write_workers(FILE *out, const struct exposition *from)
{
    write_number(out, "baton_workers", "gauge", "Threads that serve.", from->workers);
    write_head(
        out, "baton_worker_busy_seconds_total", "counter",
        "Processor time of each worker's thread; at one second per second it can do no more.");
    for (size_t i = 0; i < from->workers; i++) {
        uint64_t busy = exposition_number(&from->metrics[i], offsetof(struct metrics, busy));
        fprintf(out, "baton_worker_busy_seconds_total{worker=\"%zu\"} %" PRIu64 ".%06" PRIu64 "\n",
                i + 1, busy / 1000000, busy % 1000000);
    }
}

char *exposition_text(const struct exposition *exposition)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    write_head(out, "baton_build_info", "gauge", "The version that runs.");
    fprintf(out, "baton_build_info{version=\"%s\"} 1\n", BATON_VERSION);
    write_numbers(out, exposition);
    write_http(out, exposition);
    write_quarantines(out, exposition);
    write_acquires(out, exposition);
    write_holds(out, exposition);
    write_hold_count(out, exposition->hold_counter);
    write_handovers(out, exposition);
    write_quick(out, exposition);
    write_number(out, "baton_log_lines_lost_total", "counter",
                 "Lines of the log that were lost: the reader was too slow, or writing failed.",
                 exposition->log ? log_lost(exposition->log) : 0);
    write_workers(out, exposition);
    process_figures_write(out, exposition->started);
    fclose(out);
    return text;
}
