/* How long a lost message delays those who wait and watch, with the usual settings: half a claim
 * window, or half a lease. */
#include "tests/support/fixtures/parked.h"
#include "tests/support/fixtures/proxied.h"

#include <limits.h>
#include <stdio.h>

enum { CLAIM_MS = 2000, LEASE_MS = 10000, LATE_MS = 300 };

static int start(void **state)
{
    return proxied_start(state, LIST("--workers=1"));
}

/* Takes the lock by the batond whose messages arrive, and parks a request at the other. */
static struct parked *park(struct proxied *scene, const char *name, char token[TOKEN_TEXT])
{
    char line[120];
    snprintf(line, sizeof line, "POST /locks/%s?ttl=5m", name);
    answers(scene->other, line, NULL, 201, NULL);
    keep_token(scene->other, token);
    snprintf(line, sizeof line, "POST /locks/%s?wait=40s", name);
    struct parked *parked = parked_send(scene->batond.port, NULL, line, NULL);
    snprintf(line, sizeof line, "GET /locks/%s", name);
    do
        answers(scene->other, line, NULL, 200, NULL);
    while (http_integer(scene->other, "queue_length") == 0);
    return parked;
}

static int64_t await(struct proxied *scene, struct parked *parked, long status, int64_t begun)
{
    assert_int_equal(parked_answer(parked, CLOCK_HANG_MS), status);
    int64_t took = clock_ms() - begun;
    assert_true(scene->proxy.losses > 0);
    scene->proxy.mode = PROXY_OPEN;
    parked_close(parked);
    print_message("%d ms\n", (int)took);
    return took;
}

static void give(struct proxied *scene, const char *name, const char *token)
{
    char line[120];
    snprintf(line, sizeof line, "DELETE /locks/%s", name);
    answers_token(scene->other, token, line, NULL, 200, NULL);
}

TEST(a_lost_grant_costs_half_a_claim_window)
{
    struct proxied *scene = *state;
    char token[TOKEN_TEXT];
    struct parked *waiter = park(scene, "grant", token);
    int64_t begun = clock_ms();
    proxied_lose(scene, "g ", 1);
    give(scene, "grant", token);
    assert_in_range(await(scene, waiter, 201, begun), 0, CLAIM_MS / 2 + LATE_MS);
}

TEST(all_messages_lost_cost_half_a_lease)
{
    struct proxied *scene = *state;
    char token[TOKEN_TEXT];
    struct parked *waiter = park(scene, "all", token);
    int64_t begun = clock_ms();
    proxied_lose(scene, "", INT_MAX);
    give(scene, "all", token);
    assert_in_range(await(scene, waiter, 201, begun), 0, LEASE_MS / 2 + LATE_MS);
}

TEST(a_lost_word_of_an_earlier_end_costs_nothing)
{
    struct proxied *scene = *state;
    static const char *const TTLS[] = {"1s", "8s"}; /* the later is for a heartbeat to find */
    for (int i = 0; i < 2; i++) {
        char token[TOKEN_TEXT], name[20], line[60];
        snprintf(name, sizeof name, "sooner-%d", i);
        snprintf(line, sizeof line, "PUT /locks/%s?ttl=%s", name, TTLS[i]);
        struct parked *waiter = park(scene, name, token);
        int64_t begun = clock_ms(), ttl_ms = 1000 * (TTLS[i][0] - '0');
        proxied_lose(scene, "n ", 1);
        answers_token(scene->other, token, line, NULL, 200, NULL);
        assert_in_range(await(scene, waiter, 201, begun), ttl_ms - 5, ttl_ms + LATE_MS);
    }
}

TEST(a_lost_word_of_a_change_costs_half_a_lease)
{
    struct proxied *scene = *state;
    char line[120];
    answers(scene->client, "GET /locks/watched", NULL, 200, NULL);
    snprintf(line, sizeof line, "GET /locks/watched/events?wait=40s&after=%lld",
             (long long)http_integer(scene->client, "version"));
    struct parked *watcher = parked_send(scene->batond.port, NULL, line, NULL);
    assert_true(parked_waits(watcher, 300));
    int64_t begun = clock_ms();
    proxied_lose(scene, "c ", 1);
    answers(scene->other, "POST /locks/watched", NULL, 201, NULL);
    assert_in_range(await(scene, watcher, 200, begun), 0, LEASE_MS / 2 + LATE_MS);
}

RUN_TESTS(start, proxied_stop)
