/* The Redis that batond starts for itself: it ends with batond, comes back with it, and forgets
 * nothing. */
#include "tests/support/fixtures/service.h"

#include "server/process/sandbox.h"
#include "tests/support/faults/jumping_clock.h"
#include "tests/support/faults/small_disk.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    answers_token(stage->client, token, "DELETE /locks/kept", NULL, 200, NULL);
    answers(stage->client, "POST /locks/kept", NULL, 201, NULL);
    assert_true(http_integer(stage->client, "fence") > fence);
}

static int64_t take(struct stage *stage, char token[TOKEN_TEXT])
{
    answers(stage->client, "POST /locks/kept?ttl=10m", NULL, 201, NULL);
    keep_token(stage->client, token);
    return http_integer(stage->client, "fence");
}

static void redis_ends_with_a_killed_batond(void **state)
{
    struct stage *stage = *state;
    char token[TOKEN_TEXT];
    int64_t fence = take(stage, token);
    pid_t redis = redis_of(stage);
    kill_batond(stage);
    comes_to_end(redis, CLOCK_HANG_MS);
    batond_process_stop(&stage->batond);
    enter(stage);
    is_remembered(stage, token, fence);
}

static void killing_both_forgets_nothing(void **state)
{
    struct stage *stage = *state;
    char token[TOKEN_TEXT];
    int64_t fence = take(stage, token);
    pid_t redis = redis_of(stage);
    kill(stage->batond.process.pid, SIGSTOP); /* so that it does not start another */
    kill(redis, SIGKILL);
    kill_batond(stage);
    comes_to_end(redis, CLOCK_HANG_MS);
    batond_process_stop(&stage->batond);
    enter(stage);
    is_remembered(stage, token, fence);
}

static void a_killed_redis_is_started_again(void **state)
{
    struct stage *stage = *state;
    char token[TOKEN_TEXT];
    int64_t fence = take(stage, token);
    pid_t redis = redis_of(stage);
    for (int i = 0; i < 2; i++) {
        kill(redis, SIGKILL);
        answers(stage->client, "POST /locks/meanwhile", NULL, 503, "store_unavailable");
        assert_true(comes_to_answer(stage->client, "/readyz", 200, CLOCK_HANG_MS));
        assert_int_not_equal(redis_of(stage), redis);
        redis = redis_of(stage);
    }
    is_remembered(stage, token, fence);
    leave(stage);
    comes_to_end(redis, CLOCK_HANG_MS);
}

/* A restart under supervision: the new one comes up although the old Redis is on its way out. */
static void a_successor_takes_over_at_once(void **state)
{
    struct stage *stage = *state;
    char token[TOKEN_TEXT];
    int64_t fence = take(stage, token);
    kill_batond(stage);
    struct batond_process gone = stage->batond;
    enter(stage);
    batond_process_stop(&gone);
    is_remembered(stage, token, fence);
}

/* Not only when it gives up: who has started it by mistake sits before a screen. */
static void a_second_one_says_at_once_what_it_waits_for(void **state)
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

/* It forgets nothing, but by its clock it has ended what still runs. */
static void a_clock_that_jumps_while_it_is_away_ends_no_hold_early(void **state)
{
    static const char *const AUTO[] = {"--quarantine=auto", NULL};
    struct jumping_clock clock;
    struct stage stage = {.client = NULL};
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* batond itself cannot be given another library in front then */
#endif
    SKIP_UNDER_VALGRIND("the clock is another library in front of batond, too");
    jumping_clock_open(&clock);
    temp_dir_make(&stage.dir);
    batond_process_start(&stage.batond, &(struct batond_options){.state_dir = stage.dir.path,
                                                                 .arguments = AUTO,
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

/* A batond that may start no program has it started all the same, and is whom it ends with. */
static void it_comes_back_and_ends_with_a_batond_in_the_sandbox(void **state)
{
    static const char *const SANDBOX[] = {"--sandbox", NULL};
    struct stage *stage = *state;
    char token[TOKEN_TEXT];
    if (sandbox_check(NULL) < 0)
        skip();
    SKIP_UNDER_VALGRIND("the filter does not know the calls that valgrind itself makes");
    leave(stage);
    enter_with(stage, SANDBOX);
    int64_t fence = take(stage, token);
    pid_t redis = redis_of(stage);
    for (int i = 0; i < 2; i++) {
        kill(redis, SIGKILL);
        answers(stage->client, "POST /locks/meanwhile", NULL, 503, "store_unavailable");
        assert_true(comes_to_answer(stage->client, "/readyz", 200, CLOCK_HANG_MS));
        assert_int_not_equal(redis_of(stage), redis);
        redis = redis_of(stage);
    }
    kill_batond(stage);
    comes_to_end(redis, CLOCK_HANG_MS);
    batond_process_stop(&stage->batond);
    enter_with(stage, SANDBOX);
    is_remembered(stage, token, fence);
    redis = redis_of(stage);
    leave(stage);
    comes_to_end(redis, CLOCK_HANG_MS);
}

/* A Redis of batond's own has none, now or later. */
static void nobody_waits_for_its_replicas(void **state)
{
    struct stage *stage = *state;
    answers(stage->client, "POST /locks/a?confirm=replicas:1", NULL, 400, "invalid_parameter");
    assert_string_equal(http_text(stage->client, "parameter"), "confirm");
    assert_non_null(strstr(http_text(stage->client, "detail"), "has no replicas"));
    answers(stage->client, "POST /locks", "{\"names\":[\"a\",\"b\"],\"confirm\":\"replicas:2\"}",
            400, "invalid_parameter");
    answers(stage->client, "POST /locks/a?confirm=none", NULL, 201, NULL);
}

/* The second of the day at which the line was logged. */
static double said_at(const char *line)
{
    int hours, minutes;
    double seconds;
    const char *time = strstr(line, "\"time\":\"");
    assert_non_null(time);
    assert_int_equal(sscanf(strchr(time + 8, 'T'), "T%d:%d:%lf", &hours, &minutes, &seconds), 3);
    return hours * 3600 + minutes * 60 + seconds;
}

/* Its end and the reason for it are in the log of batond, and it is not started without a pause. */
static void a_full_disk_is_in_the_log(void **state)
{
    struct stage *stage = *state;
    char line[1024], token[TOKEN_TEXT], path[32];
    size_t offset = 0;
    leave(stage);
    bool is_small = small_disk_mount(stage->dir.path);
    enter(stage);
    if (!is_small)
        skip(); /* only root may */
    int64_t fence = take(stage, token);
    small_disk_fill(stage->dir.path);
    long status = 201;
    for (int i = 0; i < 1000 && status == 201; i++) {
        snprintf(path, sizeof path, "/locks/full-%d", i);
        status = http_call(stage->client, "POST", path, NULL);
    }
    assert_int_equal(status, 503);
    assert_true(process_wait_line(&stage->batond.process, "redis-server ended", &offset, line,
                                  sizeof line, CLOCK_HANG_MS));
    assert_non_null(strstr(line, "the disk is full"));
    double begun = said_at(line), said = begun;
    for (int i = 0; i < 2; i++) {
        assert_true(process_wait_line(&stage->batond.process, "redis-server ended", &offset, line,
                                      sizeof line, CLOCK_HANG_MS));
        assert_non_null(strstr(line, "No space left on device"));
        said = said_at(line);
    }
    assert_true(said < begun || said - begun >= 1); /* the second pause is 1 s; or it is midnight */
    small_disk_empty(stage->dir.path);
    assert_true(comes_to_answer(stage->client, "/readyz", 200, CLOCK_HANG_MS));
    leave(stage);
    enter(stage);
    is_remembered(stage, token, fence);
    leave(stage);
    small_disk_unmount(stage->dir.path);
    enter(stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_comes_back_and_ends_with_a_batond_in_the_sandbox, set,
                                        strike),
        cmocka_unit_test_setup_teardown(redis_ends_with_a_killed_batond, set, strike),
        cmocka_unit_test_setup_teardown(killing_both_forgets_nothing, set, strike),
        cmocka_unit_test_setup_teardown(a_killed_redis_is_started_again, set, strike),
        cmocka_unit_test(a_clock_that_jumps_while_it_is_away_ends_no_hold_early),
        cmocka_unit_test_setup_teardown(a_successor_takes_over_at_once, set, strike),
        cmocka_unit_test_setup_teardown(a_second_one_says_at_once_what_it_waits_for, set, strike),
        cmocka_unit_test_setup_teardown(nobody_waits_for_its_replicas, set, strike),
        cmocka_unit_test_setup_teardown(a_full_disk_is_in_the_log, set, strike),
    };
    cmocka_set_test_filter(getenv("BATON_TEST"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
