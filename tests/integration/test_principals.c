/* What belongs to a principal: its owners and its tokens, on every way to a lock. */
#include "tests/support/fixtures/guarded.h"
#include "tests/support/fixtures/parked.h"
#include "tests/support/raw.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ALL "[{\"prefix\":\"\",\"verbs\":[\"acquire\",\"read\",\"break\"]}]"

#define BRIEF                                                                                      \
    "[{\"prefix\":\"brief/\",\"verbs\":[\"acquire\"],\"max_ttl\":\"25s\"},"                        \
    "{\"prefix\":\"long/\",\"verbs\":[\"acquire\"],\"max_ttl\":\"24h\"},"                          \
    "{\"prefix\":\"bound/\",\"verbs\":[\"acquire\"],\"max_held\":\"20m\"},"                        \
    "{\"prefix\":\"usual/\",\"verbs\":[\"acquire\"]}]"

static const struct file_principal PRINCIPALS[] = {
    {"ci", ALL, NULL}, {"qa", ALL, NULL}, {"brief", BRIEF, NULL}};

static int start(void **state)
{
    return guarded_start(state, PRINCIPALS, LENGTH(PRINCIPALS), 2);
}

static void comes_to_be_free(void **state)
{
    int64_t deadline = clock_ms() + CLOCK_HANG_MS;
    do {
        assert_true(clock_ms() < deadline);
        asks_for(service_client(state), AS("ci"), "GET /locks/a", 200);
    } while (http_integer(service_client(state), "hold_count") > 0);
}

/* Waits for the end of a hold that may not have begun: what asks comes to Redis by a connection of
 * its own, and so perhaps first. */
static void comes_to_have_been_released(void **state)
{
    struct http_client *client = service_client(state);
    int64_t deadline = clock_ms() + CLOCK_HANG_MS;
    do {
        assert_true(clock_ms() < deadline);
        asks_for(client, AS("ci"), "GET /locks/a", 200);
    } while (!json_is_object(member(client, "last_release")));
    assert_string_equal(member_text(client, "last_release.reason"), "released");
    assert_int_equal(http_integer(client, "hold_count"), 0);
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

TEST_OF_CLIENT_WITH(rule_bounds_ttl, service_forget, NULL)
{
    struct as body = AS("brief");
    char token[TOKEN_TEXT];
    refuses_ttl(client, AS("brief"), "POST /locks/brief%2Fa?ttl=26s",
                "from 100ms to 25s, as one number and one unit (ms, s, m or h). No rule of "
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

TEST_OF_CLIENT_WITH(rule_bounds_what_renewals_can_do, service_forget, NULL)
{
    char token[TOKEN_TEXT];
    asks_for(client, AS("brief"), "POST /locks/bound%2Fa?ttl=10m", 201);
    assert_int_equal(http_integer(client, "max_held_ms"), 1200000);
    keep_token(client, token);
    asks_for(client, AS_WITH("brief", token), "PUT /locks/bound%2Fa?ttl=30m", 200);
    assert_in_range(http_integer(client, "ttl_ms"), 1, 1200000);
    asks_for(client, AS_WITH("brief", token), "PUT /locks/bound%2Fa?ttl=30m", 409);
    asks_for(client, AS("brief"), "POST /locks/bound%2Fb?max_held=21m", 400);
    if (!strstr(http_text(client, "detail"),
                "No rule of yours in the tokens-file allows more (max_held)."))
        fail_msg("%s", http_text(client, "detail"));
    struct as body = AS("brief");
    body.body = "{\"max_held_ms\": 1200001, \"names\": [\"usual/c\", \"bound/c\"]}";
    asks_for(client, body, "POST /locks", 400);
    body.body = "{\"names\": [\"usual/c\", \"bound/c\"]}";
    asks_for(client, body, "POST /locks", 201);
    assert_in_range(member_integer(client, "locks.1.max_held_ms"), 1, 1200000);
    asks_for(client, AS("brief"), "POST /locks/usual%2Fd", 201);
    assert_null(member(client, "max_held_ms"));
}

static const char TOKEN[] = "both-propose-this-same-token";

TEST_OF_CLIENT_WITH(owner_of_another_principal_is_another_owner, service_forget, NULL)
{
    asks_for(client, AS_WITH("ci", TOKEN), "POST /locks/a?owner=me", 201);
    assert_string_equal(http_text(client, "owner"), "me");
    asks_for(client, AS("qa"), "POST /locks/a?owner=me&reentrant", 409);
    assert_string_equal(http_text(client, "code"), "locked");
    assert_string_equal(member_text(client, "holders.0.owner"), "me");
    assert_string_equal(member_text(client, "holders.0.principal"), "ci");
    asks_for(client, AS("ci"), "POST /locks/a?owner=me&reentrant", 201);
    assert_int_equal(http_integer(client, "holds"), 2);
    asks_for(client, AS_WITH("ci", TOKEN), "PUT /locks/a", 200);
    assert_string_equal(http_text(client, "owner"), "me");
}

TEST_OF_CLIENT_WITH(token_of_another_principal_is_another_token, service_forget, NULL)
{
    static const struct {
        const char *request;
        long others, own; /* statuses */
    } ROWS[] = {
        {"PUT /locks", 409, 200},    {"POST /locks", 409, 200},  {"PUT /locks/a", 409, 200},
        {"POST /locks/a", 409, 200}, {"GET /locks/a", 200, 200}, {"GET /locks/a/events", 200, 0},
        {"DELETE /locks", 409, 200},
    };
    asks_for(client, AS_WITH("ci", TOKEN), "POST /locks/a?ttl=10m", 201);
    assert_string_equal(http_text(client, "token"), TOKEN);
    for (size_t i = 0; i < LENGTH(ROWS); i++) {
        bool is_read = ROWS[i].others == 200, is_of_names = !strchr(ROWS[i].request + 8, '/');
        struct as as = AS_WITH("qa", TOKEN);
        as.body = is_of_names ? "{\"names\":[\"a\"]}" : NULL;
        asks_for(client, as, ROWS[i].request, ROWS[i].others);
        assert_true(!is_read || json_is_false(member(client, "mine")));
        if (!ROWS[i].own)
            continue;
        as.principal = "ci";
        asks_for(client, as, ROWS[i].request, ROWS[i].own);
        assert_true(!is_read || json_is_true(member(client, "mine")));
        const char *owner = http_text(client, "owner");
        assert_true(!owner || !strchr(owner, '\x1f'));
    }
    asks_for(client, AS_WITH("qa", TOKEN), "POST /locks/a", 201); /* not spent for this one */
    asks_for(client, AS_WITH("ci", TOKEN), "POST /locks/a", 409);
    assert_string_equal(http_text(client, "code"), "not_held");
}

TEST_WITH(redis_gets_owner_but_no_token, service_forget, NULL)
{
    struct guarded *guarded = *state;
    asks_for(service_client(state), AS_WITH("ci", TOKEN), "POST /locks/a?owner=me", 201);
    redisReply *reply = redis_process_command(&guarded->service.redis, "GET baton:{a}");
    assert_non_null(memmem(reply->str, reply->len, "ci\x1fme", 5));
    assert_null(memmem(reply->str, reply->len, TOKEN, sizeof TOKEN - 1));
    freeReplyObject(reply);
}

/* Whether the next event is a renewal; the hold is lost where the machine stands still. */
static bool is_renewed(struct parked *held)
{
    assert_true(parked_receives(held, "\"event\":\"", CLOCK_HANG_MS));
    return parked_receives(held, "heartbeat\"", 0);
}

/* Its renewals and its release go by the token as well. */
TEST_WITH(hold_by_connection_is_renewed_and_released, service_forget, NULL)
{
    int64_t deadline = clock_ms() + CLOCK_HANG_MS;
    bool renewed = false;
    while (!renewed && clock_ms() < deadline) {
        struct parked *held =
            guarded_park(state, "ci", "POST /locks/a?owner=me&ttl=1s&hold=connection");
        assert_true(parked_receives(held, "\"granted\"", CLOCK_HANG_MS));
        renewed = is_renewed(held);
        parked_close(held);
        comes_to_be_free(state);
    }
    assert_true(renewed);
}

/* A client that is gone when Redis answers. */
TEST_WITH(grant_that_no_client_received_is_taken_back, service_forget, NULL)
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
}

RUN_TESTS(start, guarded_stop)
