/* Confirmed grants where Sentinel chooses the primary: what a client was told of outlives the
 * switch, and grants are confirmed by the replicas of the new one. */
#include "tests/support/fixtures/service.h"
#include "tests/support/watched.h"

#include <stdio.h>

enum { LOCKS = 20, PATIENCE_MS = CLOCK_HANG_MS };

static const char *const FLAGS[] = {"--confirm=replicas:1", NULL};

static void acquire(struct http_client *client, const char *name, char token[TOKEN_TEXT])
{
    char path[64];
    int64_t until = clock_ms() + PATIENCE_MS;
    snprintf(path, sizeof path, "/locks/%s?ttl=10m", name);
    while (http_call(client, "POST", path, NULL) != 201) {
        assert_int_equal(client->reply.status, 503);
        if (clock_ms() > until)
            fail_msg("nothing is granted any more: %s", client->reply.body);
        clock_sleep_ms(20);
    }
    keep_token(client, token);
}

TEST(confirmed_holds_outlive_a_switch)
{
    struct watched watched;
    struct batond_process batond;
    char name[32], request[64], tokens[LOCKS][TOKEN_TEXT];
    watched_start(&watched, NULL);
    struct http_client *client = batond_open(&batond, watched.url, FLAGS);
    for (int i = 0; i < LOCKS; i++) {
        snprintf(name, sizeof name, "kept-%d", i);
        acquire(client, name, tokens[i]);
    }
    int old = watched_primary(&watched, 0);
    redis_process_kill(&watched.servers[old]);
    watched_await_other(&watched, old);
    assert_true(comes_to_answer(client, "/readyz", 200, PATIENCE_MS));
    for (int i = 0; i < LOCKS; i++) {
        snprintf(request, sizeof request, "GET /locks/kept-%d", i);
        answers_token(client, tokens[i], request, NULL, 200, NULL);
        assert_true(json_is_true(member(client, "mine")));
    }
    acquire(client, "after", tokens[0]); /* by the replica that is left */
    answers_token(client, tokens[1], "PUT /locks/kept-1?ttl=5m", NULL, 200, NULL);
    batond_close(&batond, client);
    watched_stop(&watched);
}
