#include "api/routes.h"
#include "api/stats/lock_event.h"
#include "server/metrics/exposition.h"
#include "tests/support/cmocka.h"
#include "tests/support/samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct route *route_of(const char *operation)
{
    for (size_t i = 0; i < ROUTE_COUNT; i++)
        if (strcmp(ROUTES[i].operation_id, operation) == 0)
            return &ROUTES[i];
    fail_msg("no route %s", operation);
}

/* What is told of so many workers, all of it as it has to be. */
static struct samples expose(const struct metrics *metrics, size_t workers)
{
    char *text = exposition_text(
        &(struct exposition){.metrics = metrics, .workers = workers, .started = 1700000000});
    struct samples samples = samples_read(text, false);
    if (samples.trouble[0])
        fail_msg("%s in:\n%s", samples.trouble, text);
    free(text);
    return samples;
}

#define assert_says(samples, series, expected)                                                     \
    do {                                                                                           \
        double value = samples_value(samples, series);                                             \
        if (value != (expected))                                                                   \
            fail_msg("%s is %g", series, value);                                                   \
    } while (0)

static bool says(const struct samples *samples, const char *beginning)
{
    for (size_t i = 0; i < samples->count; i++)
        if (strncmp(samples->all[i].series, beginning, strlen(beginning)) == 0)
            return true;
    return false;
}

TEST(metrics_begin_at_zero)
{
    static struct metrics metrics[2];
    struct samples samples = expose(metrics, 2);
    assert_says(&samples, "baton_build_info{version=\"" BATON_VERSION "\"}", 1);
    assert_says(&samples, "process_start_time_seconds", 1700000000);
    assert_says(&samples, "baton_workers", 2);
    assert_says(&samples, "baton_workers_with_redis", 0);
    assert_says(&samples, "baton_redis_up", 0);
    assert_says(&samples, "baton_http_undelivered_total", 0);
    assert_says(&samples, "baton_redis_connects_total", 0);
    assert_says(&samples, "baton_redis_losses_total", 0);
    assert_says(&samples, "baton_redis_switches_total", 0);
    assert_says(&samples, "baton_worker_busy_seconds_total{worker=\"2\"}", 0);
    assert_false(says(&samples, "baton_http_requests_total"));
    assert_false(says(&samples, "baton_http_request_duration_seconds"));
    samples_free(&samples);
}

TEST(workers_are_summed)
{
    static struct metrics metrics[3];
    for (size_t i = 0; i < LENGTH(metrics); i++) {
        metrics_set(&metrics[i].undelivered, UINT64_C(1) << (40 + i));
        metrics_set(&metrics[i].redis_connects, 10 + i);
        metrics_set(&metrics[i].redis_losses, 100 * i);
        metrics_set(&metrics[i].redis_switches, 1000 * i);
        metrics_set(&metrics[i].redis_up, i != 1);
        metrics_set(&metrics[i].draining, i == 2);
        metrics_set(&metrics[i].busy, 1500000 * i);
        metrics_set(&metrics[i].late_heads, 1 + i);
        metrics_set(&metrics[i].late_bodies, 2 + i);
        metrics_set(&metrics[i].idle_ends, 3 + i);
        metrics_set(&metrics[i].unread_replies, 4 + i);
    }
    metrics_count(&metrics[0], route_of("acquireLock"), "POST", 201);
    metrics_count(&metrics[2], route_of("acquireLock"), "POST", 201);
    metrics_count(&metrics[2], route_of("acquireLock"), "POST", 409);
    metrics_count(&metrics[1], route_of("getOpenapi"), "GET", 200);
    metrics_count(&metrics[1], route_of("getOpenapi"), "HEAD", 200);
    struct samples samples = expose(metrics, 3);
    assert_says(&samples, "baton_workers", 3);
    assert_says(&samples, "baton_workers_with_redis", 2);
    assert_says(&samples, "baton_redis_up", 0);
    assert_says(&samples, "baton_draining", 1);
    assert_says(&samples, "baton_worker_busy_seconds_total{worker=\"2\"}", 1.5);
    assert_says(&samples, "baton_http_undelivered_total", 7696581394432);
    assert_says(&samples, "baton_redis_connects_total", 33);
    assert_says(&samples, "baton_redis_losses_total", 300);
    assert_says(&samples, "baton_redis_switches_total", 3000);
    assert_says(&samples, "baton_http_late_heads_total", 6);
    assert_says(&samples, "baton_http_late_bodies_total", 9);
    assert_says(&samples, "baton_http_idle_ends_total", 12);
    assert_says(&samples, "baton_http_unread_replies_total", 15);
    static const char BEGINNING[] = "baton_http_requests_total{route=\"/locks/{name}\"";
    assert_says(&samples,
                "baton_http_requests_total{route=\"/locks/{name}\",method=\"POST\",code=\"201\"}",
                2);
    assert_true(samples_sum(&samples, BEGINNING) == 3);
    assert_says(&samples,
                "baton_http_requests_total{route=\"/openapi.yaml\",method=\"HEAD\",code=\"200\"}",
                1);
    assert_true(samples_sum(&samples, "baton_http_requests_total") == 5);
    samples_free(&samples);
}

TEST(other_workers_do_not_count)
{
    static struct metrics metrics[2];
    metrics_count(&metrics[1], route_of("listLocks"), "GET", 200);
    metrics_took(&metrics[1], route_of("listLocks"), "GET", 1000);
    struct samples samples = expose(metrics, 1);
    assert_false(says(&samples, "baton_http_requests_total"));
    assert_false(says(&samples, "baton_http_request_duration_seconds"));
    samples_free(&samples);
}

/* Each route, method and status has a series of its own. */
TEST(every_route_and_status_is_distinguished)
{
    static struct metrics metrics;
    unsigned times = 0;
    for (size_t route = 0; route < ROUTE_COUNT; route++)
        for (size_t i = 0; i < LENGTH(METRICS_STATUS_CODES); i++, times++)
            for (unsigned j = 0; j <= times; j++)
                metrics_count(&metrics, &ROUTES[route], ROUTES[route].method,
                              METRICS_STATUS_CODES[i]);
    struct samples samples = expose(&metrics, 1);
    char series[160];
    times = 0;
    for (size_t route = 0; route < ROUTE_COUNT; route++) {
        for (size_t i = 0; i < LENGTH(METRICS_STATUS_CODES); i++) {
            snprintf(series, sizeof series,
                     "baton_http_requests_total{route=\"%s\",method=\"%s\",code=\"%u\"}",
                     ROUTES[route].path, ROUTES[route].method, METRICS_STATUS_CODES[i]);
            assert_says(&samples, series, ++times);
        }
    }
    samples_free(&samples);
}

/* Whatever a client thinks of, there are only so many series. */
TEST(unlisted_labels_are_other)
{
    static struct metrics metrics;
    metrics_count(&metrics, NULL, "GET", 0);
    metrics_count(&metrics, NULL, "GET", 500);
    metrics_count(&metrics, NULL, "GET", 404);
    static const char *const ODD[] = {"BREW", "", "P", "PATCH", "GETS", "get", "HE"};
    size_t odd = LENGTH(ODD);
    for (size_t i = 0; i < odd; i++)
        metrics_count(&metrics, NULL, ODD[i], 404);
    metrics_count(&metrics, NULL, "\"} 1\nx", 404);
    struct samples samples = expose(&metrics, 1);
    assert_says(&samples, "baton_http_requests_total{route=\"none\",method=\"GET\",code=\"other\"}",
                2);
    assert_says(&samples, "baton_http_requests_total{route=\"none\",method=\"GET\",code=\"404\"}",
                1);
    assert_says(&samples, "baton_http_requests_total{route=\"none\",method=\"other\",code=\"404\"}",
                (double)odd + 1);
    assert_true(samples_sum(&samples, "baton_http_requests_total") == (double)odd + 4);
    samples_free(&samples);
}

/* A bound belongs to the bucket below it, and each bucket has those before it as well. */
TEST(a_histogram_adds_its_buckets_up)
{
    static struct metrics metrics[2];
    metrics_redis_took(&metrics[0], 0);
    metrics_redis_took(&metrics[1], 50000);
    metrics_redis_took(&metrics[0], 50501);
    metrics_redis_took(&metrics[1], 2500000);
    metrics_redis_took(&metrics[1], 3000000000);
    struct samples samples = expose(metrics, 2);
#define BUCKET(le) "baton_redis_command_duration_seconds_bucket{le=\"" le "\"}"
    assert_says(&samples, BUCKET("5e-05"), 2);
    assert_says(&samples, BUCKET("0.0001"), 3);
    assert_says(&samples, BUCKET("0.001"), 3);
    assert_says(&samples, BUCKET("0.0025"), 4);
    assert_says(&samples, BUCKET("1"), 4);
    assert_says(&samples, BUCKET("+Inf"), 5);
    assert_says(&samples, "baton_redis_command_duration_seconds_count", 5);
    assert_says(&samples, "baton_redis_command_duration_seconds_sum", 3.002601);
    samples_free(&samples);
}

static void happened(struct metrics *metrics, struct lock_event event)
{
    event.name = slice_of("n");
    event.count = event.count ? event.count : 1;
    metrics_happened(metrics, &event);
}

TEST(lock_events_are_counted)
{
    static struct metrics metrics[2];
    happened(&metrics[0], lock_event_of(LOCK_EVENT_GRANTED, slice_of("n")));
    happened(&metrics[1], lock_event_of(LOCK_EVENT_GRANTED, slice_of("n")));
    struct lock_event expired = lock_event_of(LOCK_EVENT_EXPIRED, slice_of("n"));
    expired.count = 7;
    happened(&metrics[1], expired);
    struct samples samples = expose(metrics, 2);
    assert_says(&samples, "baton_acquires_total{result=\"granted\"}", 2);
    assert_says(&samples, "baton_acquires_total{result=\"unavailable\"}", 0);
    assert_says(&samples, "baton_holds_ended_total{reason=\"expired\"}", 7);
    assert_says(&samples, "baton_holds_ended_total{reason=\"taken_back\"}", 0);
    assert_true(samples_sum(&samples, "baton_acquires_total") == 2);
    assert_false(says(&samples, "baton_wait_duration_seconds"));
    assert_false(says(&samples, "baton_hold_duration_seconds"));
    assert_says(&samples, "baton_last_fence", 0);
    samples_free(&samples);
}

TEST(waits_and_holds_have_their_times)
{
    static struct metrics metrics[2];
    static const struct {
        enum lock_event_kind kind;
        const char *result;
    } ROWS[] = {
        {LOCK_EVENT_GRANTED, "granted"},     {LOCK_EVENT_TIMEOUT, "timeout"},
        {LOCK_EVENT_ABANDONED, "abandoned"}, {LOCK_EVENT_DRAINED, "other"},
        {LOCK_EVENT_CANCELLED, "other"},
    };
    for (size_t i = 0; i < LENGTH(ROWS); i++)
        happened(&metrics[i % 2], (struct lock_event){.kind = ROWS[i].kind,
                                                      .waited_us = 1000 * ((int64_t)i + 1),
                                                      .held_ms = -1,
                                                      .fence = -1});
    happened(&metrics[0],
             (struct lock_event){.kind = LOCK_EVENT_RELEASED, .waited_us = -1, .held_ms = 60000});
    happened(&metrics[1],
             (struct lock_event){.kind = LOCK_EVENT_RELEASED, .waited_us = -1, .held_ms = 60001});
    struct samples samples = expose(metrics, 2);
#define WAITS(end) "baton_wait_duration_seconds_" end
    assert_says(&samples, WAITS("count{result=\"granted\"}"), 1);
    assert_says(&samples, WAITS("bucket{result=\"granted\",le=\"0.001\"}"), 1);
    assert_says(&samples, WAITS("sum{result=\"timeout\"}"), 0.002);
    assert_says(&samples, WAITS("sum{result=\"abandoned\"}"), 0.003);
    assert_says(&samples, WAITS("count{result=\"other\"}"), 2);
    assert_says(&samples, WAITS("sum{result=\"other\"}"), 0.009);
#define HOLDS(end) "baton_hold_duration_seconds_" end
    assert_says(&samples, HOLDS("bucket{reason=\"released\",le=\"30\"}"), 0);
    assert_says(&samples, HOLDS("bucket{reason=\"released\",le=\"60\"}"), 1);
    assert_says(&samples, HOLDS("count{reason=\"released\"}"), 2);
    assert_says(&samples, HOLDS("sum{reason=\"released\"}"), 120.001);
    assert_false(says(&samples, HOLDS("count{reason=\"expired\"}")));
    samples_free(&samples);
}

TEST(the_last_fence_is_the_greatest)
{
    static struct metrics metrics[2];
    static const int64_t FENCES[] = {1795255595472869, 1795255595472871, 1795255595472870};
    for (size_t i = 0; i < LENGTH(FENCES); i++)
        happened(&metrics[i % 2], (struct lock_event){.kind = LOCK_EVENT_GRANTED,
                                                      .fence = FENCES[i],
                                                      .waited_us = -1,
                                                      .held_ms = -1});
    happened(&metrics[0], (struct lock_event){.kind = LOCK_EVENT_RELEASED,
                                              .fence = FENCES[1] + 1,
                                              .waited_us = -1,
                                              .held_ms = -1});
    struct samples samples = expose(metrics, 2);
    assert_says(&samples, "baton_last_fence", (double)FENCES[1]);
    samples_free(&samples);
}

TEST(the_time_of_requests_is_reported_by_route_and_method)
{
    static struct metrics metrics;
    metrics_took(&metrics, route_of("acquireLock"), "POST", 70000);
    metrics_took(&metrics, route_of("inspectLock"), "HEAD", 70000);
    metrics_took(&metrics, route_of("inspectLock"), "HEAD", 70000);
    metrics_took(&metrics, NULL, "BREW", 1000);
    struct samples samples = expose(&metrics, 1);
#define COUNT(labels) "baton_http_request_duration_seconds_count{" labels "}"
    assert_says(&samples, COUNT("route=\"/locks/{name}\",method=\"POST\""), 1);
    assert_says(&samples, COUNT("route=\"/locks/{name}\",method=\"HEAD\""), 2);
    assert_says(&samples, COUNT("route=\"none\",method=\"other\""), 1);
    assert_true(samples_sum(&samples, "baton_http_request_duration_seconds_count") == 4);
    samples_free(&samples);
}

TEST(the_process_is_reported)
{
    static struct metrics metrics;
    struct samples samples = expose(&metrics, 1);
    assert_true(samples_value(&samples, "process_cpu_seconds_total") > 0);
    assert_in_range(samples_value(&samples, "process_open_fds"), 3, 100);
    assert_true(samples_value(&samples, "process_max_fds") >= 100);
    double resident = samples_value(&samples, "process_resident_memory_bytes");
    assert_true(resident > 100000);
    assert_true(samples_value(&samples, "process_virtual_memory_bytes") > resident);
    samples_free(&samples);
}

TEST(the_time_of_a_thread_grows)
{
    static struct metrics metrics;
    metrics_note_busy(&metrics);
    uint64_t before = metrics.busy;
    for (int i = 0; i < 100000000 && metrics.busy == before; i++)
        metrics_note_busy(&metrics);
    assert_true(metrics.busy > before);
}

/* All that can ever be: docs/monitoring.md says how many series that is. */
TEST(there_are_only_so_many_series)
{
    static struct metrics metrics;
    for (size_t route = 0; route <= ROUTE_COUNT; route++) {
        const struct route *any = route < ROUTE_COUNT ? &ROUTES[route] : NULL;
        for (size_t method = 0; method < METRICS_METHODS; method++) {
            const char *name =
                method < METRICS_METHODS - 1 ? METRICS_METHOD_NAMES[method] : "other";
            bool is_head = strcmp(name, "HEAD") == 0 && any && strcmp(any->method, "GET") == 0;
            if (any && strcmp(name, any->method) != 0 && !is_head)
                continue;
            metrics_took(&metrics, any, name, 1);
            metrics_count(&metrics, any, name, 500);
            for (size_t i = 0; i < LENGTH(METRICS_STATUS_CODES); i++)
                metrics_count(&metrics, any, name, METRICS_STATUS_CODES[i]);
        }
    }
    for (enum lock_event_kind kind = 0; kind < LOCK_EVENT_KINDS; kind++)
        happened(&metrics,
                 (struct lock_event){.kind = kind,
                                     .waited_us = kind <= LOCK_EVENT_ACQUIRE_LAST ? 1 : -1,
                                     .held_ms = kind > LOCK_EVENT_ACQUIRE_LAST ? 1 : -1});
    struct samples samples = expose(&metrics, 1);
    print_message("%zu series\n", samples.count);
    assert_in_range(samples.count, 1000, 1600);
    samples_free(&samples);
}

TEST(there_is_room_for_every_route)
{
    assert_true(ROUTE_COUNT < METRICS_ROUTES);
}

/* The checker itself: each of these is wrong in one way. */
TEST(checker_finds_every_fault)
{
    static const struct {
        const char *text, *trouble;
    } ROWS[] = {
        {"# HELP a b\n# TYPE a gauge\na 1", "does not end"},
        {"# HELP a b\n# TYPE a gauge\na 1\na 1\n", "twice"},
        {"# HELP a b\n# TYPE a gauge\na 1\n# HELP a b\n# TYPE a gauge\n", "introduced twice"},
        {"# HELP a b\n# TYPE a gauge\nb 1\n", "b after a"},
        {"a 1\n", "a after"},
        {"# HELP a b\n# TYPE b gauge\n", "no HELP"},
        {"# HELP a b\n# TYPE a counter\na 1\n", "is a counter"},
        {"# HELP a_total b\n# TYPE a_total gauge\na_total 1\n", "is a gauge"},
        {"# HELP a_total b\n# TYPE a_total counter\na_total -1\n", "negative"},
        {"# HELP a b\n# TYPE a gauge\na{b=\"c} 1\n", "odd labels"},
        {"# HELP a b\n# TYPE a gauge\na x\n", "no number"},
#define HISTOGRAM "# HELP a b\n# TYPE a histogram\n"
        {HISTOGRAM "a_bucket{le=\"1\"} 2\na_bucket{le=\"+Inf\"} 1\na_sum 1\na_count 1\n", "less"},
        {HISTOGRAM "a_bucket{le=\"1\"} 1\na_sum 1\na_count 1\n", "+Inf"},
        {HISTOGRAM "a_bucket{le=\"2\"} 1\na_bucket{le=\"1\"} 1\na_sum 1\na_count 1\n", "ascend"},
        {HISTOGRAM "a_bucket{le=\"1\"} 1\na_bucket{le=\"+Inf\"} 1\na_sum 1\na_count 2\n", "is not"},
        {HISTOGRAM "a_bucket{le=\"1\"} 1\na_bucket{le=\"+Inf\"} 1\na_sum 2\na_count 1\n",
         "between"},
        {HISTOGRAM "a_bucket{le=\"1\"} 1\na_bucket{le=\"+Inf\"} 1\na_sum 1\n", "no sum"},
    };
    for (size_t i = 0; i < LENGTH(ROWS); i++) {
        struct samples samples = samples_read(ROWS[i].text, false);
        if (!strstr(samples.trouble, ROWS[i].trouble))
            fail_msg("\"%s\" of:\n%s", samples.trouble, ROWS[i].text);
        samples_free(&samples);
    }
}
