/* Who may do what: every verb, on names that are within a prefix or nearly so, by every route. What
 * is expected is worked out here from the rules; every cell of the matrix is sent. */
#include "tests/support/fixtures/guarded.h"
#include "tests/support/fixtures/parked.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH(table) (sizeof(table) / sizeof((table)[0]))

enum { PRINCIPALS_MOST = 40, RULES_MOST = 3 };

static const char *const VERBS[] = {"acquire", "read", "break", "metrics"};

struct grant {
    const char *prefix;
    const char *verbs; /* words, each with a space behind it */
};

struct person {
    char name[32];
    struct grant grants[RULES_MOST];
    char rules[512]; /* the same as JSON */
};

/* Those that are not made for every set of verbs. */
static const struct person SPECIAL[] = {
    {.name = "all", .grants = {{"", "acquire read break metrics "}}},
    {.name = "none"},
    {.name = "cut", .grants = {{"team/x", "acquire read "}}},
    {.name = "accent", .grants = {{"\303\251", "acquire read break "}}},
    {.name = "percent", .grants = {{"team%2F", "acquire read "}}},
    {.name = "two", .grants = {{"team/", "read "}, {"other/", "acquire break "}}},
    {.name = "apart", .grants = {{"team/x", "read "}, {"team/y", "read "}, {"o", "read "}}},
    {.name = "long", .grants = {{"team/x and more", "acquire read break "}}},
};

/* Names as they are written in a target, and what they are. */
static const struct {
    const char *segment, *name;
} NAMES[] = {
    {"team%2Fx", "team/x"},
    {"%74e%61m%2fxy", "team/xy"},
    {"team%2F", "team/"},
    {"team", "team"},
    {"team%252Fx", "team%2Fx"},
    {"..%2Fteam%2Fx", "../team/x"},
    {"%C3%A9clair", "\303\251clair"},
    {"e%CC%81clair", "e\314\201clair"},
};

enum shape {
    OF_NAME,   /* the name stands in the path */
    OF_NAMES,  /* in the body */
    OF_PREFIX, /* the name is a prefix that is asked for */
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
    {"break", OF_NAME, "DELETE /locks?prefix=%s&force=true&reason=test", NULL, NULL, 200},
    {"read", OF_NAME, "GET /locks/%s", TOKEN, NULL, 200},
    {"read", OF_NAME, "HEAD /locks/%s", NULL, NULL, 200},
    {"read", OF_NAME, "GET /locks/%s/events?wait=0", TOKEN, NULL, 200},
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

struct matrix {
    struct guarded guarded;
    struct person people[PRINCIPALS_MOST];
    size_t count;
};

static void write_rules(struct person *person)
{
    size_t length = (size_t)sprintf(person->rules, "[");
    for (size_t i = 0; i < RULES_MOST && person->grants[i].verbs; i++) {
        const struct grant *grant = &person->grants[i];
        length += (size_t)sprintf(person->rules + length, "%s{\"prefix\":\"%s\",\"verbs\":[",
                                  i ? "," : "", grant->prefix);
        bool first = true;
        for (size_t verb = 0; verb < LENGTH(VERBS); verb++) {
            if (!strstr(grant->verbs, VERBS[verb]))
                continue;
            length +=
                (size_t)sprintf(person->rules + length, "%s\"%s\"", first ? "" : ",", VERBS[verb]);
            first = false;
        }
        length += (size_t)sprintf(person->rules + length, "]}");
    }
    sprintf(person->rules + length, "]");
}

/* One for every set of verbs but the empty one, all for the same prefix; and the special ones. */
static int start(void **state)
{
    static struct matrix matrix;
    static char verbs[16][64];
    struct file_principal list[PRINCIPALS_MOST];
    for (unsigned set = 1; set < 16; set++) {
        struct person *person = &matrix.people[matrix.count++];
        for (unsigned verb = 0; verb < 4; verb++)
            if (set & 1u << verb)
                strcat(strcat(verbs[set], VERBS[verb]), " ");
        snprintf(person->name, sizeof person->name, "set%u", set);
        person->grants[0] = (struct grant){"team/", verbs[set]};
    }
    for (size_t i = 0; i < LENGTH(SPECIAL); i++)
        matrix.people[matrix.count++] = SPECIAL[i];
    for (size_t i = 0; i < matrix.count; i++) {
        write_rules(&matrix.people[i]);
        list[i] = (struct file_principal){matrix.people[i].name, matrix.people[i].rules, NULL};
    }
    guarded_open(&matrix.guarded, list, matrix.count, 1);
    *state = &matrix;
    return 0;
}

static int stop(void **state)
{
    guarded_close(&((struct matrix *)*state)->guarded);
    return 0;
}

/* Whether a rule lets this person do that: for a name, the rule's prefix is the beginning of it;
 * for a prefix that is asked for, it may also go on from there. */
static bool may(const struct person *person, const char *verb, enum shape shape, const char *name)
{
    for (size_t i = 0; i < RULES_MOST && person->grants[i].verbs; i++) {
        const struct grant *grant = &person->grants[i];
        bool fits = shape == OF_NONE || strncmp(name, grant->prefix, strlen(grant->prefix)) == 0 ||
                    (shape == OF_PREFIX && strncmp(grant->prefix, name, strlen(name)) == 0);
        if (strstr(grant->verbs, verb) && fits)
            return true;
    }
    return false;
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
    as.body = ASKED[asked].shape == OF_NAMES ? body : NULL;
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
static int64_t lock_calls(struct matrix *matrix)
{
    redisReply *stats = redis_process_command(&matrix->guarded.service.redis, "INFO commandstats");
    int64_t calls = calls_in(stats->str, "cmdstat_fcall:calls=") -
                    calls_in(stats->str, "cmdstat_hmget:calls=") -
                    calls_in(stats->str, "cmdstat_hgetall:calls=");
    freeReplyObject(stats);
    return calls;
}

static bool is_as_it_should_be(struct matrix *matrix, const struct person *person, size_t asked,
                               size_t name)
{
    struct http_client *client = matrix->guarded.service.client;
    bool allowed =
        !ASKED[asked].verb || may(person, ASKED[asked].verb, ASKED[asked].shape, NAMES[name].name);
    int64_t before = lock_calls(matrix);
    long status = send(client, person->name, asked, name);
    int64_t after = lock_calls(matrix);
    bool good = allowed ? is_answered_well(asked, status)
                        : status == 403 && is_refused_well(client, asked, name) && before == after;
    if (!good)
        print_error("%s %s asks %s of %s: %ld, %s, with %d calls of Redis\n%s\n", person->name,
                    person->rules, ASKED[asked].request, NAMES[name].segment, status,
                    allowed ? "though it may" : "though it may not", (int)(after - before),
                    client->reply.body);
    return good;
}

static void every_cell_is_as_the_rules_say(void **state)
{
    struct matrix *matrix = *state;
    size_t cells = 0, failed = 0;
    for (size_t i = 0; i < matrix->count; i++)
        for (size_t asked = 0; asked < LENGTH(ASKED); asked++)
            for (size_t name = 0; name < LENGTH(NAMES); name++, cells++)
                failed += !is_as_it_should_be(matrix, &matrix->people[i], asked, name);
    print_message("%zu cells\n", cells);
    assert_int_equal(failed, 0);
}

static bool has_both_challenges(const struct http_client *client)
{
    const char *headers = client->reply.headers;
    return strstr(headers, "WWW-Authenticate: Bearer realm=\"baton\"") &&
           strstr(headers, "WWW-Authenticate: Basic realm=\"baton\", charset=\"UTF-8\"");
}

/* Without credentials, and with a token that is in no file. */
static void whoever_is_not_known_is_asked_who_it_is(void **state)
{
    static const char *const WHO[] = {NULL, "stranger"};
    struct matrix *matrix = *state;
    struct http_client *client = matrix->guarded.service.client;
    int64_t before = lock_calls(matrix);
    for (size_t who = 0; who < LENGTH(WHO); who++)
        for (size_t asked = 0; asked < LENGTH(ASKED); asked++)
            for (size_t name = 0; name < LENGTH(NAMES); name++) {
                if (!ASKED[asked].verb)
                    continue;
                long status = send(client, WHO[who], asked, name);
                bool told = is_head(asked) || is_text(asked) ||
                            strcmp(http_text(client, "code"), "unauthorized") == 0;
                if (status != 401 || !has_both_challenges(client) || !told)
                    fail_msg("%s %s: %ld\n%s", ASKED[asked].request, NAMES[name].segment, status,
                             client->reply.headers);
            }
    assert_int_equal(lock_calls(matrix), before);
}

/* The answer is a stream, so these are sent one by one. */
static void a_hold_by_connection_needs_the_verb_as_well(void **state)
{
    struct matrix *matrix = *state;
    char header[PRINCIPAL_HEADER_TEXT], request[128];
    redis_process_flush(&matrix->guarded.service.redis);
    for (size_t i = 0; i < matrix->count; i++)
        for (size_t name = 0; name < LENGTH(NAMES); name++) {
            bool allowed = may(&matrix->people[i], "acquire", OF_NAME, NAMES[name].name);
            principal_header(matrix->people[i].name, header);
            snprintf(request, sizeof request, "POST /locks/%s?hold=connection&owner=o&wait=10s",
                     NAMES[name].segment);
            struct parked *parked =
                parked_send(matrix->guarded.service.batond.port, header, request, NULL);
            if (!parked_hears(parked, allowed ? "\"granted\"" : "\"forbidden\"", CLOCK_HANG_MS))
                fail_msg("%s %s: %s", matrix->people[i].name, request, parked->text);
            parked_close(parked);
        }
}

/* One that is not allowed among many that are refuses all, wherever it stands. */
static void each_of_several_names_has_to_be_allowed(void **state)
{
    static const char *const METHODS[] = {"POST", "PUT", "DELETE"};
    static const char *const LISTS[] = {"[\"team/1\",\"team/2\",\"teams\"]",
                                        "[\"team/1\",\"teams\",\"team/2\"]",
                                        "[\"teams\",\"team/1\",\"team/2\"]"};
    struct matrix *matrix = *state;
    struct http_client *client = matrix->guarded.service.client;
    char request[32], body[96];
    for (size_t method = 0; method < LENGTH(METHODS); method++)
        for (size_t list = 0; list < LENGTH(LISTS); list++) {
            snprintf(request, sizeof request, "%s /locks", METHODS[method]);
            snprintf(body, sizeof body, "{\"names\":%s}", LISTS[list]);
            const struct as as = {.principal = "set1", .token = TOKEN, .body = body};
            asks_for(client, as, request, 403);
            assert_string_equal(http_text(client, "prefix"), "teams");
            assert_string_equal(http_text(client, "verb"), "acquire");
        }
    asks_for(client, AS("all"), "GET /locks/team%2F1", 200);
    assert_string_equal(http_text(client, "state"), "free");
}

/* Neither tells whoever may not come in more than openapi.yaml does. */
static void what_is_no_resource_is_told_to_everybody(void **state)
{
    struct http_client *client = ((struct matrix *)*state)->guarded.service.client;
    asks_for(client, AS(NULL), "GET /nothing", 404);
    asks_for(client, AS(NULL), "PATCH /locks/a", 405);
    asks_for(client, AS(NULL), "GET /locks/%00", 401);
    asks_for(client, AS("none"), "GET /locks/%00", 400);
    asks_for(client, AS(NULL), "GET /locks/a?nothing=1", 401);
    asks_for(client, AS("none"), "GET /locks/a?nothing=1", 400);

    static char large[65538];
    memset(large, ' ', sizeof large - 1);
    asks_for(client, ((struct as){.body = large}), "POST /locks/a", 401);
    asks_for(client, ((struct as){.principal = "none", .body = large}), "POST /locks/a", 413);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cell_is_as_the_rules_say),
        cmocka_unit_test(whoever_is_not_known_is_asked_who_it_is),
        cmocka_unit_test(a_hold_by_connection_needs_the_verb_as_well),
        cmocka_unit_test(each_of_several_names_has_to_be_allowed),
        cmocka_unit_test(what_is_no_resource_is_told_to_everybody),
    };
    return cmocka_run_group_tests_name("permissions", tests, start, stop);
}
