/* Holds that expire though nobody asks for their names again: two batonds over one Redis notice
 * each of them, and count it once in all. */
#include "tests/support/fixtures/service.h"
#include "tests/support/samples.h"

#include <math.h>
#include <stdio.h>

enum { LOCKS = 20 };

struct pair {
    struct redis_process redis;
    struct batond_process batonds[2];
    struct http_client *clients[2];
};

static int start(void **state)
{
    static struct pair pair;
    redis_process_start(&pair.redis, NULL);
    for (int i = 0; i < 2; i++) {
        const char *const workers[] = {i ? "--workers=2" : "--workers=1", NULL};
        batond_process_start(&pair.batonds[i], &(struct batond_options){.redis_url = pair.redis.url,
                                                                        .arguments = workers});
        pair.clients[i] = http_client_new(pair.batonds[i].url);
    }
    *state = &pair;
    return 0;
}

static int stop(void **state)
{
    struct pair *pair = *state;
    for (int i = 0; i < 2; i++) {
        http_client_free(pair->clients[i]);
        assert_int_equal(batond_process_stop(&pair->batonds[i]), 0);
    }
    redis_process_stop(&pair->redis);
    return 0;
}

/* How many holds ended so, by the count of both. */
static int ended(struct pair *pair, const char *how)
{
    double sum = 0;
    char series[96];
    snprintf(series, sizeof series, "baton_holds_ended_total{reason=\"%s\"}", how);
    for (int i = 0; i < 2; i++) {
        answers(pair->clients[i], "GET /metrics", NULL, 200, NULL);
        struct samples samples = samples_read(pair->clients[i]->reply.body);
        double value = samples_value(&samples, series);
        sum += isnan(value) ? 0 : value;
        samples_free(&samples);
    }
    return (int)sum;
}

static void acquire(struct pair *pair, int name, int ttl_ms, char token[TOKEN_TEXT])
{
    char request[64];
    snprintf(request, sizeof request, "POST /locks/job%d?ttl=%dms", name, ttl_ms);
    answers(pair->clients[name % 2], request, NULL, 201, NULL);
    keep_token(pair->clients[name % 2], token);
}

static void await_expired(struct pair *pair, int count)
{
    int64_t until = clock_ms() + CLOCK_HANG_MS;
    while (ended(pair, "expired") < count && clock_ms() < until)
        clock_sleep_ms(50);
    assert_int_equal(ended(pair, "expired"), count);
}

/* Holds that end last, one at each batond: then all that was to end before has been noticed. */
static void await_no_more(struct pair *pair, int ttl_ms, int count)
{
    char token[TOKEN_TEXT];
    for (int i = 0; i < 2; i++)
        acquire(pair, LOCKS + i, ttl_ms, token);
    await_expired(pair, count + 2);
}

static void what_nobody_asks_for_again_is_counted_once(void **state)
{
    struct pair *pair = *state;
    char token[TOKEN_TEXT];
    for (int i = 0; i < LOCKS; i++)
        acquire(pair, i, 300, token);
    await_expired(pair, LOCKS);
    for (int i = 0; i < LOCKS; i++) {
        char request[32];
        snprintf(request, sizeof request, "GET /locks/job%d", i);
        answers(pair->clients[1], request, NULL, 200, NULL);
        assert_string_equal(member_text(pair->clients[1], "last_release.reason"), "expired");
    }
    await_no_more(pair, 300, LOCKS);
}

static void what_was_released_at_the_other_is_not(void **state)
{
    enum { ENDS_MS = 3000 }; /* it is released before */
    struct pair *pair = *state;
    int before = ended(pair, "expired"), released = ended(pair, "released");
    for (int i = 0; i < LOCKS; i++) {
        char token[TOKEN_TEXT], request[32];
        acquire(pair, i, ENDS_MS, token);
        snprintf(request, sizeof request, "DELETE /locks/job%d", i);
        for (int times = 0; times < 2; times++) /* the second is a repetition */
            answers_token(pair->clients[(i + 1) % 2], token, request, NULL, 200, NULL);
    }
    await_no_more(pair, ENDS_MS, before);
    assert_int_equal(ended(pair, "released"), released + LOCKS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_nobody_asks_for_again_is_counted_once),
        cmocka_unit_test(what_was_released_at_the_other_is_not),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
