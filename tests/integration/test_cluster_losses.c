/* What a Redis Cluster may have lost is granted to nobody while it may still be held. */
#include "tests/support/fixtures/on_cluster.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

enum { PROMPT_MS = 1500, PATIENCE_MS = 15000, HALF_MS = 150, TTL_MS = 5000 };

static void await_quarantine(struct on_cluster *all)
{
    int64_t until = clock_ms() + PATIENCE_MS;
    for (int i = 0; i < ON_CLUSTER_BATONDS; i++)
        while (http_call(all->client[i], "GET", "/readyz?verbose", NULL) == 0 ||
               !strstr(all->client[i]->reply.body, "\"quarantine\"")) {
            if (clock_ms() > until)
                fail_msg("no quarantine at %d: %s", i, all->client[i]->reply.body);
            clock_sleep_ms(20);
        }
}

/* From then on, and not only once a batond has looked; the other primaries go on. */
static void a_primary_that_is_emptied_grants_nothing(void **state)
{
    struct on_cluster all;
    char line[ON_CLUSTER_LINE], name[ON_CLUSTER_NAME], other[ON_CLUSTER_NAME], token[TOKEN_TEXT];
    (void)state;
    on_cluster_open(&all, &(struct clustered_options){.no_replicas = true},
                    LIST("--workers=1", "--quarantine=auto"));
    on_cluster_name(&all, 0, "lost-", 0, name);
    on_cluster_name(&all, 1, "kept-", 0, other);
    on_cluster_acquire(all.client[0], name, "?ttl=5m", token);
    freeReplyObject(clustered_ask(&all.clustered, 0, "FLUSHALL"));
    for (int i = 0; i < ON_CLUSTER_BATONDS; i++) {
        answers(all.client[i], on_cluster_request(line, "POST", name, ""), NULL, 503,
                "quarantined");
        assert_string_equal(member_text(all.client[i], "reason"), "epoch");
    }
    on_cluster_acquire(all.client[1], other, "?ttl=5s", token);
    on_cluster_close(&all);
}

/* A hold that has come with its slot is one that its new primary can lose. */
static void what_has_moved_is_waited_for(void **state)
{
    struct on_cluster all;
    char line[ON_CLUSTER_LINE], name[ON_CLUSTER_NAME], token[TOKEN_TEXT];
    (void)state;
    on_cluster_open(&all, &(struct clustered_options){.no_replicas = true},
                    LIST("--workers=1", "--quarantine=auto"));
    on_cluster_name(&all, 0, "goes-", 0, name);
    on_cluster_acquire(all.client[0], name, "?ttl=5m", token);
    struct slot_move move = {on_cluster_slot(name), 0, 1};
    clustered_move(&all.clustered, &move);
    clock_sleep_ms(3L * PROMPT_MS); /* until both have heard of it, and it is on record */
    freeReplyObject(clustered_ask(&all.clustered, 1, "FLUSHALL"));
    await_quarantine(&all);
    for (int i = 0; i < ON_CLUSTER_BATONDS; i++)
        answers(all.client[i], on_cluster_request(line, "POST", name, ""), NULL, 503,
                "quarantined");
    on_cluster_close(&all);
}

/* Also before anybody has looked at the new primary: the first of its slots is another one now, and
 * with it the key of its record. */
static void what_has_just_moved_is_waited_for(void **state)
{
    struct on_cluster all;
    char line[ON_CLUSTER_LINE], target[ON_CLUSTER_LINE];
    char name[ON_CLUSTER_NAME], token[TOKEN_TEXT];
    (void)state;
    on_cluster_open(&all, &(struct clustered_options){.no_replicas = true},
                    LIST("--workers=1", "--quarantine=auto"));
    on_cluster_name(&all, 0, "goes-", 0, name);
    snprintf(target, sizeof target, "/locks/%s", name);
    on_cluster_acquire(all.client[0], name, "?ttl=5m", token);
    clock_sleep_ms(3L * PROMPT_MS); /* it is on record everywhere */
    struct slot_move move = {on_cluster_slot(name), 0, 1};
    clustered_move(&all.clustered, &move);
    freeReplyObject(clustered_ask(&all.clustered, 1, "FLUSHALL"));
    for (int i = 0; i < ON_CLUSTER_BATONDS; i++) /* so they hear of the move, before they look */
        http_call(all.client[i], "GET", target, NULL);
    await_quarantine(&all);
    for (int i = 0; i < ON_CLUSTER_BATONDS; i++)
        answers(all.client[i], on_cluster_request(line, "POST", name, ""), NULL, 503,
                "quarantined");
    clock_sleep_ms(2L * PROMPT_MS); /* it lasts */
    for (int i = 0; i < ON_CLUSTER_BATONDS; i++)
        answers(all.client[i], on_cluster_request(line, "POST", name, ""), NULL, 503,
                "quarantined");
    on_cluster_close(&all);
}

/* Nobody is granted what the primary may have granted before `ends`, from its death on. Returns
 * when the first of each was granted. */
static void grants_begin_at(struct on_cluster *all, const char *const names[2], int64_t ends,
                            int64_t fence)
{
    char target[ON_CLUSTER_LINE];
    bool is_told = false;
    int64_t until = ends + 2 * PATIENCE_MS;
    for (int i = 0; i < 2 * ON_CLUSTER_BATONDS;) {
        struct http_client *client = all->client[i % ON_CLUSTER_BATONDS];
        snprintf(target, sizeof target, "/locks/%s?ttl=100ms", names[i / ON_CLUSTER_BATONDS]);
        int64_t begun = clock_ms();
        long status = http_call(client, "POST", target, NULL);
        const char *code = http_text(client, "code");
        is_told |= status == 503 && code && strcmp(code, "quarantined") == 0;
        if (status == 201 && clock_ms() < ends)
            fail_msg("%s is granted %lld ms too early", target, (long long)(ends - clock_ms()));
        if (status == 201 && i / ON_CLUSTER_BATONDS == 0)
            assert_true(http_integer(client, "fence") > fence);
        assert_true(status == 201 || status == 503 || status == 409);
        assert_true(begun < until);
        if (begun < ends)
            i = (i + 1) % (2 * ON_CLUSTER_BATONDS);
        else if (status == 201)
            i++;
        clock_sleep_ms(10);
    }
    assert_true(is_told);
}

/* What the old one granted last, the promoted one may not have. Nobody else is meant. */
static void a_promoted_replica_grants_nothing_for_a_while(void **state)
{
    struct on_cluster all;
    char held[ON_CLUSTER_NAME], other[ON_CLUSTER_NAME], elsewhere[ON_CLUSTER_NAME];
    char token[TOKEN_TEXT], line[ON_CLUSTER_LINE];
    (void)state;
    on_cluster_open(&all, NULL, LIST("--workers=2", "--quarantine=auto"));
    on_cluster_name(&all, 0, "falls-", 0, held);
    on_cluster_name(&all, 0, "other-", 0, other);
    on_cluster_name(&all, 1, "elsewhere-", 0, elsewhere);
    /* Its time has to be told to the replica also where it is noted before Redis can be asked. */
    freeReplyObject(clustered_ask(&all.clustered, 0, "CLIENT KILL TYPE normal"));
    int64_t ends = clock_ms() + TTL_MS; /* at least */
    int64_t fence = on_cluster_acquire(all.client[0], held, "?ttl=5s", token);
    clock_sleep_ms(HALF_MS);
    clustered_kill(&all.clustered, 0);
    grants_begin_at(&all, (const char *const[]){held, other}, ends, fence);
    answers(all.client[1], on_cluster_request(line, "POST", elsewhere, ""), NULL, 201, NULL);
    on_cluster_close(&all);
}

/* It was a primary before, of which batond knows what was true then. */
static void who_takes_its_place_again_grants_nothing_for_a_while(void **state)
{
    struct on_cluster all;
    char held[ON_CLUSTER_NAME], other[ON_CLUSTER_NAME], token[TOKEN_TEXT];
    (void)state;
    on_cluster_open(&all, NULL, LIST("--workers=2", "--quarantine=auto"));
    on_cluster_name(&all, 0, "falls-", 0, held);
    on_cluster_name(&all, 0, "other-", 0, other);
    int replica = clustered_replica(&all.clustered, 0);
    clustered_fail_over(&all.clustered, replica);
    clustered_await_calm(&all.clustered);
    on_cluster_answers_again(&all, held);
    clock_sleep_ms(2 * PROMPT_MS);      /* nobody held anything */
    int64_t ends = clock_ms() + TTL_MS; /* at least */
    int64_t fence = on_cluster_acquire(all.client[0], held, "?ttl=5s", token);
    clock_sleep_ms(HALF_MS);
    clustered_kill(&all.clustered, replica);
    grants_begin_at(&all, (const char *const[]){held, other}, ends, fence);
    on_cluster_close(&all);
}

/* Whether a node was so slow that a batond gave its connection up. Then a quarantine is right: what
 * comes from a primary that is away may have been lost there. */
static bool has_given_one_up(const struct on_cluster *all)
{
    bool has = false;
    for (int i = 0; i < ON_CLUSTER_BATONDS; i++) {
        char *output = process_output(&all->batond[i].process);
        has |= strstr(output, "did not answer within") || strstr(output, "cannot connect to Redis");
        free(output);
    }
    return has;
}

/* Whether they all hear that it is held, and none is in quarantine. */
static bool is_held_for_all(struct on_cluster *all, const char *name)
{
    char target[ON_CLUSTER_LINE];
    bool is_held = true;
    snprintf(target, sizeof target, "/locks/%s?owner=other", name);
    for (int i = 0; is_held && i < ON_CLUSTER_BATONDS; i++) {
        is_held = http_call(all->client[i], "POST", target, NULL) == 409 &&
                  http_call(all->client[i], "GET", "/readyz?verbose", NULL) == 200 &&
                  !strstr(all->client[i]->reply.body, "\"quarantine\"");
        if (!is_held && !has_given_one_up(all))
            fail_msg("%ld: %s", all->client[i]->reply.status, all->client[i]->reply.body);
    }
    return is_held;
}

/* False where the machine was too busy for that. */
static bool move_in_order(void)
{
    struct on_cluster all;
    char name[ON_CLUSTER_NAME], token[TOKEN_TEXT];
    bool is_held = true;
    on_cluster_open(&all, &(struct clustered_options){.no_replicas = true},
                    LIST("--workers=2", "--quarantine=auto"));
    on_cluster_name(&all, 0, "in-order-", 0, name);
    on_cluster_acquire(all.client[0], name, "?ttl=1m", token);
    int node = clustered_add(&all.clustered);
    clustered_move(&all.clustered, &(struct slot_move){0, 0, node});
    clustered_move(&all.clustered, &(struct slot_move){on_cluster_slot(name), 0, node});
    clustered_move(&all.clustered, &(struct slot_move){1, 0, 1});
    on_cluster_answers_again(&all, name);
    for (int64_t until = clock_ms() + 2L * PROMPT_MS; is_held && clock_ms() < until;
         clock_sleep_ms(HALF_MS))
        is_held = is_held_for_all(&all, name);
    if (is_held) {
        on_cluster_give(&all, 1, name, token);
        on_cluster_take(&all, 0, name, token);
        on_cluster_give(&all, 0, name, token);
        on_cluster_take(&all, 1, name, token);
    }
    on_cluster_close(&all);
    return is_held;
}

/* Also where the record of the old place comes along, and nobody has heard of the new place. */
static void slots_that_move_in_order_cause_none(void **state)
{
    int tries = 0;
    (void)state;
    while (!move_in_order())
        assert_true(++tries < 5);
}

/* It has lost nothing itself, but has none of the holds that it should have. */
static void who_is_given_the_slots_of_one_that_is_lost_grants_nothing(void **state)
{
    struct on_cluster all;
    char line[ON_CLUSTER_LINE], name[ON_CLUSTER_NAME], token[TOKEN_TEXT];
    (void)state;
    on_cluster_open(&all, &(struct clustered_options){.partial = true, .no_replicas = true},
                    LIST("--workers=1", "--quarantine=auto"));
    on_cluster_name(&all, 0, "gone-", 0, name);
    int slot = on_cluster_slot(name);
    on_cluster_acquire(all.client[0], name, "?ttl=1m", token);
    clock_sleep_ms(PROMPT_MS); /* so that both know */
    clustered_kill(&all.clustered, 0);
    clock_sleep_ms(3 * CLUSTERED_DOWN_MS);
    for (int node = 1; node < CLUSTERED_PRIMARIES; node++)
        freeReplyObject(clustered_ask(&all.clustered, node, "CLUSTER SETSLOT %d NODE %s", slot,
                                      all.clustered.ids[1]));
    freeReplyObject(clustered_ask(&all.clustered, 1, "CLUSTER BUMPEPOCH"));
    on_cluster_answers_again(&all, name);
    clock_sleep_ms(2 * PROMPT_MS); /* it lasts */
    for (int i = 0; i < ON_CLUSTER_BATONDS; i++)
        answers(all.client[i], on_cluster_request(line, "POST", name, ""), NULL, 503,
                "quarantined");
    on_cluster_close(&all);
}

/* Nor does who is new: of it nothing is known but whose slots it was given. */
static void a_new_primary_in_place_of_one_that_is_lost_grants_nothing(void **state)
{
    struct on_cluster all;
    char target[ON_CLUSTER_LINE], name[ON_CLUSTER_NAME], token[TOKEN_TEXT];
    int told = 0;
    (void)state;
    on_cluster_open(&all, &(struct clustered_options){.partial = true, .no_replicas = true},
                    LIST("--workers=1", "--quarantine=auto"));
    on_cluster_name(&all, 0, "gone-", 0, name);
    int slot = on_cluster_slot(name), node = clustered_add(&all.clustered);
    on_cluster_acquire(all.client[0], name, "?ttl=1m", token);
    clock_sleep_ms(PROMPT_MS); /* so that both know */
    clustered_kill(&all.clustered, 0);
    clock_sleep_ms(3 * CLUSTERED_DOWN_MS);
    for (int i = 1; i <= node; i++)
        freeReplyObject(clustered_ask(&all.clustered, i, "CLUSTER SETSLOT %d NODE %s", slot,
                                      all.clustered.ids[node]));
    freeReplyObject(clustered_ask(&all.clustered, node, "CLUSTER BUMPEPOCH"));
    snprintf(target, sizeof target, "/locks/%s", name);
    for (int64_t until = clock_ms() + PATIENCE_MS; told < 100 && clock_ms() < until; told++) {
        struct http_client *client = all.client[told % ON_CLUSTER_BATONDS];
        assert_int_equal(http_call(client, "POST", target, NULL), 503);
        const char *code = http_text(client, "code");
        if (!code || strcmp(code, "quarantined") != 0)
            told = -1;
        clock_sleep_ms(10);
    }
    assert_int_equal(told, 100);
    on_cluster_close(&all);
}

static bool is_told_of_quarantine(struct http_client *client, const char *target)
{
    const char *code;
    return http_call(client, "POST", target, NULL) == 503 && (code = http_text(client, "code")) &&
           strcmp(code, "quarantined") == 0;
}

/* The first to meet the new one knows nothing of the lost one: what the others know counts when
 * they come, though somebody has made a record there. */
static void who_remembers_is_heard_though_somebody_was_first(void **state)
{
    struct on_cluster all;
    struct batond_process late;
    char target[ON_CLUSTER_LINE], name[ON_CLUSTER_NAME], token[TOKEN_TEXT];
    (void)state;
    on_cluster_open(&all, &(struct clustered_options){.partial = true, .no_replicas = true},
                    LIST("--workers=1", "--quarantine=auto"));
    on_cluster_name(&all, 0, "gone-", 0, name);
    snprintf(target, sizeof target, "/locks/%s?ttl=100ms", name);
    int slot = on_cluster_slot(name), node = clustered_add(&all.clustered);
    on_cluster_acquire(all.client[0], name, "?ttl=1m", token);
    clock_sleep_ms(PROMPT_MS); /* so that both know */
    clustered_kill(&all.clustered, 0);
    clock_sleep_ms(3 * CLUSTERED_DOWN_MS);
    for (int i = 0; i < ON_CLUSTER_BATONDS; i++)
        process_signal(&all.batond[i].process, SIGSTOP);
    for (int i = 1; i <= node; i++)
        freeReplyObject(clustered_ask(&all.clustered, i, "CLUSTER SETSLOT %d NODE %s", slot,
                                      all.clustered.ids[node]));
    freeReplyObject(clustered_ask(&all.clustered, node, "CLUSTER BUMPEPOCH"));
    batond_process_start(&late, &(struct batond_options){.redis_url = all.clustered.url,
                                                         .arguments = LIST("--quarantine=auto")});
    struct http_client *client = http_client_new(late.url);
    int64_t until = clock_ms() + PATIENCE_MS;
    while (http_call(client, "POST", target, NULL) != 201 && clock_ms() < until)
        clock_sleep_ms(20);
    assert_int_equal(client->reply.status, 201);
    for (int i = 0; i < ON_CLUSTER_BATONDS; i++)
        process_signal(&all.batond[i].process, SIGCONT);
    until = clock_ms() + PATIENCE_MS;
    for (int i = 0; i < ON_CLUSTER_BATONDS; i++)
        while (!is_told_of_quarantine(all.client[i], target)) {
            assert_int_not_equal(all.client[i]->reply.status, 201);
            assert_true(clock_ms() < until);
            clock_sleep_ms(20);
        }
    clock_sleep_ms(PROMPT_MS);
    assert_true(is_told_of_quarantine(client, target));
    http_client_free(client);
    assert_int_equal(batond_process_stop(&late), 0);
    on_cluster_close(&all);
}

static void a_promoted_replica_that_has_all_grants_at_once(void **state)
{
    struct on_cluster all;
    char held[ON_CLUSTER_NAME], other[ON_CLUSTER_NAME], line[ON_CLUSTER_LINE], token[TOKEN_TEXT];
    (void)state;
    on_cluster_open(&all, NULL, LIST("--workers=2", "--quarantine=auto", "--confirm=replicas:1"));
    on_cluster_name(&all, 0, "kept-", 0, held);
    on_cluster_name(&all, 0, "free-", 0, other);
    on_cluster_acquire(all.client[0], held, "?ttl=1m", token);
    clock_sleep_ms(HALF_MS);
    clustered_kill(&all.clustered, 0);
    clustered_await_other(&all.clustered, on_cluster_slot(held), 0);
    on_cluster_answers_again(&all, held);
    for (int i = 0; i < ON_CLUSTER_BATONDS; i++) {
        answers(all.client[i], on_cluster_request(line, "POST", held, ""), NULL, 409, "locked");
        answers(all.client[i], on_cluster_request(line, "POST", other, ""), NULL, 503,
                "unconfirmed"); /* there is no other replica */
        answers(all.client[i], "GET /readyz?verbose", NULL, 503, NULL);
        assert_null(strstr(all.client[i]->reply.body, "\"quarantine\""));
    }
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
    int64_t until = clock_ms() + PATIENCE_MS;
    for (int i = 0; i < ON_CLUSTER_BATONDS; i++)
        while (!is_in_quarantine(all->client[i], servers)) {
            if (clock_ms() > until)
                fail_msg("%d has not come to %zu: %s", i, servers, all->client[i]->reply.body);
            clock_sleep_ms(20);
        }
}

/* At whichever primaries it is, and by whichever batond, also where slots have moved between them.
 */
static void a_quarantine_is_ended_at_all_primaries(void **state)
{
    enum { LOST = 2 };
    struct on_cluster all;
    char line[ON_CLUSTER_LINE], name[LOST][ON_CLUSTER_NAME], token[TOKEN_TEXT];
    (void)state;
    on_cluster_open(&all, &(struct clustered_options){.no_replicas = true},
                    LIST("--workers=1", "--quarantine=auto"));
    for (int i = 0; i < LOST; i++) {
        on_cluster_name(&all, i, "lost-", i, name[i]);
        on_cluster_acquire(all.client[0], name[i], "?ttl=30m", token);
    }
    struct slot_move move = {on_cluster_slot(name[0]), 0, 1};
    clustered_move(&all.clustered, &move);
    clock_sleep_ms(3L * PROMPT_MS); /* until both have heard of it, and it is on record */
    for (int i = 0; i < LOST; i++)
        freeReplyObject(clustered_ask(&all.clustered, i, "FLUSHALL"));
    await_servers_in_quarantine(&all, LOST);
    answers(all.client[1], "DELETE /quarantine?reason=a+test", NULL, 200, NULL);
    assert_int_equal(member_integer(all.client[1], "ended"), LOST);
    await_servers_in_quarantine(&all, 0);
    for (int i = 0; i < LOST; i++)
        answers(all.client[i], on_cluster_request(line, "POST", name[i], "?ttl=1s"), NULL, 201,
                NULL);
    clock_sleep_ms(PROMPT_MS); /* and nobody begins it again */
    for (int i = 0; i < ON_CLUSTER_BATONDS; i++)
        assert_true(is_in_quarantine(all.client[i], 0));
    on_cluster_close(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quarantine_is_ended_at_all_primaries),
        cmocka_unit_test(a_primary_that_is_emptied_grants_nothing),
        cmocka_unit_test(what_has_moved_is_waited_for),
        cmocka_unit_test(what_has_just_moved_is_waited_for),
        cmocka_unit_test(a_promoted_replica_grants_nothing_for_a_while),
        cmocka_unit_test(who_takes_its_place_again_grants_nothing_for_a_while),
        cmocka_unit_test(slots_that_move_in_order_cause_none),
        cmocka_unit_test(who_is_given_the_slots_of_one_that_is_lost_grants_nothing),
        cmocka_unit_test(a_new_primary_in_place_of_one_that_is_lost_grants_nothing),
        cmocka_unit_test(who_remembers_is_heard_though_somebody_was_first),
        cmocka_unit_test(a_promoted_replica_that_has_all_grants_at_once),
    };
    cmocka_set_test_filter(getenv("BATON_TEST"));
    return cmocka_run_group_tests_name("cluster_losses", tests, NULL, NULL);
}
