/* Bugs that other lock services had, by name, over HTTP. */
#include "tests/history/asking.h"
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"

#include <stdlib.h>
#include <string.h>

/* A POST with one token, time and again. */
struct repeater {
    struct http_client *http;
    const char *path;
    int granted, repeated, other;
    int64_t fence;
    int64_t most_holds;
};

static void repeat(void *item)
{
    struct repeater *repeater = item;
    for (int i = 0; i < 50; i++) {
        long status =
            ask_with(repeater->http, "one-token-many-requests", "POST", "%s", repeater->path);
        int64_t fence = http_integer(repeater->http, "fence");
        int64_t holds = http_integer(repeater->http, "holds");
        repeater->granted += status == 201;
        repeater->repeated += status == 200 && (!repeater->fence || repeater->fence == fence);
        repeater->other += status != 200 && status != 201;
        repeater->fence = fence;
        repeater->most_holds = holds > repeater->most_holds ? holds : repeater->most_holds;
    }
}

/* The requests of all threads make one hold, and its one release ends it. */
static void assert_repeats_make_one_hold(struct pair *pair, const char *path)
{
    enum { THREADS = 8 };
    struct repeater repeaters[THREADS];
    int granted = 0, repeated = 0;
    for (int i = 0; i < THREADS; i++)
        repeaters[i] =
            (struct repeater){.path = path, .http = http_client_new(pair->batond[i % 2].url)};
    side_by_side(THREADS, repeat, repeaters, sizeof *repeaters);
    for (int i = 0; i < THREADS; i++) {
        http_client_free(repeaters[i].http);
        granted += repeaters[i].granted;
        repeated += repeaters[i].repeated;
        assert_int_equal(repeaters[i].other, 0);
        assert_int_equal(repeaters[i].most_holds, 1);
        assert_int_equal(repeaters[i].fence, repeaters[0].fence);
    }
    assert_int_equal(granted, 1);
    assert_int_equal(repeated, THREADS * 50 - 1);
    assert_int_equal(ask_with(pair->client[0], "one-token-many-requests", "DELETE", "/locks/n"),
                     200);
    assert_int_equal(http_integer(pair->client[0], "holds"), 0);
    assert_int_equal(ask(pair->client[1], "GET", "/locks/n"), 200);
    assert_string_equal(http_text(pair->client[1], "state"), "free");
}

static void hold_count_doubled_by_a_retried_script(void **state)
{
    struct pair *pair = *state;
    assert_repeats_make_one_hold(pair, "/locks/n?ttl=30s&owner=me");
    redis_process_flush(&pair->redis);
    assert_repeats_make_one_hold(pair, "/locks/n?ttl=30s&owner=me&mode=shared&limit=8");
}

static void renew_after_expiry_revives_or_deletes(void **state)
{
    struct pair *pair = *state;
    struct http_client *http = pair->client[0], *other = pair->client[1];
    assert_int_equal(ask(http, "POST", "/locks/n?ttl=100ms"), 201);
    char *late = token_of(http);
    clock_sleep_ms(105);
    assert_int_equal(ask_with(http, late, "PUT", "/locks/n?ttl=10s"), 409);
    assert_string_equal(http_text(http, "code"), "not_held");
    assert_int_equal(ask(other, "GET", "/locks/n"), 200);
    assert_string_equal(http_text(other, "state"), "free");

    assert_int_equal(ask(other, "POST", "/locks/n?ttl=10m"), 201);
    char *next = token_of(other);
    assert_int_equal(ask_with(http, late, "PUT", "/locks/n?ttl=10s"), 409);
    assert_int_equal(ask_with(other, next, "PUT", "/locks/n"), 200);
    assert_int_equal(ask_with(http, late, "PUT", "/locks/n?ttl=100ms"), 409);
    assert_int_equal(ask_with(other, next, "GET", "/locks/n"), 200);
    assert_true(json_is_true(json_object_get(other->reply.json, "mine")));
    assert_in_range(member_integer(other, "holders.0.ttl_ms"), 60000, 600000);
    free(late);
    free(next);
}

static void flush_scripts(struct pair *pair)
{
    freeReplyObject(redis_process_command(&pair->redis, "FUNCTION FLUSH"));
}

static void noscript_after_script_flush_with_a_green_health_check(void **state)
{
    struct pair *pair = *state;
    for (int i = 0; i < 2; i++) {
        struct http_client *http = pair->client[i];
        flush_scripts(pair);
        assert_int_equal(ask(http, "POST", "/locks/n?ttl=30s"), 201);
        char *token = token_of(http);
        flush_scripts(pair);
        assert_int_equal(ask_with(http, token, "PUT", "/locks/n"), 200);
        flush_scripts(pair);
        assert_int_equal(ask(http, "GET", "/locks/n"), 200);
        flush_scripts(pair);
        assert_int_equal(ask(http, "GET", "/locks"), 200);
        flush_scripts(pair);
        assert_int_equal(ask_with(http, token, "DELETE", "/locks/n"), 200);
        flush_scripts(pair);
        assert_int_equal(ask(http, "DELETE", "/locks/n?force=true"), 200);
        flush_scripts(pair);
        assert_int_equal(ask(http, "GET", "/readyz"), 200);
        free(token);
    }
}

/* The health check says what an acquire would: here, that Redis refuses to store anything. */
static void a_health_check_that_is_green_while_nothing_can_be_locked(void **state)
{
    struct pair *pair = *state;
    assert_int_equal(ask(pair->client[0], "GET", "/readyz"), 200);
    freeReplyObject(redis_process_command(&pair->redis, "CONFIG SET maxmemory 1"));
    long acquire = ask(pair->client[0], "POST", "/locks/n");
    long ready = ask(pair->client[0], "GET", "/readyz");
    long alive = ask(pair->client[0], "GET", "/livez");
    freeReplyObject(redis_process_command(&pair->redis, "CONFIG SET maxmemory 0"));
    assert_int_equal(acquire, 503);
    assert_int_equal(ready, 503);
    assert_int_equal(alive, 200);
    assert_int_equal(ask(pair->client[0], "GET", "/readyz"), 200);
    assert_int_equal(ask(pair->client[0], "POST", "/locks/n"), 201);
}

static void busy_and_store_down_look_the_same(void **state)
{
    (void)state;
    static const char token[] = "the-token-of-the-holder";
    struct pair own;
    pair_open(&own, NULL, NULL);
    struct http_client *http = own.client[0];
    assert_int_equal(ask_with(http, token, "POST", "/locks/n?ttl=60s"), 201);
    assert_int_equal(ask(http, "POST", "/locks/n"), 409);
    assert_string_equal(http_text(http, "code"), "locked");
    assert_null(http_text(http, "token"));

    redis_process_halt(&own.redis);
    static const char *const METHODS[] = {"POST", "PUT", "DELETE", "GET"};
    for (size_t i = 0; i < sizeof METHODS / sizeof METHODS[0]; i++) {
        assert_int_equal(ask_with(http, token, METHODS[i], "/locks/n"), 503);
        assert_string_equal(http_text(http, "code"), "store_unavailable");
        assert_non_null(http_header(http, "Retry-After"));
    }
    assert_int_equal(ask(http, "POST", "/locks/n"), 503);
    assert_non_null(http_text(http, "token"));
    pair_close(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(hold_count_doubled_by_a_retried_script, pair_clean),
        cmocka_unit_test_setup(renew_after_expiry_revives_or_deletes, pair_clean),
        cmocka_unit_test_setup(noscript_after_script_flush_with_a_green_health_check, pair_clean),
        cmocka_unit_test_setup(a_health_check_that_is_green_while_nothing_can_be_locked,
                               pair_clean),
        cmocka_unit_test(busy_and_store_down_look_the_same),
    };
    return cmocka_run_group_tests(tests, pair_start, pair_stop);
}
