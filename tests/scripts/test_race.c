/* Many connections at the same lock at the same time. */
#include "tests/scripts/scripts.h"
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { CLIENTS = 12, PATIENCE_MS = CLOCK_HANG_MS };

struct client {
    struct scripts scripts;
    const char *name;
    atomic_int *winners;
    int64_t fence;
    int number;
    int granted;
    pthread_t thread;
};

/* Runs `work` once for each client, all at once, each on a connection of its own. */
static void run_all(struct scripts *scripts, struct client clients[CLIENTS], const char *name,
                    void *(*work)(void *client))
{
    atomic_int winners = 0;
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] =
            (struct client){.scripts = *scripts, .number = i, .name = name, .winners = &winners};
        clients[i].scripts.unwatched = true;
        clients[i].scripts.link = redisConnectUnix(scripts->redis.socket);
        assert_int_equal(clients[i].scripts.link->err, 0);
    }
    for (int i = 0; i < CLIENTS; i++)
        assert_int_equal(pthread_create(&clients[i].thread, NULL, work, &clients[i]), 0);
    for (int i = 0; i < CLIENTS; i++) {
        pthread_join(clients[i].thread, NULL);
        redisFree(clients[i].scripts.link);
    }
}

static void *take_over(void *context)
{
    struct client *client = context;
    char token[24];
    snprintf(token, sizeof token, "client%d", client->number);
    int64_t deadline = clock_ms() + PATIENCE_MS;
    while (atomic_load(client->winners) == 0 && clock_ms() < deadline) {
        struct answer answer = acquire(&client->scripts, .name = client->name, .token = token);
        if (!strcmp(answer.status, "granted")) {
            client->granted++;
            client->fence = answer.fence;
            atomic_fetch_add(client->winners, 1);
        }
    }
    return NULL;
}

static void an_expired_lock_is_taken_over_by_exactly_one(void **state)
{
    struct scripts *scripts = *state;
    struct client clients[CLIENTS];
    for (int round = 0; round < 20; round++) {
        char name[24];
        snprintf(name, sizeof name, "round%d", round);
        bool crowded = round % 2;
        acquire(scripts, .name = name, .token = "old", .mode = "shared", .ttl_ms = 30);
        struct answer old = renew(scripts, name, "old", 30);
        if (crowded)
            old = acquire(scripts, .name = name, .token = "older", .mode = "shared", .ttl_ms = 10);
        run_all(scripts, clients, name, take_over);
        int winners = 0;
        for (int i = 0; i < CLIENTS; i++) {
            winners += clients[i].granted;
            if (clients[i].granted)
                assert_true(clients[i].fence > old.fence + 10000);
        }
        assert_int_equal(winners, 1);
        assert_int_equal(inspect(scripts, name, "").holds, 1);
    }
}

enum { TRIES = 9, PRIZES = 10 };

static void *win_prizes(void *context)
{
    struct client *client = context;
    for (int i = 0; i < TRIES; i++) {
        char token[24];
        snprintf(token, sizeof token, "client%d.%d", client->number, i);
        struct answer answer = acquire(&client->scripts, .name = client->name, .token = token,
                                       .mode = "shared", .limit = PRIZES);
        client->granted += !strcmp(answer.status, "granted");
    }
    return NULL;
}

static void more_than_a_hundred_tries_for_ten_prizes_make_ten_winners(void **state)
{
    struct scripts *scripts = *state;
    struct client clients[CLIENTS];
    run_all(scripts, clients, "prizes", win_prizes);
    int winners = 0;
    for (int i = 0; i < CLIENTS; i++)
        winners += clients[i].granted;
    assert_int_equal(winners, PRIZES);
    assert_int_equal(inspect(scripts, "prizes", "").holds, PRIZES);
}

static void *repeat_one_request(void *context)
{
    struct client *client = context;
    for (int i = 0; i < TRIES; i++) {
        struct answer answer = acquire(&client->scripts, .name = client->name, .token = "same");
        client->granted += !strcmp(answer.status, "granted");
        client->fence = answer.fence;
    }
    return NULL;
}

static void one_request_sent_by_many_is_one_hold(void **state)
{
    struct scripts *scripts = *state;
    struct client clients[CLIENTS];
    run_all(scripts, clients, "n", repeat_one_request);
    int granted = 0;
    for (int i = 0; i < CLIENTS; i++) {
        granted += clients[i].granted;
        assert_int_equal(clients[i].fence, clients[0].fence);
    }
    assert_int_equal(granted, 1);
    assert_int_equal(inspect(scripts, "n", "same").holds, 1);
}

#define TEST(name) cmocka_unit_test_setup(name, scripts_clean)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_expired_lock_is_taken_over_by_exactly_one),
        TEST(more_than_a_hundred_tries_for_ten_prizes_make_ten_winners),
        TEST(one_request_sent_by_many_is_one_hold),
    };
    return cmocka_run_group_tests(tests, scripts_start, scripts_stop);
}
