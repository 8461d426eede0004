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
    static struct service service;
    service_open(&service, NULL, (const char *const[]){"--workers=1", NULL});
    *state = &service;
    return comes_to_answer(service.client, "/readyz", 200, CLOCK_HANG_MS) ? 0 : -1;
}

static int stop(void **state)
{
    service_close(*state);
    return 0;
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

static void is_told(const char *listen, const char *const *more, int code, const char *words)
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

static void check_of_ready_batond_exits_with_0(void **state)
{
    struct service *service = *state;
    char any[40];
    is_told(place_of(service), NULL, 0, "ready");
    snprintf(any, sizeof any, "0.0.0.0:%d", service->batond.port);
    is_told(any, (const char *const[]){"--allow-anonymous", NULL}, 0, "ready");
}

/* It would stop the next start. */
static void check_names_invalid_file(void **state)
{
    static const char TO_REDIS[] = "--redis-url=rediss://h";
    struct service *service = *state;
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
    is_refused(place_of(service), (const char *const[]){tokens, NULL},
               "principals[0].sha256: expected 64");
    is_refused(place_of(service), (const char *const[]){certificate, key, NULL}, "bad.json");
    is_refused(place_of(service), (const char *const[]){TO_REDIS, authorities, NULL},
               "--redis-ca: cannot use ");
    principals_file_put(path, "{\"principals\": []}", 0600);
    is_told(place_of(service), (const char *const[]){tokens, NULL}, 0, "ready");
    temp_dir_remove(&dir);
}

static void check_asks_by_ipv6(void **state)
{
    struct service *service = *state;
    struct batond_process batond;
    char any[40];
    batond_process_start(
        &batond, &(struct batond_options){.redis_url = service->redis.url,
                                          .arguments = (const char *const[]){"--listen", "[::]:0",
                                                                             "--allow-anonymous",
                                                                             "--workers=1", NULL}});
    snprintf(any, sizeof any, "[::]:%d", batond.port);
    struct http_client *client = http_client_new(batond.url);
    assert_true(comes_to_answer(client, "/readyz", 200, CLOCK_HANG_MS));
    http_client_free(client);
    is_told(any, (const char *const[]){"--allow-anonymous", NULL}, 0, "ready");
    assert_int_equal(batond_process_stop(&batond), 0);
}

static void check_passes_on_why_redis_is_away(void **state)
{
    struct service *service = *state;
    redis_process_freeze(&service->redis);
    is_told(place_of(service), NULL, 1, "batond: not ready: 503 store_unavailable: Redis ");
    redis_process_thaw(&service->redis);
    assert_true(comes_to_answer(service->client, "/readyz", 200, CLOCK_HANG_MS));
    is_told(place_of(service), NULL, 0, "ready");
}

static void check_without_batond_exits_with_1(void **state)
{
    char listen[40];
    (void)state;
    snprintf(listen, sizeof listen, "127.0.0.1:%d", free_port());
    is_told(listen, NULL, 1, "does not answer: Connection refused");
    is_told("127.0.0.1:0", NULL, 2, "--check: --listen has port 0");
}

/* Though the batond that is asked was started with better ones. */
static void check_refuses_settings_that_stop_a_start(void **state)
{
    static const struct {
        const char *flag, *said;
    } WRONG[] = {
        {"--listen=0.0.0.0:7420", "other machines can reach 0.0.0.0:7420"},
        {"--redis-url=redis://:opensesame@h:port", "a number from 1 to 65535"},
        {"--redis-password=secret", "--redis-password is for a Redis that --redis-url names"},
    };
    const struct service *service = *state;
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++)
        is_refused(place_of(service), (const char *const[]){WRONG[i].flag, NULL}, WRONG[i].said);
    is_told(place_of(service), (const char *const[]){"--redis-url=redis://:pw@h:6379/1", NULL}, 0,
            "ready");
}

static void check_of_settings_alone_asks_no_batond(void **state)
{
    static const char CONFIG[] = "--check=config";
    (void)state;
    says(CONFIG, "127.0.0.1:0", NULL, 0, "the settings are fine");
    says(CONFIG, "127.0.0.1:1", (const char *const[]){"--redis-url=redis://127.0.0.1:1", NULL}, 0,
         "the settings are fine");
}

/* How long it waits, tests/timing/test_check.c measures. */
static void check_does_not_wait_for_stuck_batond(void **state)
{
    struct service *service = *state;
    process_signal(&service->batond.process, SIGSTOP);
    is_told(place_of(service), NULL, 1, "does not answer: it takes too long");
    process_signal(&service->batond.process, SIGCONT);
    assert_true(comes_to_answer(service->client, "/readyz", 200, CLOCK_HANG_MS));
    is_told(place_of(service), NULL, 0, "ready");
}

/* A batond serves HTTPS at that port, and the settings say plain HTTP; and the other way round. */
static void check_asks_https_by_https(void **state)
{
    struct service *service = *state;
    struct secure secure;
    secure_open(&secure, true, (const char *const[]){"--workers=1", NULL});
    const char *place = secure.batond.url + strlen("https://");
    const char *files[] = {"--tls-cert", secure.server.file, "--tls-key", secure.server.key, NULL};
    secure.client->tls = &secure.tls;
    assert_true(comes_to_answer(secure.client, "/readyz", 200, CLOCK_HANG_MS));
    is_told(place, files, 0, "ready");
    is_told(place, NULL, 1, "does not answer: ");
    is_told(place_of(service), files, 1, "does not answer: ");
    secure_close(&secure);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(check_of_ready_batond_exits_with_0),
        cmocka_unit_test(check_names_invalid_file),
        cmocka_unit_test(check_asks_by_ipv6),
        cmocka_unit_test(check_passes_on_why_redis_is_away),
        cmocka_unit_test(check_without_batond_exits_with_1),
        cmocka_unit_test(check_refuses_settings_that_stop_a_start),
        cmocka_unit_test(check_of_settings_alone_asks_no_batond),
        cmocka_unit_test(check_does_not_wait_for_stuck_batond),
        cmocka_unit_test(check_asks_https_by_https),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
