/* What a Redis Cluster may have lost is granted to nobody while it may still be held. */
#include "tests/support/fixtures/on_cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each batond looks at each epoch once a second: a pause of LOOKS_MS is for a look of both, and
 * only makes it likelier that a fault is seen. */
enum { LOOKS_MS = 1300, HELD_MS = 5 * 60 * 1000 };

static void open_patient(struct on_cluster *all)
{
    on_cluster_open(all, &(struct clustered_options){.no_replicas = true, .is_patient = true},
                    LIST("--workers=1", "--quarantine=auto"));
}

/* The same with a name of node 0 that is held. */
static void open_with_hold(struct on_cluster *all, char name[ON_CLUSTER_NAME],
                           char token[TOKEN_TEXT])
{
    open_patient(all);
    on_cluster_name(all, 0, "goes-", 0, name);
    on_cluster_acquire(all->client[0], name, "?ttl=30m", token);
}

static void await_quarantine(struct on_cluster *all)
{
    int64_t until = clock_ms() + CLOCK_HANG_MS;
    for (int i = 0; i < ON_CLUSTER_BATONDS; i++)
        while (http_call(all->client[i], "GET", "/readyz?verbose", NULL) == 0 ||
               !strstr(all->client[i]->reply.body, "\"quarantine\"")) {
            if (clock_ms() > until)
                fail_msg("no quarantine at %d: %s", i, all->client[i]->reply.body);
            clock_sleep_ms(20);
        }
}

/* No hold of that node that may still run has a longer TTL, as its epochs have it; in ms. */
static int64_t remembered_ms(struct clustered *clustered, int node)
{
    int64_t longest = 0;
    redisReply *keys = clustered_ask(clustered, node, "KEYS baton:epoch*");
    for (size_t i = 0; i < keys->elements; i++) {
        redisReply *reply =
            clustered_ask(clustered, node, "HMGET %s span before", keys->element[i]->str);
        for (size_t j = 0; j < reply->elements; j++) {
            const char *text = reply->element[j]->str;
            int64_t ms = text ? strtoll(text, NULL, 10) / 1000 : 0;
            longest = ms > longest ? ms : longest;
        }
        freeReplyObject(reply);
    }
    freeReplyObject(keys);
    return longest;
}

/* Until the epoch there has a hold of five minutes, and both batonds have had the time to look. */
static void await_epoch(struct on_cluster *all, int node)
{
    int64_t until = clock_ms() + CLOCK_HANG_MS;
    while (remembered_ms(&all->clustered, node) < HELD_MS) {
        if (clock_ms() > until)
            fail_msg("the epoch at node %d does not have it", node);
        clock_sleep_ms(20);
    }
    on_cluster_await_looks(all, node, 2);
}

/* Both batonds grant the name to nobody for as long as a hold of five minutes and more may run. A
 * loss of holds that nobody knows of would cost seconds. */
static void name_is_quarantined(struct on_cluster *all, const char *name)
{
    on_cluster_stays_quarantined(all, name, 1);
    for (int i = 0; i < ON_CLUSTER_BATONDS; i++) {
        answers(all->client[i], "GET /quarantine", NULL, 200, NULL);
        assert_true(member_integer(all->client[i], "left_ms") > HELD_MS);
    }
}

/* A hold that has come with its slot is one that its new primary can lose. */
TEST(lost_hold_that_had_moved_begins_a_quarantine)
{
    struct on_cluster all;
    char name[ON_CLUSTER_NAME], token[TOKEN_TEXT];
    open_with_hold(&all, name, token);
    struct slot_move move = {on_cluster_slot(name), 0, 1};
    clustered_move(&all.clustered, &move);
    await_epoch(&all, 1);
    freeReplyObject(clustered_ask(&all.clustered, 1, "FLUSHALL"));
    await_quarantine(&all);
    name_is_quarantined(&all, name);
    on_cluster_close(&all);
}

/* Also before anybody has looked at the new primary: the first of its slots is another one now, and
 * with it the key of its epoch. */
TEST(lost_hold_that_has_just_moved_begins_a_quarantine)
{
    struct on_cluster all;
    char target[ON_CLUSTER_LINE], name[ON_CLUSTER_NAME], token[TOKEN_TEXT];
    open_with_hold(&all, name, token);
    snprintf(target, sizeof target, "/locks/%s", name);
    await_epoch(&all, 0);
    struct slot_move move = {on_cluster_slot(name), 0, 1};
    clustered_move(&all.clustered, &move);
    freeReplyObject(clustered_ask(&all.clustered, 1, "FLUSHALL"));
    for (int i = 0; i < ON_CLUSTER_BATONDS; i++) /* so they hear of the move, before they look */
        http_call(all.client[i], "GET", target, NULL);
    await_quarantine(&all);
    name_is_quarantined(&all, name);
    clock_sleep_ms(LOOKS_MS); /* it lasts */
    name_is_quarantined(&all, name);
    on_cluster_close(&all);
}

/* The name is not granted to this token. The first request may wait in vain for a connection. */
static void token_is_quarantined(struct http_client *client, const char *name, const char *token)
{
    char target[ON_CLUSTER_LINE], header[ON_CLUSTER_LINE];
    int64_t until = clock_ms() + CLOCK_HANG_MS;
    snprintf(target, sizeof target, "/locks/%s", name);
    snprintf(header, sizeof header, "Lock-Token: %s", token);
    const struct http_call call = {.method = "POST", .path = target, .headers = LIST(header)};
    while (http_request(client, &call) == 503 &&
           strcmp(http_text(client, "code"), "quarantined") != 0 && clock_ms() < until)
        clock_sleep_ms(20);
    if (client->reply.status != 503 || clock_ms() >= until)
        fail_msg("%ld %s", client->reply.status, client->reply.body);
}

/* Redis sends requests for it to a node that serves no slot yet, so that batond has no epoch of it.
 * Then that node gets the slot. */
TEST(lost_hold_begins_a_quarantine_also_at_the_node_that_its_slot_goes_to)
{
    static const char *const TOKENS[] = {"a-token-of-another-0001", "a-token-of-another-0002"};
    struct on_cluster all;
    char name[ON_CLUSTER_NAME], token[TOKEN_TEXT];
    open_with_hold(&all, name, token);
    await_epoch(&all, 0);
    struct slot_move move = {on_cluster_slot(name), 0, clustered_add(&all.clustered)};
    clustered_begin_move(&all.clustered, &move);
    freeReplyObject(clustered_ask(&all.clustered, 0, "FLUSHALL"));
    await_quarantine(&all);
    for (int i = 0; i < ON_CLUSTER_BATONDS; i++)
        token_is_quarantined(all.client[i], name, TOKENS[i]);
    clustered_end_move(&all.clustered, &move);
    for (int i = 0; i < ON_CLUSTER_BATONDS; i++)
        token_is_quarantined(all.client[i], name, TOKENS[i]);
    clock_sleep_ms(LOOKS_MS); /* it lasts */
    name_is_quarantined(&all, name);
    on_cluster_close(&all);
}

static bool is_in_quarantine(struct http_client *client, size_t servers)
{
    answers(client, "GET /quarantine", NULL, 200, NULL);
    return json_array_size(member(client, "servers")) == servers &&
           json_is_true(member(client, "quarantined")) == (servers > 0);
}

static void await_servers_in_quarantine(struct on_cluster *all, size_t servers)
{
    int64_t until = clock_ms() + CLOCK_HANG_MS;
    for (int i = 0; i < ON_CLUSTER_BATONDS; i++)
        while (!is_in_quarantine(all->client[i], servers)) {
            if (clock_ms() > until)
                fail_msg("%d has not come to %zu: %s", i, servers, all->client[i]->reply.body);
            clock_sleep_ms(20);
        }
}

/* At whichever primaries it is, and by whichever batond, also where slots have moved between them.
 */
TEST(a_quarantine_is_ended_at_all_primaries)
{
    enum { LOST = 2 };
    struct on_cluster all;
    char line[ON_CLUSTER_LINE], name[LOST][ON_CLUSTER_NAME], token[TOKEN_TEXT];
    open_patient(&all);
    for (int i = 0; i < LOST; i++) {
        on_cluster_name(&all, i, "lost-", i, name[i]);
        on_cluster_acquire(all.client[0], name[i], "?ttl=30m", token);
    }
    struct slot_move move = {on_cluster_slot(name[0]), 0, 1};
    clustered_move(&all.clustered, &move);
    for (int i = 0; i < LOST; i++)
        await_epoch(&all, i);
    for (int i = 0; i < LOST; i++)
        freeReplyObject(clustered_ask(&all.clustered, i, "FLUSHALL"));
    await_servers_in_quarantine(&all, LOST);
    answers(all.client[1], "DELETE /quarantine?reason=a+test", NULL, 200, NULL);
    assert_int_equal(member_integer(all.client[1], "ended"), LOST);
    await_servers_in_quarantine(&all, 0);
    for (int i = 0; i < LOST; i++)
        answers(all.client[i], on_cluster_request(line, "POST", name[i], "?ttl=1s"), NULL, 201,
                NULL);
    clock_sleep_ms(LOOKS_MS); /* and nobody begins it again */
    for (int i = 0; i < ON_CLUSTER_BATONDS; i++)
        assert_true(is_in_quarantine(all.client[i], 0));
    on_cluster_close(&all);
}

/* Whether an epoch of that node says that there is a quarantine. */
static bool is_closed_by_epoch(struct clustered *clustered, int node)
{
    bool is_closed = false;
    redisReply *keys = clustered_ask(clustered, node, "KEYS baton:epoch*");
    for (size_t i = 0; !is_closed && i < keys->elements; i++) {
        redisReply *until = clustered_ask(clustered, node, "HGET %s until", keys->element[i]->str);
        is_closed = until->type == REDIS_REPLY_STRING && strtoll(until->str, NULL, 10) > 0;
        freeReplyObject(until);
    }
    freeReplyObject(keys);
    return is_closed;
}

/* With the slot comes no epoch of this node: it may lack what another one has lost. A batond that
 * comes later reads the same. */
TEST(node_whose_first_slot_comes_from_elsewhere_is_quarantined)
{
    struct on_cluster all;
    char name[ON_CLUSTER_NAME], token[TOKEN_TEXT], line[ON_CLUSTER_LINE];
    struct batond_process late;
    open_with_hold(&all, name, token);
    struct slot_move move = {on_cluster_slot(name), 0, 1};
    clustered_move(&all.clustered, &move);
    for (int64_t until = clock_ms() + CLOCK_HANG_MS; !is_closed_by_epoch(&all.clustered, 1);
         clock_sleep_ms(20))
        assert_true(clock_ms() < until); /* though nobody asks */
    struct http_client *client = batond_open(&late, all.clustered.url, LIST("--quarantine=auto"));
    assert_true(comes_to_answer(client, "/readyz", 200, CLOCK_HANG_MS));
    answers_token(client, token, on_cluster_request(line, "DELETE", name, ""), NULL, 200, NULL);
    answers(client, on_cluster_request(line, "POST", name, ""), NULL, 503, "quarantined");
    batond_close(&late, client);
    on_cluster_close(&all);
}

static bool has_epoch(struct clustered *clustered, int node)
{
    redisReply *keys = clustered_ask(clustered, node, "KEYS baton:epoch*");
    bool has = keys->elements > 0;
    freeReplyObject(keys);
    return has;
}

/* The epoch that comes back is the one that this node had: nothing in it says that the slot was
 * elsewhere. */
TEST(node_whose_first_slot_comes_back_is_quarantined)
{
    struct on_cluster all;
    struct slot_move move = {CLUSTERED_SLOTS / CLUSTERED_PRIMARIES, 1, 0}, back = {move.slot, 0, 1};
    open_patient(&all);
    int64_t until = clock_ms() + CLOCK_HANG_MS;
    clustered_move(&all.clustered, &move);
    for (; !has_epoch(&all.clustered, 1); clock_sleep_ms(20))
        assert_true(clock_ms() < until);
    clock_sleep_ms(LOOKS_MS);
    assert_false(is_closed_by_epoch(&all.clustered, 1));
    clustered_move(&all.clustered, &back);
    for (; !is_closed_by_epoch(&all.clustered, 1); clock_sleep_ms(20))
        assert_true(clock_ms() < until);
    on_cluster_close(&all);
}
