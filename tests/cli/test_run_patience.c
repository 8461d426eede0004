/* What baton does while nobody can be granted the lock: it asks again, for as long as --patience
 * says, and takes nothing of that for a lock that somebody else has. */
#include "tests/cli/story.h"
#include "tests/support/fixtures/pair.h"
#include "tests/support/free_port.h"
#include "tests/support/front.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { HOSTS = 3 };

/* The line of a crontab, as README has it. */
static const char NIGHTLY[] = "exec $BATON run -n -E 0 --at-least=1m nightly -- echo the job runs";

static void start_hosts(struct terminal hosts[HOSTS], const char *url)
{
    for (int i = 0; i < HOSTS; i++) {
        terminal_open(&hosts[i], url);
        terminal_start(&hosts[i], NIGHTLY);
    }
}

static void hosts_say(struct terminal hosts[HOSTS], const char *text)
{
    for (int i = 0; i < HOSTS; i++)
        comes_to_say(&hosts[i], text);
}

static void job_runs_on_one(struct terminal hosts[HOSTS])
{
    int runs = 0;
    for (int i = 0; i < HOSTS; i++) {
        int code = terminal_await(&hosts[i]);
        terminal_says(&hosts[i], code, 0, NULL, __FILE__, __LINE__);
        runs += strstr(hosts[i].output, "the job runs\n") != NULL;
        terminal_close(&hosts[i]);
    }
    assert_int_equal(runs, 1);
}

/* Redis loses a lock that has an hour to go. */
static void quarantine(struct service *service)
{
    struct asking asking = {service->client, "/locks/nobody"};
    answers(service->client, "POST /locks/lost?ttl=1h", NULL, 201, NULL);
    redis_process_flush(&service->redis);
    assert_true(clock_wait_until(comes_to_quarantine, &asking, CLOCK_HANG_MS));
}

static void open_in_quarantine(struct service *service, const char *flag)
{
    service_open(service, NULL, (const char *const[]){flag, NULL});
    quarantine(service);
}

static int64_t queue_of(struct http_client *client, const char *name)
{
    char request[80];
    snprintf(request, sizeof request, "GET /locks/%s", name);
    answers(client, request, NULL, 200, NULL);
    return member_integer(client, "queue_length");
}

TEST(nightly_job_runs_once_over_a_quarantine)
{
    struct service service;
    struct terminal hosts[HOSTS];
    open_in_quarantine(&service, "--quarantine=3s");
    start_hosts(hosts, service.batond.url);
    job_runs_on_one(hosts);
    service_close(&service);
}

TEST_IN_STORY(nightly_job_runs_once_over_a_restart_of_batond)
{
    struct service *service = &story->service;
    struct batond_process *batond = &service->batond;
    struct terminal hosts[HOSTS];
    int port = batond->port;
    assert_int_equal(batond_process_stop(batond), 0);
    start_hosts(hosts, batond->url);
    hosts_say(hosts, "baton: waiting. nightly: no batond answers; baton asks again for ");
    batond_process_start(batond,
                         &(struct batond_options){.redis_url = service->redis.url, .port = port});
    job_runs_on_one(hosts);
}

TEST(nightly_job_runs_once_over_a_restart_of_redis)
{
    struct service service;
    struct terminal hosts[HOSTS];
    service_open(&service, NULL, NULL);
    redis_process_halt(&service.redis);
    start_hosts(hosts, service.batond.url);
    hosts_say(hosts, "baton: waiting. nightly: Redis is not available; baton asks again for ");
    redis_process_resume(&service.redis);
    job_runs_on_one(hosts);
    service_close(&service);
}

/* The proxy answers in the place of batond. */
TEST_IN_STORY(nightly_job_runs_once_behind_a_proxy)
{
    struct service *service = &story->service;
    int ports[FRONT_REPLICAS] = {free_port(), free_port()};
    struct batond_process batond;
    struct terminal hosts[HOSTS];
    struct front front;
    char url[64];
    answers(service->client, "DELETE /locks/nightly?force=true", NULL, 200, NULL);
    front_start(&front, FRONT_NGINX_PLAIN, ports);
    snprintf(url, sizeof url, "http://127.0.0.1:%d", front.port);
    start_hosts(hosts, url);
    hosts_say(hosts, ": the answer (502) is not one of batond)\n");
    batond_process_start(
        &batond, &(struct batond_options){.redis_url = service->redis.url, .port = ports[0]});
    job_runs_on_one(hosts);
    assert_int_equal(batond_process_stop(&batond), 0);
    front_stop(&front);
}

/* 75, or what -E says, is for a lock that somebody else has. */
TEST(end_of_the_patience_is_69_and_leaves_no_waiter)
{
    static const char SAID[] =
        "New locks are paused: Redis may have lost some\n  The data of Redis";
    struct service service;
    struct terminal terminal;
    open_in_quarantine(&service, "--quarantine=1h");
    terminal_open(&terminal, service.batond.url);
    says(&terminal, 69, SAID, "$BATON run -n -E 0 --patience=100ms x -- echo runs");
    assert_non_null(strstr(terminal.output, "  baton has asked again for 100ms (--patience).\n"));
    assert_null(strstr(terminal.output, "Repeat the request"));
    says(&terminal, 69, SAID, "$BATON run -w 500ms --patience=2s x -- echo runs");
    says(&terminal, 69, SAID, "$BATON acquire --patience=2s x");
    assert_int_equal(queue_of(service.client, "x"), 0);
    says(&terminal, 69, SAID, "$BATON acquire -nq -E 0 --patience=0 x");
    assert_null(strstr(terminal.output, "asked again"));
    says(&terminal, 0, "runs",
         "$BATON run -n --patience=100ms --if-unavailable=run x -- echo runs");
    terminal_start(&terminal, "exec $BATON acquire x");
    comes_to_say(&terminal, "baton: waiting. x: New locks are paused: Redis may have lost some; ");
    terminal_close(&terminal);
    service_close(&service);
}

/* Retry-After is the 10 s that batond names at most. */
TEST(quarantine_is_asked_no_sooner_than_it_says)
{
    struct service service;
    struct terminal terminal;
    open_in_quarantine(&service, "--quarantine=1h");
    terminal_open(&terminal, service.batond.url);
    says(&terminal, 69, NULL, "$BATON run -n --patience=2s spared -- true");
    char *log = process_output(&service.batond.process);
    /* At first, when the patience ends, and a DELETE. */
    assert_in_range(count_of(log, "\"lock\":\"spared\""), 0, 3);
    free(log);
    terminal_close(&terminal);
    service_close(&service);
}

TEST(rate_limit_is_no_refusal)
{
    struct service service;
    struct terminal terminal;
    int code;
    service_open(&service, NULL, (const char *const[]){"--rate-limit=1", NULL});
    terminal_open(&terminal, service.batond.url);
    while (http_call(service.client, "GET", "/locks/x", NULL) != 429) {
    }
    says(&terminal, 0, "runs", "$BATON run -n -E 0 x -- echo runs");
    do
        code = terminal_run(&terminal, "$BATON run -n -E 0 --patience=0 x -- echo runs");
    while (strstr(terminal.output, "runs"));
    terminal_says(&terminal, code, 69, "Too many requests per second", __FILE__, __LINE__);
    terminal_close(&terminal);
    service_close(&service);
}

/* So that whatever ends it ends its place in the queue as well. */
TEST_IN_STORY(waiter_that_is_signalled_leaves_the_queue_and_ends_by_the_signal)
{
    static const int SIGNALS[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT};
    static const char *const COMMANDS[] = {"run --token-file=token left -- true",
                                           "acquire --token-file=token left"};
    char ann[TOKEN_TEXT], command[200];
    hold_as_ann(client, "left", ann);
    for (size_t i = 0; i < LENGTH(SIGNALS) * LENGTH(COMMANDS); i++) {
        snprintf(command, sizeof command, "exec $BATON %s", COMMANDS[i % LENGTH(COMMANDS)]);
        terminal_start(terminal, command);
        comes_to_queue(client, "left", 1);
        process_signal(&terminal->process, SIGNALS[i / LENGTH(COMMANDS)]);
        terminal_await(terminal);
        assert_true(WIFSIGNALED(terminal->process.status));
        assert_int_equal(WTERMSIG(terminal->process.status), SIGNALS[i / LENGTH(COMMANDS)]);
        assert_int_equal(queue_of(client, "left"), 0);
    }
    says(terminal, 0, "0\n", "find . -name 'token*' | wc -l");
    says(terminal, 124, NULL, "timeout 1 $BATON run left -- true");
    release(client, "left", ann);
    says(terminal, 0, "runs", "$BATON run -n left -- echo runs");
}

TEST_IN_STORY(waiter_that_asks_again_is_signalled)
{
    terminal_start(terminal, "exec $BATON run --url=http://127.0.0.1:1 --if-unavailable=run "
                             "x -- echo runs");
    comes_to_say(terminal, "no batond answers");
    process_signal(&terminal->process, SIGTERM);
    ends(terminal, 128 + SIGTERM, NULL);
    assert_null(strstr(terminal->output, "runs\n"));
}

TEST_IN_STORY(signal_that_is_ignored_does_not_end_the_wait)
{
    char ann[TOKEN_TEXT];
    hold_as_ann(client, "nohup", ann);
    terminal_start(terminal, "trap '' HUP; exec $BATON acquire nohup");
    comes_to_queue(client, "nohup", 1);
    process_signal(&terminal->process, SIGHUP);
    release(client, "nohup", ann);
    ends(terminal, 0, NULL);
}

RUN_TESTS(story_open, story_close)
