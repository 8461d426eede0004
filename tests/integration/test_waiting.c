/* Waiting for a lock: in order of arrival, woken at once, and never left behind. */
#include "tests/support/fixtures/parked.h"

#include <stdio.h>
#include <string.h>

enum { LONG_LINE = 15 };

/* Half of a claim window, after which a lost message is told again, and half of a lease are longer
 * than any of these waits: who is granted was told so at once. */
static const char *const SETTINGS[] = {"--claim-window=60s", "--waiter-lease=10m", NULL};

static int start(void **state)
{
    return service_start_with(state, NULL, SETTINGS);
}

static const char TOKEN[] = "a-token-that-waits-0001";
static const char OTHER[] = "a-token-that-waits-0002";

/* Sends one that waits, and sees it in the queue. */
static struct parked *wait_as(struct service *service, const char *token, const char *query,
                              int64_t place)
{
    char request[200], name[100];
    snprintf(request, sizeof request, "POST /locks/%s", query);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(query, "?"), query);
    struct parked *parked = parked_send_token(service->batond.port, token, request);
    comes_to_queue(service->client, name, place);
    return parked;
}

/* The answer has the code, and waits no longer. */
static void is_refused(struct parked *parked, long status, const char *code)
{
    long actual = parked_answer(parked, CLOCK_HANG_MS);
    const char *got = http_text(&parked->client, "code");
    if (actual != status || !got || strcmp(got, code) != 0)
        fail_msg("expected %ld %s: %s", status, code, parked->text);
}

static void is_granted(struct parked *parked)
{
    if (parked_answer(parked, CLOCK_HANG_MS) != 201)
        fail_msg("not granted: %s", parked->text);
}

/* It has no answer, and a request behind it shows that so many wait. */
static void still_waits(struct service *service, struct parked *parked, const char *name,
                        int64_t length)
{
    char request[100];
    snprintf(request, sizeof request, "GET /locks/%s", name);
    answers(service->client, request, NULL, 200, NULL);
    assert_int_equal(http_integer(service->client, "queue_length"), length);
    assert_true(parked_waits(parked, 0));
}

TEST_ON_SERVICE(a_release_hands_the_lock_over)
{
    char token[TOKEN_TEXT];
    acquire_lock(service->client, "release", token);
    int64_t fence = http_integer(service->client, "fence");
    struct parked *waiter = wait_as(service, TOKEN, "release?wait=20s&ttl=1h&owner=me", 1);
    assert_true(parked_waits(waiter, 0));
    release_lock(service->client, token, "release");
    is_granted(waiter);
    assert_string_equal(http_text(&waiter->client, "token"), TOKEN);
    assert_string_equal(http_text(&waiter->client, "owner"), "me");
    assert_int_equal(http_integer(&waiter->client, "ttl_ms"), 3600000);
    assert_int_equal(http_integer(&waiter->client, "holds"), 1);
    assert_true(http_integer(&waiter->client, "fence") > fence);
    assert_string_equal(http_header(&waiter->client, "Location"), "/locks/release");
    assert_non_null(http_header(&waiter->client, "ETag"));
    parked_close(waiter);
    answers(service->client, "GET /locks/release", NULL, 200, NULL);
    assert_in_range(member_integer(service->client, "holders.0.ttl_ms"), 3600000 - CLOCK_HANG_MS,
                    3600000);
    assert_int_equal(http_integer(service->client, "queue_length"), 0);
    answers_token(service->client, TOKEN, "POST /locks/release", NULL, 200, NULL);
    release_lock(service->client, TOKEN, "release");
}

static void shows_waiters(struct http_client *client, const char *query, int count)
{
    char request[64], path[32], owner[16];
    snprintf(request, sizeof request, "GET /locks/long-line%s", query);
    answers(client, request, NULL, 200, NULL);
    assert_int_equal(http_integer(client, "queue_length"), LONG_LINE);
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof path, "waiters.%d.owner", i);
        snprintf(owner, sizeof owner, "number-%d", i);
        assert_string_equal(member_text(client, path), owner);
        snprintf(path, sizeof path, "waiters.%d.waited_ms", i);
        assert_in_range(member_integer(client, path), 0, CLOCK_HANG_MS);
    }
    snprintf(path, sizeof path, "waiters.%d", count);
    assert_null(member(client, path));
}

/* A newcomer of that owner would be let in, too. */
TEST_ON_SERVICE(owner_that_is_granted_lets_its_waiters_in)
{
    static const char *const ASKED[] = {"own?wait=50s&owner=me", "own?wait=50s&owner=you",
                                        "own?wait=50s&owner=me&reentrant=true"};
    static const char *const TOKENS[] = {TOKEN, OTHER, "a-token-that-waits-0003"};
    struct parked *waits[3];
    char token[TOKEN_TEXT];
    acquire_lock(service->client, "own", token);
    for (size_t i = 0; i < 3; i++)
        waits[i] = wait_as(service, TOKENS[i], ASKED[i], (int64_t)i + 1);
    release_lock(service->client, token, "own");
    is_granted(waits[0]);
    is_granted(waits[2]);
    still_waits(service, waits[1], "own", 1);
    release_lock(service->client, TOKENS[0], "own");
    release_lock(service->client, TOKENS[2], "own");
    is_granted(waits[1]);
    for (size_t i = 0; i < 3; i++)
        parked_close(waits[i]);
    release_lock(service->client, OTHER, "own");
}

TEST_ON_SERVICE(as_many_of_those_who_wait_are_shown_as_are_asked_for)
{
    char request[96];
    answers(service->client, "POST /locks/long-line", NULL, 201, NULL);
    for (int i = 0; i < LONG_LINE; i++) {
        snprintf(request, sizeof request, "POST /locks/long-line?wait=1ms&keep=30s&owner=number-%d",
                 i);
        answers(service->client, request, NULL, 409, "wait_timeout");
    }
    shows_waiters(service->client, "", 10);
    shows_waiters(service->client, "?waiters=3", 3);
    shows_waiters(service->client, "?waiters=12", 12);
    shows_waiters(service->client, "?waiters=200", LONG_LINE);
    answers(service->client, "GET /locks/long-line?waiters=201", NULL, 400, "invalid_parameter");
    answers(service->client, "GET /locks/long-line?waiters=0", NULL, 400, "invalid_parameter");
}

TEST_ON_SERVICE(a_wait_ends)
{
    char token[TOKEN_TEXT];
    acquire_lock(service->client, "ends?ttl=10m&owner=me", token);
    int64_t begun = clock_ms();
    answers_token(service->client, TOKEN, "POST /locks/ends?wait=300ms", NULL, 409, "wait_timeout");
    assert_true(clock_ms() - begun >= 295);
    assert_string_equal(http_text(service->client, "token"), TOKEN);
    assert_non_null(strstr(http_text(service->client, "detail"),
                           "Your place in the queue is given up. Queue again with wait=50s and "
                           "keep=10s, which keeps your place until you repeat the request."));
    assert_string_equal(member_text(service->client, "holders.0.owner"), "me");
    assert_int_equal(http_integer(service->client, "retry_after_ms"), 10000);
    assert_non_null(http_header(service->client, "Retry-After"));
    assert_null(strstr(service->client->reply.body, token));
    comes_to_queue(service->client, "ends", 0);
    release_lock(service->client, token, "ends");
    answers(service->client, "GET /locks/ends", NULL, 200, NULL);
    assert_string_equal(http_text(service->client, "state"), "free");
    answers_token(service->client, TOKEN, "POST /locks/ends", NULL, 201, NULL);
}

TEST_ON_SERVICE(a_token_that_was_made_is_reported_at_the_end)
{
    char token[TOKEN_TEXT], made[TOKEN_TEXT];
    acquire_lock(service->client, "made", token);
    answers(service->client, "POST /locks/made?wait=1ms&keep=30s", NULL, 409, "wait_timeout");
    assert_non_null(strstr(http_text(service->client, "detail"), "kept for 30s"));
    keep_token(service->client, made);
    release_lock(service->client, token, "made");
    answers_token(service->client, made, "POST /locks/made?wait=5s", NULL, 201, NULL);
}

/* The release and the hang-up may come in any order, or the grant between them. If the grant was on
 * its way to the client already, its TTL has to end. */
TEST_ON_SERVICE(a_grant_to_a_client_that_goes_is_handed_on)
{
    for (int round = 0; round < 6; round++) {
        char name[40], query[60], token[TOKEN_TEXT], first_token[60], second_token[60];
        snprintf(name, sizeof name, "going-%d", round);
        snprintf(query, sizeof query, "%s?wait=20s&ttl=300ms", name);
        snprintf(first_token, sizeof first_token, "goes-before-it-is-told-%d", round);
        snprintf(second_token, sizeof second_token, "stays-until-it-is-told-%d", round);
        acquire_lock(service->client, name, token);
        struct parked *first = wait_as(service, first_token, query, 1);
        struct parked *second = wait_as(service, second_token, query, 2);
        if (round % 2)
            parked_close(first);
        release_lock(service->client, token, name);
        if (round % 2 == 0)
            parked_close(first);
        is_granted(second);
        parked_close(second);
    }
}

TEST_ON_SERVICE(a_hang_up_keeps_the_place_where_that_was_asked_for)
{
    char token[TOKEN_TEXT];
    acquire_lock(service->client, "returns", token);
    struct parked *first = wait_as(service, TOKEN, "returns?wait=20s&keep=30s", 1);
    struct parked *second = wait_as(service, OTHER, "returns?wait=20s", 2);
    parked_close(first);
    parked_close(wait_as(service, "a-token-that-waits-0003", "returns?wait=20s", 3));
    comes_to_queue(service->client, "returns", 2); /* that hang-up was heard of */
    first = parked_send_token(service->batond.port, TOKEN, "POST /locks/returns?wait=20s");
    still_waits(service, first, "returns", 2);
    release_lock(service->client, token, "returns");
    is_granted(first);
    still_waits(service, second, "returns", 1);
    parked_close(first);
    parked_close(second);
}

/* A loop that sends what is left of its wait ends with nothing left. */
TEST_ON_SERVICE(last_request_of_a_wait_may_keep_its_place)
{
    static const char ASKED[] = "POST /locks/hasty?wait=0&keep=30s";
    char token[TOKEN_TEXT];
    acquire_lock(service->client, "hasty", token);
    answers_token(service->client, OTHER, ASKED, NULL, 409, "locked");
    comes_to_queue(service->client, "hasty", 0);
    answers_token(service->client, TOKEN, "POST /locks/hasty?wait=1ms&keep=30s", NULL, 409,
                  "wait_timeout");
    answers_token(service->client, TOKEN, ASKED, NULL, 409, "locked");
    comes_to_queue(service->client, "hasty", 1);
    release_lock(service->client, token, "hasty");
    answers_token(service->client, OTHER, ASKED, NULL, 409, "locked");
    answers_token(service->client, TOKEN, ASKED, NULL, 201, NULL);
    release_lock(service->client, TOKEN, "hasty");
}

TEST_ON_SERVICE(waiter_learns_its_position)
{
    char token[TOKEN_TEXT];
    acquire_lock(service->client, "placed", token);
    struct parked *first = wait_as(service, OTHER, "placed?wait=20s", 1);
    answers_token(service->client, TOKEN, "POST /locks/placed?wait=1ms&keep=30s", NULL, 409,
                  "wait_timeout");
    assert_int_equal(http_integer(service->client, "position"), 2);
    answers_token(service->client, TOKEN, "POST /locks/placed?wait=0", NULL, 409, "locked");
    assert_int_equal(http_integer(service->client, "position"), 2);
    answers_token(service->client, TOKEN, "GET /locks/placed", NULL, 200, NULL);
    assert_int_equal(http_integer(service->client, "position"), 2);
    answers_token(service->client, OTHER, "GET /locks/placed", NULL, 200, NULL);
    assert_int_equal(http_integer(service->client, "position"), 1);
    answers_token(service->client, token, "GET /locks/placed", NULL, 200, NULL);
    assert_null(member(service->client, "position"));
    answers(service->client, "POST /locks/placed?wait=1ms", NULL, 409, "wait_timeout");
    assert_null(member(service->client, "position"));
    release_lock(service->client, token, "placed");
    is_granted(first);
    parked_close(first);
    release_lock(service->client, TOKEN, "placed");
}

TEST_ON_SERVICE(a_wait_can_be_cancelled)
{
    char token[TOKEN_TEXT];
    acquire_lock(service->client, "cancel", token);
    struct parked *waiter = wait_as(service, TOKEN, "cancel?wait=20s", 1);
    for (int i = 0; i < 2; i++) {
        release_lock(service->client, TOKEN, "cancel");
        assert_true(json_is_false(member(service->client, "released")));
        assert_true(json_is_true(member(service->client, "cancelled")));
    }
    is_refused(waiter, 409, "not_held");
    assert_non_null(strstr(http_text(&waiter->client, "detail"), "cancelled"));
    comes_to_queue(service->client, "cancel", 0);
    answers_token(service->client, TOKEN, "POST /locks/cancel?wait=5s", NULL, 409, "not_held");
    release_lock(service->client, token, "cancel");
    answers(service->client, "GET /locks/cancel", NULL, 200, NULL);
    assert_string_equal(http_text(service->client, "state"), "free");
    parked_close(waiter);
}

RUN_TESTS(start, service_stop)
