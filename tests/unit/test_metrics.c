#include "api/happening.h"
#include "api/routes.h"
#include "server/metrics.h"
#include "tests/support/cmocka.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH(table) (sizeof(table) / sizeof((table)[0]))

static void assert_has_line(const char *text, const char *line)
{
    size_t length = strlen(line);
    for (const char *next = text; next; next = strchr(next, '\n')) {
        next += *next == '\n';
        if (strncmp(next, line, length) == 0 && next[length] == '\n')
            return;
    }
    fail_msg("\"%s\" is not in:\n%s", line, text);
}

static const struct route *route_of(const char *operation)
{
    for (size_t i = 0; i < ROUTE_COUNT; i++)
        if (strcmp(ROUTES[i].operation_id, operation) == 0)
            return &ROUTES[i];
    fail_msg("no route %s", operation);
}

static void nothing_has_happened_at_first(void **state)
{
    static struct metrics metrics[2];
    char *text = metrics_text(metrics, 2, 1700000000);
    (void)state;
    assert_has_line(text, "baton_build_info{version=\"" BATON_VERSION "\"} 1");
    assert_has_line(text, "process_start_time_seconds 1700000000");
    assert_has_line(text, "baton_workers 2");
    assert_has_line(text, "baton_workers_with_redis 0");
    assert_has_line(text, "baton_http_undelivered_total 0");
    assert_has_line(text, "baton_redis_connects_total 0");
    assert_has_line(text, "baton_redis_losses_total 0");
    assert_null(strstr(text, "baton_http_requests_total{"));
    free(text);
}

static void happenings_are_counted(void **state)
{
    static struct metrics metrics[2];
    (void)state;
    struct happening granted = happening_of(HAPPENING_GRANTED, slice_of("n"));
    struct happening expired = happening_of(HAPPENING_EXPIRED, slice_of("n"));
    expired.count = 7;
    metrics_happened(&metrics[0], &granted);
    metrics_happened(&metrics[1], &granted);
    metrics_happened(&metrics[1], &expired);
    char *text = metrics_text(metrics, 2, 0);
    assert_has_line(text, "baton_acquires_total{result=\"granted\"} 2");
    assert_has_line(text, "baton_acquires_total{result=\"unavailable\"} 0");
    assert_has_line(text, "baton_holds_ended_total{reason=\"expired\"} 7");
    assert_has_line(text, "baton_holds_ended_total{reason=\"taken_back\"} 0");
    free(text);
}

static void workers_are_summed(void **state)
{
    static struct metrics metrics[3];
    (void)state;
    for (size_t i = 0; i < LENGTH(metrics); i++) {
        atomic_store(&metrics[i].undelivered, UINT64_C(1) << (40 + i));
        atomic_store(&metrics[i].redis_connects, 10 + i);
        atomic_store(&metrics[i].redis_losses, 100 * i);
        atomic_store(&metrics[i].redis_up, i != 1);
    }
    metrics_count(&metrics[0], route_of("acquireLock"), 201);
    metrics_count(&metrics[2], route_of("acquireLock"), 201);
    metrics_count(&metrics[2], route_of("acquireLock"), 409);
    metrics_count(&metrics[1], route_of("getOpenapi"), 200);
    char *text = metrics_text(metrics, 3, 0);
    assert_has_line(text, "baton_workers 3");
    assert_has_line(text, "baton_workers_with_redis 2");
    assert_has_line(text, "baton_http_undelivered_total 7696581394432");
    assert_has_line(text, "baton_redis_connects_total 33");
    assert_has_line(text, "baton_redis_losses_total 300");
    assert_has_line(text, "baton_http_requests_total{operation=\"acquireLock\",status=\"201\"} 2");
    assert_has_line(text, "baton_http_requests_total{operation=\"acquireLock\",status=\"409\"} 1");
    assert_has_line(text, "baton_http_requests_total{operation=\"getOpenapi\",status=\"200\"} 1");
    assert_null(strstr(text, "listLocks"));
    free(text);
}

static void other_workers_do_not_count(void **state)
{
    static struct metrics metrics[2];
    (void)state;
    metrics_count(&metrics[1], route_of("listLocks"), 200);
    char *text = metrics_text(metrics, 1, 0);
    assert_null(strstr(text, "listLocks"));
    free(text);
}

/* Each pair of a route and a status has a line of its own. */
static void every_route_and_status_is_told_apart(void **state)
{
    static const unsigned STATUSES[] = {200, 201, 304, 400, 404, 405, 409, 413, 415, 503};
    static struct metrics metrics;
    unsigned times = 0;
    (void)state;
    for (size_t route = 0; route <= ROUTE_COUNT; route++)
        for (size_t i = 0; i < LENGTH(STATUSES); i++, times++)
            for (unsigned j = 0; j <= times; j++)
                metrics_count(&metrics, route < ROUTE_COUNT ? &ROUTES[route] : NULL, STATUSES[i]);
    char *text = metrics_text(&metrics, 1, 0), line[128];
    times = 0;
    for (size_t route = 0; route <= ROUTE_COUNT; route++) {
        const char *name = route < ROUTE_COUNT ? ROUTES[route].operation_id : "none";
        for (size_t i = 0; i < LENGTH(STATUSES); i++) {
            snprintf(line, sizeof line,
                     "baton_http_requests_total{operation=\"%s\",status=\"%u\"} %u", name,
                     STATUSES[i], ++times);
            assert_has_line(text, line);
        }
    }
    assert_null(strstr(text, "other"));
    free(text);
}

static void a_status_that_is_not_listed_is_other(void **state)
{
    static struct metrics metrics;
    (void)state;
    metrics_count(&metrics, NULL, 0);
    metrics_count(&metrics, NULL, 500);
    metrics_count(&metrics, NULL, 599);
    char *text = metrics_text(&metrics, 1, 0);
    assert_has_line(text, "baton_http_requests_total{operation=\"none\",status=\"other\"} 3");
    free(text);
}

/* As the text format wants it: HELP, TYPE, then samples of that name, and no name twice. */
static void each_metric_is_introduced_once_and_followed_by_its_samples(void **state)
{
    static struct metrics metrics;
    char name[64] = "", seen[1024] = " ", *rest = NULL;
    regex_t sample;
    (void)state;
    metrics_count(&metrics, NULL, 404);
    metrics_count(&metrics, &ROUTES[0], 201);
    char *text = metrics_text(&metrics, 1, 1700000000);
    assert_int_equal(text[strlen(text) - 1], '\n');
    assert_int_equal(regcomp(&sample,
                             "^[a-z_]+(\\{[a-z]+=\"[^\"\\]*\"(,[a-z]+=\"[^\"\\]*\")*\\})? [0-9]+$",
                             REG_EXTENDED | REG_NOSUB),
                     0);
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        if (sscanf(line, "# HELP %63[a-z_] %*c", name) == 1) {
            char word[66];
            snprintf(word, sizeof word, " %s ", name);
            assert_null(strstr(seen, word));
            strcat(seen, word);
            char *type = strtok_r(NULL, "\n", &rest), expected[128];
            bool counts = strlen(name) > 6 && strcmp(name + strlen(name) - 6, "_total") == 0;
            snprintf(expected, sizeof expected, "# TYPE %s %s", name, counts ? "counter" : "gauge");
            assert_string_equal(type, expected);
            continue;
        }
        if (regexec(&sample, line, 0, NULL, 0) != 0 || strncmp(line, name, strlen(name)) != 0 ||
            !strchr(" {", line[strlen(name)]))
            fail_msg("\"%s\" after %s", line, name);
    }
    assert_non_null(strstr(seen, "baton_http_requests_total"));
    regfree(&sample);
    free(text);
}

static void there_is_room_for_every_route(void **state)
{
    (void)state;
    assert_true(ROUTE_COUNT < METRICS_ROUTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_has_happened_at_first),
        cmocka_unit_test(happenings_are_counted),
        cmocka_unit_test(workers_are_summed),
        cmocka_unit_test(other_workers_do_not_count),
        cmocka_unit_test(every_route_and_status_is_told_apart),
        cmocka_unit_test(a_status_that_is_not_listed_is_other),
        cmocka_unit_test(each_metric_is_introduced_once_and_followed_by_its_samples),
        cmocka_unit_test(there_is_room_for_every_route),
    };
    return cmocka_run_group_tests_name("metrics", tests, NULL, NULL);
}
