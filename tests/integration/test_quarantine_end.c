/* A quarantine can be ended before its time, by whoever may break every lock, for all batonds. */
#include "locks/quarantine/quarantine.h"
#include "tests/support/fixtures/guarded.h"
#include "tests/support/fixtures/pair.h"
#include "tests/support/fixtures/parked.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DAY_MS = 24 * 3600 * 1000,
    LOOK_MS = 1300, /* each batond looks at the epoch once a second */
    PATIENCE_MS = CLOCK_HANG_MS,
};

static const char AUTO[] = "--quarantine=auto";
static const char END[] = "DELETE /quarantine?reason=nothing%20runs";

/* Who holds a lock for a day, and gives it back at once. */
static void take_for_long(struct http_client *client, const char *name)
{
    char token[TOKEN_TEXT], request[80];
    snprintf(request, sizeof request, "POST /locks/%s?ttl=24h", name);
    answers(client, request, NULL, 201, NULL);
    keep_token(client, token);
    snprintf(request, sizeof request, "DELETE /locks/%s", name);
    answers_token(client, token, request, NULL, 200, NULL);
}

/* Whoever does not remember the lock expects less, until it hears of it. */
static bool comes_to_long_quarantine(void *asking)
{
    return comes_to_quarantine(asking) &&
           quarantine_left_ms(((struct asking *)asking)->client) > DAY_MS / 2;
}

/* Each is another connection, and so by chance another worker, which may not have Redis back yet.
 */
static void all_workers_pause(const struct batond_process *batond)
{
    for (int i = 0; i < 8; i++) {
        struct http_client *client = http_client_new(batond->url);
        struct asking asking = {client, "/locks/n"};
        assert_true(clock_wait_until(comes_to_long_quarantine, &asking, PATIENCE_MS));
        http_client_free(client);
    }
}

static void open_in_quarantine(struct pair *pair)
{
    pair_open_with(pair, NULL, LIST("--workers=2", AUTO, "--max-ttl=24h"));
    take_for_long(pair->client[0], "long");
    pair_restart(pair);
    for (int i = 0; i < 2; i++) {
        struct asking asking = {pair->client[i], "/locks/n"};
        assert_true(clock_wait_until(comes_to_long_quarantine, &asking, PATIENCE_MS));
        assert_null(strstr(asking.client->reply.body, "longer wait")); /* none is allowed */
        all_workers_pause(&pair->batond[i]);
    }
}

/* Each is another connection, and so by chance another worker. */
static void all_workers_grant(const struct batond_process *batond, const char *begin)
{
    for (int i = 0; i < 8; i++) {
        char path[60];
        struct http_client *client = http_client_new(batond->url);
        snprintf(path, sizeof path, "/locks/%s-%d?ttl=1s", begin, i);
        comes_to_grant(client, path);
        http_client_free(client);
    }
}

/* Also for those who wait; and to end it twice, or where there is none, changes nothing. */
TEST(end_of_quarantine_is_for_all_batonds)
{
    struct pair pair;
    struct batond_process late;
    struct parked *waits[2];
    open_in_quarantine(&pair);
    for (int i = 0; i < 2; i++) {
        waits[i] = parked_send(pair.batond[i].port, NULL,
                               i == 0 ? "POST /locks/w?wait=50s" : "POST /locks/x?wait=50s", NULL);
        assert_true(parked_waits(waits[i], 300));
    }
    answers(pair.client[0], END, NULL, 200, NULL);
    assert_int_equal(member_integer(pair.client[0], "ended"), 1);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(parked_answer(waits[i], PATIENCE_MS), 201);
        parked_close(waits[i]);
        answers(pair.client[1 - i], END, NULL, 200, NULL);
        assert_int_equal(member_integer(pair.client[1 - i], "ended"), 0);
    }
    answers(pair.client[0], "POST /locks/first?ttl=1s", NULL, 201, NULL);
    all_workers_grant(&pair.batond[0], "here");
    all_workers_grant(&pair.batond[1], "there");
    clock_sleep_ms(LOOK_MS); /* nobody says it again who remembers what was lost */
    for (int i = 0; i < 2; i++) {
        answers(pair.client[i], i == 0 ? "POST /locks/a?ttl=1s" : "POST /locks/b?ttl=1s", NULL, 201,
                NULL);
        answers(pair.client[i], "GET /quarantine", NULL, 200, NULL);
        assert_true(json_is_false(member(pair.client[i], "quarantined")));
        assert_int_equal(member_integer(pair.client[i], "left_ms"), 0);
        assert_int_equal(json_array_size(member(pair.client[i], "servers")), 0);
    }
    struct http_client *client = batond_open(&late, pair.redis.url, LIST(AUTO));
    answers(client, "POST /locks/late?ttl=1s", NULL, 201, NULL);
    batond_close(&late, client);
    pair_close(&pair);
}

TEST(loss_after_the_end_begins_another_quarantine)
{
    struct pair pair;
    open_in_quarantine(&pair);
    end_quarantine(pair.client[0]);
    for (int i = 0; i < 2; i++)
        comes_to_grant(pair.client[i], i == 0 ? "/locks/a" : "/locks/b");
    redis_process_flush(&pair.redis);
    for (int i = 0; i < 2; i++) {
        struct asking asking = {pair.client[i], "/locks/n?ttl=100ms"};
        assert_true(clock_wait_until(comes_to_quarantine, &asking, PATIENCE_MS));
        assert_string_equal(member_text(pair.client[i], "reason"), "epoch");
    }
    end_quarantine(pair.client[1]);
    comes_to_grant(pair.client[0], "/locks/a");
    comes_to_grant(pair.client[1], "/locks/b");
    pair_close(&pair);
}

/* It remembers holds that end later than all that the others know, and has not noticed the loss. */
TEST(batond_that_stood_still_does_not_begin_quarantine_again)
{
    struct pair pair;
    pair_open_with(&pair, NULL, LIST("--workers=1", AUTO, "--max-ttl=24h"));
    answers(pair.client[0], "POST /locks/n?ttl=5m", NULL, 201, NULL);
    process_signal(&pair.batond[1].process, SIGSTOP);
    redis_process_kill(&pair.redis);
    redis_process_resume(&pair.redis);
    struct asking asking = {pair.client[0], "/locks/n"};
    assert_true(clock_wait_until(comes_to_quarantine, &asking, PATIENCE_MS));
    answers(pair.client[0], END, NULL, 200, NULL);
    assert_int_equal(member_integer(pair.client[0], "ended"), 1);
    process_signal(&pair.batond[1].process, SIGCONT);
    assert_true(comes_to_answer(pair.client[1], "/readyz", 200, PATIENCE_MS));
    answers(pair.client[1], "POST /locks/n?ttl=1s", NULL, 201, NULL);
    clock_sleep_ms(LOOK_MS);
    answers(pair.client[0], "POST /locks/m?ttl=1s", NULL, 201, NULL);
    answers(pair.client[1], "POST /locks/o?ttl=1s", NULL, 201, NULL);
    pair_close(&pair);
}

TEST(one_of_a_set_length_is_ended_too)
{
    struct pair pair;
    pair_open_with(&pair, NULL, LIST("--workers=2", "--quarantine=10m"));
    answers(pair.client[0], "POST /locks/n?ttl=5m", NULL, 201, NULL);
    pair_restart(&pair);
    for (int i = 0; i < 2; i++) {
        struct asking asking = {pair.client[i], "/locks/n?ttl=100ms"};
        assert_true(clock_wait_until(comes_to_quarantine, &asking, PATIENCE_MS));
    }
    redis_process_await_looks(&pair.redis, 4); /* all workers have noticed */
    end_quarantine(pair.client[1]);
    all_workers_grant(&pair.batond[0], "here");
    all_workers_grant(&pair.batond[1], "there");
    clock_sleep_ms(LOOK_MS);
    for (int i = 0; i < 2; i++)
        answers(pair.client[i], i == 0 ? "POST /locks/a" : "POST /locks/b", NULL, 201, NULL);
    pair_close(&pair);
}

static char *since_of(struct http_client *client)
{
    answers(client, "GET /quarantine", NULL, 200, NULL);
    return strdup(member_text(client, "servers.0.since"));
}

/* When it began, all say alike, also who was not there; and without Redis it is not ended. */
TEST(quarantine_is_reported)
{
    struct pair pair;
    struct batond_process late;
    open_in_quarantine(&pair);
    for (int i = 0; i < 2; i++) {
        struct http_client *client = pair.client[i];
        answers(client, "GET /quarantine", NULL, 200, NULL);
        assert_true(json_is_true(member(client, "quarantined")));
        assert_string_equal(member_text(client, "reason"), "server");
        assert_non_null(strstr(member_text(client, "because"), "started anew"));
        assert_in_range(member_integer(client, "left_ms"), DAY_MS / 2, 2L * DAY_MS);
        assert_int_equal(json_array_size(member(client, "servers")), 1);
        assert_non_null(strstr(member_text(client, "servers.0.server"), pair.redis.socket));
        assert_string_equal(member_text(client, "servers.0.reason"), "server");
        assert_in_range(member_integer(client, "servers.0.left_ms"), DAY_MS / 2, 2L * DAY_MS);
        assert_true(strcmp(member_text(client, "servers.0.since"),
                           member_text(client, "servers.0.until")) < 0);
        answers(client, "GET /readyz?verbose", NULL, 200, NULL);
        assert_string_equal(member_text(client, "status"), "ready");
        const json_t *checks = member(client, "checks"), *check = NULL;
        size_t at;
        json_t *each;
        json_array_foreach (checks, at, each)
            if (strcmp(json_string_value(json_object_get(each, "name")), "quarantine") == 0)
                check = each;
        assert_true(json_is_false(json_object_get(check, "ok")));
        assert_non_null(
            strstr(json_string_value(json_object_get(check, "detail")), "started anew"));
        assert_string_equal(json_string_value(json_object_get(check, "because")),
                            quarantine_text(QUARANTINE_SERVER));
        assert_in_range(json_integer_value(json_object_get(check, "left_ms")), DAY_MS / 2,
                        2L * DAY_MS);
    }
    assert_string_equal(member_text(pair.client[0], "checks.0.name"), "draining");

    redis_process_await_looks(&pair.redis, 4);
    struct http_client *client = batond_open(&late, pair.redis.url, LIST(AUTO));
    char *here = since_of(pair.client[0]), *there = since_of(pair.client[1]),
         *later = since_of(client);
    assert_string_equal(here, there);
    assert_string_equal(here, later);
    free(here);
    free(there);
    free(later);
    answers(client, "POST /locks/n", NULL, 503, "quarantined");
    batond_close(&late, client);

    redis_process_kill(&pair.redis);
    answers(pair.client[0], END, NULL, 503, "store_unavailable");
    redis_process_resume(&pair.redis);
    for (int i = 0; i < 2; i++)
        assert_true(comes_to_answer(pair.client[i], "/readyz", 200, PATIENCE_MS));
    answers(pair.client[0], "POST /locks/n", NULL, 503, "quarantined");
    pair_close(&pair);
}

/* Who may do it, and what is written down of it. */

#define CI "[{\"prefix\":\"ci/\",\"verbs\":[\"acquire\"],\"max_ttl\":\"24h\"}]"

static const struct file_principal PRINCIPALS[] = {
    {"ci", CI, NULL},
    {"reader", "[{\"prefix\":\"ci/\",\"verbs\":[\"read\"]}]", NULL},
    {"half", "[{\"prefix\":\"ci/\",\"verbs\":[\"read\",\"break\"]}]", NULL},
    {"boss", "[{\"prefix\":\"\",\"verbs\":[\"break\"]}]", NULL},
};

static const struct {
    const char *principal, *request;
    long status;
} ASKED[] = {
    {NULL, "GET /quarantine", 401},
    {NULL, "DELETE /quarantine?reason=x", 401},
    {"ci", "GET /quarantine", 403},
    {"ci", "DELETE /quarantine?reason=x", 403},
    {"reader", "GET /quarantine", 200},
    {"reader", "DELETE /quarantine?reason=x", 403},
    {"half", "DELETE /quarantine?reason=x", 403},
    {"boss", "DELETE /quarantine", 400},
    {"boss", "DELETE /quarantine?reason=", 400},
    {"boss", "DELETE /quarantine?reason=a%0Ab", 400},
    {"boss", "DELETE /quarantine?reason=x&name=ci/a", 400},
};

/* The first line of the log with this message. To be decref'd. */
static json_t *logged(struct batond_process *batond, const char *message)
{
    char text[2000];
    if (!process_wait_line(&batond->process, message, NULL, text, sizeof text, PATIENCE_MS))
        fail_msg("no line with %s", message);
    json_t *line = json_loads(text, 0, NULL);
    assert_non_null(line);
    return line;
}

static const char *text_in(const json_t *line, const char *name)
{
    const char *text = json_string_value(json_object_get(line, name));
    if (!text)
        fail_msg("no %s", name);
    return text;
}

static void is_in_the_log(struct batond_process *batond)
{
    json_t *line = logged(batond, "\"quarantine: no lock is granted");
    assert_string_equal(text_in(line, "reason"), "server");
    assert_true(json_is_integer(json_object_get(line, "seconds")));
    assert_in_range(json_integer_value(json_object_get(line, "seconds")), DAY_MS / 2000,
                    DAY_MS / 500);
    assert_non_null(strstr(text_in(line, "todo"), "DELETE /quarantine"));
    json_decref(line);
    line = logged(batond, "\"the quarantine is over");
    assert_string_equal(text_in(line, "because"), "DELETE /quarantine ended it");
    json_decref(line);
    line = logged(batond, "\"quarantine ended\"");
    assert_string_equal(text_in(line, "principal"), "boss");
    assert_string_equal(text_in(line, "reason"), "all is \"well\"");
    assert_string_equal(text_in(line, "request_id"), "the-end");
    assert_int_equal(json_integer_value(json_object_get(line, "servers")), 1);
    assert_null(json_object_get(line, "lock"));
    json_decref(line);
}

TEST(principal_that_may_break_every_lock_ends_quarantine)
{
    struct guarded guarded;
    struct http_client *client;
    char token[TOKEN_TEXT];
    guarded_open_with(&guarded, PRINCIPALS, LENGTH(PRINCIPALS), LIST("--workers=1", AUTO));
    client = guarded.service.client;
    asks_for(client, AS("ci"), "POST /locks/ci%2Fa?ttl=24h", 201);
    keep_token(client, token);
    asks_for(client, AS_WITH("ci", token), "DELETE /locks/ci%2Fa", 200);
    redis_process_kill(&guarded.service.redis);
    redis_process_resume(&guarded.service.redis);
    assert_true(comes_to_answer(client, "/readyz", 200, PATIENCE_MS));
    asks_for(client, AS("ci"), "POST /locks/ci%2Fa", 503);
    assert_true(is_quarantined(client));
    for (size_t i = 0; i < LENGTH(ASKED); i++)
        asks_for(client, AS(ASKED[i].principal), ASKED[i].request, ASKED[i].status);
    asks_for(client, AS("reader"), "GET /quarantine", 200);
    assert_null(member(client, "servers.0.server")); /* who may not see metrics */
    asks_for(client, AS("ci"), "POST /locks/ci%2Fa", 503);
    struct as boss = {.principal = "boss",
                      .header = "X-Request-Id: the-end",
                      .body = "{\"reason\": \"all is \\\"well\\\"\"}"};
    asks_for(client, boss, "DELETE /quarantine", 200);
    asks_for(client, AS("ci"), "POST /locks/ci%2Fa", 201);
    is_in_the_log(&guarded.service.batond);
    guarded_close(&guarded);
}
