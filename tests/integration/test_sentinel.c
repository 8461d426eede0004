/* A batond whose primary Sentinel names: its start, what it tells, and a switch. */
#include "tests/support/fixtures/service.h"
#include "tests/support/principals_file.h"
#include "tests/support/watched.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect_primary(struct http_client *client, const struct watched *watched, int server)
{
    char place[64];
    snprintf(place, sizeof place, "Redis at redis://127.0.0.1:%d/0", watched->servers[server].port);
    answers(client, "GET /readyz?verbose", NULL, 200, NULL);
    assert_string_equal(member_text(client, "checks.2.name"), "redis");
    assert_string_equal(member_text(client, "checks.2.detail"), place);
}

/* Acquires until it is granted. */
static int64_t acquire_in_the_end(struct http_client *client, const char *path)
{
    int64_t until = clock_ms() + CLOCK_HANG_MS;
    while (clock_ms() < until) {
        long status = http_call(client, "POST", path, NULL);
        if (status == 201)
            return http_integer(client, "fence");
        assert_int_equal(status, 503);
        clock_sleep_ms(20);
    }
    fail_msg("nothing is granted any more");
    return 0;
}

TEST(place_of_primary_needs_metrics)
{
    static const struct {
        const char *principal; /* NULL: nobody */
        bool is_reported;
    } ASKING[] = {{NULL, false}, {"ci", false}, {"stranger", false}, {"monitor", true}};
    static const struct file_principal WHO[] = {
        {"ci", "[{\"prefix\": \"\", \"verbs\": [\"acquire\", \"read\", \"break\"]}]", NULL},
        {"monitor", "[{\"prefix\": \"\", \"verbs\": [\"metrics\"]}]", NULL}};
    struct watched *watched = *state;
    struct batond_process batond;
    struct temp_dir dir;
    char file[120], argument[140], header[PRINCIPAL_HEADER_TEXT];
    temp_dir_make(&dir);
    snprintf(file, sizeof file, "%s/tokens.json", dir.path);
    snprintf(argument, sizeof argument, "--tokens-file=%s", file);
    principals_file_write(file, WHO, 2);
    struct http_client *client = batond_open(&batond, watched->url, LIST(argument));
    for (size_t i = 0; i < sizeof ASKING / sizeof ASKING[0]; i++) {
        if (ASKING[i].principal)
            principal_header(ASKING[i].principal, header);
        answers_with(client, ASKING[i].principal ? header : NULL, "GET /readyz?verbose", NULL, 200,
                     NULL);
        assert_int_equal(strstr(client->reply.body, "redis://") != NULL, ASKING[i].is_reported);
    }
    batond_close(&batond, client);
    temp_dir_remove(&dir);
}

TEST(switch_is_followed_and_reported)
{
    struct watched *watched = *state;
    struct batond_process batond;
    char line[1024];
    struct http_client *client = batond_open(&batond, watched->url, LIST("--workers=1"));
    assert_true(process_wait_line(&batond.process, "\"listening\"", NULL, line, sizeof line, 0));
    assert_non_null(strstr(line, watched->url));
    int old = watched_primary(watched, 0);
    assert_true(
        process_wait_line(&batond.process, "redis is up", NULL, line, sizeof line, CLOCK_HANG_MS));
    assert_non_null(strstr(line, "\"server\":\"Redis at redis://127.0.0.1:"));
    expect_primary(client, watched, old);
    assert_true(metric_of(client, "baton_redis_switches_total") == 0);

    int64_t before = acquire_in_the_end(client, "/locks/a?ttl=1s&owner=me");
    redis_process_kill(&watched->servers[old]);
    clock_sleep_ms(50);
    int64_t after = acquire_in_the_end(client, "/locks/a?ttl=1s&owner=me");
    assert_true(after > before);
    expect_primary(client, watched, watched_await_other(watched, old));
    assert_true(metric_of(client, "baton_redis_switches_total") == 1);
    /* who waits is woken through the new one */
    answers(client, "POST /locks/b?ttl=500ms", NULL, 201, NULL);
    answers(client, "POST /locks/b?wait=15s", NULL, 201, NULL);
    batond_close(&batond, client);
}

RUN_TESTS(watched_set_up, watched_tear_down)
