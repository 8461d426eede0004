/* The verb that each route asks for, of the name or prefix that it is about: each is asked for by a
 * principal with each verb. How rules are matched, tests/unit/test_principal.c shows. */
#include "tests/support/fixtures/guarded.h"
#include "tests/support/fixtures/parked.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ONLY(verb) "[{\"prefix\":\"team/\",\"verbs\":[\"" verb "\"]}]"

/* Each has the one verb that it is called by, for names that begin with team/. */
static const struct file_principal PEOPLE[] = {
    {"acquire", ONLY("acquire"), NULL},
    {"read", ONLY("read"), NULL},
    {"break", ONLY("break"), NULL},
    {"metrics", ONLY("metrics"), NULL},
    {"none", "[]", NULL},
};

/* Names as they are written in a target, and what they are. */
static const struct {
    const char *segment, *name;
} NAMES[] = {
    {"team%2Fx", "team/x"}, {"team/y%2Fz/1", "team/y/z/1"}, {"other/team/x", "other/team/x"},
    {"%74eam", "team"},     {"team%252Fx", "team%2Fx"},
};

enum shape {
    OF_HOLD,        /* the name stands in the path, and who may read it may ask, too */
    OF_NAME,        /* the name stands in the path */
    FORCED_IN_BODY, /* likewise, and force=true in the body */
    OF_NAMES,       /* in the body */
    OF_PREFIX,      /* the name is a prefix that is asked for */
    OF_NONE,
};

/* What one can ask for. `%s` is where the name stands. */
static const char TOKEN[] = "a-token-that-holds-nothing";

static const struct {
    const char *verb; /* NULL: it is for everybody */
    enum shape shape;
    const char *request;
    const char *token; /* NULL: none */
    const char *header;
    long status; /* of an answer to who may, or 0 for one of 200, 201 and 409 */
} ASKED[] = {
    {"acquire", OF_NAME, "POST /locks/%s?ttl=10m", NULL, NULL, 0},
    {"acquire", OF_NAME, "POST /locks/%s?ttl=10m", NULL, "Accept: text/plain", 0},
    {"acquire", OF_NAME, "POST /locks/%s?ttl=10m&wait=1ms", NULL, NULL, 0},
    {"acquire", OF_NAME, "PUT /locks/%s", TOKEN, NULL, 409},
    {"acquire", OF_NAME, "DELETE /locks/%s", TOKEN, NULL, 409},
    {"acquire", OF_NAME, "DELETE /locks/%s?force=false", TOKEN, NULL, 409},
    {"break", OF_NAME, "DELETE /locks/%s?force=true", NULL, NULL, 200},
    {"break", OF_NAME, "DELETE /locks/%s?force=%74rue", NULL, NULL, 200},
    {"break", OF_NAME, "DELETE /locks/%s?force", NULL, NULL, 200},
    {"break", FORCED_IN_BODY, "DELETE /locks/%s", NULL, NULL, 200},
    {"break", OF_NAME, "DELETE /locks?prefix=%s&force=true&reason=test", NULL, NULL, 200},
    {"read", OF_NAME, "GET /locks/%s", TOKEN, NULL, 200},
    {"read", OF_NAME, "HEAD /locks/%s", NULL, NULL, 200},
    {"read", OF_NAME, "GET /locks/%s/events?wait=0", NULL, NULL, 200},
    {"acquire", OF_HOLD, "GET /locks/%s/events?wait=0", TOKEN, NULL, 200},
    {"acquire", OF_HOLD, "GET /locks/%s/events?wait=0&until=ended", TOKEN, NULL, 200},
    {"acquire", OF_HOLD, "GET /locks/%s/events?wait=0", TOKEN, "Accept: text/event-stream", 200},
    {"read", OF_NAME, "GET /locks/%s/events?wait=0", NULL, "Accept: text/event-stream", 200},
    {"acquire", OF_NAMES, "POST /locks?ttl=10m", NULL, NULL, 0},
    {"acquire", OF_NAMES, "PUT /locks", TOKEN, NULL, 409},
    {"acquire", OF_NAMES, "DELETE /locks", TOKEN, NULL, 409},
    {"read", OF_PREFIX, "GET /locks?prefix=%s", NULL, NULL, 200},
    {"read", OF_PREFIX, "GET /events?wait=0&prefix=%s", NULL, NULL, 200},
    {"read", OF_PREFIX, "GET /events?wait=0&prefix=%s", NULL, "Accept: text/event-stream", 200},
    {"metrics", OF_NONE, "GET /metrics", NULL, NULL, 200},
    {"read", OF_NONE, "GET /stats", NULL, NULL, 200},
    {"read", OF_NONE, "GET /quarantine", NULL, NULL, 200},
    {"metrics", OF_NONE, "HEAD /metrics", NULL, NULL, 200},
    {NULL, OF_NONE, "GET /livez", NULL, NULL, 200},
    {NULL, OF_NONE, "GET /readyz", NULL, NULL, 200},
    {NULL, OF_NONE, "GET /openapi.yaml", NULL, NULL, 200},
};

static int start(void **state)
{
    return guarded_start(state, PEOPLE, LENGTH(PEOPLE), 1);
}

/* A prefix that is asked for may also go on in the rule's. */
static bool may(const char *person, size_t asked, const char *name)
{
    enum shape shape = ASKED[asked].shape;
    return !ASKED[asked].verb ||
           ((strcmp(person, ASKED[asked].verb) == 0 ||
             (shape == OF_HOLD && strcmp(person, "read") == 0)) &&
            (shape == OF_NONE || strncmp(name, "team/", 5) == 0 ||
             (shape == OF_PREFIX && strncmp(name, "team/", strlen(name)) == 0)));
}

/* Writes the request with the name in its place. */
static void fill(const char *request, const char *segment, char text[256])
{
    const char *hole = strstr(request, "%s");
    if (hole)
        snprintf(text, 256, "%.*s%s%s", (int)(hole - request), request, segment, hole + 2);
    else
        snprintf(text, 256, "%s", request);
}

/* Sends it about one name. */
static long send(struct http_client *client, const char *principal, size_t asked, size_t name)
{
    char request[256], body[256];
    struct as as = {
        .principal = principal, .token = ASKED[asked].token, .header = ASKED[asked].header};
    snprintf(body, sizeof body, "{\"names\":[\"%s\"]}", NAMES[name].name);
    if (ASKED[asked].shape == OF_NAMES)
        as.body = body;
    else if (ASKED[asked].shape == FORCED_IN_BODY)
        as.body = "{\"force\":true}";
    fill(ASKED[asked].request, NAMES[name].segment, request);
    return asks(client, as, request);
}

static bool is_head(size_t asked)
{
    return strncmp(ASKED[asked].request, "HEAD", 4) == 0;
}

static bool is_text(size_t asked)
{
    return ASKED[asked].header && strcmp(ASKED[asked].header, "Accept: text/plain") == 0;
}

static bool is_refused_well(struct http_client *client, size_t asked, size_t name)
{
    const char *wanted = ASKED[asked].shape == OF_NONE ? "" : NAMES[name].name;
    if (is_head(asked))
        return true;
    if (is_text(asked))
        return strncmp(client->reply.body, "forbidden: ", 11) == 0;
    const char *verb = http_text(client, "verb"), *prefix = http_text(client, "prefix");
    return verb && prefix && strcmp(verb, ASKED[asked].verb) == 0 && strcmp(prefix, wanted) == 0 &&
           strcmp(http_text(client, "code"), "forbidden") == 0;
}

static bool is_answered_well(size_t asked, long status)
{
    if (ASKED[asked].status)
        return status == ASKED[asked].status;
    return status == 200 || status == 201 || status == 409;
}

static int64_t calls_in(const char *stats, const char *pattern)
{
    const char *found = strstr(stats, pattern);
    return found ? strtoll(found + strlen(pattern), NULL, 10) : 0;
}

/* How many functions have run but those of a worker at rest: each second it looks at the record of
 * Redis, by one HMGET, and seldom at the libraries, by one HGETALL. */
static int64_t lock_calls(struct guarded *guarded)
{
    redisReply *stats = redis_process_command(&guarded->service.redis, "INFO commandstats");
    int64_t calls = calls_in(stats->str, "cmdstat_fcall:calls=") -
                    calls_in(stats->str, "cmdstat_hmget:calls=") -
                    calls_in(stats->str, "cmdstat_hgetall:calls=");
    freeReplyObject(stats);
    return calls;
}

static void expect_answer(struct guarded *guarded, const char *person, size_t asked, size_t name)
{
    struct http_client *client = guarded->service.client;
    bool allowed = may(person, asked, NAMES[name].name);
    int64_t before = lock_calls(guarded);
    long status = send(client, person, asked, name);
    bool good = allowed ? is_answered_well(asked, status)
                        : status == 403 && is_refused_well(client, asked, name) &&
                              lock_calls(guarded) == before;
    if (!good)
        fail_msg("%s asks %s of %s: %ld, though it may%s\n%s", person, ASKED[asked].request,
                 NAMES[name].segment, status, allowed ? "" : " not", client->reply.body);
}

TEST(route_needs_its_verb_for_its_name)
{
    for (size_t i = 0; i < LENGTH(PEOPLE); i++)
        for (size_t asked = 0; asked < LENGTH(ASKED); asked++)
            for (size_t name = 0; name < LENGTH(NAMES); name++)
                expect_answer(*state, PEOPLE[i].name, asked, name);
}

static bool has_both_challenges(const struct http_client *client)
{
    const char *headers = client->reply.headers;
    return strstr(headers, "WWW-Authenticate: Bearer realm=\"baton\"") &&
           strstr(headers, "WWW-Authenticate: Basic realm=\"baton\", charset=\"UTF-8\"");
}

/* Without credentials, and with a token that is in no file. */
TEST(unknown_principal_gets_401_from_each_route)
{
    static const char *const WHO[] = {NULL, "stranger"};
    struct http_client *client = service_client(state);
    int64_t before = lock_calls(*state);
    for (size_t who = 0; who < LENGTH(WHO); who++)
        for (size_t asked = 0; asked < LENGTH(ASKED); asked++) {
            if (!ASKED[asked].verb)
                continue;
            long status = send(client, WHO[who], asked, 0);
            bool reported = is_head(asked) || is_text(asked) ||
                            strcmp(http_text(client, "code"), "unauthorized") == 0;
            if (status != 401 || !has_both_challenges(client) || !reported)
                fail_msg("%s: %ld\n%s", ASKED[asked].request, status, client->reply.headers);
        }
    assert_int_equal(lock_calls(*state), before);
}

TEST_OF_CLIENT(known_caller_learns_who_it_is)
{
    asks_for(client, AS("read"), "GET /whoami", 200);
    assert_string_equal(http_text(client, "principal"), "read");
    assert_string_equal(member_text(client, "rules.0.prefix"), "team/");
    assert_string_equal(member_text(client, "rules.0.verbs.0"), "read");
    assert_null(member(client, "rules.0.max_ttl_ms"));
    assert_null(member(client, "rules.1"));
    assert_string_equal(http_text(client, "client"), "127.0.0.1");
    assert_non_null(http_text(client, "version"));
    asks_for(client, AS("none"), "GET /whoami", 200);
    assert_int_equal(json_array_size(member(client, "rules")), 0);
    asks_for(client, AS("stranger"), "GET /whoami", 401);
    asks_for(client, AS(NULL), "GET /whoami", 401);
}

/* The reply is a stream, so these are sent one by one. */
TEST(hold_by_connection_needs_acquire)
{
    struct guarded *guarded = *state;
    char header[PRINCIPAL_HEADER_TEXT];
    redis_process_forget(&guarded->service.redis);
    for (size_t i = 0; i < LENGTH(PEOPLE); i++) {
        principal_header(PEOPLE[i].name, header);
        struct parked *parked = parked_send(guarded->service.batond.port, header,
                                            "POST /locks/team%2Fx?hold=connection", NULL);
        if (!parked_receives(parked, i == 0 ? "\"granted\"" : "\"forbidden\"", CLOCK_HANG_MS))
            fail_msg("%s: %s", PEOPLE[i].name, parked->text);
        parked_close(parked);
    }
}

/* A token need not be of a hold. */
TEST_OF_CLIENT(watch_by_a_token_shows_others_only_to_who_may_read)
{
    static const char WATCH[] = "GET /locks/team%2Fwatched/events?wait=0";
    static const char META[] = "{\"meta\":{\"secret\":1}}";
    const struct as by_read = {.principal = "read", .token = TOKEN};
    const struct as by_acquire = {.principal = "acquire", .token = TOKEN};
    struct as holder = {.principal = "acquire", .body = META};
    asks_for(client, holder, "POST /locks/team%2Fwatched", 201);
    asks_for(client, AS("break"), "DELETE /locks/team%2Fwatched?force=true&reason=secret", 200);
    asks_for(client, holder, "POST /locks/team%2Fwatched", 201);
    char *token = strdup(http_text(client, "token"));
    asks_for(client, by_read, WATCH, 200);
    assert_int_equal(json_array_size(member(client, "holders")), 1);
    assert_non_null(member(client, "last_release.broken"));
    asks_for(client, by_acquire, WATCH, 200);
    assert_string_equal(http_text(client, "state"), "held");
    assert_true(json_is_false(member(client, "mine")));
    assert_int_equal(json_array_size(member(client, "holders")), 0);
    assert_null(strstr(client->reply.body, "secret"));
    assert_null(http_header(client, "Lock-Fence"));
    asks_for(client,
             ((struct as){.principal = "acquire", .token = TOKEN, .header = "Accept: text/plain"}),
             WATCH, 200);
    assert_string_equal(client->reply.body, "held; this token does not hold it\n");
    asks_for(client, ((struct as){.principal = "acquire", .token = token}), WATCH, 200);
    assert_int_equal(member_integer(client, "holders.0.meta.secret"), 1);
    assert_true(json_is_null(member(client, "last_release")));
    free(token);
}

TEST_OF_CLIENT(break_reports_no_holders_to_a_key_without_read)
{
    static const char BREAK[] = "DELETE /locks/team%2Fbroken?force=true";
    static const char BREAK_ONE[] = "DELETE /locks/team%2Fbroken?force=true&fence=1";
    struct as holder = {.principal = "acquire", .body = "{\"owner\":\"secret\"}"};
    struct as in_text = {.principal = "break", .header = "Accept: text/plain"};
    for (int i = 0; i < 2; i++) {
        asks_for(client, holder, "POST /locks/team%2Fbroken", 201);
        asks_for(client, AS("break"), BREAK_ONE, 409);
        assert_string_equal(http_text(client, "code"), "hold_ended");
        assert_int_equal(json_array_size(member(client, "holders")), 0);
        assert_true(json_is_null(member(client, "last_release")));
        assert_null(strstr(client->reply.body, "secret"));
        asks_for(client, i == 0 ? AS("break") : in_text, BREAK, 200);
        assert_null(strstr(client->reply.body, "secret"));
    }
    assert_string_equal(client->reply.body, "broken: 1 hold\n");
}

TEST_OF_CLIENT(one_forbidden_name_refuses_all_names)
{
    static const char *const REQUESTS[] = {"POST /locks", "PUT /locks", "DELETE /locks"};
    static const char *const BODIES[] = {"{\"names\":[\"team/1\",\"team/2\",\"teams\"]}",
                                         "{\"names\":[\"teams\",\"team/1\",\"team/2\"]}"};
    for (size_t i = 0; i < LENGTH(REQUESTS); i++)
        for (size_t j = 0; j < LENGTH(BODIES); j++) {
            const struct as as = {.principal = "acquire", .token = TOKEN, .body = BODIES[j]};
            asks_for(client, as, REQUESTS[i], 403);
            assert_string_equal(http_text(client, "prefix"), "teams");
            assert_string_equal(http_text(client, "verb"), "acquire");
        }
    asks_for(client, AS("read"), "GET /locks/team%2F1", 200);
    assert_string_equal(http_text(client, "state"), "free");
}

/* openapi.yaml tells everybody which resources there are, and no more. */
TEST_OF_CLIENT(credentials_are_checked_before_parameters)
{
    static const struct {
        const char *principal, *request;
        long status;
    } ROWS[] = {
        {NULL, "GET /nothing", 404},           {NULL, "PATCH /locks/a", 405},
        {NULL, "GET /locks/%00", 401},         {"none", "GET /locks/%00", 400},
        {NULL, "GET /locks/a?nothing=1", 401}, {"none", "GET /locks/a?nothing=1", 400},
    };
    for (size_t i = 0; i < LENGTH(ROWS); i++)
        asks_for(client, AS(ROWS[i].principal), ROWS[i].request, ROWS[i].status);

    static char large[65538];
    memset(large, ' ', sizeof large - 1);
    asks_for(client, ((struct as){.body = large}), "POST /locks/a", 401);
    asks_for(client, ((struct as){.principal = "none", .body = large}), "POST /locks/a", 413);
}

RUN_TESTS(start, guarded_stop)
