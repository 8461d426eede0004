/* A waiter at one server, and a release, a cancellation or the end of its wait at another one. */
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"
#include "tests/support/fixtures/pair.h"
#include "tests/support/many.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Half of each is not less than any wait here: whatever a lost message costs ends it in vain. */
static const char *const FLAGS[] = {"--workers=2", "--claim-window=60s", "--waiter-lease=10m",
                                    NULL};

static struct many *crowd;

/* One waiter, or another request that takes its time. */
struct asker {
    struct many_client client;
    bool answered;
    char token[40];
};

static void answered(struct many_client *client)
{
    struct asker *asker = client->context;
    asker->answered = true;
}

static void ask_for(struct asker *asker, const struct batond_process *batond, const char *method,
                    const char *token, const char *body)
{
    asker->client.done = answered;
    asker->client.context = asker;
    asker->answered = false;
    snprintf(asker->token, sizeof asker->token, "%s", token);
    many_send(crowd, &asker->client, batond->port, method, "/locks/n", token, body);
}

static void wait_for_lock(struct asker *asker, const struct batond_process *batond,
                          const char *token)
{
    ask_for(asker, batond, "POST", token, "{\"wait_ms\":30000,\"ttl_ms\":60000}");
}

/* The status of its reply; 0 where none comes in time. */
static int reply_of(struct asker *asker)
{
    int64_t until = clock_us() + CLOCK_HANG_MS * INT64_C(1000);
    while (!asker->answered && clock_us() < until)
        many_run(crowd, until);
    return asker->answered ? asker->client.status : 0;
}

static int64_t queue_length(struct pair *pair)
{
    answers(pair->client[1], "GET /locks/n", NULL, 200, NULL);
    return http_integer(pair->client[1], "queue_length");
}

static void await_queue(struct pair *pair, int64_t length)
{
    int64_t until = clock_ms() + CLOCK_HANG_MS;
    while (queue_length(pair) != length) {
        assert_true(clock_ms() < until);
        many_run(crowd, clock_us() + 1000);
    }
}

static void lock(struct pair *pair, const char *token)
{
    answers_token(pair->client[1], token, "POST /locks/n?ttl=60s", NULL, 201, NULL);
}

static void unlock(struct pair *pair, const char *token)
{
    answers_token(pair->client[1], token, "DELETE /locks/n", NULL, 200, NULL);
}

static void assert_free(struct pair *pair)
{
    answers(pair->client[1], "GET /locks/n", NULL, 200, NULL);
    assert_int_equal(http_integer(pair->client[1], "hold_count"), 0);
    assert_int_equal(http_integer(pair->client[1], "queue_length"), 0);
}

static const char *token(const char *what, int number)
{
    static char texts[4][40];
    static int next;
    char *text = texts[next++ % 4];
    snprintf(text, sizeof texts[0], "%s-of-some-races-%04d", what, number);
    return text;
}

/* Redisson 5761, 4744: the release comes while the waiter is being put into the queue. */
TEST_WITH(release_while_the_waiter_is_queued_wakes_it, pair_clean, NULL)
{
    struct pair *pair = *state;
    static struct asker waiter, releaser;
    for (int i = 0; i < 200; i++) {
        lock(pair, token("holder", i));
        wait_for_lock(&waiter, &pair->batond[0], token("waiter", i));
        if (i % 4)
            usleep((useconds_t)(i % 8) * 100);
        ask_for(&releaser, &pair->batond[1], "DELETE", token("holder", i), NULL);
        assert_int_equal(reply_of(&waiter), 201);
        assert_int_equal(reply_of(&releaser), 200);
        unlock(pair, waiter.token);
    }
}

/* etcd 11456: the release comes at the end of the wait. Who is told that it waited in vain has
 * nothing. */
TEST_WITH(release_at_the_end_of_a_wait_grants_or_leaves_nothing, pair_clean, NULL)
{
    struct pair *pair = *state;
    static struct asker waiter, releaser;
    int granted = 0;
    for (int i = 0; i < 20; i++) {
        lock(pair, token("holder", i));
        ask_for(&waiter, &pair->batond[0], "POST", token("waiter", i),
                "{\"wait_ms\":50,\"ttl_ms\":60000}");
        while (!waiter.answered && queue_length(pair) != 1)
            many_run(crowd, clock_us() + 1000);
        clock_sleep_ms(44 + i % 8);
        ask_for(&releaser, &pair->batond[1], "DELETE", token("holder", i), NULL);
        int status = reply_of(&waiter);
        assert_int_equal(reply_of(&releaser), 200);
        answers_token(pair->client[1], waiter.token, "GET /locks/n", NULL, 200, NULL);
        bool mine = json_is_true(json_object_get(pair->client[1]->reply.json, "mine"));
        assert_true(status == 201 || status == 409);
        assert_int_equal(mine, status == 201);
        if (mine)
            unlock(pair, waiter.token);
        granted += mine;
        assert_free(pair);
    }
    print_message("%d of 20 were granted it in time\n", granted);
}

/* blazingcache 206 */
TEST_WITH(release_beside_a_cancellation_grants_or_cancels, pair_clean, NULL)
{
    struct pair *pair = *state;
    static struct asker waiter, canceller, releaser;
    int cancelled = 0;
    for (int i = 0; i < 100; i++) {
        lock(pair, token("holder", i));
        wait_for_lock(&waiter, &pair->batond[0], token("waiter", i));
        await_queue(pair, 1);
        ask_for(&releaser, &pair->batond[1], "DELETE", token("holder", i), NULL);
        if (i % 3 == 0)
            usleep((useconds_t)(i % 10) * 50);
        ask_for(&canceller, &pair->batond[i % 2], "DELETE", token("waiter", i), NULL);
        assert_int_equal(reply_of(&releaser), 200);
        assert_int_equal(reply_of(&canceller), 200);
        bool was_cancelled = strstr(canceller.client.body, "\"cancelled\":true");
        int status = reply_of(&waiter);
        assert_true(status == 409 || (status == 201 && !was_cancelled));
        cancelled += was_cancelled;
        assert_free(pair);
    }
    print_message("%d of 100 were cancelled in the queue\n", cancelled);
}

static int set_up(void **state)
{
    struct pair *pair = calloc(1, sizeof *pair);
    *state = pair;
    pair_open_with(pair, NULL, FLAGS);
    crowd = many_new();
    return 0;
}

static int tear_down(void **state)
{
    many_free(crowd);
    return pair_stop(state);
}

RUN_TESTS(set_up, tear_down)
