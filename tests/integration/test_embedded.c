/* The Redis that batond starts for itself: it ends with batond, comes back with it, and forgets
 * nothing. */
#include "tests/support/fixtures/service.h"

#include "server/process/sandbox.h"
#include "tests/support/faults/jumping_clock.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RESTART_PAUSE_MS = 500 }; /* before batond starts another */

struct stage {
    struct temp_dir dir; /* the state directory, which outlives batond */
    struct batond_process batond;
    struct http_client *client;
};

static void enter_with(struct stage *stage, const char *const *arguments)
{
    const struct batond_options options = {.state_dir = stage->dir.path, .arguments = arguments};
    batond_process_start(&stage->batond, &options);
    stage->client = http_client_new(stage->batond.url);
}

static void enter(struct stage *stage)
{
    enter_with(stage, NULL);
}

static void leave(struct stage *stage)
{
    http_client_free(stage->client);
    stage->client = NULL;
    assert_int_equal(batond_process_stop(&stage->batond), 0);
}

static int set(void **state)
{
    static struct stage stage;
    stage = (struct stage){.client = NULL};
    temp_dir_make(&stage.dir);
    enter(&stage);
    *state = &stage;
    return 0;
}

static int strike(void **state)
{
    struct stage *stage = *state;
    http_client_free(stage->client);
    int code = batond_process_stop(&stage->batond);
    temp_dir_remove(&stage->dir);
    return code;
}

static bool is_redis(int pid)
{
    char path[64], name[32] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    FILE *file = fopen(path, "r");
    if (file && !fgets(name, sizeof name, file))
        name[0] = '\0';
    if (file)
        fclose(file);
    return strcmp(name, "redis-server\n") == 0;
}

/* The redis-server that batond started: its child, whoever has made it. */
static pid_t redis_of(const struct stage *stage)
{
    char path[80];
    int pid = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)stage->batond.process.pid,
             (int)stage->batond.process.pid);
    FILE *file = fopen(path, "r");
    while (file && fscanf(file, "%d", &pid) == 1 && !is_redis(pid))
        pid = 0;
    if (pid == 0)
        fail_msg("batond has no redis-server");
    fclose(file);
    return pid;
}

/* Whether the process has ended. Nobody may have reaped it yet, where its parent was killed. */
static bool has_ended(pid_t pid)
{
    char path[64], status = 'X';
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "r");
    if (!file)
        return true;
    int count = fscanf(file, "%*d (%*[^)]) %c", &status);
    fclose(file);
    return count != 1 || status == 'Z' || status == 'X';
}

static void comes_to_end(pid_t pid, int timeout_ms)
{
    int64_t deadline = clock_ms() + timeout_ms;
    while (!has_ended(pid)) {
        if (clock_ms() > deadline)
            fail_msg("process %d still runs", (int)pid);
        clock_sleep_ms(2);
    }
}

static void kill_batond(struct stage *stage)
{
    http_client_free(stage->client);
    stage->client = NULL;
    process_kill(&stage->batond.process);
}

/* What was taken before is there with what remains of its TTL, and fences go on. */
static void is_remembered(struct stage *stage, const char *token, int64_t fence)
{
    answers_token(stage->client, token, "GET /locks/kept", NULL, 200, NULL);
    assert_true(json_is_true(member(stage->client, "mine")));
    assert_int_equal(member_integer(stage->client, "holders.0.fence"), fence);
    assert_in_range(member_integer(stage->client, "holders.0.ttl_ms"), 1, 599999);
    answers(stage->client, "POST /locks/kept", NULL, 409, "locked");
    answers_token(stage->client, token, "PUT /locks/kept", NULL, 200, NULL);
    release_lock(stage->client, token, "kept");
    answers(stage->client, "POST /locks/kept", NULL, 201, NULL);
    assert_true(http_integer(stage->client, "fence") > fence);
}

static int64_t take(struct stage *stage, char token[TOKEN_TEXT])
{
    acquire_lock(stage->client, "kept?ttl=10m", token);
    return http_integer(stage->client, "fence");
}

/* The Redis of a batond with these flags is started again when it is killed, ends with batond, and
 * forgets nothing. */
static void comes_back_and_ends(struct stage *stage, const char *const *arguments)
{
    char token[TOKEN_TEXT];
    leave(stage);
    enter_with(stage, arguments);
    int64_t fence = take(stage, token);
    pid_t redis = redis_of(stage);
    for (int i = 0; i < 2; i++) {
        int64_t begun = clock_ms();
        kill(redis, SIGKILL);
        if (http_call(stage->client, "POST", "/locks/meanwhile", NULL) == 503)
            assert_string_equal(http_text(stage->client, "code"), "store_unavailable");
        else
            assert_true(clock_ms() - begun >= RESTART_PAUSE_MS);
        assert_true(comes_to_answer(stage->client, "/readyz", 200, CLOCK_HANG_MS));
        assert_int_not_equal(redis_of(stage), redis);
        redis = redis_of(stage);
    }
    assert_true(process_wait_line(&stage->batond.process, "redis-server ended", NULL, NULL, 0,
                                  CLOCK_HANG_MS));
    kill_batond(stage);
    comes_to_end(redis, CLOCK_HANG_MS);
    batond_process_stop(&stage->batond);
    enter_with(stage, arguments);
    is_remembered(stage, token, fence);
    redis = redis_of(stage);
    leave(stage);
    comes_to_end(redis, CLOCK_HANG_MS);
}

TEST_WITH(redis_comes_back_and_ends_with_batond, set, strike)
{
    comes_back_and_ends(*state, NULL);
}

/* batond may start no program itself. */
TEST_WITH(redis_comes_back_and_ends_with_batond_in_sandbox, set, strike)
{
    if (sandbox_check(NULL) < 0)
        skip();
    SKIP_UNDER_VALGRIND("the filter does not know the calls that valgrind itself makes");
    comes_back_and_ends(*state, LIST("--sandbox"));
}

/* Not only when it gives up: who has started it by mistake sits before a screen. */
TEST_WITH(second_batond_says_what_it_waits_for, set, strike)
{
    struct stage *stage = *state;
    struct batond_process second;
    char line[1024], first[40];
    snprintf(first, sizeof first, "in use by process %ld.", (long)stage->batond.process.pid);
    batond_process_launch(&second, &(struct batond_options){.state_dir = stage->dir.path});
    assert_true(process_wait_line(&second.process, "waiting until it ends", NULL, line, sizeof line,
                                  CLOCK_HANG_MS));
    assert_non_null(strstr(line, "\"level\":\"warn\""));
    assert_non_null(strstr(line, "\"for\":\"3s\""));
    assert_non_null(strstr(line, first));

    assert_true(process_wait(&second.process, CLOCK_HANG_MS));
    assert_int_equal(process_exit_code(&second.process), 1);
    assert_true(process_wait_line(&second.process, "batond: the state directory ", NULL, line,
                                  sizeof line, 0));
    assert_non_null(strstr(line, first));
    batond_process_stop(&second);
    answers(stage->client, "GET /readyz", NULL, 200, NULL);
}

/* As Kubernetes does with a volume and all that is in it, before each start of a pod. */
TEST_WITH(second_start_on_volume_with_fsgroup_serves, set, strike)
{
    struct stage *stage = *state;
    char command[100];
    leave(stage);
    snprintf(command, sizeof command, "chmod -R g+rwX,g+s %s", stage->dir.path);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): a path of ours */
    enter(stage);
    answers(stage->client, "GET /readyz", NULL, 200, NULL);
    assert_true(process_wait_line(&stage->batond.process, "taken its rights away", NULL, NULL, 0,
                                  CLOCK_HANG_MS));
}

/* It forgets nothing, but by its clock it has ended what still runs. */
TEST(clock_jump_while_redis_is_away_ends_no_hold)
{
    struct jumping_clock clock;
    struct stage stage = {.client = NULL};
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* batond itself cannot be given another library in front then */
#endif
    SKIP_UNDER_VALGRIND("the clock is another library in front of batond, too");
    jumping_clock_open(&clock);
    temp_dir_make(&stage.dir);
    batond_process_start(&stage.batond,
                         &(struct batond_options){.state_dir = stage.dir.path,
                                                  .arguments = LIST("--quarantine=auto"),
                                                  .environment = clock.environment});
    stage.client = http_client_new(stage.batond.url);
    answers(stage.client, "POST /locks/kept?ttl=10m", NULL, 201, NULL);
    kill(redis_of(&stage), SIGKILL);
    jumping_clock_set(&clock, 3600);
    assert_true(comes_to_answer(stage.client, "/readyz", 200, CLOCK_HANG_MS));
    answers(stage.client, "POST /locks/kept", NULL, 503, "quarantined");
    leave(&stage);
    temp_dir_remove(&stage.dir);
    jumping_clock_close(&clock);
}

/* A Redis of batond's own has none, now or later. */
TEST_WITH(confirm_by_replicas_is_refused, set, strike)
{
    struct stage *stage = *state;
    answers(stage->client, "POST /locks/a?confirm=replicas:1", NULL, 400, "invalid_parameter");
    assert_string_equal(http_text(stage->client, "parameter"), "confirm");
    assert_non_null(strstr(http_text(stage->client, "detail"), "has no replicas"));
    answers(stage->client, "POST /locks", "{\"names\":[\"a\",\"b\"],\"confirm\":\"replicas:2\"}",
            400, "invalid_parameter");
    answers(stage->client, "POST /locks/a?hold=connection&confirm=replicas:1", NULL, 400,
            "invalid_parameter");
    answers_token(stage->client, "a-token-that-asks-for-it", "PUT /locks/a?confirm=replicas:1",
                  NULL, 400, "invalid_parameter");
    answers(stage->client, "POST /locks/a?confirm=none", NULL, 201, NULL);
}
