/* batond --check: says in one line, and by its exit code, whether the settings are fine, and
 * whether the batond of the same settings is ready. */
#include "tests/support/fixtures/secure.h"

#include "tests/support/free_port.h"
#include "tests/support/principals_file.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int start(void **state)
{
    service_start_with(state, NULL, LIST("--workers=1"));
    return comes_to_answer(service_client(state), "/readyz", 200, CLOCK_HANG_MS) ? 0 : -1;
}

/* Expects that this check ends with this code, having said one line with `words` in it. */
static void says(const char *flag, const char *listen, const char *const *more, int code,
                 const char *words)
{
    struct batond_process check;
    const char *arguments[16] = {flag, "--listen", listen};
    for (size_t i = 3; more && *more; i++)
        arguments[i] = *more++;
    batond_process_launch(&check, &(struct batond_options){.arguments = arguments});
    assert_true(process_wait(&check.process, CLOCK_HANG_MS));
    char *output = process_output(&check.process);
    const char *end = strchr(output, '\n');
    if (process_exit_code(&check.process) != code || !strstr(output, words) || !end || end[1])
        fail_msg("exit code %d (expected %d) and: %s", process_exit_code(&check.process), code,
                 output);
    free(output);
    batond_process_stop(&check);
}

static void check_says(const char *listen, const char *const *more, int code, const char *words)
{
    says("--check", listen, more, code, words);
}

/* What would stop a start ends each check, whatever the batond that is asked was started with. */
static void is_refused(const char *listen, const char *const *more, const char *words)
{
    says("--check", listen, more, 2, words);
    says("--check=config", listen, more, 2, words);
}

static const char *place_of(const struct service *service)
{
    return service->batond.url + strlen("http://");
}

TEST_ON_SERVICE(check_of_ready_batond_exits_with_0)
{
    char any[40];
    check_says(place_of(service), NULL, 0, "ready");
    snprintf(any, sizeof any, "0.0.0.0:%d", service->batond.port);
    check_says(any, LIST("--allow-anonymous"), 0, "ready");
}

/* It would stop the next start. */
TEST_ON_SERVICE(check_names_invalid_file)
{
    static const char TO_REDIS[] = "--redis-url=rediss://h";
    struct temp_dir dir;
    char path[100], tokens[140], key[140], certificate[140], authorities[140];
    temp_dir_make(&dir);
    snprintf(path, sizeof path, "%s/bad.json", dir.path);
    snprintf(tokens, sizeof tokens, "--tokens-file=%s", path);
    snprintf(key, sizeof key, "--tls-key=%s", path);
    snprintf(certificate, sizeof certificate, "--tls-cert=%s", path);
    snprintf(authorities, sizeof authorities, "--redis-ca=%s", path);
    principals_file_put(
        path, "{\"principals\": [{\"name\": \"ci\", \"sha256\": \"00\", \"rules\": []}]}", 0600);
    is_refused(place_of(service), LIST(tokens), "principals[0].sha256: expected 64");
    is_refused(place_of(service), LIST(certificate, key), "bad.json");
    is_refused(place_of(service), LIST(TO_REDIS, authorities),
               "bad.json has no readable certificate");
    principals_file_put(path, "{\"principals\": []}", 0600);
    check_says(place_of(service), LIST(tokens), 0, "ready");
    temp_dir_remove(&dir);
}

TEST_ON_SERVICE(check_asks_by_ipv6)
{
    struct batond_process batond;
    char any[40];
    batond_process_start(
        &batond, &(struct batond_options){
                     .redis_url = service->redis.url,
                     .arguments = LIST("--listen", "[::]:0", "--allow-anonymous", "--workers=1")});
    snprintf(any, sizeof any, "[::]:%d", batond.port);
    struct http_client *client = http_client_new(batond.url);
    assert_true(comes_to_answer(client, "/readyz", 200, CLOCK_HANG_MS));
    http_client_free(client);
    check_says(any, LIST("--allow-anonymous"), 0, "ready");
    assert_int_equal(batond_process_stop(&batond), 0);
}

TEST_ON_SERVICE(check_passes_on_why_redis_is_away)
{
    redis_process_freeze(&service->redis);
    check_says(place_of(service), NULL, 1, "batond: not ready: 503 store_unavailable: Redis ");
    redis_process_thaw(&service->redis);
    assert_true(comes_to_answer(service->client, "/readyz", 200, CLOCK_HANG_MS));
    check_says(place_of(service), NULL, 0, "ready");
}

static void assert_check_warns(struct service *service, const char *warning)
{
    struct batond_process check;
    batond_process_launch(
        &check, &(struct batond_options){.redis_url = service->redis.url,
                                         .arguments = LIST("--check", "--redis-keeps=all",
                                                           "--listen", place_of(service))});
    assert_true(process_wait(&check.process, CLOCK_HANG_MS));
    char *output = process_output(&check.process);
    if (process_exit_code(&check.process) != 0 || !strstr(output, "ready") ||
        (warning ? !strstr(output, warning) : strstr(output, "warning") != NULL))
        fail_msg("exit code %d, not \"%s\": %s", process_exit_code(&check.process),
                 warning ? warning : "no warning", output);
    free(output);
    batond_process_stop(&check);
}

/* By redis-keeps=all, and by what Redis says of its file. */
TEST_ON_SERVICE(check_warns_of_redis_that_loses_holds_when_restarted)
{
    static const struct {
        const char *appendonly, *appendfsync, *warning;
    } CASES[] = {{"no", "always", "appendonly is no"},
                 {"yes", "no", "appendfsync is no"},
                 {"yes", "everysec", NULL},
                 {"yes", "always", NULL}};
    struct redis_process *redis = &service->redis;
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        freeReplyObject(
            redis_process_command(redis, "CONFIG SET appendonly %s", CASES[i].appendonly));
        freeReplyObject(
            redis_process_command(redis, "CONFIG SET appendfsync %s", CASES[i].appendfsync));
        assert_check_warns(service, CASES[i].warning);
    }
    freeReplyObject(redis_process_command(redis, "CONFIG SET appendonly no"));
}

/* The log says the same; a user that may not ask for the CONFIG is served all the same. */
TEST_ON_SERVICE(start_warns_of_redis_that_loses_holds_when_restarted)
{
    struct batond_process batond;
    char url[200];
    freeReplyObject(redis_process_command(&service->redis, "ACL SETUSER some on >p ~* &* +@all "
                                                           "-config"));
    snprintf(url, sizeof url, "unix://some:p@%s", service->redis.socket);
    for (int may_ask = 0; may_ask < 2; may_ask++) {
        batond_process_start(&batond, &(struct batond_options){
                                          .redis_url = may_ask ? service->redis.url : url,
                                          .arguments = LIST("--workers=1", "--redis-keeps=all")});
        assert_true(process_wait_line(&batond.process, "redis-keeps is all, but appendonly is no",
                                      NULL, NULL, 0, CLOCK_HANG_MS));
        assert_int_equal(batond_process_stop(&batond), 0);
    }
}

TEST(check_without_batond_exits_with_1)
{
    char listen[40];
    snprintf(listen, sizeof listen, "127.0.0.1:%d", free_port());
    check_says(listen, NULL, 1, "does not answer: Connection refused");
    check_says("127.0.0.1:0", NULL, 2, "--check: --listen has port 0");
}

/* Though the batond that is asked was started with better ones. */
TEST_ON_SERVICE(check_refuses_settings_that_stop_a_start)
{
    static const struct {
        const char *flag, *said;
    } WRONG[] = {
        {"--listen=0.0.0.0:7420", "other machines can reach 0.0.0.0:7420"},
        {"--redis-url=redis://:opensesame@h:port", "a number from 1 to 65535"},
        {"--redis-password=secret", "--redis-password is for a Redis that --redis-url names"},
    };
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++)
        is_refused(place_of(service), LIST(WRONG[i].flag), WRONG[i].said);
    check_says(place_of(service), LIST("--redis-url=redis://:pw@h:6379/1"), 0, "ready");
}

TEST(check_of_settings_alone_asks_no_batond)
{
    static const char CONFIG[] = "--check=config";
    says(CONFIG, "127.0.0.1:0", NULL, 0, "the settings are fine");
    says(CONFIG, "127.0.0.1:1", LIST("--redis-url=redis://127.0.0.1:1"), 0,
         "the settings are fine");
}

/* How long it waits, tests/timing/test_check.c measures. */
TEST_ON_SERVICE(check_does_not_wait_for_stuck_batond)
{
    process_signal(&service->batond.process, SIGSTOP);
    check_says(place_of(service), NULL, 1, "does not answer: it takes too long");
    process_signal(&service->batond.process, SIGCONT);
    assert_true(comes_to_answer(service->client, "/readyz", 200, CLOCK_HANG_MS));
    check_says(place_of(service), NULL, 0, "ready");
}

/* A batond serves HTTPS at that port, and the settings say plain HTTP; and the other way round. */
TEST_ON_SERVICE(check_asks_https_by_https)
{
    struct secure secure;
    secure_open(&secure, true, LIST("--workers=1"));
    const char *place = secure.batond.url + strlen("https://");
    const char *files[] = {"--tls-cert", secure.server.file, "--tls-key", secure.server.key, NULL};
    secure.client->tls = &secure.tls;
    assert_true(comes_to_answer(secure.client, "/readyz", 200, CLOCK_HANG_MS));
    check_says(place, files, 0, "ready");
    check_says(place, NULL, 1, "does not answer: ");
    check_says(place_of(service), files, 1, "does not answer: ");
    secure_close(&secure);
}

RUN_TESTS(start, service_stop)
