/* The figures of a batond under traffic: they are those of what was done, and as Prometheus wants
 * them. */
#include "tests/support/fixtures/parked.h"
#include "tests/support/samples.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CLIENTS = 8,
    ROUNDS = 40,
    MANY_KEYS = 25000, /* more than two scrapes look at */
    SCANS_MOST = 10000 / 100,
};

static int start(void **state)
{
    return service_start_with(state, NULL, LIST("--workers=2"));
}

/* The figures of now, which are as they have to be. */
static struct samples scrape(struct http_client *client)
{
    answers(client, "GET /metrics", NULL, 200, NULL);
    struct samples samples = samples_read(client->reply.body, true);
    if (samples.trouble[0])
        fail_msg("%s", samples.trouble);
    return samples;
}

/* One of them; NAN where it is not told. */
static double figure(struct http_client *client, const char *series)
{
    struct samples samples = scrape(client);
    double value = samples_value(&samples, series);
    samples_free(&samples);
    return value;
}

/* Waits until it is that much; fails the test where it is more, or never. */
#define comes_to(client, series, expected)                                                         \
    do {                                                                                           \
        int64_t until = clock_ms() + CLOCK_HANG_MS;                                                \
        double value = figure(client, series);                                                     \
        while (value != (expected) && clock_ms() < until) {                                        \
            clock_sleep_ms(5);                                                                     \
            value = figure(client, series);                                                        \
        }                                                                                          \
        if (value != (expected))                                                                   \
            fail_msg("%s is %g, not %g", series, value, (double)(expected));                       \
    } while (0)

/* Traffic: each client takes a lock of its own, is refused it by another owner, looks, releases. */
struct actor {
    const char *url;
    int number;
    long failures;
    atomic_int *running;
    pthread_t thread;
};

static void *act(void *context)
{
    struct actor *actor = context;
    struct http_client *client = http_client_new(actor->url);
    for (int i = 0; i < ROUNDS; i++) {
        char path[64], token[TOKEN_TEXT + 16];
        const char *const headers[] = {token, NULL};
        snprintf(path, sizeof path, "/locks/own-%d", actor->number);
        actor->failures += http_call(client, "POST", path, NULL) != 201;
        const char *text = http_text(client, "token");
        snprintf(token, sizeof token, "Lock-Token: %s", text ? text : "");
        actor->failures += http_call(client, "POST", path, NULL) != 409;
        actor->failures += http_call(client, "GET", path, NULL) != 200;
        actor->failures += http_call(client, "GET", "/nowhere", NULL) != 404;
        struct http_call release = {.method = "DELETE", .path = path, .headers = headers};
        actor->failures += http_request(client, &release) != 200;
    }
    http_client_free(client);
    (*actor->running)--;
    return NULL;
}

/* No counter goes back. */
static void compare(const struct samples *before, const struct samples *after)
{
    for (size_t i = 0; i < before->count; i++) {
        const char *series = before->all[i].series;
        bool counts = strstr(series, "_total") || strstr(series, "_bucket{") ||
                      strstr(series, "_count") || strstr(series, "_sum");
        double now = samples_value(after, series);
        if (counts && !(now >= before->all[i].value))
            fail_msg("%s was %g and is %g", series, before->all[i].value, now);
    }
}

static void run_traffic(struct service *service)
{
    struct actor actors[CLIENTS];
    atomic_int running = CLIENTS;
    for (int i = 0; i < CLIENTS; i++) {
        actors[i] = (struct actor){.url = service->batond.url, .number = i, .running = &running};
        assert_int_equal(pthread_create(&actors[i].thread, NULL, act, &actors[i]), 0);
    }
    struct samples before = scrape(service->client);
    while (running > 0) {
        struct samples after = scrape(service->client);
        compare(&before, &after);
        samples_free(&before);
        before = after;
        clock_sleep_ms(5);
    }
    samples_free(&before);
    for (int i = 0; i < CLIENTS; i++) {
        pthread_join(actors[i].thread, NULL);
        assert_int_equal(actors[i].failures, 0);
    }
}

#define LOCK             "route=\"/locks/{name}\""
#define WATCHED          "route=\"/locks/{name}/events\""
#define REQUESTS(labels) "baton_http_requests_total{" labels "}"
#define DURATIONS(end)   "baton_http_request_duration_seconds_" end

TEST_ON_SERVICE(requests_are_counted_exactly)
{
    static const char *const GREW[] = {
        REQUESTS(LOCK ",method=\"POST\",code=\"201\""),
        REQUESTS(LOCK ",method=\"POST\",code=\"409\""),
        REQUESTS(LOCK ",method=\"GET\",code=\"200\""),
        REQUESTS(LOCK ",method=\"DELETE\",code=\"200\""),
        REQUESTS("route=\"none\",method=\"GET\",code=\"404\""),
        DURATIONS("count{" LOCK ",method=\"GET\"}"),
        DURATIONS("count{" LOCK ",method=\"DELETE\"}"),
        DURATIONS("count{route=\"none\",method=\"GET\"}"),
        "baton_acquires_total{result=\"granted\"}",
        "baton_acquires_total{result=\"locked\"}",
        "baton_holds_ended_total{reason=\"released\"}",
        "baton_hold_duration_seconds_count{reason=\"released\"}",
    };
    struct samples before = scrape(service->client);
    run_traffic(service);
    for (size_t i = 0; i < sizeof GREW / sizeof GREW[0]; i++) {
        double was = samples_value(&before, GREW[i]);
        comes_to(service->client, GREW[i], (isnan(was) ? 0 : was) + CLIENTS * ROUNDS);
    }
    comes_to(service->client, DURATIONS("count{" LOCK ",method=\"POST\"}"), 2.0 * CLIENTS * ROUNDS);
    struct samples after = scrape(service->client);
    double commands = samples_value(&after, "baton_redis_command_duration_seconds_count") -
                      samples_value(&before, "baton_redis_command_duration_seconds_count");
    assert_in_range(commands, 4.0 * CLIENTS * ROUNDS, 5.0 * CLIENTS * ROUNDS - 1);
    assert_true(samples_value(&after, "baton_last_fence") > 1e15);
    assert_true(samples_sum(&after, "baton_acquires_total") == 2.0 * CLIENTS * ROUNDS);
    samples_free(&before);
    samples_free(&after);
}

TEST_ON_SERVICE(repeated_release_is_not_counted)
{
    static const char RELEASED[] = "baton_holds_ended_total{reason=\"released\"}";
    static const char AGAIN[] = "a-token-that-is-released-twice";
    struct samples before = scrape(service->client);
    double was = samples_value(&before, RELEASED);
    answers_token(service->client, AGAIN, "POST /locks/repeated", NULL, 201, NULL);
    for (int i = 0; i < 2; i++)
        release_lock(service->client, AGAIN, "repeated");
    comes_to(service->client, RELEASED, (isnan(was) ? 0 : was) + 1);
    samples_free(&before);
}

TEST_ON_SERVICE(every_end_of_a_wait_is_counted)
{
    struct http_client *client = service->client;
    int port = service->batond.port;
    char first[TOKEN_TEXT];
    double waits = figure(client, "baton_handovers_total");
    acquire_lock(client, "wanted?ttl=10m", first);
    struct parked *granted = parked_send(port, NULL, "POST /locks/wanted?wait=50s", NULL);
    comes_to(client, "baton_waiters", 1);
    struct parked *late = parked_send(port, NULL, "POST /locks/wanted?wait=100ms", NULL);
    struct parked *gone = parked_send(port, NULL, "POST /locks/wanted?wait=50s", NULL);
    assert_int_equal(parked_answer(late, CLOCK_HANG_MS), 409);
    comes_to(client, "baton_waiters", 2);
    comes_to(client, "baton_http_waiting", 2);
    parked_close(gone);
    comes_to(client, "baton_waiters", 1);
    release_lock(client, first, "wanted");
    assert_int_equal(parked_answer(granted, CLOCK_HANG_MS), 201);
    comes_to(client, "baton_waiters", 0);
    struct samples samples = scrape(client);
#define WAITED(result) "baton_wait_duration_seconds_count{result=\"" result "\"}"
    assert_true(samples_value(&samples, WAITED("granted")) == 1);
    assert_true(samples_value(&samples, WAITED("timeout")) == 1);
    assert_true(samples_value(&samples, WAITED("abandoned")) == 1);
    assert_true(isnan(samples_value(&samples, WAITED("other"))));
    assert_true(samples_value(&samples, "baton_handovers_total") == waits + 1);
    assert_true(samples_value(&samples, "baton_handover_duration_seconds_count") == 1);
    assert_true(samples_value(&samples, "baton_handover_duration_seconds_sum") > 0);
    assert_true(samples_value(&samples, "baton_wait_duration_seconds_sum{result=\"timeout\"}") > 0);
    assert_true(samples_value(&samples, "baton_acquires_total{result=\"timeout\"}") == 1);
    assert_true(samples_value(&samples, "baton_acquires_total{result=\"abandoned\"}") == 1);
    assert_true(samples_value(&samples, "baton_http_hung_up_total") == 1);
    samples_free(&samples);
    parked_close(granted);
    parked_close(late);
}

TEST_ON_SERVICE(watchers_and_streams_are_counted)
{
    struct http_client *client = service->client;
    int port = service->batond.port;
    answers(client, "GET /locks/w/events", NULL, 200, NULL);
    char target[100];
    snprintf(target, sizeof target, "GET /locks/w/events?wait=50s&after=%lld",
             (long long)http_integer(client, "version"));
    struct parked *watch = parked_send(port, NULL, target, NULL);
    comes_to(client, "baton_watchers", 1);
    struct parked *stream =
        parked_send(port, "Accept: text/event-stream", "GET /locks/w/events", NULL);
    assert_true(parked_receives(stream, "event: lock", CLOCK_HANG_MS));
    struct parked *hold = parked_send(port, NULL, "POST /locks/h?hold=connection", NULL);
    assert_true(parked_receives(hold, "granted", CLOCK_HANG_MS));
    comes_to(client, "baton_watchers", 2);
    comes_to(client, "baton_streams", 2);
    comes_to(client, "baton_waiters", 0);
    parked_close(hold);
    comes_to(client, "baton_streams", 1);
    parked_close(stream);
    parked_close(watch);
    comes_to(client, "baton_watchers", 0);
    comes_to(client, "baton_streams", 0);
    comes_to(client, "baton_http_waiting", 0);
    assert_true(isnan(
        figure(client, DURATIONS("count{" WATCHED ",method=\"GET\"}")))); /* no time of theirs */
}

/* In its table: each name stands there between backquotes. */
TEST_ON_SERVICE(the_docs_name_them_all)
{
    char *page = NULL, line[200], *rest = NULL;
    size_t size = 0;
    FILE *file = fopen("docs/monitoring.md", "r");
    assert_non_null(file);
    assert_true(getdelim(&page, &size, '\0', file) > 0);
    fclose(file);
    struct samples samples = scrape(service->client);
    samples_free(&samples);
    char *text = strdup(service->client->reply.body);
    for (char *next = strtok_r(text, "\n", &rest); next; next = strtok_r(NULL, "\n", &rest)) {
        char name[100];
        if (sscanf(next, "# TYPE baton_%90s", name) != 1)
            continue;
        snprintf(line, sizeof line, "`baton_%s`", name);
        if (!strstr(page, line))
            fail_msg("%s is not in docs/monitoring.md", line);
        for (char *at = page; (at = strstr(at, line)); at++)
            at[1] = 'B'; /* has been found */
    }
    if (strstr(page, "`baton_"))
        fail_msg("there is no %.40s", strstr(page, "`baton_"));
    free(text);
    free(page);
}

TEST_ON_SERVICE(prometheus_own_tool_has_nothing_to_say)
{
    char path[160], command[640];
    struct samples samples = scrape(service->client);
    samples_free(&samples);
    snprintf(path, sizeof path, "%s/metrics", service->batond.dir.path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(service->client->reply.body, file);
    fclose(file);
    snprintf(command, sizeof command,
             "promtool check metrics <%s >%s.said 2>&1 && ! test -s %s.said", path, path, path);
    if (system(command) != 0) { /* NOLINT(cert-env33-c): a constant text and a path of ours */
        snprintf(command, sizeof command, "cat %s.said", path);
        (void)!system(command); /* NOLINT(cert-env33-c) */
        fail_msg("promtool finds fault with the figures");
    }
}

/* Holds in Redis, counted when somebody asks. */

static void comes_to_hold(struct http_client *client, double expected)
{
    int64_t until = clock_ms() + CLOCK_HANG_MS;
    double value = figure(client, "baton_holds");
    while (value != expected && clock_ms() < until) {
        clock_sleep_ms(100);
        value = figure(client, "baton_holds");
    }
    assert_true(value == expected);
}

TEST_ON_SERVICE(holds_are_counted)
{
    struct http_client *client = service->client;
    struct timespec begun, now;
    redis_process_flush(&service->redis);
    comes_to_hold(client, 0);
    for (int i = 0; i < 3; i++)
        answers(client, "POST /locks/shared?mode=shared&ttl=10m", NULL, 201, NULL);
    answers(client, "POST /locks/alone?ttl=10m", NULL, 201, NULL);
    comes_to_hold(client, 4);
    clock_gettime(CLOCK_REALTIME, &begun);
    answers(client, "DELETE /locks/shared?force=true", NULL, 200, NULL);
    comes_to_hold(client, 1);
    double counted = figure(client, "baton_holds_counted_timestamp_seconds");
    clock_gettime(CLOCK_REALTIME, &now);
    assert_true(counted > (double)begun.tv_sec - 2 && counted < (double)now.tv_sec + 2);
    comes_to(client, "baton_holds_ended_total{reason=\"forced\"}", 3);
}

static void *scrape_often(void *context)
{
    struct actor *actor = context;
    struct http_client *client = http_client_new(actor->url);
    for (int i = 0; i < ROUNDS; i++)
        actor->failures += http_call(client, "GET", "/metrics", NULL) != 200;
    http_client_free(client);
    return NULL;
}

TEST_ON_SERVICE(scrapes_at_once_count_once)
{
    struct actor actors[CLIENTS];
    int64_t begun = clock_ms(), scans = redis_process_calls(&service->redis, "scan");
    for (int i = 0; i < CLIENTS; i++) {
        actors[i] = (struct actor){.url = service->batond.url};
        assert_int_equal(pthread_create(&actors[i].thread, NULL, scrape_often, &actors[i]), 0);
    }
    for (int i = 0; i < CLIENTS; i++) {
        pthread_join(actors[i].thread, NULL);
        assert_int_equal(actors[i].failures, 0);
    }
    int64_t seconds = (clock_ms() - begun) / 1000;
    scans = redis_process_calls(&service->redis, "scan") - scans;
    assert_in_range(scans, 0, 2 + seconds);
}

/* A scrape goes on where the one before has stopped. */
TEST_ON_SERVICE(many_keys_are_counted_by_several_scrapes)
{
    struct http_client *client = service->client;
    redis_process_flush(&service->redis);
    for (int i = 0; i < MANY_KEYS; i += 1000) /* Redis answers others in between */
        freeReplyObject(redis_process_command(
            &service->redis, "EVAL %s 0 %d",
            "for i = ARGV[1], ARGV[1] + 999 do redis.call('set', 'other:' .. i, '') end", i));
    answers(client, "POST /locks/one?ttl=10m", NULL, 201, NULL);
    answers(client, "POST /locks/two?ttl=10m", NULL, 201, NULL);
    double before = figure(client, "baton_holds_counted_timestamp_seconds");
    int64_t scans = redis_process_calls(&service->redis, "scan");
    clock_sleep_ms(1100);
    double after = figure(client, "baton_holds_counted_timestamp_seconds");
    scans = redis_process_calls(&service->redis, "scan") - scans;
    assert_true(isnan(before) || before == after);
    assert_in_range(scans, 1, SCANS_MOST); /* fewer where Redis is slow */
    comes_to_hold(client, 2);
    redis_process_flush(&service->redis);
}

/* What is known is told without Redis; how soon, tests/timing/test_metrics.c measures. */
TEST_ON_SERVICE(without_redis_the_figures_are_reported)
{
    struct http_client *client = service->client;
    comes_to_hold(client, 0);
    double losses = figure(client, "baton_redis_losses_total");
    redis_process_freeze(&service->redis);
    clock_sleep_ms(1100); /* so that this scrape counts again */
    assert_true(figure(client, "baton_holds") == 0);
    redis_process_thaw(&service->redis);
    redis_process_halt(&service->redis);
    comes_to(client, "baton_redis_up", 0);
    assert_true(figure(client, "baton_holds") == 0);
    assert_true(figure(client, "baton_redis_losses_total") > losses);
    redis_process_resume(&service->redis);
    comes_to(client, "baton_redis_up", 1);
    comes_to(client, "baton_workers_with_redis", 2);
    answers(client, "POST /locks/after?ttl=10m", NULL, 201, NULL);
    comes_to_hold(client, 1);
}

RUN_TESTS(start, service_stop)
