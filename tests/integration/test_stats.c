/* What /stats tells of two workers: who waits now, whatever a wait ends with, and what was. */
#include "tests/support/fixtures/guarded.h"
#include "tests/support/fixtures/parked.h"

#include <stdio.h>
#include <string.h>

#define ALL  "[{\"prefix\":\"\",\"verbs\":[\"acquire\",\"read\",\"break\",\"metrics\"]}]"
#define PART "[{\"prefix\":\"open/\",\"verbs\":[\"read\"]}]"
#define NONE "[{\"prefix\":\"\",\"verbs\":[\"metrics\"]}]"

enum { WAITERS = 6 };

static const struct file_principal PRINCIPALS[] = {
    {"all", ALL, NULL}, {"part", PART, NULL}, {"none", NONE, NULL}};

static int start(void **state)
{
    return guarded_start(state, PRINCIPALS, 3, 2);
}

static struct parked *wait_for(struct guarded *guarded, const char *request, const char *body)
{
    char header[PRINCIPAL_HEADER_TEXT];
    principal_header("all", header);
    return parked_send(guarded->service.batond.port, header, request, body);
}

/* The entry of a name in a list of what `principal` is told; NULL where there is none. */
static json_t *entry(struct guarded *guarded, const char *principal, const char *list,
                     const char *name)
{
    struct http_client *client = guarded->service.client;
    size_t i;
    json_t *found;
    asks_for(client, AS(principal), "GET /stats?limit=1000", 200);
    json_array_foreach (json_object_get(client->reply.json, list), i, found) {
        if (strcmp(json_string_value(json_object_get(found, "name")), name) == 0)
            return found;
    }
    return NULL;
}

static int64_t value(struct guarded *guarded, const char *list, const char *name,
                     const char *member)
{
    return json_integer_value(json_object_get(entry(guarded, "all", list, name), member));
}

/* Fails where it is not so before long. */
static void assert_waiters(struct guarded *guarded, const char *name, int64_t expected)
{
    int64_t until = clock_ms() + CLOCK_HANG_MS;
    while (value(guarded, "waiting", name, "waiters") != expected && clock_ms() < until)
        clock_sleep_ms(10);
    assert_int_equal(value(guarded, "waiting", name, "waiters"), expected);
}

static void hold(struct guarded *guarded, const char *name, char token[TOKEN_TEXT])
{
    char request[64];
    snprintf(request, sizeof request, "POST /locks/%s?ttl=10m&owner=holder", name);
    asks_for(guarded->service.client, AS("all"), request, 201);
    keep_token(guarded->service.client, token);
}

static void release(struct guarded *guarded, const char *name, const char *token)
{
    char request[64];
    snprintf(request, sizeof request, "DELETE /locks/%s", name);
    asks_for(guarded->service.client, AS_WITH("all", token), request, 200);
}

/* Some are granted, some go, some have waited long enough: in the end nobody waits. */
TEST(waiters_are_reported_until_the_wait_ends)
{
    struct guarded *guarded = *state;
    struct parked *parked[WAITERS];
    char token[TOKEN_TEXT];
    hold(guarded, "busy", token);
    for (int i = 0; i < WAITERS; i++)
        parked[i] = wait_for(
            guarded, i < 2 ? "POST /locks/busy?wait=5s" : "POST /locks/busy?wait=20s&ttl=100ms",
            NULL);
    assert_waiters(guarded, "busy", WAITERS);
    assert_true(value(guarded, "most_waiters", "busy", "waiters") >= WAITERS / 2);
    assert_int_equal(value(guarded, "most_waits", "busy", "waits"), WAITERS);
    assert_int_equal(value(guarded, "most_waits", "busy", "error"), 0);
    parked_close(parked[5]);
    assert_waiters(guarded, "busy", WAITERS - 1);
    for (int i = 0; i < 2; i++)
        assert_int_equal(parked_answer(parked[i], CLOCK_HANG_MS), 409);
    assert_waiters(guarded, "busy", WAITERS - 3);
    assert_true(value(guarded, "waiting", "busy", "waiting_ms") >= 1500);
    release(guarded, "busy", token);
    for (int i = 2; i < 5; i++)
        assert_int_equal(parked_answer(parked[i], CLOCK_HANG_MS), 201);
    assert_waiters(guarded, "busy", 0);
    assert_true(value(guarded, "longest_waits", "busy", "waited_ms") >= 4900);
    assert_true(value(guarded, "longest_holds", "busy", "held_ms") >= 4900);
    int64_t until = clock_ms() + CLOCK_HANG_MS; /* nobody releases what these three got */
    while (value(guarded, "most_expirations", "busy", "expirations") < 3 && clock_ms() < until)
        clock_sleep_ms(50);
    assert_int_equal(value(guarded, "most_expirations", "busy", "expirations"), 3);
    for (int i = 0; i < 5; i++)
        parked_close(parked[i]);
}

/* Of several names one is waited for at a time. */
TEST(several_names_wait_one_by_one)
{
    static const char BODY[] = "{\"names\":[\"n1\",\"n2\"],\"wait_ms\":20000}";
    struct guarded *guarded = *state;
    char first[TOKEN_TEXT], second[TOKEN_TEXT];
    hold(guarded, "n1", first);
    hold(guarded, "n2", second);
    struct parked *waits = wait_for(guarded, "POST /locks", BODY);
    struct parked *goes = wait_for(guarded, "POST /locks", BODY);
    assert_waiters(guarded, "n1", 2);
    assert_waiters(guarded, "n2", 0);
    release(guarded, "n1", first);
    assert_waiters(guarded, "n1", 1);
    assert_waiters(guarded, "n2", 1);
    release(guarded, "n2", second);
    assert_waiters(guarded, "n2", 0);
    parked_close(goes);
    parked_close(waits);
    assert_waiters(guarded, "n1", 0);
}

TEST(only_what_may_be_read_is_reported)
{
    struct guarded *guarded = *state;
    char tokens[2][TOKEN_TEXT];
    hold(guarded, "open%2Fa", tokens[0]);
    hold(guarded, "closed", tokens[1]);
    struct parked *open = wait_for(guarded, "POST /locks/open%2Fa?wait=20s", NULL);
    struct parked *closed = wait_for(guarded, "POST /locks/closed?wait=20s", NULL);
    assert_waiters(guarded, "open/a", 1);
    assert_waiters(guarded, "closed", 1);
    static const char *const LISTS[] = {"waiting", "most_waiters", "most_waits"};
    for (size_t i = 0; i < sizeof LISTS / sizeof LISTS[0]; i++) {
        assert_non_null(entry(guarded, "part", LISTS[i], "open/a"));
        assert_null(entry(guarded, "part", LISTS[i], "closed"));
        assert_null(strstr(guarded->service.client->reply.body, "closed"));
        assert_non_null(entry(guarded, "all", LISTS[i], "closed"));
    }
    asks_for(guarded->service.client, AS("none"), "GET /stats", 403);
    asks_for(guarded->service.client, AS(NULL), "GET /stats", 401);
    parked_close(open);
    parked_close(closed);
}

TEST(a_list_is_as_long_as_is_asked_for)
{
    struct guarded *guarded = *state;
    struct http_client *client = guarded->service.client;
    for (int i = 0; i < 12; i++) {
        char name[16], token[TOKEN_TEXT];
        snprintf(name, sizeof name, "short%d", i);
        hold(guarded, name, token);
        release(guarded, name, token);
    }
    asks_for(client, AS("all"), "GET /stats", 200);
    assert_int_equal(json_array_size(json_object_get(client->reply.json, "longest_holds")), 10);
    asks_for(client, AS("all"), "GET /stats?limit=3", 200);
    assert_int_equal(json_array_size(json_object_get(client->reply.json, "longest_holds")), 3);
}

RUN_TESTS(start, guarded_stop)
