/* Servers of which each has another wrong clock: what they say of one lock agrees. */
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"
#include "tests/support/faults/jumping_clock.h"
#include "tests/support/fixtures/pair.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { DATE_SECONDS = 30 };

/* Starts a batond that has this clock. */
static void wrong_clock_start(struct batond_process *batond, const char *redis_url,
                              const struct jumping_clock *clock)
{
    char address[400];
    const char *options = getenv("ASAN_OPTIONS");
    /* AddressSanitizer wants to be first of all libraries, unless it is told not to mind. */
    snprintf(address, sizeof address, "ASAN_OPTIONS=%s%sverify_asan_link_order=0",
             options ? options : "", options ? ":" : "");
    batond_process_start(
        batond, &(struct batond_options){
                    .redis_url = redis_url,
                    .arguments = LIST("--workers=2"),
                    .environment = LIST(clock->environment[0], clock->environment[1], address)});
}

/* That a server's clock, as its Date header tells it, is off by so many seconds. */
static void wrong_clock_assert(struct http_client *http, long seconds)
{
    answers(http, "GET /livez", NULL, 200, NULL);
    const char *date = http_header(http, "Date");
    assert_non_null(date);
    long off = (long)(curl_getdate(date, NULL) - time(NULL)) - seconds;
    assert_true(-DATE_SECONDS < off && off < DATE_SECONDS);
}

/* Fences grow from server to server, and each says of the others' holds what is true. */
static void assert_clocks_agree(struct http_client **http, int count)
{
    int64_t fence = 0;
    for (int i = 0; i < 10 * count; i++) {
        struct http_client *taker = http[i % count], *other = http[(i + 1) % count];
        char token[TOKEN_TEXT];
        acquire_lock(taker, "n?ttl=30s", token);
        assert_true(http_integer(taker, "fence") > fence);
        fence = http_integer(taker, "fence");
        answers(other, "POST /locks/n", NULL, 409, NULL);
        assert_in_range(member_integer(other, "holders.0.ttl_ms"), 1, 30000);
        assert_in_range(member_integer(other, "holders.0.held_ms"), 0, CLOCK_HANG_MS);
        answers_token(other, token, "PUT /locks/n?ttl=20s", NULL, 200, NULL);
        answers_token(other, token, "DELETE /locks/n", NULL, 200, NULL);
        assert_in_range(http_integer(other, "held_ms"), 0, CLOCK_HANG_MS);
    }
}

/* A hold that one server granted ends in time for another. */
static void assert_clocks_agree_on_the_end(struct http_client *taker, struct http_client *other)
{
    int64_t asked = clock_us();
    answers(taker, "POST /locks/n?ttl=200ms", NULL, 201, NULL);
    int64_t granted = clock_us();
    while (http_call(other, "POST", "/locks/n?ttl=100ms", NULL) == 409) {
        assert_true(clock_us() - granted < CLOCK_HANG_MS * INT64_C(1000));
        clock_sleep_ms(1);
    }
    assert_int_equal(other->reply.status, 201);
    assert_true(clock_us() - asked >= 200000 - 2000);
    clock_sleep_ms(105);
}

TEST_WITH(clocks_of_servers_decide_nothing, pair_clean, NULL)
{
    enum { SERVERS = 3 };
    static const long SHIFTS[SERVERS] = {0, 3600, -3600};
    struct pair *pair = *state;
    struct batond_process batond[SERVERS];
    struct http_client *http[SERVERS];
    struct jumping_clock clock[SERVERS];
    for (int i = 0; i < SERVERS; i++) {
        jumping_clock_open(&clock[i]);
        jumping_clock_set(&clock[i], (double)SHIFTS[i]);
        wrong_clock_start(&batond[i], pair->redis.url, &clock[i]);
        http[i] = http_client_new(batond[i].url);
        wrong_clock_assert(http[i], SHIFTS[i]);
    }
    assert_clocks_agree(http, SERVERS);
    for (int i = 0; i < SERVERS; i++)
        assert_clocks_agree_on_the_end(http[i], http[(i + 1) % SERVERS]);
    for (int i = 0; i < SERVERS; i++) {
        batond_close(&batond[i], http[i]);
        jumping_clock_close(&clock[i]);
    }
}

RUN_TESTS(pair_start, pair_stop)
