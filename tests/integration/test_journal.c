/* What the log says of requests and of holds: the access log and the audit log. */
#include "tests/support/fixtures/guarded.h"
#include "tests/support/fixtures/parked.h"
#include "tests/support/front.h"
#include "tests/support/raw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_TEXT = 4096 };

#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"

/* The first line with this message in which `text` stands; the caller's to release. */
static json_t *logged(const struct service *service, const char *message, const char *text)
{
    char line[LINE_TEXT];
    size_t offset = 0;
    while (process_wait_line(&service->batond.process, text, &offset, line, sizeof line,
                             CLOCK_HANG_MS)) {
        json_t *json = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
        if (!json)
            fail_msg("no JSON: %s", line);
        if (strcmp(json_string_value(json_object_get(json, "msg")), message) == 0)
            return json;
        json_decref(json);
    }
    fail_msg("no line \"%s\" with %s", message, text);
    return NULL;
}

static const char *text_in(const json_t *json, const char *name)
{
    const char *text = json_string_value(json_object_get(json, name));
    return text ? text : "";
}

static int64_t number_in(const json_t *json, const char *name)
{
    const json_t *number = json_object_get(json, name);
    return json_is_integer(number) ? json_integer_value(number) : -1;
}

/* In milliseconds. */
static double time_in(const json_t *json, const char *name)
{
    const json_t *time = json_object_get(json, name);
    return json_is_real(time) ? json_real_value(time) : -1;
}

static size_t lines_with(const struct service *service, const char *text)
{
    size_t count = 0;
    char *output = process_output(&service->batond.process);
    for (const char *at = output; (at = strstr(at, text)); at++)
        count++;
    free(output);
    return count;
}

TEST_ON_SERVICE(request_has_a_line)
{
    answers_with(service->client, "X-Request-Id: first", "POST /locks/a%2Fb?owner=me", NULL, 201,
                 NULL);
    int64_t fence = http_integer(service->client, "fence");
    json_t *line = logged(service, "request", "\"request_id\":\"first\"");
    assert_string_equal(text_in(line, "level"), "info");
    assert_string_equal(text_in(line, "method"), "POST");
    assert_string_equal(text_in(line, "route"), "/locks/{name}");
    assert_string_equal(text_in(line, "lock"), "a/b");
    assert_string_equal(text_in(line, "owner"), "me");
    assert_string_equal(text_in(line, "client"), "127.0.0.1");
    assert_int_equal(number_in(line, "status"), 201);
    assert_int_equal(number_in(line, "bytes"), service->client->reply.length);
    assert_int_equal(number_in(line, "fence"), fence);
    assert_true(time_in(line, "duration_ms") > 0);
    assert_null(json_object_get(line, "waited_ms"));
    assert_null(json_object_get(line, "trace_id"));
    assert_null(json_object_get(line, "principal"));
    json_decref(line);
}

TEST_ON_SERVICE(waiter_has_its_time_in_the_line)
{
    answers(service->client, "POST /locks/busy", NULL, 201, NULL);
    answers_with(service->client, "X-Request-Id: patient", "POST /locks/busy?wait=1s", NULL, 409,
                 "wait_timeout");
    json_t *line = logged(service, "request", "\"request_id\":\"patient\"");
    assert_int_equal(number_in(line, "status"), 409);
    assert_true(time_in(line, "waited_ms") > 0);
    assert_true(time_in(line, "duration_ms") >= time_in(line, "waited_ms"));
    json_decref(line);
}

TEST_ON_SERVICE(hung_up_waiter_has_no_status)
{
    answers(service->client, "POST /locks/long?ttl=10m", NULL, 201, NULL);
    struct parked *waiting =
        parked_send(service->batond.port, "X-Request-Id: gone", "POST /locks/long?wait=50s", NULL);
    comes_to_queue(service->client, "long", 1);
    parked_close(waiting);
    json_t *line = logged(service, "request", "\"request_id\":\"gone\"");
    assert_int_equal(number_in(line, "status"), 0);
    assert_true(json_is_false(json_object_get(line, "delivered")));
    assert_true(time_in(line, "waited_ms") > 0);
    json_decref(line);
}

TEST_ON_SERVICE(stream_has_its_bytes)
{
    struct parked *stream =
        parked_send(service->batond.port, "X-Request-Id: stream",
                    "POST /locks/kept?hold=connection&ttl=10m&owner=listener", NULL);
    assert_true(parked_receives(stream, "fence", CLOCK_HANG_MS));
    parked_close(stream);
    json_t *line = logged(service, "request", "\"request_id\":\"stream\"");
    assert_int_equal(number_in(line, "status"), 201);
    assert_in_range(number_in(line, "bytes"), 50, 1000);
    json_decref(line);
    line = logged(service, "lock released", "\"request_id\":\"stream\"");
    assert_string_equal(text_in(line, "owner"), "listener");
    json_decref(line);
}

TEST_ON_SERVICE(trace_is_in_each_line_of_its_request)
{
    answers_with(service->client, "traceparent: 00-" TRACE "-00f067aa0ba902b7-01",
                 "POST /locks/traced", NULL, 201, NULL);
    json_decref(logged(service, "request", TRACE));
    json_decref(logged(service, "lock granted", TRACE));
    answers_with(service->client, "traceparent: 00-" TRACE "-00f067aa0ba902b7-01x",
                 "POST /locks/untraced", NULL, 201, NULL);
    json_t *line = logged(service, "request", "\"lock\":\"untraced\"");
    assert_null(json_object_get(line, "trace_id"));
    json_decref(line);
}

/* The path of what is no route is there, a query never, and no target of another form. */
TEST_ON_SERVICE(path_shows_no_query)
{
    static const char ODD[] = "GET http://user:tell-tale@h/locks?tell-tale HTTP/1.1\r\n"
                              "Host: h\r\nX-Request-Id: odd\r\nConnection: close\r\n\r\n";
    char reply[4096];
    answers_with(service->client, "X-Request-Id: lost", "GET /nowhere/%22?tell-tale", NULL, 404,
                 "not_found");
    json_t *line = logged(service, "request", "\"request_id\":\"lost\"");
    assert_string_equal(text_in(line, "path"), "/nowhere/%22");
    assert_null(json_object_get(line, "route"));
    json_decref(line);
    int fd = raw_connect(service->batond.port);
    assert_true(raw_send(fd, ODD, sizeof ODD - 1));
    raw_receive(fd, reply, sizeof reply, NULL, CLOCK_HANG_MS, NULL);
    close(fd);
    json_decref(logged(service, "request", "\"request_id\":\"odd\""));
    assert_int_equal(lines_with(service, "tell-tale"), 0);
}

/* Whatever a client sends: each line is one object, and has no member that it brought along. */
TEST_ON_SERVICE(client_forges_no_line)
{
    const char *const headers[] = {"X-Request-Id: a\",\"forged\":\"",
                                   "traceparent: 00-\",\"forged\":1,\"a\":\"",
                                   "X-Forwarded-For: 1.1.1.1\",\"forged\":\"", NULL};
    struct http_call call = {.method = "POST", .headers = headers};
    static const char *const PATHS[] = {
        "/locks/%22%7D%7B%22forged%22:1?owner=%22,%22forged%22:%221", "/locks/%0Aforged",
        "/%22,%22forged%22:%22"};
    for (size_t i = 0; i < sizeof PATHS / sizeof *PATHS; i++) {
        call.path = PATHS[i];
        assert_int_not_equal(http_request(service->client, &call), 0);
    }
    answers_with(service->client, "X-Request-Id: the-last", "GET /locks", NULL, 200, NULL);
    json_decref(logged(service, "request", "the-last"));
    char *output = process_output(&service->batond.process), *next;
    for (char *line = output; (next = strchr(line, '\n')); line = next + 1) {
        json_t *json = json_loadb(line, (size_t)(next - line), JSON_REJECT_DUPLICATES, NULL);
        if (!json || json_object_get(json, "forged"))
            fail_msg("%.*s", (int)(next - line), line);
        json_decref(json);
    }
    free(output);
}

/* With settings of their own */

/* Sends a request that libmicrohttpd hands over before it is complete, or that is none of ours, and
 * returns its line. */
static json_t *logged_of(const struct service *service, const char *request, const char *text)
{
    char reply[LINE_TEXT];
    int fd = raw_connect(service->batond.port);
    assert_true(raw_send(fd, request, strlen(request)));
    raw_receive(fd, reply, sizeof reply, "\r\n\r\n", CLOCK_HANG_MS, NULL);
    close(fd);
    return logged(service, "request", text);
}

TEST_ON_SERVICE(incomplete_request_has_no_duration)
{
    json_t *line = logged_of(service,
                             "POST /locks/big HTTP/1.1\r\nHost: localhost\r\n"
                             "X-Request-Id: big\r\nContent-Length: 2000000\r\n\r\n",
                             "\"request_id\":\"big\"");
    assert_int_equal(number_in(line, "status"), 413);
    assert_null(json_object_get(line, "duration_ms"));
    json_decref(line);
}

TEST(probes_are_logged_at_debug)
{
    static const char *const LEVELS[] = {"--log-level=info", "--log-level=debug"};
    static const char *const PROBES[] = {"/livez", "/readyz", "/metrics"};
    for (size_t debug = 0; debug < 2; debug++) {
        struct service service;
        service_open(&service, NULL, LIST(LEVELS[debug]));
        for (size_t i = 0; i < 3; i++)
            assert_int_equal(http_call(service.client, "GET", PROBES[i], NULL), 200);
        answers(service.client, "GET /locks", NULL, 200, NULL);
        json_decref(logged(&service, "request", "\"route\":\"/locks\""));
        for (size_t i = 0; i < 3; i++)
            assert_int_equal(lines_with(&service, PROBES[i]), debug);
        service_close(&service);
    }
}

TEST(access_and_audit_log_can_be_switched_off)
{
    static const struct {
        const char *flags[4];
        size_t requests, holds;
    } CASES[] = {
        {{"--access-log=false", NULL}, 0, 2},
        {{"--audit-log=false", NULL}, 2, 0},
        {{"--access-log=false", "--audit-log=false", NULL}, 0, 0},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct service service;
        char token[TOKEN_TEXT];
        service_open(&service, NULL,
                     LIST("--log-level=info", CASES[i].flags[0], CASES[i].flags[1]));
        acquire_lock(service.client, "a", token);
        release_lock(service.client, token, "a");
        process_stop(&service.batond.process); /* which writes all that there is */
        assert_int_equal(lines_with(&service, "\"msg\":\"request\""), CASES[i].requests);
        assert_int_equal(lines_with(&service, "\"msg\":\"lock "), CASES[i].holds);
        service_close(&service);
    }
}

/* Two fields, the first of them the client's own, as haproxy passes them on. */
TEST(trusted_proxy_names_its_client_in_the_log_and_of_a_hold)
{
    static const char *const TRUST[] = {"--trusted-proxies=127.0.0.0/8", "--trusted-proxies="};
    for (size_t i = 0; i < 2; i++) {
        struct service service;
        service_open(&service, NULL, LIST(TRUST[i]));
        const char *const headers[] = {"X-Forwarded-For: 1.1.1.1",
                                       "X-Forwarded-For: 2.2.2.2, 192.0.2.7:51234", NULL};
        assert_int_equal(
            http_request(service.client, &(struct http_call){.path = "/locks", .headers = headers}),
            200);
        json_t *line = logged(&service, "request", "\"route\":\"/locks\"");
        assert_string_equal(text_in(line, "client"), "127.0.0.1");
        assert_string_equal(text_in(line, "forwarded_for"), i == 0 ? "192.0.2.7" : "");
        json_decref(line);
        assert_int_equal(http_request(service.client, &(struct http_call){.method = "POST",
                                                                          .path = "/locks/behind",
                                                                          .headers = headers}),
                         201);
        answers(service.client, "GET /locks/behind", NULL, 200, NULL);
        assert_string_equal(member_text(service.client, "holders.0.client"),
                            i == 0 ? "192.0.2.7" : "127.0.0.1");
        service_close(&service);
    }
}

/* As deploy/ has them, what a client says itself does not count. */
TEST_ON_SERVICE(proxies_of_deploy_name_their_client)
{
    static const enum front_kind KINDS[] = {FRONT_HAPROXY, FRONT_NGINX};
    for (size_t i = 0; i < 2; i++) {
        struct front front;
        char url[64], id[32], text[64];
        front_start(&front, KINDS[i],
                    (const int[FRONT_REPLICAS]){service->batond.port, service->batond.port});
        snprintf(url, sizeof url, "http://127.0.0.1:%d", front.port);
        snprintf(id, sizeof id, "X-Request-Id: front-%zu", i);
        struct http_client *client = http_client_new(url);
        assert_true(comes_to_answer(client, "/livez", 200, CLOCK_HANG_MS));
        const char *const headers[] = {id, "X-Forwarded-For: 1.1.1.1", NULL};
        assert_int_equal(
            http_request(client, &(struct http_call){.path = "/locks", .headers = headers}), 200);
        snprintf(text, sizeof text, "\"request_id\":\"front-%zu\"", i);
        json_t *line = logged(service, "request", text);
        assert_string_equal(text_in(line, "forwarded_for"), "127.0.0.1");
        json_decref(line);
        http_client_free(client);
        front_stop(&front);
    }
}

/* The audit log */

static const struct file_principal PRINCIPALS[] = {
    {"ci", "[{\"prefix\":\"\",\"verbs\":[\"acquire\",\"read\"]}]", NULL},
    {"boss", "[{\"prefix\":\"\",\"verbs\":[\"break\"]}]", NULL},
};

/* The line of this name with this message, of the principal and with the fence. */
static json_t *audited(const struct service *service, const char *message, const char *name,
                       const char *principal, int64_t fence)
{
    char text[128];
    snprintf(text, sizeof text, "\"lock\":\"%s\"", name);
    json_t *line = logged(service, message, text);
    assert_string_equal(text_in(line, "level"), "info");
    assert_string_equal(text_in(line, "principal"), principal);
    assert_int_equal(number_in(line, "fence"), fence);
    return line;
}

TEST(hold_has_a_line_at_begin_and_end)
{
    struct guarded guarded;
    struct service *service = &guarded.service;
    char token[TOKEN_TEXT];
    guarded_open(&guarded, PRINCIPALS, 2, 1);
    asks_for(service->client, AS("ci"), "POST /locks/one?owner=me&mode=shared&ttl=20s", 201);
    int64_t fence = http_integer(service->client, "fence");
    keep_token(service->client, token);
    json_t *line = audited(service, "lock granted", "one", "ci", fence);
    assert_string_equal(text_in(line, "owner"), "me");
    assert_string_equal(text_in(line, "mode"), "shared");
    assert_int_equal(number_in(line, "ttl_ms"), 20000);
    json_decref(line);
    asks_for(service->client, AS_WITH("ci", token), "DELETE /locks/one", 200);
    line = audited(service, "lock released", "one", "ci", fence);
    assert_string_equal(text_in(line, "owner"), "me");
    assert_null(json_object_get(line, "mode")); /* nobody has said it */
    assert_true(number_in(line, "held_ms") >= 0);
    assert_int_equal(strlen(text_in(line, "token_sha256")), 12);
    json_decref(line);

    asks_for(service->client, AS("ci"), "POST /locks/two?owner=me", 201);
    fence = http_integer(service->client, "fence");
    struct as boss = {.principal = "boss", .header = "X-Request-Id: the-break"};
    asks_for(service->client, boss, "DELETE /locks/two?force=true&reason=over", 200);
    line = audited(service, "lock broken", "two", "boss", fence);
    assert_string_equal(text_in(line, "request_id"), "the-break");
    assert_string_equal(text_in(line, "client"), "127.0.0.1");
    assert_string_equal(text_in(line, "owner"), "me");
    assert_string_equal(text_in(line, "owner_principal"), "ci");
    assert_string_equal(text_in(line, "reason"), "over");
    json_decref(line);
    asks_for(service->client, AS("ci"), "GET /locks/two", 200);
    assert_string_equal(member_text(service->client, "last_release.principal"), "ci");
    assert_string_equal(member_text(service->client, "last_release.broken.principal"), "boss");

    asks_for(service->client, AS("ci"), "POST /locks/three?owner=me&ttl=100ms", 201);
    fence = http_integer(service->client, "fence");
    line = audited(service, "lock expired", "three", "ci", fence);
    assert_string_equal(text_in(line, "owner"), "me");
    json_decref(line);
    guarded_close(&guarded);
}

TEST_ON_SERVICE(all_of_several_holds_have_their_lines)
{
    char token[TOKEN_TEXT], text[16];
    answers(service->client, "POST /locks",
            "{\"names\": [\"s1\", \"s2\", \"s3\"], \"owner\": \"all\", \"ttl_ms\": 45000}", 201,
            NULL);
    keep_token(service->client, token);
    answers_token(service->client, token, "DELETE /locks", "{\"names\": [\"s1\", \"s2\", \"s3\"]}",
                  200, NULL);
    for (int i = 1; i <= 3; i++) {
        snprintf(text, sizeof text, "\"lock\":\"s%d\"", i);
        json_t *begin = logged(service, "lock granted", text);
        json_t *end = logged(service, "lock released", text);
        assert_string_equal(text_in(begin, "owner"), "all");
        assert_int_equal(number_in(begin, "ttl_ms"), 45000);
        assert_string_equal(text_in(end, "owner"), "all");
        assert_int_equal(number_in(end, "fence"), number_in(begin, "fence"));
        json_decref(begin);
        json_decref(end);
    }
}

TEST_ON_SERVICE(grant_after_a_wait_has_waited)
{
    char token[TOKEN_TEXT];
    acquire_lock(service->client, "handed?ttl=10m", token);
    struct parked *waiting = parked_send(service->batond.port, "X-Request-Id: heir",
                                         "POST /locks/handed?wait=50s", NULL);
    comes_to_queue(service->client, "handed", 1);
    release_lock(service->client, token, "handed");
    assert_int_equal(parked_answer(waiting, CLOCK_HANG_MS), 201);
    json_t *line = logged(service, "lock granted", "\"request_id\":\"heir\"");
    assert_true(time_in(line, "waited_ms") > 0);
    json_decref(line);
    parked_close(waiting);
}

RUN_TESTS(service_start, service_stop)
