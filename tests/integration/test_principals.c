/* What belongs to a principal: its owners and its tokens, on every way to a lock. */
#include "tests/support/fixtures/guarded.h"
#include "tests/support/fixtures/parked.h"
#include "tests/support/raw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LENGTH(table) (sizeof(table) / sizeof((table)[0]))

#define ALL "[{\"prefix\":\"\",\"verbs\":[\"acquire\",\"read\",\"break\"]}]"

#define BRIEF                                                                                      \
    "[{\"prefix\":\"brief/\",\"verbs\":[\"acquire\"],\"max_ttl\":\"25s\"},"                        \
    "{\"prefix\":\"long/\",\"verbs\":[\"acquire\"],\"max_ttl\":\"24h\"},"                          \
    "{\"prefix\":\"usual/\",\"verbs\":[\"acquire\"]}]"

static const struct file_principal PRINCIPALS[] = {
    {"ci", ALL, NULL}, {"qa", ALL, NULL}, {"brief", BRIEF, NULL}};

static int start(void **state)
{
    static struct guarded guarded;
    guarded_open(&guarded, PRINCIPALS, LENGTH(PRINCIPALS), 2);
    *state = &guarded;
    return 0;
}

static int stop(void **state)
{
    guarded_close(*state);
    return 0;
}

static int forget(void **state)
{
    redis_process_flush(&((struct guarded *)*state)->service.redis);
    return 0;
}

static struct http_client *client_of(void **state)
{
    return ((struct guarded *)*state)->service.client;
}

/* Sends it as the principal and does not wait; with a token or without (NULL). */
static struct parked *parks(void **state, const char *principal, const char *token,
                            const char *request)
{
    const struct guarded *guarded = *state;
    char headers[PRINCIPAL_HEADER_TEXT + TOKEN_TEXT + 32];
    principal_header(principal, headers);
    if (token)
        snprintf(headers + strlen(headers), sizeof headers - strlen(headers), "\r\nLock-Token: %s",
                 token);
    return parked_send(guarded->service.batond.port, headers, request, NULL);
}

static void comes_to_wait(void **state, int64_t length)
{
    int64_t deadline = clock_ms() + CLOCK_HANG_MS;
    do {
        assert_true(clock_ms() < deadline);
        asks_for(client_of(state), AS("ci"), "GET /locks/a", 200);
    } while (http_integer(client_of(state), "queue_length") != length);
}

static void becomes_free(void **state)
{
    int64_t deadline = clock_ms() + CLOCK_HANG_MS;
    do {
        assert_true(clock_ms() < deadline);
        asks_for(client_of(state), AS("ci"), "GET /locks/a", 200);
    } while (http_integer(client_of(state), "hold_count") > 0);
}

/* Waits for the end of a hold that may not have begun: what asks comes to Redis by a connection of
 * its own, and so perhaps first. */
static void comes_to_have_been_released(void **state)
{
    struct http_client *client = client_of(state);
    int64_t deadline = clock_ms() + CLOCK_HANG_MS;
    do {
        assert_true(clock_ms() < deadline);
        asks_for(client, AS("ci"), "GET /locks/a", 200);
    } while (!json_is_object(member(client, "last_release")));
    assert_string_equal(member_text(client, "last_release.reason"), "released");
    assert_int_equal(http_integer(client, "hold_count"), 0);
}

static void is_held_by(void **state, const char *principal, const char *owner)
{
    struct http_client *client = client_of(state);
    asks_for(client, AS("ci"), "GET /locks/a", 200);
    assert_string_equal(member_text(client, "holders.0.principal"), principal);
    assert_string_equal(member_text(client, "holders.0.owner"), owner);
}

static void refuses_ttl(struct http_client *client, struct as as, const char *request,
                        const char *expected)
{
    asks_for(client, as, request, 400);
    assert_string_equal(http_text(client, "code"), "invalid_parameter");
    assert_string_equal(http_text(client, "parameter"), as.body ? "ttl_ms" : "ttl");
    if (!strstr(http_text(client, "detail"), expected))
        fail_msg("%s: %s", request, http_text(client, "detail"));
}

static void a_rule_says_how_long_holds_may_be(void **state)
{
    struct http_client *client = client_of(state);
    struct as body = AS("brief");
    char token[TOKEN_TEXT];
    refuses_ttl(client, AS("brief"), "POST /locks/brief%2Fa?ttl=26s",
                "from 100ms to 25s, in ms, s, m or h, as one number and one unit. No rule of "
                "yours in the tokens-file allows more (max_ttl).");
    asks_for(client, AS("brief"), "POST /locks/brief%2Fa", 201);
    assert_int_equal(http_integer(client, "ttl_ms"), 25000); /* less than default-ttl */
    keep_token(client, token);
    refuses_ttl(client, AS_WITH("brief", token), "PUT /locks/brief%2Fa?ttl=26s", "to 25s");
    asks_for(client, AS_WITH("brief", token), "PUT /locks/brief%2Fa?ttl=25s", 200);
    refuses_ttl(client, AS("brief"), "POST /locks/usual%2Fa?ttl=61m", "from 100ms to 1h");
    asks_for(client, AS("brief"), "POST /locks/long%2Fa?ttl=24h", 201);
    refuses_ttl(client, AS("ci"), "POST /locks/long%2Fb?ttl=24h", "from 100ms to 1h");

    /* The name that may be held for the shortest time decides, wherever the TTL stands. */
    body.body = "{\"ttl_ms\": 26000, \"names\": [\"usual/b\", \"brief/b\"]}";
    refuses_ttl(client, body, "POST /locks", "100 to 25000. No rule of yours");
    body.body = "{\"names\": [\"usual/b\", \"brief/b\"], \"ttl_ms\": 26000}";
    refuses_ttl(client, body, "POST /locks", "100 to 25000. No rule of yours");
    body.body = "{\"names\": [\"usual/b\", \"brief/b\"]}";
    asks_for(client, body, "POST /locks", 201);
    assert_int_equal(member_integer(client, "locks.0.ttl_ms"), 25000);
}

static void nobody_enters_the_lock_of_another_by_its_owner(void **state)
{
    struct http_client *client = client_of(state);
    char token[TOKEN_TEXT];
    asks_for(client, AS("ci"), "POST /locks/a?owner=me", 201);
    assert_string_equal(http_text(client, "owner"), "me");
    keep_token(client, token);
    asks_for(client, AS("qa"), "POST /locks/a?owner=me", 409);
    assert_string_equal(http_text(client, "code"), "locked");
    assert_string_equal(member_text(client, "holders.0.owner"), "me");
    assert_string_equal(member_text(client, "holders.0.principal"), "ci");
    asks_for(client, AS("ci"), "POST /locks/a?owner=me", 201);
    assert_int_equal(http_integer(client, "holds"), 2);
    is_held_by(state, "ci", "me");
    asks_for(client, AS_WITH("ci", token), "PUT /locks/a", 200);
    assert_string_equal(http_text(client, "owner"), "me");
    asks_for(client, AS_WITH("ci", token), "POST /locks/a?owner=me", 200);
    assert_string_equal(http_text(client, "owner"), "me");
}

static void nor_by_what_stands_between_principal_and_owner(void **state)
{
    struct http_client *client = client_of(state);
    asks_for(client, AS("ci"), "POST /locks/a?owner=me", 201);
    asks_for(client, AS("qa"), "POST /locks/a?owner=ci%1Fme", 400);
    asks_for(client, ((struct as){.principal = "qa", .body = "{\"owner\":\"ci\\u001fme\"}"}),
             "POST /locks/a", 400);
    asks_for(client, AS("qa"), "POST /locks/a?owner=cime", 409);
}

static void an_owner_of_a_principal_is_as_long_as_one_of_nobody(void **state)
{
    struct http_client *client = client_of(state);
    char request[200], owner[130];
    memset(owner, 'o', sizeof owner);
    snprintf(request, sizeof request, "POST /locks/a?owner=%.128s", owner);
    asks_for(client, AS("ci"), request, 201);
    assert_int_equal(strlen(http_text(client, "owner")), 128);
    asks_for(client, AS("ci"), "GET /locks/a", 200);
    assert_int_equal(strlen(member_text(client, "holders.0.owner")), 128);
    snprintf(request, sizeof request, "POST /locks/a?owner=%.129s", owner);
    asks_for(client, AS("ci"), request, 400);
    asks_for(client, AS("ci"), "POST /locks/a", 409); /* under an owner that batond made up */
}

static void waiting_and_handing_over_keep_them_apart(void **state)
{
    struct http_client *client = client_of(state);
    char token[TOKEN_TEXT];
    asks_for(client, AS("ci"), "POST /locks/a?owner=me", 201);
    keep_token(client, token);
    struct parked *dev = parks(state, "qa", NULL, "POST /locks/a?owner=me&wait=50s");
    comes_to_wait(state, 1);
    asks_for(client, AS("ci"), "POST /locks/a?owner=me", 201); /* past the one who waits */
    asks_for(client, AS("ci"), "DELETE /locks/a?force=true", 200);
    assert_int_equal(parked_answer(dev, CLOCK_HANG_MS), 201);
    assert_string_equal(http_text(&dev->client, "owner"), "me");
    is_held_by(state, "qa", "me");
    asks_for(client, AS("ci"), "POST /locks/a?owner=me", 409);
    parked_close(dev);
}

static void an_upgrade_is_of_one_principal(void **state)
{
    struct http_client *client = client_of(state);
    asks_for(client, AS("ci"), "POST /locks/a?owner=me&mode=shared", 201);
    asks_for(client, AS("ci"), "POST /locks/a?owner=me", 201); /* alone, at once */
    forget(state);
    asks_for(client, AS("ci"), "POST /locks/a?owner=me&mode=shared", 201);
    asks_for(client, AS("qa"), "POST /locks/a?owner=me&mode=shared", 201);
    asks_for(client, AS("ci"), "POST /locks/a?owner=me", 409);
    struct parked *ci = parks(state, "ci", NULL, "POST /locks/a?owner=me&wait=50s");
    comes_to_wait(state, 1);
    asks_for(client, AS("qa"), "POST /locks/a?owner=me&wait=50s", 409);
    assert_string_equal(http_text(client, "code"), "upgrade_conflict");
    parked_close(ci);
}

static const char TOKEN[] = "both-propose-this-same-token";

static void a_token_is_of_one_principal(void **state)
{
    struct http_client *client = client_of(state);
    asks_for(client, AS_WITH("ci", TOKEN), "POST /locks/a?ttl=10m", 201);
    assert_string_equal(http_text(client, "token"), TOKEN);
    asks_for(client, AS_WITH("qa", TOKEN), "POST /locks/a", 409);
    assert_string_equal(http_text(client, "code"), "locked");
    asks_for(client, AS_WITH("qa", TOKEN), "PUT /locks/a", 409);
    asks_for(client, AS_WITH("qa", TOKEN), "DELETE /locks/a", 409);
    assert_string_equal(http_text(client, "code"), "not_held");
    asks_for(client, AS_WITH("qa", TOKEN), "GET /locks/a", 200);
    assert_true(json_is_false(member(client, "mine")));
    asks_for(client, AS_WITH("qa", TOKEN), "GET /locks/a/events?wait=0", 200);
    assert_true(json_is_false(member(client, "mine")));
    const struct as several = {.principal = "qa", .token = TOKEN, .body = "{\"names\":[\"a\"]}"};
    asks_for(client, several, "POST /locks", 409);
    asks_for(client, several, "PUT /locks", 409);
    asks_for(client, several, "DELETE /locks", 409);

    asks_for(client, AS_WITH("ci", TOKEN), "GET /locks/a/events?wait=0", 200);
    assert_true(json_is_true(member(client, "mine")));
    asks_for(client, AS_WITH("ci", TOKEN), "GET /locks/a", 200);
    assert_true(json_is_true(member(client, "mine")));
    assert_true(member_integer(client, "holders.0.ttl_ms") > 500000);
    asks_for(client, AS_WITH("ci", TOKEN), "POST /locks/a", 200);
    asks_for(client, AS_WITH("ci", TOKEN), "PUT /locks/a", 200);
    assert_string_equal(http_text(client, "token"), TOKEN);
    asks_for(client, AS_WITH("ci", TOKEN), "DELETE /locks/a", 200);
    asks_for(client, AS_WITH("qa", TOKEN), "POST /locks/a", 201); /* not spent for this one */
    asks_for(client, AS_WITH("ci", TOKEN), "POST /locks/a", 409);
    assert_string_equal(http_text(client, "code"), "not_held");
}

static void a_token_that_waits_is_of_one_principal(void **state)
{
    struct http_client *client = client_of(state);
    asks_for(client, AS("ci"), "POST /locks/a?ttl=10m", 201);
    struct parked *ci = parks(state, "ci", TOKEN, "POST /locks/a?wait=50s");
    comes_to_wait(state, 1);
    struct parked *dev = parks(state, "qa", TOKEN, "POST /locks/a?wait=50s");
    comes_to_wait(state, 2); /* a place of its own */
    asks_for(client, AS_WITH("qa", TOKEN), "DELETE /locks/a", 200);
    assert_true(json_is_true(member(client, "cancelled")));
    assert_int_equal(parked_answer(dev, CLOCK_HANG_MS), 409);
    comes_to_wait(state, 1);
    assert_true(parked_waits(ci, 0));
    asks_for(client, AS("qa"), "DELETE /locks/a?force=true", 200);
    assert_int_equal(parked_answer(ci, CLOCK_HANG_MS), 201);
    assert_string_equal(http_text(&ci->client, "token"), TOKEN);
    parked_close(ci);
    parked_close(dev);
}

static void several_names_go_by_the_token_of_the_principal(void **state)
{
    struct http_client *client = client_of(state);
    const struct as both = {.principal = "ci", .token = TOKEN, .body = "{\"names\":[\"b\",\"a\"]}"};
    asks_for(client, both, "POST /locks", 201);
    assert_string_equal(http_text(client, "token"), TOKEN);
    assert_null(strchr(http_text(client, "owner"), '\x1f'));
    asks_for(client, both, "POST /locks", 200);
    asks_for(client, both, "PUT /locks", 200);
    assert_null(strchr(http_text(client, "owner"), '\x1f'));
    asks_for(client, both, "DELETE /locks", 200);
    becomes_free(state);
}

static void redis_does_not_get_to_know_the_token(void **state)
{
    struct guarded *guarded = *state;
    asks_for(client_of(state), AS_WITH("ci", TOKEN), "POST /locks/a?owner=me", 201);
    redisReply *reply = redis_process_command(&guarded->service.redis, "GET baton:{a}");
    assert_non_null(memmem(reply->str, reply->len, "ci\x1fme", 5));
    assert_null(memmem(reply->str, reply->len, TOKEN, sizeof TOKEN - 1));
    freeReplyObject(reply);
}

/* Whether the next event is a renewal; the hold is lost where the machine stands still. */
static bool is_renewed(struct parked *held)
{
    assert_true(parked_hears(held, "\"event\":\"", CLOCK_HANG_MS));
    return parked_hears(held, "heartbeat\"", 0);
}

/* The later one of two connections has the hold. */
static bool two_connections_hold_and_release(void **state, const char *token)
{
    static const char HOLD[] = "POST /locks/a?owner=me&ttl=1s&hold=connection";
    struct parked *held = parks(state, "ci", token, HOLD);
    assert_true(parked_hears(held, "\"granted\"", CLOCK_HANG_MS));
    bool all_renewed = is_renewed(held);
    struct parked *again = all_renewed ? parks(state, "ci", token, HOLD) : NULL;
    if (again)
        assert_true(parked_hears(again, "HTTP/1.1 ", CLOCK_HANG_MS));
    parked_close(held);
    all_renewed = again && parked_hears(again, "\"granted\"", 0) && is_renewed(again);
    if (all_renewed)
        is_held_by(state, "ci", "me");
    if (again)
        parked_close(again);
    becomes_free(state);
    return all_renewed;
}

/* Their renewals and their release go by the token as well. */
static void a_connection_holds_and_releases(void **state)
{
    char token[TOKEN_TEXT];
    int64_t deadline = clock_ms() + CLOCK_HANG_MS;
    int round = 0;
    do {
        assert_true(clock_ms() < deadline);
        snprintf(token, sizeof token, "%s-%d", TOKEN, round++);
    } while (!two_connections_hold_and_release(state, token));
}

/* A client that is gone when Redis answers. */
static void what_its_client_has_not_heard_of_is_taken_back(void **state)
{
    struct guarded *guarded = *state;
    char header[PRINCIPAL_HEADER_TEXT], request[256];
    principal_header("ci", header);
    snprintf(request, sizeof request,
             "POST /locks/a?ttl=10m HTTP/1.1\r\nHost: h\r\n%s\r\nLock-Token: %s\r\n\r\n", header,
             TOKEN);
    int fd = raw_connect(guarded->service.batond.port);
    redis_process_freeze(&guarded->service.redis);
    assert_true(raw_send(fd, request, strlen(request)));
    assert_true(raw_comes_to_be_read(fd, CLOCK_HANG_MS));
    close(fd);
    redis_process_thaw(&guarded->service.redis);
    comes_to_have_been_released(state);
    struct parked *waits;
    asks_for(client_of(state), AS("qa"), "POST /locks/a", 201);
    waits = parks(state, "ci", TOKEN, "POST /locks/a?wait=50s&ttl=10m");
    comes_to_wait(state, 1);
    parked_close(waits);
    comes_to_wait(state, 0);
}

#define WITH(test) cmocka_unit_test_setup(test, forget)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH(a_rule_says_how_long_holds_may_be),
        WITH(nobody_enters_the_lock_of_another_by_its_owner),
        WITH(nor_by_what_stands_between_principal_and_owner),
        WITH(an_owner_of_a_principal_is_as_long_as_one_of_nobody),
        WITH(waiting_and_handing_over_keep_them_apart),
        WITH(an_upgrade_is_of_one_principal),
        WITH(a_token_is_of_one_principal),
        WITH(a_token_that_waits_is_of_one_principal),
        WITH(several_names_go_by_the_token_of_the_principal),
        WITH(redis_does_not_get_to_know_the_token),
        WITH(a_connection_holds_and_releases),
        WITH(what_its_client_has_not_heard_of_is_taken_back),
    };
    return cmocka_run_group_tests_name("principals", tests, start, stop);
}
