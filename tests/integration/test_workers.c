/* Several workers: many connections, spread over threads that meet only in Redis. */
#include "tests/support/fixtures/service.h"

#include "tests/support/clock.h"
#include "tests/support/raw.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CLIENTS = 32 };

static const char *const FOUR[] = {"--workers=4", NULL};

static int start(void **state)
{
    return service_start_with(state, NULL, FOUR);
}

/* One of many clients, each on a connection and a thread of its own. */
struct actor {
    const char *url;
    int number;
    long wins, failures;
    int64_t fence;
    pthread_barrier_t *begin;
    pthread_t thread;
};

/* Lets all of them do the same at the same time. */
static void all_at_once(const struct service *service, struct actor actors[CLIENTS],
                        void *(*act)(void *actor))
{
    pthread_barrier_t begin;
    pthread_barrier_init(&begin, NULL, CLIENTS);
    for (int i = 0; i < CLIENTS; i++) {
        actors[i] = (struct actor){.url = service->batond.url, .number = i, .begin = &begin};
        assert_int_equal(pthread_create(&actors[i].thread, NULL, act, &actors[i]), 0);
    }
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(actors[i].thread, NULL);
    pthread_barrier_destroy(&begin);
}

static struct http_client *connect_and_wait(struct actor *actor)
{
    struct http_client *client = http_client_new(actor->url);
    actor->failures += http_call(client, "GET", "/readyz", NULL) != 200;
    pthread_barrier_wait(actor->begin);
    return client;
}

/* All of them send the same request with the same token, as a client that lost patience would. */
static void *repeat_oneself(void *context)
{
    struct actor *actor = context;
    struct http_client *client = connect_and_wait(actor);
    long status = http_call(client, "POST", "/locks/repeated",
                            "{\"token\": \"one-token-for-all-of-us\", \"owner\": \"me\"}");
    actor->wins += status == 201;
    actor->failures += status != 201 && status != 200;
    actor->fence = http_integer(client, "fence");
    http_client_free(client);
    return NULL;
}

TEST(one_token_is_one_hold_whichever_worker_it_comes_to)
{
    struct actor actors[CLIENTS];
    long wins = 0;
    all_at_once(*state, actors, repeat_oneself);
    for (int i = 0; i < CLIENTS; i++) {
        wins += actors[i].wins;
        assert_int_equal(actors[i].failures, 0);
        assert_int_equal(actors[i].fence, actors[0].fence);
    }
    assert_int_equal(wins, 1);
    struct http_client *client = ((struct service *)*state)->client;
    answers(client, "GET /locks/repeated", NULL, 200, NULL);
    assert_int_equal(http_integer(client, "hold_count"), 1);
}

/* Takes, renews, inspects and releases; the lock may be anybody's, the reply has to be its own. */
static void *live(void *context)
{
    struct actor *actor = context;
    struct http_client *client = connect_and_wait(actor);
    char path[64], header[TOKEN_TEXT + 16], id[80];
    for (int i = 0; i < 20; i++) {
        snprintf(path, sizeof path, "/locks/shared-by-some%d", (actor->number + i) % 8);
        snprintf(id, sizeof id, "X-Request-Id: %d-%d", actor->number, i);
        struct http_call call = {.method = "POST", .path = path, .headers = LIST(id)};
        long status = http_request(client, &call);
        const char *echoed = http_header(client, "X-Request-Id");
        actor->failures += !echoed || strcmp(echoed, id + strlen("X-Request-Id: ")) != 0;
        actor->failures += status != 201 && status != 409;
        if (status != 201)
            continue;
        actor->wins++;
        snprintf(header, sizeof header, "Lock-Token: %s", http_text(client, "token"));
        call.headers = LIST(header);
        call.method = "PUT";
        actor->failures += http_request(client, &call) != 200;
        call.method = "GET";
        actor->failures += http_request(client, &call) != 200;
        actor->failures += !json_is_true(json_object_get(client->reply.json, "mine"));
        call.method = "DELETE";
        actor->failures += http_request(client, &call) != 200;
    }
    http_client_free(client);
    return NULL;
}

TEST(clients_get_their_own_replies)
{
    struct actor actors[CLIENTS];
    all_at_once(*state, actors, live);
    for (int i = 0; i < CLIENTS; i++)
        assert_int_equal(actors[i].failures, 0);
}

TEST_ON_SERVICE(many_connections_stay_open_side_by_side)
{
    enum { COUNT = 300 };
    static const char REQUEST[] = "GET /livez HTTP/1.1\r\nHost: h\r\n\r\n";
    int fds[COUNT];
    char reply[1024];
    for (int i = 0; i < COUNT; i++)
        assert_true((fds[i] = raw_connect(service->batond.port)) >= 0);
    for (int round = 0; round < 2; round++)
        for (int i = COUNT - 1; i >= 0; i--) {
            assert_true(raw_send(fds[i], REQUEST, strlen(REQUEST)));
            raw_receive(fds[i], reply, sizeof reply, "\"ok\"}", CLOCK_HANG_MS, NULL);
            assert_int_equal(strncmp(reply, "HTTP/1.1 200", 12), 0);
        }
    for (int i = 0; i < COUNT; i++)
        close(fds[i]);
}

RUN_TESTS(start, service_stop)
