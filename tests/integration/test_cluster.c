/* A Redis Cluster behind two batonds: everything that one Redis serves is served by three primaries
 * together, whatever the names are and wherever they live. */
#include "tests/support/fixtures/on_cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SPREAD = 60, LISTED = 90, PAGE = 7, EACH = 4, TELLINGS = 20 };

static size_t scripts_run(struct on_cluster *all, int node)
{
    size_t calls = 0;
    redisReply *reply = clustered_ask(&all->clustered, node, "INFO commandstats");
    const char *found = strstr(reply->str, "cmdstat_fcall:calls=");
    if (found)
        calls = strtoul(found + strlen("cmdstat_fcall:calls="), NULL, 10);
    freeReplyObject(reply);
    return calls;
}

TEST_ON_CLUSTER(names_are_spread_over_the_primaries)
{
    char line[ON_CLUSTER_LINE], name[ON_CLUSTER_NAME], token[TOKEN_TEXT];
    size_t before[CLUSTERED_PRIMARIES];
    for (int i = 0; i < CLUSTERED_PRIMARIES; i++)
        before[i] = scripts_run(all, i);
    for (int i = 0; i < SPREAD; i++) {
        struct http_client *one = all->client[i % 2], *other = all->client[1 - i % 2];
        snprintf(name, sizeof name, "spread-%d", i);
        answers(one, on_cluster_request(line, "POST", name, "?ttl=1m"), NULL, 201, NULL);
        keep_token(one, token);
        int64_t fence = http_integer(one, "fence");
        answers(other, on_cluster_request(line, "POST", name, ""), NULL, 409, "locked");
        answers_token(other, token, on_cluster_request(line, "PUT", name, "?ttl=2m"), NULL, 200,
                      NULL);
        assert_int_equal(http_integer(other, "fence"), fence);
        answers_token(one, token, on_cluster_request(line, "GET", name, ""), NULL, 200, NULL);
        assert_true(json_is_true(member(one, "mine")));
        answers_token(other, token, on_cluster_request(line, "DELETE", name, ""), NULL, 200, NULL);
        answers(one, on_cluster_request(line, "POST", name, ""), NULL, 201, NULL);
        assert_true(http_integer(one, "fence") > fence);
        answers(one, on_cluster_request(line, "DELETE", name, "?force=true"), NULL, 200, NULL);
    }
    for (int i = 0; i < CLUSTERED_PRIMARIES; i++)
        assert_true(scripts_run(all, i) - before[i] > SPREAD);
}

/* Whichever node each of them hears messages from. */
TEST_ON_CLUSTER(release_at_one_batond_wakes_a_waiter_at_the_other)
{
    char line[ON_CLUSTER_LINE], name[ON_CLUSTER_NAME], token[TOKEN_TEXT];
    for (int i = 0; i < CLUSTERED_PRIMARIES * EACH; i++) {
        int here = i / CLUSTERED_PRIMARIES % 2;
        on_cluster_name(all, i % CLUSTERED_PRIMARIES, "woken-", i, name);
        answers(all->client[1 - here], on_cluster_request(line, "POST", name, "?ttl=1m"), NULL, 201,
                NULL);
        keep_token(all->client[1 - here], token);
        struct parked *first = on_cluster_wait(all, here, name, "?wait=50s&ttl=1m");
        struct parked *second = on_cluster_wait(all, 1 - here, name, "?wait=50s");
        answers_token(all->client[1 - here], token, on_cluster_request(line, "DELETE", name, ""),
                      NULL, 200, NULL);
        assert_int_equal(parked_answer(first, CLOCK_HANG_MS), 201);
        assert_true(parked_waits(second, 20));
        keep_token(&first->client, token);
        answers_token(all->client[here], token, on_cluster_request(line, "DELETE", name, ""), NULL,
                      200, NULL);
        assert_int_equal(parked_answer(second, CLOCK_HANG_MS), 201);
        parked_close(first);
        parked_close(second);
    }
}

TEST_ON_CLUSTER(an_expiry_hands_over_and_is_reported)
{
    char line[ON_CLUSTER_LINE], name[ON_CLUSTER_NAME], token[TOKEN_TEXT];
    for (int i = 0; i < CLUSTERED_PRIMARIES; i++) {
        on_cluster_name(all, i, "ends-", i, name);
        answers(all->client[0], on_cluster_request(line, "POST", name, "?ttl=1m"), NULL, 201, NULL);
        keep_token(all->client[0], token);
        int64_t version = strtoll(http_header(all->client[0], "ETag") + 1, NULL, 10);
        struct parked *waits = on_cluster_wait(all, 1, name, "?wait=50s");
        snprintf(line, sizeof line, "GET /locks/%s/events?after=%lld&wait=50s", name,
                 (long long)version);
        struct parked *watches = parked_send(all->batond[0].port, NULL, line, NULL);
        answers_token(all->client[0], token, on_cluster_request(line, "PUT", name, "?ttl=300ms"),
                      NULL, 200, NULL);
        assert_int_equal(parked_answer(waits, CLOCK_HANG_MS), 201);
        assert_int_equal(parked_answer(watches, CLOCK_HANG_MS), 200);
        assert_true(json_is_true(member(&watches->client, "changed")));
        parked_close(waits);
        parked_close(watches);
    }
}

TEST_ON_CLUSTER(several_names_in_several_slots_are_one)
{
    static const char TOKEN[] = "a-token-for-several-slots";
    char names[CLUSTERED_PRIMARIES][ON_CLUSTER_NAME], body[300], line[ON_CLUSTER_LINE];
    char token[TOKEN_TEXT];
    for (int i = 0; i < CLUSTERED_PRIMARIES; i++)
        on_cluster_name(all, i, "several-", i, names[i]);
    snprintf(body, sizeof body, "{\"names\": [\"%s\", \"%s\", \"%s\"]}", names[2], names[0],
             names[1]);
    answers_token(all->client[0], TOKEN, "POST /locks?ttl=20s", body, 201, NULL);
    assert_int_equal(json_array_size(member(all->client[0], "locks")), 3);
    answers_token(all->client[1], TOKEN, "POST /locks?ttl=20s", body, 200, NULL);
    for (int i = 0; i < CLUSTERED_PRIMARIES; i++) {
        answers(all->client[1], on_cluster_request(line, "POST", names[i], ""), NULL, 409,
                "locked");
        answers_token(all->client[1], TOKEN, on_cluster_request(line, "DELETE", names[i], ""), NULL,
                      200, NULL);
    }
    answers(all->client[0], on_cluster_request(line, "POST", names[1], "?ttl=1m"), NULL, 201, NULL);
    keep_token(all->client[0], token);
    struct parked *waits = parked_send(all->batond[1].port, NULL, "POST /locks?wait=50s", body);
    assert_true(parked_waits(waits, 200));
    answers_token(all->client[0], token, on_cluster_request(line, "DELETE", names[1], ""), NULL,
                  200, NULL);
    assert_int_equal(parked_answer(waits, CLOCK_HANG_MS), 201);
    parked_close(waits);
}

TEST_ON_CLUSTER(the_list_goes_over_all_primaries)
{
    char target[9000], cursor[8000] = "", name[40];
    int pages = 0, found = 0;
    json_t *seen = json_object();
    for (int i = 0; i < LISTED; i++) {
        snprintf(target, sizeof target, "POST /locks/listed-%d?ttl=1m", i);
        answers(all->client[0], target, NULL, 201, NULL);
    }
    do {
        snprintf(target, sizeof target, "/locks?prefix=listed-&limit=%d%s%s", PAGE,
                 cursor[0] ? "&cursor=" : "", cursor);
        assert_int_equal(http_call(all->client[pages % 2], "GET", target, NULL), 200);
        json_t *locks = member(all->client[pages % 2], "locks"), *lock;
        size_t i;
        assert_true(json_array_size(locks) <= PAGE);
        json_array_foreach (locks, i, lock) {
            const char *one = json_string_value(json_object_get(lock, "name"));
            assert_null(json_object_get(seen, one));
            json_object_set_new(seen, one, json_true());
        }
        const char *next = http_text(all->client[pages % 2], "cursor");
        snprintf(cursor, sizeof cursor, "%s", next ? next : "");
        assert_true(++pages < 1000);
    } while (cursor[0]);
    for (int i = 0; i < LISTED; i++) {
        snprintf(name, sizeof name, "listed-%d", i);
        found += json_object_get(seen, name) != NULL;
    }
    assert_int_equal(found, LISTED);
    assert_int_equal(json_object_size(seen), LISTED);
    json_decref(seen);
}

static bool reports_name(const struct parked *watches, const char *name)
{
    json_t *lock;
    size_t i;
    json_array_foreach (member(&watches->client, "locks"), i, lock)
        if (strcmp(json_string_value(json_object_get(lock, "name")), name) == 0)
            return true;
    return false;
}

/* Takes the name elsewhere while this batond watches, and waits until it is told of that. What was
 * told before may be told again, where it fell into what a watch begins with; but not without end.
 */
static int64_t is_reported_version(struct on_cluster *all, const char *name, int64_t version)
{
    char line[ON_CLUSTER_LINE];
    bool is_taken = false, is_reported = false;
    for (int i = 0; !is_reported; i++) {
        assert_true(i < TELLINGS);
        snprintf(line, sizeof line, "GET /events?prefix=watched-&wait=50s&after=%lld",
                 (long long)version);
        struct parked *watches = parked_send(all->batond[1].port, NULL, line, NULL);
        if (!is_taken && parked_waits(watches, 100)) {
            answers(all->client[0], on_cluster_request(line, "POST", name, "?ttl=1m"), NULL, 201,
                    NULL);
            is_taken = true;
        }
        assert_int_equal(parked_answer(watches, CLOCK_HANG_MS), 200);
        assert_true(json_is_true(member(&watches->client, "changed")));
        is_reported = reports_name(watches, name);
        version = http_integer(&watches->client, "version");
        parked_close(watches);
    }
    return version;
}

/* At the batond that did not make the change, too, and whichever primary it happens at. */
TEST_ON_CLUSTER(a_prefix_is_watched_at_all_primaries)
{
    char name[ON_CLUSTER_NAME];
    answers(all->client[1], "GET /events?prefix=watched-", NULL, 200, NULL);
    int64_t version = http_integer(all->client[1], "version");
    for (int i = 0; i < CLUSTERED_PRIMARIES * 2; i++) {
        on_cluster_name(all, i % CLUSTERED_PRIMARIES, "watched-", i, name);
        version = is_reported_version(all, name, version);
    }
    answers(all->client[0], "GET /events?prefix=watched-", NULL, 200, NULL);
    assert_int_equal(json_array_size(member(all->client[0], "locks")), CLUSTERED_PRIMARIES * 2);
}

TEST_ON_CLUSTER(a_connection_holds)
{
    char line[ON_CLUSTER_LINE], name[ON_CLUSTER_NAME];
    struct parked *holds[CLUSTERED_PRIMARIES], *waits[CLUSTERED_PRIMARIES];
    for (int i = 0; i < CLUSTERED_PRIMARIES; i++) {
        on_cluster_name(all, i, "held-", i, name);
        holds[i] =
            parked_send(all->batond[0].port, NULL,
                        on_cluster_request(line, "POST", name, "?hold=connection&ttl=12s"), NULL);
        assert_true(parked_receives(holds[i], "\"fence\"", CLOCK_HANG_MS));
        waits[i] = on_cluster_wait(all, 1, name, "?wait=50s");
    }
    for (int i = 0; i < CLUSTERED_PRIMARIES; i++) {
        assert_true(parked_receives(holds[i], "\"heartbeat\"", CLOCK_HANG_MS)); /* it is renewed */
        assert_true(parked_waits(waits[i], 0));
        parked_close(holds[i]);
        assert_int_equal(parked_answer(waits[i], CLOCK_HANG_MS), 201);
        parked_close(waits[i]);
    }
}

TEST_ON_CLUSTER(readiness_counts_primaries_and_slots)
{
    answers(all->client[0], "GET /readyz?verbose", NULL, 200, NULL);
    assert_string_equal(member_text(all->client[0], "checks.3.name"), "redis");
    assert_non_null(strstr(member_text(all->client[0], "checks.3.detail"),
                           "3 of 3 primaries connected, 16384 of 16384 slots assigned"));
    answers(all->client[0], "GET /stats", NULL, 200, NULL);
    assert_int_equal(http_call(all->client[0], "GET", "/metrics", NULL), 200);
    assert_non_null(strstr(all->client[0]->reply.body, "\nbaton_redis_up 1"));
}

RUN_TESTS(on_cluster_start, on_cluster_stop)
