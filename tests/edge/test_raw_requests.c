/* Bytes that no proper client sends, directly and through the proxies of deploy/: what comes back,
 * that nothing is served that should not be, and that batond lives on. */
#include "tests/edge/rows.h"
#include "tests/edge/talk.h"
#include "tests/support/batond_process.h"
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"
#include "tests/support/front.h"
#include "tests/support/http.h"
#include "tests/support/redis_process.h"

#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

struct edge {
    struct redis_process redis;
    struct batond_process batond;
    struct front haproxy, nginx;
    bool has_fronts;
    struct http_client *client; /* a healthy one */
    long served;                /* requests that batond must have answered so far */
};

static const struct rows *const SUBJECTS[] = {&LINE_ROWS,  &FIELD_ROWS,  &HOST_ROWS, &LENGTH_ROWS,
                                              &CHUNK_ROWS, &STREAM_ROWS, NULL};

static struct edge *start_with(const char *const *arguments)
{
    struct edge *edge = calloc(1, sizeof *edge);
    assert_non_null(edge);
    redis_process_start(&edge->redis, NULL);
    batond_process_start(&edge->batond, &(struct batond_options){.redis_url = edge->redis.url,
                                                                 .arguments = arguments});
    edge->client = http_client_new(edge->batond.url);
    return edge;
}

/* A batond that waits for the rest of a request, and the proxies. */
static int start_patient(void **state)
{
    struct edge *edge = start_with(LIST("--workers=1", "--head-timeout=10m", "--body-timeout=10m"));
    int ports[FRONT_REPLICAS] = {edge->batond.port, edge->batond.port};
    front_start(&edge->haproxy, FRONT_HAPROXY, ports);
    front_start(&edge->nginx, FRONT_NGINX, ports);
    edge->has_fronts = true;
    *state = edge;
    return 0;
}

/* One that does not wait for long. */
static int start_hasty(void **state)
{
    *state = start_with(LIST("--workers=1", "--head-timeout=1s", "--body-timeout=1s"));
    return 0;
}

static int stop(void **state)
{
    struct edge *edge = *state;
    http_client_free(edge->client);
    if (edge->has_fronts) {
        front_stop(&edge->nginx);
        front_stop(&edge->haproxy);
    }
    int code = batond_process_stop(&edge->batond);
    redis_process_stop(&edge->redis);
    free(edge);
    return code;
}

/* A request of a healthy client. */
static bool is_healthy(struct edge *edge, const char *method, const char *path)
{
    edge->served++;
    return http_call(edge->client, method, path, NULL) == 200;
}

/* All that batond has answered, but for figures and haproxy's questions for its health. */
static long count_served(struct edge *edge)
{
    long count = 0;
    assert_int_equal(http_call(edge->client, "GET", "/metrics", NULL), 200);
    const char *at = edge->client->reply.body;
    while ((at = strstr(at, "baton_http_requests_total{route=\""))) {
        at += strlen("baton_http_requests_total{route=\"");
        bool is_other = strncmp(at, "/readyz\"", 8) == 0 || strncmp(at, "/metrics\"", 9) == 0;
        at = strstr(at, "} ") + 2;
        count += is_other ? 0 : strtol(at, NULL, 10);
    }
    return count;
}

/* Exactly what was answered has been served, now and before. A request is counted a moment after
 * its reply is sent. */
static bool has_served_no_other(struct edge *edge)
{
    int64_t deadline = clock_ms() + CLOCK_HANG_MS;
    long count = count_served(edge);
    while (count < edge->served && clock_ms() < deadline)
        count = count_served(edge);
    if (count == edge->served)
        return true;
    print_error("%ld requests served in place of %ld\n", count, edge->served);
    edge->served = count;
    return false;
}

/* Forgets it, so that the next row can be told apart. */
static bool was_smuggled(struct edge *edge)
{
    bool is_free = is_healthy(edge, "GET", "/locks/smuggled") &&
                   strcmp(http_text(edge->client, "state"), "free") == 0;
    return !is_free && is_healthy(edge, "DELETE", "/locks/smuggled?force=true");
}

static bool has_outcome(struct edge *edge, int port, const struct row *row, const char *expected)
{
    struct outcome outcome;
    talk(port, row, expected, &outcome);
    edge->served += row->sending == AND_NO_MORE ? 0 : (long)outcome.served;
    if (talk_is(outcome.words, expected))
        return true;
    print_error("\"%s\" in place of \"%s\"\n", outcome.words, expected);
    return false;
}

static bool has_smuggled_nothing(struct edge *edge)
{
    if (!was_smuggled(edge))
        return true;
    print_error("a request was smuggled\n");
    return false;
}

static bool is_as_expected(struct edge *edge, int port, const struct row *row, const char *expected)
{
    bool is_right = has_outcome(edge, port, row, expected);
    is_right &= has_smuggled_nothing(edge);
    is_right &= is_healthy(edge, "DELETE", "/locks/row?force=true");
    is_right &= has_served_no_other(edge);
    if (!is_right)
        print_error("^ %s\n", row->name);
    return is_right;
}

static const char *on_this_library(const struct row *row)
{
    return MHD_get_version()[0] == '0' ? row->on_0_9 : row->on_1_0;
}

static const char *through_haproxy(const struct row *row)
{
    return row->haproxy;
}

static const char *through_nginx(const struct row *row)
{
    return row->nginx;
}

static bool is_ended_by_time(const char *expected)
{
    return strstr(expected, "request_timeout");
}

static void send_all(struct edge *edge, int port, const char *(*expected)(const struct row *row))
{
    size_t wrong = 0;
    for (const struct rows *const *subject = SUBJECTS; *subject; subject++)
        for (size_t i = 0; i < (*subject)->count; i++) {
            const struct row *row = &(*subject)->rows[i];
            if (is_ended_by_time(expected(row)) ==
                edge->has_fronts) /* the others are sent elsewhere */
                continue;
            wrong += !is_as_expected(edge, port, row, expected(row));
        }
    if (wrong)
        fail_msg("%zu rows are not as expected", wrong);
}

static void requests_that_come_directly(void **state)
{
    struct edge *edge = *state;
    send_all(edge, edge->batond.port, on_this_library);
}

static void requests_that_are_never_complete(void **state)
{
    struct edge *edge = *state;
    send_all(edge, edge->batond.port, on_this_library);
}

static void requests_that_come_through_haproxy(void **state)
{
    struct edge *edge = *state;
    send_all(edge, edge->haproxy.port, through_haproxy);
}

static void requests_that_come_through_nginx(void **state)
{
    struct edge *edge = *state;
    send_all(edge, edge->nginx.port, through_nginx);
}

int main(void)
{
    const struct CMUnitTest patient[] = {
        cmocka_unit_test(requests_that_come_directly),
        cmocka_unit_test(requests_that_come_through_haproxy),
        cmocka_unit_test(requests_that_come_through_nginx),
    };
    const struct CMUnitTest hasty[] = {
        cmocka_unit_test(requests_that_are_never_complete),
    };
    return cmocka_run_group_tests(patient, start_patient, stop) +
           cmocka_run_group_tests(hasty, start_hasty, stop);
}
