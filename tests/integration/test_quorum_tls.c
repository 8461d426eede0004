/* A quorum whose members are spoken to by TLS alone. */
#include "tests/support/fixtures/on_quorum.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct story {
    struct temp_dir dir;
    struct certificate authority, members, stranger;
    struct quorum_servers servers;
    struct batond_process batond;
    char trust[160];
    const char *flags[3];
};

static int begin(void **state)
{
    static const char NAMES[] = "IP:127.0.0.1";
    struct story *story = calloc(1, sizeof *story);
    temp_dir_make(&story->dir);
    certificate_make(&story->authority, &story->dir, "authority",
                     &(struct certificate_options){.authority = true});
    certificate_make(&story->members, &story->dir, "members",
                     &(struct certificate_options){.issuer = &story->authority, .names = NAMES});
    certificate_make(&story->stranger, &story->dir, "stranger",
                     &(struct certificate_options){.authority = true, .names = NAMES});
    quorum_servers_start(&story->servers);
    quorum_servers_speak_tls(&story->servers, &story->members, &story->authority);
    snprintf(story->trust, sizeof story->trust, "--redis-ca=%s", story->authority.file);
    story->flags[0] = "--workers=2";
    story->flags[1] = story->trust;
    *state = story;
    return 0;
}

static int finish(void **state)
{
    struct story *story = *state;
    quorum_servers_stop(&story->servers);
    temp_dir_remove(&story->dir);
    free(story);
    return 0;
}

static struct batond_options options_of(struct story *story)
{
    return (struct batond_options){.redis_url = story->servers.url, .arguments = story->flags};
}

static const char TOKEN[] = "a-token-of-the-quorum-01";
static const char OTHER[] = "a-token-of-the-quorum-02";

/* How many clients a member has at one of its ports. */
static int clients_at(struct story *story, int member, int port)
{
    char address[40];
    int count = 0;
    redisReply *reply = redis_process_command(&story->servers.members[member], "CLIENT LIST");
    snprintf(address, sizeof address, " laddr=127.0.0.1:%d ", port);
    for (const char *at = reply->str; (at = strstr(at, address)); at++)
        count++;
    freeReplyObject(reply);
    return count;
}

static void all_are_spoken_to_by_tls(struct story *story)
{
    for (int i = 0; i < QUORUM_MEMBERS; i++) {
        assert_true(clients_at(story, i, story->servers.tls_ports[i]) >= 2);
        assert_int_equal(clients_at(story, i, story->servers.members[i].port), 0);
    }
}

TEST(locks_are_held_and_waited_for)
{
    struct story *story = *state;
    const struct batond_options options = options_of(story);
    batond_process_start(&story->batond, &options);
    struct http_client *client = http_client_new(story->batond.url);
    await_up(client, "5 of 5");
    all_are_spoken_to_by_tls(story);
    acquire_at_all(client, &story->servers, TOKEN, "POST /locks/tls?ttl=60s");
    int64_t fence = http_integer(client, "fence");
    struct parked *parked =
        parked_send_token(story->batond.port, OTHER, "POST /locks/tls?wait=20s&ttl=60s");
    assert_true(parked_waits(parked, 50));

    /* A member that comes back is spoken to again; one that nobody vouches for is not. */
    redis_process_kill(&story->servers.members[0]);
    redis_process_kill(&story->servers.members[1]);
    await_up(client, "3 of 5");
    answers_token(client, TOKEN, "PUT /locks/tls?ttl=60s", NULL, 200, NULL);
    for (int i = 0; i < 2; i++)
        redis_process_resume(&story->servers.members[i]);
    quorum_servers_member_speaks_tls(&story->servers, 0, &story->stranger, &story->authority);
    quorum_servers_member_speaks_tls(&story->servers, 1, &story->members, &story->authority);
    await_up(client, "4 of 5");
    clock_sleep_ms(300);
    answers(client, "GET /readyz?verbose", NULL, 200, NULL);
    assert_non_null(strstr(client->reply.body, "4 of 5"));
    assert_true(parked_waits(parked, 0));
    release_lock(client, TOKEN, "tls");
    assert_int_equal(parked_answer(parked, CLOCK_HANG_MS), 201);
    assert_true(http_integer(&parked->client, "fence") > fence);
    parked_close(parked);
    quorum_servers_member_speaks_tls(&story->servers, 0, &story->members, &story->authority);
    await_up(client, "5 of 5");
    release_lock(client, OTHER, "tls");
    await_held_at(&story->servers, "tls", 0);
    batond_close(&story->batond, client);
}

/* Two are nobody's friends, and the others are enough; three are not. */
TEST(members_of_another_authority_are_refused)
{
    struct story *story = *state;
    const struct batond_options options = options_of(story);
    for (int i = 0; i < 2; i++)
        quorum_servers_member_speaks_tls(&story->servers, i, &story->stranger, &story->authority);
    batond_process_start(&story->batond, &options);
    struct http_client *client = http_client_new(story->batond.url);
    await_up(client, "3 of 5");
    batond_close(&story->batond, client);
    quorum_servers_member_speaks_tls(&story->servers, 2, &story->stranger, &story->authority);
    batond_process_launch(&story->batond, &options);
    assert_true(
        process_wait_line(&story->batond.process, "certificate", NULL, NULL, 0, CLOCK_HANG_MS));
    assert_false(batond_process_listening(&story->batond, 500));
    batond_process_stop(&story->batond);
}

RUN_TESTS(begin, finish)
