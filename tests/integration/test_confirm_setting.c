/* `confirm` as a setting of batond: for everybody, told of by readiness, and warned of at start. */
#include "tests/support/fixtures/parked.h"
#include "tests/support/fixtures/replicated.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAY_MS = 1, PATIENCE_MS = CLOCK_HANG_MS };

static const char *const TWO[] = {"--confirm=replicas:2", "--confirm-timeout=3s", NULL};

static bool logs(const struct batond_process *batond, const char *text)
{
    char *log = process_output(&batond->process);
    bool found = strstr(log, text);
    free(log);
    return found;
}

static bool comes_to_log(const struct batond_process *batond, const char *text)
{
    return process_wait_line(&batond->process, text, NULL, (char[1024]){0}, 1024, PATIENCE_MS);
}

TEST(setting_holds_for_requests_that_ask_for_less)
{
    static const char *const WEAKER[] = {"", "?confirm=none", "?confirm=replicas:1"};
    struct replicated all;
    char request[200];
    replicated_open(&all, WAY_MS, TWO);
    answers(all.client, "GET /readyz?verbose", NULL, 200, NULL);
    assert_string_equal(member_text(all.client, "checks.3.name"), "replicas");
    answers(all.client, "POST /locks/all", NULL, 201, NULL);
    redis_process_freeze(&all.replicas[0]);
    for (size_t i = 0; i < 3; i++) {
        snprintf(request, sizeof request, "POST /locks/weaker-%zu%s", i, WEAKER[i]);
        answers(all.client, request, NULL, 503, "unconfirmed");
    }
    answers(all.client, "GET /readyz?verbose", NULL, 503, "unconfirmed");
    assert_true(json_is_true(member(all.client, "checks.2.ok"))); /* Redis itself is well */
    assert_true(json_is_false(member(all.client, "checks.3.ok")));
    assert_true(comes_to_log(&all.batond, "batond takes grants back"));
    answers(all.client, "GET /metrics", NULL, 200, NULL);
    assert_non_null(strstr(all.client->reply.body, "\nbaton_unconfirmed_total 3\n"));
    assert_non_null(
        strstr(all.client->reply.body, "\nbaton_acquires_total{result=\"unconfirmed\"} 3\n"));
    assert_non_null(strstr(all.client->reply.body, "\nbaton_confirm_duration_seconds_count 1\n"));
    redis_process_thaw(&all.replicas[0]);
    assert_true(comes_to_answer(all.client, "/readyz", 200, PATIENCE_MS));
    replicated_close(&all);
}

/* Or has been refused, where this process stood still for as long as batond waits. */
static void comes_to_be_held(struct replicated *all, const char *name, struct parked *asks)
{
    while (redis_process_integer(&all->primary, "EXISTS baton:{%s}", name) == 0 &&
           parked_waits(asks, 1))
        ;
}

/* Asks for a lock while so many replicas stand still, which batond waits for. */
static struct parked *ask_in_vain(struct replicated *all, const char *name, int frozen)
{
    char request[80];
    answers(all->client, "POST /locks/warm", NULL, 201, NULL);
    for (int i = 0; i < frozen; i++)
        redis_process_freeze(&all->replicas[i]);
    snprintf(request, sizeof request, "POST /locks/%s?ttl=10m", name);
    struct parked *asks = parked_send(all->batond.port, NULL, request, NULL);
    comes_to_be_held(all, name, asks);
    return asks;
}

static void is_unconfirmed(struct parked *asks)
{
    assert_int_equal(parked_answer(asks, PATIENCE_MS), 503);
    assert_string_equal(http_text(&asks->client, "code"), "unconfirmed");
    parked_close(asks);
}

TEST(a_primary_that_dies_meanwhile_confirms_nothing)
{
    struct replicated all;
    replicated_open(&all, WAY_MS, TWO);
    struct parked *asks = ask_in_vain(&all, "dying", 1);
    redis_process_kill(&all.primary);
    assert_int_equal(parked_answer(asks, PATIENCE_MS), 503);
    parked_close(asks);
    replicated_close(&all);
}

/* As a primary does that another has replaced: what it answers is not what the others have. */
TEST(a_primary_that_becomes_a_replica_confirms_nothing)
{
    struct replicated all;
    replicated_open(&all, WAY_MS, TWO);
    struct parked *asks = ask_in_vain(&all, "demoted", 1);
    freeReplyObject(
        redis_process_command(&all.primary, "REPLICAOF 127.0.0.1 %d", all.replicas[1].port));
    is_unconfirmed(asks);
    replicated_close(&all);
}

/* It follows a server without the hold for a moment, is a primary again, and its replicas have all
 * that it has then. */
TEST(a_primary_that_forgot_meanwhile_confirms_nothing)
{
    struct replicated all;
    struct redis_process empty;
    replicated_open(&all, WAY_MS, LIST("--confirm=replicas:1", "--confirm-timeout=4s"));
    redis_process_start(&empty, &(struct redis_options){.port = true});
    struct parked *asks = ask_in_vain(&all, "forgotten", REPLICAS);
    freeReplyObject(redis_process_command(&all.primary, "REPLICAOF 127.0.0.1 %d", empty.port));
    while (redis_process_integer(&all.primary, "EXISTS baton:{forgotten}") == 1)
        clock_sleep_ms(1);
    freeReplyObject(redis_process_command(&all.primary, "REPLICAOF NO ONE"));
    for (int i = 0; i < REPLICAS; i++) {
        redis_process_thaw(&all.replicas[i]);
        freeReplyObject(
            redis_process_command(&all.replicas[i], "REPLICAOF 127.0.0.1 %d", all.primary.port));
    }
    is_unconfirmed(asks);
    assert_true(comes_to_answer(all.client, "/readyz", 200, PATIENCE_MS));
    answers(all.client, "POST /locks/forgotten", NULL, 201, NULL); /* and goes on */
    redis_process_stop(&empty);
    replicated_close(&all);
}

/* The scripts go to one server and the question to another, whose replica would say yes: so it is
 * for a moment where a name or a balancer in front of Redis has changed. */
TEST(another_server_cannot_confirm)
{
    struct replicated all;
    struct redis_process lone;
    struct wire_delay front;
    char url[48];
    replicated_start(&all, WAY_MS);
    redis_process_start(&lone, &(struct redis_options){.port = true});
    wire_delay_start(&front, lone.port, 0);
    snprintf(url, sizeof url, "redis://127.0.0.1:%d", front.port);
    all.client = batond_open(&all.batond, url, LIST("--confirm-timeout=400ms"));
    answers(all.client, "POST /locks/here", NULL, 201, NULL);
    front.target = all.primary.port; /* of new connections: that which asks is made only now */
    answers(all.client, "POST /locks/there?confirm=replicas:1", NULL, 503, "unconfirmed");
    assert_int_equal(redis_process_integer(&lone, "EXISTS baton:{here}"), 1);
    assert_int_equal(redis_process_integer(&all.primary, "EXISTS baton:{there}"), 0);
    redis_process_stop(&lone);
    replicated_close(&all);
    wire_delay_stop(&front);
}

/* WAIT blocks its client until the replicas have answered. */
static bool is_asked_for_replicas(struct redis_process *primary)
{
    redisReply *reply = redis_process_command(primary, "INFO clients");
    bool is_asked = strstr(reply->str, "blocked_clients:1");
    freeReplyObject(reply);
    return is_asked;
}

/* One that was stopped meanwhile cannot know what has become of Redis: a yes from then is too old.
 */
TEST(a_batond_that_was_stopped_trusts_no_old_yes)
{
    struct replicated all;
    replicated_open(&all, WAY_MS, TWO);
    struct parked *asks = ask_in_vain(&all, "stopped", 1);
    while (!is_asked_for_replicas(&all.primary) && parked_waits(asks, 1))
        ;
    process_signal(&all.batond.process, SIGSTOP);
    redis_process_thaw(&all.replicas[0]);
    clock_sleep_ms(4000); /* longer than batond waits */
    process_signal(&all.batond.process, SIGCONT);
    is_unconfirmed(asks);
    replicated_close(&all);
}

/* A batond whose user may do all but that. */
static void open_without(struct replicated *all, const char *command)
{
    char url[80];
    replicated_start(all, WAY_MS);
    freeReplyObject(redis_process_command(
        &all->primary, "ACL SETUSER baton on >secret ~baton:* &* +@all -%s", command));
    snprintf(url, sizeof url, "redis://baton:secret@127.0.0.1:%d", all->primary.port);
    all->client = batond_open(&all->batond, url, TWO);
}

TEST(a_user_that_may_not_wait_learns_what_to_allow)
{
    struct replicated all;
    open_without(&all, "wait");
    answers(all.client, "POST /locks/denied", NULL, 503, "unconfirmed");
    assert_true(comes_to_log(&all.batond, "`ACL SETUSER … +wait`"));
    freeReplyObject(redis_process_command(&all.primary, "ACL SETUSER baton +wait"));
    answers(all.client, "POST /locks/denied", NULL, 201, NULL);
    replicated_close(&all);
}

TEST(a_user_that_may_not_ask_who_answers_learns_what_to_allow)
{
    struct replicated all;
    open_without(&all, "info");
    answers(all.client, "POST /locks/unknown", NULL, 503, "unconfirmed");
    assert_true(comes_to_log(&all.batond, "do not confirm them: this user of Redis may not ask"));
    replicated_close(&all);
}

/* Where keys begin with nothing of their own, Redis may have others that are called like a word. */
TEST(no_key_of_others_is_written_to)
{
    struct replicated all;
    replicated_start(&all, WAY_MS);
    freeReplyObject(redis_process_command(&all.primary, "SET confirm 77"));
    all.client = batond_open(&all.batond, all.primary.port_url,
                             LIST("--confirm=replicas:1", "--key-prefix="));
    answers(all.client, "POST /locks/bare", NULL, 201, NULL);
    redisReply *reply = redis_process_command(&all.primary, "GET confirm");
    assert_string_equal(reply->str, "77");
    freeReplyObject(reply);
    replicated_close(&all);
}

TEST(start_logs_what_redis_lacks)
{
    struct replicated all;
    struct redis_process lone;
    struct batond_process batond;
    replicated_open(&all, WAY_MS, TWO);
    assert_true(comes_to_log(&all.batond, "Set min-replicas-to-write to 2"));
    assert_true(comes_to_log(&all.batond, "Set appendonly to yes"));
    assert_false(logs(&all.batond, "but Redis has"));
    replicated_close(&all);

    redis_process_start(&lone,
                        &(struct redis_options){.durable = true,
                                                .port = true,
                                                .arguments = LIST("--min-replicas-to-write", "1")});
    batond_process_start(&batond,
                         &(struct batond_options){.redis_url = lone.url, .arguments = TWO});
    assert_true(comes_to_log(&batond, "confirm is replicas:2, but Redis has 0"));
    assert_false(logs(&batond, "Set min-replicas-to-write") || logs(&batond, "Set appendonly"));
    assert_int_equal(batond_process_stop(&batond), 0);
    redis_process_stop(&lone);
}

TEST(without_it_nothing_is_said)
{
    struct service service;
    service_open(&service, NULL, NULL);
    answers(service.client, "GET /readyz?verbose", NULL, 200, NULL);
    assert_null(member(service.client, "checks.3"));
    assert_false(logs(&service.batond, "redis needs attention"));
    service_close(&service);
}

TEST(settings_that_make_no_sense_are_refused)
{
    static const struct {
        const char *flag, *says;
    } CASES[] = {
        {"--confirm=replicas:1", "--confirm needs a --redis-url"},
        {"--confirm=replicas:9", "none, or replicas:N with N from 1 to 8"},
        {"--confirm=2", "none, or replicas:N with N from 1 to 8"},
        {"--confirm-timeout=9ms", "10ms to 10s"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct batond_process batond;
        const char *const arguments[] = {CASES[i].flag, NULL};
        batond_process_launch(&batond, &(struct batond_options){.arguments = arguments});
        assert_true(process_wait(&batond.process, PATIENCE_MS));
        assert_int_not_equal(process_exit_code(&batond.process), 0);
        if (!logs(&batond, CASES[i].says))
            fail_msg("%s: it does not say: %s", CASES[i].flag, CASES[i].says);
        batond_process_stop(&batond);
    }
}
