/* How soon a jump of Redis' clock is noticed, and what a quarantine costs while there is none. */
#include "tests/support/faults/wire_delay.h"
#include "tests/support/fixtures/pair.h"

#include <stdio.h>

enum { FAR_MS = 200, NOTICED_MS = 500, GRANTS = 10 };

TEST(a_jump_ahead_is_noticed_at_once)
{
    struct pair pair;
    pair_open_on_clock(&pair, 0);
    answers(pair.client[0], "POST /locks/n?ttl=60s", NULL, 201, NULL);
    jumping_clock_set(&pair.clock, 3600);
    int64_t begun = clock_ms();
    struct asking asking = {pair.client[1], "/locks/other?ttl=100ms"};
    assert_true(clock_wait_until(comes_to_quarantine, &asking, NOTICED_MS));
    print_message("a jump was noticed after %lld ms\n", (long long)(clock_ms() - begun));
    pair_close(&pair);
}

/* The quickest of some grants by a batond that is far away from its Redis, each for longer than
 * ever. */
static int64_t quickest(const char *flag, const char *first)
{
    struct redis_process redis;
    struct wire_delay wire;
    struct batond_process batond;
    char url[64];
    int64_t least = INT64_MAX;
    redis_process_start(&redis, &(struct redis_options){.port = true});
    wire_delay_start(&wire, redis.port, FAR_MS);
    snprintf(url, sizeof url, "redis://127.0.0.1:%d", wire.port);
    struct http_client *client =
        batond_open(&batond, url, LIST("--workers=1", "--max-ttl=24h", flag));
    assert_true(comes_to_answer(client, "/readyz", 200, CLOCK_HANG_MS));
    answers(client, first, NULL, 201, NULL);
    for (int i = 0; i < GRANTS; i++) {
        char request[60];
        snprintf(request, sizeof request, "POST /locks/quick-%d?ttl=%dm", i, 1 << i);
        int64_t begun = clock_ms();
        answers(client, request, NULL, 201, NULL);
        least = clock_ms() - begun < least ? clock_ms() - begun : least;
    }
    batond_close(&batond, client);
    wire_delay_stop(&wire);
    redis_process_stop(&redis);
    return least;
}

/* What nobody waits for is not waited for: one way there and one back. */
TEST(grant_without_quarantine_waits_for_nothing)
{
    assert_in_range(quickest("--quarantine=off", "POST /locks/m?ttl=1s"), 2L * FAR_MS, 3L * FAR_MS);
}

/* Once it is known that there may be holds for so long, a grant takes no longer than ever. */
TEST(only_the_first_grant_waits)
{
    assert_in_range(quickest("--quarantine=auto", "POST /locks/n?ttl=24h"), 2L * FAR_MS,
                    3L * FAR_MS);
}
