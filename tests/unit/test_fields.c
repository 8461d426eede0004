#include "api/access/completion.h"
#include "api/api.h"
#include "api/routes.h"
#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_CONTENT_TYPE "(none)"

#define TOKEN "abcdefghijklmnopqrst-_"

/* The route that takes a request, by its operation. */
static const struct route *route_of(const char *operation)
{
    for (size_t i = 0; i < ROUTE_COUNT; i++)
        if (strcmp(ROUTES[i].operation_id, operation) == 0)
            return &ROUTES[i];
    fail_msg("no route %s", operation);
}

/* A request as the server hands it over, with all that its fields may be read from. */
struct request {
    const char *operation;
    const char *query; /* without the question mark; NULL: none */
    const char *body;  /* NULL: none */
    const char *content_type;
    const char *lock_token;
    bool has_x_lock_token, has_idempotency_key;
    const char *last_event_id;
};

struct reading {
    struct api api;
    struct exchange exchange;
    char target[40000];
    bool read;
};

enum { DAY_MS = 86400000 };

static int64_t longest_ttl_ms = DAY_MS; /* the setting */

/* The reading is the caller's to close. */
static struct reading *reading_of(const struct request *request)
{
    struct reading *reading = calloc(1, sizeof *reading);
    assert_non_null(reading);
    reading->api.max_ttl_ms = longest_ttl_ms;
    reading->api.max_wait_ms = 60000;
    struct exchange *exchange = &reading->exchange;
    exchange->api = &reading->api;
    exchange->route = route_of(request->operation);
    exchange->head.method = exchange->route->method;
    int length = snprintf(reading->target, sizeof reading->target, "/locks/a%s%s",
                          request->query ? "?" : "", request->query ? request->query : "");
    assert_true(length < (int)sizeof reading->target);
    exchange->head.target = reading->target;
    exchange->body = slice_of(request->body);
    exchange->head.content_type = request->content_type;
    if (request->body && !request->content_type)
        exchange->head.content_type = "application/json";
    else if (request->content_type && strcmp(request->content_type, NO_CONTENT_TYPE) == 0)
        exchange->head.content_type = NULL;
    exchange->head.lock_token = request->lock_token;
    exchange->head.has_x_lock_token = request->has_x_lock_token;
    exchange->head.has_idempotency_key = request->has_idempotency_key;
    exchange->head.last_event_id = request->last_event_id;
    exchange->wants_events = request->last_event_id != NULL;
    reading->read = fields_read(exchange, exchange->route->fields);
    if (reading->read)
        assert_int_equal(exchange->reply.status, 0);
    return reading;
}

static void reading_close(struct reading *reading)
{
    exchange_clear(&reading->exchange);
    free(reading);
}

static const char *shown(const char *text)
{
    return text ? text : "";
}

/* Refused with a problem of that code that names the field, "" for none, and says so much. */
static void assert_refused(const struct request *request, unsigned status, const char *code,
                           const char *parameter, const char *said)
{
    struct reading *reading = reading_of(request);
    struct reply *reply = &reading->exchange.reply;
    if (reading->read || reply->status != status)
        fail_msg("%s ?%s %.200s: %u", request->operation, shown(request->query),
                 shown(request->body), reply->status);
    json_t *problem = json_loadb(reply->body, reply->length, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(problem);
    assert_string_equal(reply->content_type, "application/problem+json");
    assert_int_equal(json_integer_value(json_object_get(problem, "status")), status);
    assert_string_equal(json_string_value(json_object_get(problem, "code")), code);
    assert_string_equal(shown(json_string_value(json_object_get(problem, "parameter"))), parameter);
    const char *detail = json_string_value(json_object_get(problem, "detail"));
    if (!strstr(detail, said) || strncmp(detail, parameter, strlen(parameter)) != 0)
        fail_msg("\"%s\" does not say \"%s\" of \"%s\"", detail, said, parameter);
    json_decref(problem);
    reading_close(reading);
}

static void assert_wrong(const struct request *request, const char *parameter, const char *said)
{
    assert_refused(request, 400, "invalid_parameter", parameter, said);
}

static struct reading *read_well(const struct request *request)
{
    struct reading *reading = reading_of(request);
    if (!reading->read)
        fail_msg("%s ?%s %.200s: %.*s", request->operation, shown(request->query),
                 shown(request->body), (int)reading->exchange.reply.length,
                 reading->exchange.reply.body);
    return reading;
}

static void assert_number(const char *operation, const char *query, const char *body,
                          enum field_id id, int64_t number)
{
    struct request request = {.operation = operation, .query = query, .body = body};
    struct reading *reading = read_well(&request);
    assert_int_equal(reading->exchange.parameters.given, FIELD_BIT(id));
    if (reading->exchange.parameters.numbers[id] != number)
        fail_msg("%s %s is not read as %ld", shown(query), shown(body), (long)number);
    reading_close(reading);
}

/* One without a name could not be given, and nobody would see that it is missing. */
TEST(every_field_has_its_row)
{
    for (size_t id = 0; id < FIELD_COUNT; id++)
        if (!FIELDS[id].name || (FIELDS[id].kind == FIELD_DURATION) != (FIELDS[id].in_ms != NULL))
            fail_msg("field %zu has no row in api/http/fields.c", id);
}

/* null is what some clients send for what they do not have. */
TEST(request_may_carry_nothing)
{
    static const char *const QUERIES[] = {NULL, "", "&", "&&"};
    static const char *const BODIES[] = {NULL, "", "null", " null\r\n"};
    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        for (size_t j = 0; j < LENGTH(QUERIES); j++) {
            struct request request = {
                .operation = ROUTES[i].operation_id, .query = QUERIES[j], .body = BODIES[j]};
            struct reading *reading = read_well(&request);
            assert_int_equal(reading->exchange.parameters.given, 0);
            reading_close(reading);
        }
    }
}

TEST(null_field_counts_as_absent)
{
    struct request nulls = {
        .operation = "acquireLock",
        .query = "ttl=20s",
        .lock_token = TOKEN,
        .body = "{\"ttl_ms\":null,\"wait_ms\":null,\"keep_ms\":null,\"owner\":null,\"mode\":null,"
                "\"limit\":null,\"token\":null,\"meta\":null,\"confirm\":null}"};
    struct request unknown = {.operation = "acquireLock", .body = "{\"nonsense\":null}"};
    struct reading *reading = read_well(&nulls);
    assert_int_equal(reading->exchange.parameters.given,
                     FIELD_BIT(FIELD_TTL) | FIELD_BIT(FIELD_LOCK_TOKEN));
    assert_int_equal(reading->exchange.parameters.numbers[FIELD_TTL], 20000);
    reading_close(reading);
    assert_wrong(&unknown, "nonsense", "unknown field");
}

/* At the bounds, in each place where the field may stand. */
static const struct number {
    const char *operation;
    const char *query;
    const char *body;
    enum field_id id;
    int64_t number;
} NUMBERS[] = {
    {"acquireLock", "ttl=100ms", "{\"ttl\":\"100ms\"}", FIELD_TTL, 100},
    {"acquireLock", "ttl_ms=100", "{\"ttl_ms\":100}", FIELD_TTL, 100},
    {"acquireLock", "ttl=24h", "{\"ttl\":\"24h\"}", FIELD_TTL, 86400000},
    {"acquireLock", "ttl_ms=86400000", "{\"ttl_ms\":86400000}", FIELD_TTL, 86400000},
    {"acquireLock", "ttl=%33%30s", "{\"ttl\":\"30\"}", FIELD_TTL, 30000},
    {"acquireLock", "ttl=3600", "{\"ttl\":\"3600\"}", FIELD_TTL, 3600000},
    {"acquireLock", "ttl=3601s", "{\"ttl\":\"3601s\"}", FIELD_TTL, 3601000},
    {"acquireLock", "ttl=100%6ds", NULL, FIELD_TTL, 100},
    {"acquireLock", "limit=5", "{\"limit\":5.000}", FIELD_LIMIT, 5},
    {"renewLock", "ttl=5m", "{\"ttl\":\"5m\"}", FIELD_TTL, 300000},
    {"renewLock", "ttl_ms=300000", "{\"ttl_ms\":3e5}", FIELD_TTL, 300000},
    {"acquireLock", "wait=0", "{\"wait\":\"0\"}", FIELD_WAIT, 0},
    {"acquireLock", "wait_ms=0", "{\"wait_ms\":0}", FIELD_WAIT, 0},
    {"acquireLock", "wait=0ms", "{\"wait\":\"0ms\"}", FIELD_WAIT, 0},
    {"acquireLock", "wait=1m", "{\"wait\":\"1m\"}", FIELD_WAIT, 60000},
    {"acquireLock", "wait_ms=60000", "{\"wait_ms\":60000}", FIELD_WAIT, 60000},
    {"acquireLock", "at_least=24h", "{\"at_least\":\"24h\"}", FIELD_AT_LEAST, 86400000},
    {"acquireLock", "at_least_ms=1", "{\"at_least_ms\":1}", FIELD_AT_LEAST, 1},
    {"acquireLocks", "at_least=0", "{\"at_least_ms\":0}", FIELD_AT_LEAST, 0},
    {"acquireLock", "max_held=720h", "{\"max_held\":\"720h\"}", FIELD_MAX_HELD, 2592000000},
    {"acquireLocks", "max_held_ms=100", "{\"max_held_ms\":100}", FIELD_MAX_HELD, 100},
    {"acquireLock", "keep=30s", "{\"keep\":\"30s\"}", FIELD_KEEP, 30000},
    {"acquireLock", "keep_ms=30000", "{\"keep_ms\":30000.0}", FIELD_KEEP, 30000},
    {"acquireLock", "keep=0", "{\"keep_ms\":0}", FIELD_KEEP, 0},
    {"acquireLock", "hold=connection", "{\"hold\":\"connection\"}", FIELD_HOLD, 1},
    {"acquireLock", "confirm=replicas:2", "{\"confirm\":\"replicas:2\"}", FIELD_CONFIRM, 2},
    {"acquireLocks", "wait=1m", "{\"wait_ms\":60000}", FIELD_WAIT, 60000},
    {"watchLock", "wait=1m", NULL, FIELD_WAIT, 60000},
    {"watchLock", "wait_ms=60000", NULL, FIELD_WAIT, 60000},
    {"watchLock", "after=0", NULL, FIELD_AFTER, 0},
    {"watchLock", "after=9007199254740991", NULL, FIELD_AFTER, VERSION_HIGHEST},
    {"watchLocks", "after=1763715600000000", NULL, FIELD_AFTER, 1763715600000000},
    {"watchLocks", "limit=1000", NULL, FIELD_PAGE, 1000},
    {"acquireLock", "limit=1", "{\"limit\":1}", FIELD_LIMIT, 1},
    {"acquireLock", "limit=1000000", "{\"limit\":1000000}", FIELD_LIMIT, 1000000},
    {"acquireLock", "permits=3", "{\"permits\":3}", FIELD_PERMITS, 3},
    {"acquireLock", "mode=exclusive", "{\"mode\":\"exclusive\"}", FIELD_LOCK_MODE, LOCK_EXCLUSIVE},
    {"acquireLock", "mode=shared", "{\"mode\":\"shared\"}", FIELD_LOCK_MODE, LOCK_SHARED},
    {"acquireLock", "mode=%73hared", NULL, FIELD_LOCK_MODE, LOCK_SHARED},
    {"releaseLock", "force=true", "{\"force\":true}", FIELD_FORCE, 1},
    {"releaseLock", "force", NULL, FIELD_FORCE, 1},
    {"acquireLock", "reentrant", "{\"reentrant\":true}", FIELD_REENTRANT, 1},
    {"acquireLock", "reentrant=false", "{\"reentrant\":false}", FIELD_REENTRANT, 0},
    {"releaseLock", "force=false", "{\"force\":false}", FIELD_FORCE, 0},
    {"releaseLocks", "limit=7", "{\"limit\":7}", FIELD_PAGE, 7},
    {"getReadiness", "verbose", NULL, FIELD_VERBOSE, 1},
    {"getReadiness", "verbose=true", NULL, FIELD_VERBOSE, 1},
    {"getReadiness", "verbose=false", NULL, FIELD_VERBOSE, 0},
    {"listLocks", "limit=1", NULL, FIELD_PAGE, 1},
    {"listLocks", "limit=1000", NULL, FIELD_PAGE, 1000},
};

TEST(number_at_its_bound_is_read)
{
    for (size_t i = 0; i < LENGTH(NUMBERS); i++) {
        const struct number *number = &NUMBERS[i];
        assert_number(number->operation, number->query, NULL, number->id, number->number);
        if (number->body)
            assert_number(number->operation, NULL, number->body, number->id, number->number);
    }
}

static const struct wrong {
    const char *operation;
    const char *query;
    const char *body;
    const char *parameter;
    const char *said;
} WRONG[] = {
    {"acquireLock", "ttl=99ms", NULL, "ttl", "expected a duration from 100ms to 24h"},
    {"acquireLock", "ttl=86400001ms", NULL, "ttl",
     "expected a duration from 100ms to 24h, as one number and one unit (ms, s, m or h)"},
    {"acquireLock", "ttl=1m30s", NULL, "ttl", "one number and one unit"},
    {"acquireLock", "ttl=30000", NULL, "ttl",
     "ttl: 30000 seconds are 8 h 20 min: write 30000ms or 30000s."},
    {"acquireLock", NULL, "{\"ttl\":\"3601\"}", "ttl", "3601 seconds are 1 h 1 s: write 3601ms"},
    {"renewLocks", "ttl=0086400", NULL, "ttl", "86400 seconds are 24 h: write 86400ms or 86400s."},
    {"acquireLock", "wait=30000", NULL, "wait", "write 30000ms or 30000s."},
    {"acquireLock", "keep=5000", NULL, "keep", "5000 seconds are 1 h 23 min 20 s: write 5000ms"},
    {"watchLocks", "wait=9007199254740", NULL, "wait", "2501999792 h 59 min: write 90071992"},
    {"acquireLock", "ttl=", NULL, "ttl", "expected a duration"},
    {"acquireLock", "ttl=5s%", NULL, "ttl", "expected a duration"},
    {"acquireLock", "ttl=5s%00", NULL, "ttl", "expected a duration"},
    {"renewLock", "ttl=99ms", NULL, "ttl", "expected a duration"},
    {"acquireLock", NULL, "{\"ttl_ms\":99}", "ttl_ms",
     "expected an integer of milliseconds, 100 to 86400000"},
    {"acquireLock", NULL, "{\"ttl_ms\":86400001}", "ttl_ms", "expected an integer"},
    {"acquireLock", NULL, "{\"ttl_ms\":1000.5}", "ttl_ms", "expected an integer"},
    {"acquireLock", NULL, "{\"ttl_ms\":\"5s\"}", "ttl_ms", "expected an integer"},
    {"acquireLock", "ttl_ms=5s", NULL, "ttl_ms", "expected an integer of milliseconds"},
    {"acquireLock", "ttl_ms=99", NULL, "ttl_ms", "of milliseconds, 100 to 86400000"},
    {"acquireLock", NULL, "{\"ttl\":\"99ms\"}", "ttl", "expected a duration from 100ms to 24h"},
    {"acquireLock", NULL, "{\"ttl\":30}", "ttl", "expected text such as \"30s\""},
    {"acquireLock", NULL, "{\"ttl\":30000}", "ttl", "send a number of milliseconds as ttl_ms"},
    {"acquireLock", NULL, "{\"keep\":true}", "keep", "or send a number of milliseconds as keep_ms"},
    {"acquireLock", NULL, "{\"wait_ms\":60001}", "wait_ms",
     "of milliseconds, 0 to 60000. The longest is the setting max-wait."},
    {"watchLocks", "wait=2m", NULL, "wait", "max-wait. To wait longer, repeat the request."},
    {"acquireLock", NULL, "{\"wait_ms\":-1}", "wait_ms", "expected an integer"},
    {"acquireLock", "keep=30001ms", NULL, "keep", "expected a duration from 0s to 30s"},
    {"acquireLock", NULL, "{\"keep_ms\":30001}", "keep_ms", "of milliseconds, 0 to 30000"},
    {"acquireLock", NULL, "{\"keep_ms\":-1}", "keep_ms", "expected an integer"},
    {"acquireLock", "hold=Connection", NULL, "hold", "expected \"connection\""},
    {"watchLock", "after=9007199254740992", NULL, "after",
     "expected an integer from 0 to 9007199254740991"},
    {"watchLock", "after=-1", NULL, "after", "expected an integer"},
    {"watchLocks", "limit=1001", NULL, "limit", "expected an integer from 1 to 1000"},
    {"acquireLocks", NULL, "{\"names\":[]}", "names", "a list of 1 to 64 different names"},
    {"acquireLocks", NULL, "{\"names\":\"a\"}", "names", "a list of 1 to 64"},
    {"acquireLocks", NULL, "{\"names\":[\"a\",1]}", "names", "a list of 1 to 64"},
    {"acquireLocks", NULL, "{\"names\":[\"a\\n\"]}", "names", "without control characters"},
    {"acquireLocks", NULL, "{\"names\":[\"a/..\"]}", "names", "\".\" or \"..\" between slashes"},
    {"acquireLocks", NULL, "{\"names\":[\"a\",\"b\",\"a\"]}", "names", "different names"},
    {"renewLocks", NULL, "{\"names\":[\"a\",\"\\u0061\"]}", "names", "different names"},
    {"releaseLocks", NULL, "{\"names\":[[\"a\"]]}", "names", "a list of 1 to 64"},
    {"acquireLock", "limit=0", NULL, "limit", "expected an integer from 1 to 1000000"},
    {"acquireLock", "limit=1000001", NULL, "limit", "expected an integer from 1 to 1000000"},
    {"acquireLock", "limit=", NULL, "limit", "expected an integer"},
    {"acquireLock", "limit=+1", NULL, "limit", "expected an integer"},
    {"acquireLock", "limit=-1", NULL, "limit", "expected an integer"},
    {"acquireLock", "limit=1e3", NULL, "limit", "expected an integer"},
    {"acquireLock", "limit=18446744073709551617", NULL, "limit", "expected an integer"},
    {"acquireLock", NULL, "{\"limit\":0}", "limit", "expected an integer"},
    {"acquireLock", NULL, "{\"limit\":1000001}", "limit", "expected an integer"},
    {"listLocks", "limit=0", NULL, "limit", "expected an integer from 1 to 1000"},
    {"listLocks", "limit=1001", NULL, "limit", "expected an integer from 1 to 1000"},
    {"acquireLock", "mode=Shared", NULL, "mode", "expected \"exclusive\" or \"shared\""},
    {"acquireLock", NULL, "{\"mode\":1}", "mode", "expected \"exclusive\""},
    {"acquireLock", NULL, "{\"mode\":\"read\"}", "mode", "expected \"exclusive\""},
    {"releaseLock", "force=yes", NULL, "force", "expected true or false"},
    {"getReadiness", "verbose=yes", NULL, "verbose", "expected true or false"},
    {"releaseLock", "force=", NULL, "force", "expected true or false"},
    {"getReadiness", "verbose=", NULL, "verbose", "expected true or false"},
    {"acquireLock", "owner=", NULL, "owner", "expected text of 1 to 128 bytes of UTF-8"},
    {"acquireLock", "owner=a%0Ab", NULL, "owner", "without control characters"},
    {"acquireLock", "owner=a%00b", NULL, "owner", "without control characters"},
    {"acquireLock", "owner=%", NULL, "owner", "expected text of 1 to 128 bytes"},
    {"acquireLock", NULL, "{\"owner\":\"\"}", "owner", "expected text of 1 to 128 bytes"},
    {"acquireLock", NULL, "{\"owner\":7}", "owner", "expected text of 1 to 128 bytes"},
    {"acquireLock", NULL, "{\"token\":\"short\"}", "token", "expected 22 to 128 characters"},
    {"acquireLock", NULL, "{\"token\":\"abcdefghijklmnopqrst.!\"}", "token", "A-Z, a-z, 0-9, _"},
    {"acquireLock", NULL, "{\"token\":7}", "token", "expected 22 to 128 characters"},
    {"acquireLock", NULL, "{\"meta\":[]}", "meta", "a JSON object of at most 1024 bytes"},
    {"acquireLock", NULL, "{\"meta\":\"{}\"}", "meta", "a JSON object"},
    {"acquireLock", "meta=", NULL, "meta", "a JSON object"},
    {"acquireLock", "meta", NULL, "meta", "a JSON object"},
    {"acquireLock", "meta=5", NULL, "meta", "a JSON object"},
    {"acquireLock", "meta=[]", NULL, "meta", "a JSON object"},
    {"acquireLock", "meta={", NULL, "meta", "a JSON object"},
    {"acquireLock", "meta={}%00", NULL, "meta", "a JSON object"},
    {"acquireLock", "meta={\"a\":1,\"a\":2}", NULL, "meta", "a JSON object"},
    {"acquireLock", "meta={\"a\":[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]}", NULL, "meta", "a JSON object"},
    {"acquireLocks", "names=[\"a\"]", NULL, "names", "only in the body"},
    {"releaseLock", NULL, "{\"force\":\"true\"}", "force", "expected true or false"},
    {"releaseLock", NULL, "{\"force\":1}", "force", "expected true or false"},
    {"listLocks", "prefix=%0A", NULL, "prefix", "without control characters"},
    {"listLocks", "cursor=", NULL, "cursor", "cursor: expected the cursor of the previous page"},
    /* Given twice. */
    {"acquireLock", "ttl=5s&ttl=5s", NULL, "ttl", "more than once"},
    {"acquireLock", "ttl=5s&mode=shared&ttl=6s", NULL, "ttl", "more than once"},
    {"acquireLock", "ttl=5s", "{\"ttl\":\"5s\"}", "ttl", "more than once"},
    {"acquireLock", "ttl_ms=5000", "{\"ttl_ms\":5000}", "ttl_ms", "more than once"},
    {"acquireLock", "ttl=5s", "{\"ttl_ms\":5000}", "ttl_ms", "the same as ttl, which is given too"},
    {"acquireLock", "ttl=5s&ttl_ms=5000", NULL, "ttl_ms", "the same as ttl, which is given too"},
    {"acquireLock", NULL, "{\"ttl_ms\":5000,\"ttl\":\"5s\"}", "ttl", "the same as ttl_ms"},
    {"watchLock", "wait_ms=5&wait=5ms", NULL, "wait", "the same as wait_ms, which"},
    {"acquireLock", "meta={}", "{\"meta\":{}}", "meta", "more than once"},
    {"acquireLock", "hold=connection", "{\"hold\":\"connection\"}", "hold", "more than once"},
    {"releaseLock", "force", "{\"force\":true}", "force", "more than once"},
    {"acquireLock", "owner=me", "{\"owner\":\"me\"}", "owner", "more than once"},
    {"watchLock", "after=1&after=1", NULL, "after", "more than once"},
    {"releaseLock", "force=false&force=false", NULL, "force", "more than once"},
    {"listLocks", "prefix=a&prefix=b", NULL, "prefix", "more than once"},
    /* Not known there. */
    {"acquireLock", "tttl=5s", NULL, "tttl", "unknown query parameter. Did you mean ttl? Known"},
    {"acquireLock", "ttlMs=5", NULL, "ttlMs", "Did you mean ttl_ms? Known here: ttl, ttl_ms"},
    {"acquireLock", "TTL=5s", NULL, "TTL", "Did you mean ttl?"},
    {"acquireLock", NULL, "{\"wiat\":\"5s\"}", "wiat", "unknown field. Did you mean wait?"},
    {"acquireLock", NULL, "{\"Token\":1}", "Token", "Did you mean token?"},
    {"acquireLock", "tokne=" TOKEN, NULL, "tokne", "unknown query parameter. Known here: ttl"},
    {"releaseLocks", "preffix=a", NULL, "preffix", "Did you mean prefix?"},
    {"listLocks", "pre_fixe=a", NULL, "pre_fixe", "Did you mean prefix?"},
    {"listLocks", "pre_fixes=a", NULL, "pre_fixes", "unknown query parameter. Known here"},
    {"acquireLock", "x=1", NULL, "x",
     "unknown query parameter. Known here: ttl, ttl_ms, at_least, at_least_ms, max_held, "
     "max_held_ms, wait, wait_ms, "
     "owner, reentrant, mode, limit, permits, meta, keep, keep_ms, hold, confirm."},
    {"acquireLock", "=1", NULL, "query", "a query parameter has no name. Known here: ttl"},
    {"acquireLock", "%74tl=5s", NULL, "%74tl", "unknown query parameter"},
    {"acquireLock", "force=true", NULL, "force", "unknown query parameter"},
    {"acquireLock", NULL, "{\"x\":5}", "x",
     "unknown field. Known here: ttl, ttl_ms, at_least, at_least_ms, max_held, max_held_ms, wait, "
     "wait_ms, owner, "
     "reentrant, mode, limit, permits, token, meta, keep, keep_ms, hold, confirm."},
    {"acquireLock", NULL, "{\"names\":[\"a\"]}", "names", "unknown field"},
    {"acquireLocks", NULL, "{\"keep_ms\":0}", "keep_ms",
     "limit, permits, token, meta, names, confirm."},
    {"acquireLocks", "keep=0", NULL, "keep",
     "owner, reentrant, mode, limit, permits, meta, confirm."},
    {"acquireLocks", "hold=connection", NULL, "hold", "unknown query parameter"},
    {"renewLocks", NULL, "{\"wait_ms\":0}", "wait_ms", "Known here: ttl, ttl_ms, token, names"},
    {"releaseLocks", "ttl=5s", NULL, "ttl", "Known here: force, prefix, limit, cursor, reason"},
    {"releaseLocks", NULL, "{\"ttl\":1}", "ttl", "Known here: token, force, prefix, limit, cursor"},
    {"watchLock", "prefix=a", NULL, "prefix", "Known here: wait, wait_ms, after"},
    {"watchLocks", "cursor=a", NULL, "cursor", "Known here: wait, wait_ms, prefix, limit, after"},
    {"acquireLock", NULL, "{\"\":5}", "body", "a field has no name. Known here: ttl, ttl_ms"},
    {"acquireLock", NULL, "{\"Owner\":\"me\"}", "Owner", "unknown field"},
    {"acquireLock", NULL, "{\"prefix\":\"\"}", "prefix", "unknown field"},
    {"renewLock", "owner=me", NULL, "owner", "unknown query parameter. Known here: ttl"},
    {"renewLock", NULL, "{\"mode\":\"shared\"}", "mode", "Known here: ttl, ttl_ms, token"},
    {"releaseLock", "ttl=5s", NULL, "ttl", "unknown query parameter. Known here: force"},
    {"releaseLock", NULL, "{\"x\":true}", "x", "unknown field. Known here: token, force"},
    {"inspectLock", "ttl=5s", NULL, "ttl", "unknown query parameter. Known here: waiters"},
    {"inspectLock", "waiters=201", NULL, "waiters", "1 to 200"},
    {"listLocks", "mode=shared", NULL, "mode", "Known here: owner, prefix, limit, cursor"},
    {"getLiveness", "x", NULL, "x", "this request takes no query parameters"},
    {"getOpenapi", "x", NULL, "x", "this request takes no query parameters"},
    /* No token in a URL. */
    {"acquireLock", "token=" TOKEN, NULL, "token", "never in the URL"},
    {"renewLock", "token=" TOKEN, NULL, "token", "Lock-Token header"},
    {"releaseLock", "token=" TOKEN, NULL, "token", "never in the URL"},
    {"inspectLock", "token=", NULL, "token", "never in the URL"},
    {"listLocks", "token", NULL, "token", "never in the URL"},
    /* No body where none is read. */
    {"inspectLock", NULL, "{}", "body", "takes no body"},
    {"listLocks", NULL, "{}", "body", "takes no body"},
    {"watchLock", NULL, "{}", "body", "takes no body"},
    {"watchLocks", NULL, "{}", "body", "takes no body"},
    {"getMetrics", NULL, "x", "body", "takes no body"},
};

TEST(invalid_field_is_refused_by_name)
{
    for (size_t i = 0; i < LENGTH(WRONG); i++) {
        struct request request = {
            .operation = WRONG[i].operation, .query = WRONG[i].query, .body = WRONG[i].body};
        assert_wrong(&request, WRONG[i].parameter, WRONG[i].said);
    }
}

/* {"names":["0","1",...]}, so many. */
static void try_names(size_t count, bool fits)
{
    static char body[1000];
    strcpy(body, "{\"names\":[");
    for (size_t i = 0; i < count; i++)
        sprintf(body + strlen(body), "%s\"%zu\"", i ? "," : "", i);
    strcat(body, "]}");
    struct request request = {.operation = "acquireLocks", .body = body};
    if (!fits) {
        assert_wrong(&request, "names", "a list of 1 to 64 different names");
        return;
    }
    struct reading *reading = read_well(&request);
    const struct parameters *parameters = &reading->exchange.parameters;
    assert_int_equal(parameters->numbers[FIELD_NAMES], count);
    for (size_t i = 0; i < count; i++) {
        char name[24];
        snprintf(name, sizeof name, "%zu", i);
        assert_true(slice_equals(parameters->names[i], name));
    }
    reading_close(reading);
}

TEST(list_has_1_to_64_names)
{
    try_names(1, true);
    try_names(64, true);
    try_names(65, false);
}

TEST(last_event_id_wins_over_query)
{
    struct request request = {
        .operation = "watchLock", .query = "after=5", .last_event_id = "1763715600000000"};
    struct request alone = {.operation = "watchLocks", .last_event_id = "7"};
    struct reading *reading = read_well(&request);
    assert_int_equal(reading->exchange.parameters.numbers[FIELD_AFTER], 1763715600000000);
    reading_close(reading);
    reading = read_well(&alone);
    assert_int_equal(reading->exchange.parameters.numbers[FIELD_AFTER], 7);
    assert_true(field_given(&reading->exchange.parameters, FIELD_AFTER));
    reading_close(reading);
    static const char *const BAD[] = {"x", "-1", "9007199254740992"};
    for (size_t i = 0; i < LENGTH(BAD); i++) {
        alone.last_event_id = BAD[i];
        assert_wrong(&alone, "Last-Event-ID", "expected an integer");
    }
}

TEST(last_event_id_of_a_snapshot_is_none)
{
    struct request request = {.operation = "watchLocks", .last_event_id = ""};
    struct reading *reading = read_well(&request);
    assert_false(field_given(&reading->exchange.parameters, FIELD_AFTER));
    reading_close(reading);
    request.last_event_id = "7-9"; /* of batond 0.2 */
    reading = read_well(&request);
    assert_int_equal(reading->exchange.parameters.numbers[FIELD_AFTER], 7);
    reading_close(reading);
}

/* Only a stream goes on where it stopped. */
TEST(last_event_id_is_ignored_without_a_stream)
{
    struct request request = {.operation = "watchLock", .query = "after=5"};
    struct reading *reading = read_well(&request);
    reading->exchange.parameters = (struct parameters){.given = 0};
    reading->exchange.head.last_event_id = "7";
    reading->exchange.head.target = "/locks/a/events?after=6";
    free(reading->exchange.kept.decoded);
    assert_true(fields_read(&reading->exchange, reading->exchange.route->fields));
    assert_int_equal(reading->exchange.parameters.numbers[FIELD_AFTER], 6);
    reading_close(reading);
}

TEST(longest_ttl_is_a_setting)
{
    struct request request = {.operation = "acquireLock", .query = "ttl=61s"};
    longest_ttl_ms = 60000;
    assert_wrong(&request, "ttl",
                 "from 100ms to 1m, as one number and one unit (ms, s, m or h). The longest is "
                 "the setting max-ttl.");
    request.query = "ttl=1m";
    reading_close(read_well(&request));
    longest_ttl_ms = DAY_MS;
}

/* Texts of a length, in each place where they may stand. */
static const struct text {
    const char *operation;
    const char *query; /* %s is the text */
    const char *body;
    const char *parameter;
    enum field_id id;
    size_t shortest, longest;
} TEXTS[] = {
    {"acquireLock", "owner=%s", NULL, "owner", FIELD_OWNER, 1, 128},
    {"acquireLock", NULL, "{\"owner\":\"%s\"}", "owner", FIELD_OWNER, 1, 128},
    {"acquireLock", NULL, "{\"token\":\"%s\"}", "token", FIELD_LOCK_TOKEN, 22, 128},
    {"renewLock", NULL, "{\"token\":\"%s\"}", "token", FIELD_LOCK_TOKEN, 22, 128},
    {"releaseLock", NULL, "{\"token\":\"%s\"}", "token", FIELD_LOCK_TOKEN, 22, 128},
    {"listLocks", "prefix=%s", NULL, "prefix", FIELD_PREFIX, 0, 255},
    {"listLocks", "cursor=%s", NULL, "cursor", FIELD_CURSOR, 1, 32768},
};

/* Puts the text in place of the only %s. */
static const char *fill(char *room, const char *pattern, const char *text)
{
    const char *place = pattern ? strstr(pattern, "%s") : NULL;
    if (!place)
        return NULL;
    memcpy(room, pattern, (size_t)(place - pattern));
    strcpy(room + (place - pattern), text);
    strcat(room, place + 2);
    return room;
}

static void try_length(const struct text *text, size_t length)
{
    static char bytes[33000], room[33100];
    memset(bytes, 'x', length);
    bytes[length] = '\0';
    struct request request = {.operation = text->operation};
    request.query = fill(room, text->query, bytes);
    if (!request.query)
        request.body = fill(room, text->body, bytes);
    if (length < text->shortest || length > text->longest) {
        assert_wrong(&request, text->parameter, "expected");
        return;
    }
    struct reading *reading = read_well(&request);
    assert_int_equal(reading->exchange.parameters.given, FIELD_BIT(text->id));
    assert_true(slice_equals(reading->exchange.parameters.texts[text->id], bytes));
    reading_close(reading);
}

TEST(text_has_shortest_and_longest_length)
{
    for (size_t i = 0; i < LENGTH(TEXTS); i++) {
        if (TEXTS[i].shortest > 0)
            try_length(&TEXTS[i], TEXTS[i].shortest - 1);
        try_length(&TEXTS[i], TEXTS[i].shortest);
        try_length(&TEXTS[i], TEXTS[i].longest);
        try_length(&TEXTS[i], TEXTS[i].longest + 1);
    }
}

TEST(length_is_counted_in_decoded_bytes)
{
    static char query[1000] = "owner=", body[1000] = "{\"owner\":\"";
    struct request in_query = {.operation = "acquireLock", .query = query};
    struct request in_body = {.operation = "acquireLock", .body = body};
    for (int i = 0; i < 64; i++) {
        strcat(query, "%C3%A9");
        strcat(body, i % 2 ? "\xc3\xa9" : "\\u00e9");
    }
    strcat(body, "\"}");
    reading_close(read_well(&in_query));
    reading_close(read_well(&in_body));
    strcat(query, "x");
    strcpy(body + strlen(body) - 2, "x\"}");
    assert_wrong(&in_query, "owner", "expected");
    assert_wrong(&in_body, "owner", "expected");
}

TEST(query_is_decoded_value_by_value)
{
    struct request request = {.operation = "acquireLock",
                              .query = "&owner=a%26b%3Dc+%2B=d&&mode=shared&limit=%33"};
    struct reading *reading = read_well(&request);
    const struct parameters *parameters = &reading->exchange.parameters;
    assert_true(slice_equals(parameters->texts[FIELD_OWNER], "a&b=c++=d"));
    assert_int_equal(parameters->numbers[FIELD_LOCK_MODE], LOCK_SHARED);
    assert_int_equal(parameters->numbers[FIELD_LIMIT], 3);
    reading_close(reading);
}

TEST(query_body_and_header_may_be_mixed)
{
    struct request request = {.operation = "acquireLock",
                              .query = "ttl=5s&mode=shared",
                              .body = "{\"owner\":\"me\",\"limit\":2,\"meta\":{ \"a\" : [1, 2] }}",
                              .lock_token = TOKEN};
    struct reading *reading = read_well(&request);
    const struct parameters *parameters = &reading->exchange.parameters;
    assert_int_equal(parameters->numbers[FIELD_TTL], 5000);
    assert_int_equal(parameters->numbers[FIELD_LOCK_MODE], LOCK_SHARED);
    assert_int_equal(parameters->numbers[FIELD_LIMIT], 2);
    assert_true(slice_equals(parameters->texts[FIELD_OWNER], "me"));
    assert_true(slice_equals(parameters->texts[FIELD_META], "{\"a\":[1,2]}"));
    assert_true(slice_equals(parameters->texts[FIELD_LOCK_TOKEN], TOKEN));
    assert_false(field_given(parameters, FIELD_WAIT));
    reading_close(reading);
}

TEST(invalid_token_header_is_refused)
{
    static const char *const BAD[] = {"", "short", "abcdefghijklmnopqrst.!", TOKEN " "};
    for (size_t i = 0; i < LENGTH(BAD); i++) {
        struct request request = {.operation = "renewLock", .lock_token = BAD[i]};
        assert_wrong(&request, "Lock-Token", "expected 22 to 128 characters");
    }
    struct request twice = {
        .operation = "renewLock", .lock_token = TOKEN, .body = "{\"token\":\"" TOKEN "\"}"};
    assert_wrong(&twice, "Lock-Token", "more than once");
}

TEST(header_of_another_service_is_refused_with_what_to_send)
{
    struct request foreign = {
        .operation = "renewLock", .lock_token = TOKEN, .has_x_lock_token = true};
    struct request idempotent = {.operation = "acquireLocks", .has_idempotency_key = true};
    struct request health = {
        .operation = "getLiveness", .has_x_lock_token = true, .has_idempotency_key = true};
    assert_wrong(&foreign, "X-Lock-Token", "Send the token as Lock-Token.");
    assert_wrong(&idempotent, "Idempotency-Key", "send Lock-Token, 22 to 128 characters");
    reading_close(read_well(&health));
}

TEST(token_header_is_ignored_where_none_is_taken)
{
    struct request request = {.operation = "listLocks", .lock_token = "?"};
    struct reading *reading = read_well(&request);
    assert_int_equal(reading->exchange.parameters.given, 0);
    reading_close(reading);
}

/* {"meta":{"a":"xxx"}} of that many bytes, as compact text. */
static void try_meta(size_t length, bool fits)
{
    static char body[2000];
    snprintf(body, sizeof body, "{ \"meta\" : { \"a\" : \"%0*d\" } }", (int)length - 8, 0);
    struct request request = {.operation = "acquireLock", .body = body};
    if (!fits) {
        assert_wrong(&request, "meta", "at most 1024 bytes");
        return;
    }
    struct reading *reading = read_well(&request);
    assert_int_equal(reading->exchange.parameters.texts[FIELD_META].length, length);
    reading_close(reading);
}

TEST(meta_has_at_most_1024_compact_bytes)
{
    try_meta(100, true);
    try_meta(1024, true);
    try_meta(1025, false);
    struct request request = {.operation = "acquireLock", .body = "{\"meta\":{}}"};
    struct reading *reading = read_well(&request);
    assert_true(slice_equals(reading->exchange.parameters.texts[FIELD_META], "{}"));
    reading_close(reading);
}

/* Measured and kept as it was sent, without the space between its parts. */
TEST(meta_is_kept_as_it_was_sent)
{
    static const char *const AROUND[][2] = {
        {"{\"meta\":", "}"},
        {" { \"ttl_ms\" : 5000 , \"met\\u0061\" :", ", \"owner\" : \"m,e}\" } "},
        {"{\"owner\":\"{\\\"meta\\\":1\",\"meta\":", ",\"ttl_ms\":5000}"}};
    static char body[3000], meta[2000] = "{\"n\" : [0.10", kept[2000] = "{\"n\":[0.10";
    while (strlen(kept) < 1017) { /* as JSON writes these numbers, it would be longer */
        strcat(meta, " , 1e5");
        strcat(kept, ",1e5");
    }
    strcat(meta, "]}");
    strcat(kept, "]}");
    assert_in_range(strlen(kept), 1019, 1024);
    for (size_t i = 0; i < LENGTH(AROUND); i++) {
        struct request request = {.operation = "acquireLock", .body = body};
        snprintf(body, sizeof body, "%s%s%s", AROUND[i][0], meta, AROUND[i][1]);
        struct reading *reading = read_well(&request);
        assert_true(slice_equals(reading->exchange.parameters.texts[FIELD_META], kept));
        reading_close(reading);
    }
}

TEST(meta_in_query_is_read_as_in_body)
{
    struct request request = {.operation = "acquireLock",
                              .query = "wait=0&meta=%7b%20%22a%22:%20[0.10,%201e5]%20}&ttl=5s"};
    struct reading *reading = read_well(&request);
    assert_true(slice_equals(reading->exchange.parameters.texts[FIELD_META], "{\"a\":[0.10,1e5]}"));
    reading_close(reading);
}

static const struct media {
    const char *content_type;
    bool json;
} MEDIA[] = {
    {"application/json", true},
    {"Application/JSON", true},
    {"application/json; charset=utf-8", true},
    {"application/json;charset=utf-8", true},
    {"application/json ", true},
    {NO_CONTENT_TYPE, false},
    {"", false},
    {"text/plain", false},
    {"application/jsonp", false},
    {"application/json5", false},
    {"application/json,text/plain", false},
    {"application/jso", false},
    {"application/problem+json", false},
    {"application/x-www-form-urlencoded", false},
    {" application/json", false},
};

TEST(body_is_json_by_content_type)
{
    for (size_t i = 0; i < LENGTH(MEDIA); i++) {
        struct request request = {
            .operation = "acquireLock", .body = "{}", .content_type = MEDIA[i].content_type};
        if (MEDIA[i].json)
            reading_close(read_well(&request));
        else
            assert_refused(&request, 415, "unsupported_media_type", "", "application/json");
    }
}

TEST(empty_body_needs_no_content_type)
{
    struct request request = {.operation = "acquireLock", .body = "", .content_type = "text/plain"};
    reading_close(read_well(&request));
}

/* They are for who sends the body, and not about how it is read. What is JSON,
 * tests/unit/test_json.c shows. */
TEST(malformed_json_is_explained)
{
    static const struct {
        const char *body, *said;
    } BAD[] = {
        {"{\"owner\":\"\\u0000\"}", "line 1, column 17: a string has \\u0000"},
        {"{\"a\\u0000b\":1}", "a string has \\u0000"},
        {"{\"ttl_ms\":1", "the body ends too early"},
        {"{} {}", "there is text after the end"},
        {"{\"ttl_ms\":1000,\"ttl_ms\":1000}", "a key occurs twice"},
        {"nonsense", "invalid token near 'nonsense'"},
    };
    for (size_t i = 0; i < LENGTH(BAD); i++) {
        struct request request = {.operation = "acquireLock", .body = BAD[i].body};
        assert_refused(&request, 400, "invalid_json", "", BAD[i].said);
    }
}

TEST(json_that_is_no_object_is_refused_by_type)
{
    static const struct {
        const char *body, *said;
    } OTHERS[] = {
        {"[]", "expected a JSON object, such as {\"ttl_ms\": 30000}; got an array."},
        {"[{}]", "got an array"},
        {"7", "got a number"},
        {"-1.5e3", "got a number"},
        {"\"text\"", "got a string"},
        {"true", "got true"},
        {"false", "got false"},
    };
    for (size_t i = 0; i < LENGTH(OTHERS); i++) {
        struct request request = {.operation = "acquireLock", .body = OTHERS[i].body};
        assert_wrong(&request, "body", OTHERS[i].said);
    }
}

/* {"meta":{"a":{"a": ... }}}, `depth` objects in all. */
static void nest(char *body, const char *open, const char *middle, const char *close, int depth)
{
    strcpy(body, "{\"meta\":{\"a\":");
    for (int i = 2; i < depth; i++)
        strcat(body, open);
    strcat(body, middle);
    for (int i = 2; i < depth; i++)
        strcat(body, close);
    strcat(body, "}}");
}

TEST(json_nests_at_most_16_levels)
{
    static char body[40000];
    struct request request = {.operation = "acquireLock", .body = body};
    nest(body, "{\"a\":", "1", "}", 16);
    reading_close(read_well(&request));
    nest(body, "{\"a\":", "1", "}", 17);
    assert_refused(&request, 400, "invalid_json", "", "more than 16 levels deep");
    nest(body, "[", "", "]", 16);
    reading_close(read_well(&request));
    nest(body, "[", "", "]", 17);
    assert_refused(&request, 400, "invalid_json", "", "more than 16 levels deep");
    memset(body, '[', 16384);
    body[16384] = '\0';
    assert_refused(&request, 400, "invalid_json", "", "more than 16 levels deep");
}

TEST(brackets_in_strings_do_not_nest)
{
    struct request request = {
        .operation = "acquireLock",
        .body = "{\"meta\":{\"[[[[[[[[[[[[[[[[[[[[\":\"\\\"{{{{{{{{{{{{{{{{{{{{\",\"b\":\"\\\\\","
                "\"c\":[[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[]]}}"};
    reading_close(read_well(&request));
}

TEST(long_unknown_name_is_cut)
{
    static char body[600] = "{\"x", query[600] = "", start[64] = "x";
    struct request in_body = {.operation = "acquireLock", .body = body};
    struct request in_query = {.operation = "acquireLock", .query = query};
    memset(query, 'q', 500);
    char name[61] = "";
    memset(name, 'q', 60);
    assert_wrong(&in_query, name, "unknown query parameter");
    for (int i = 0; i < 100; i++)
        strcat(body, "\xc3\xa9"); /* a character that ends at byte 61 */
    strcat(body, "\":1}");
    for (int i = 0; i < 29; i++)
        strcat(start, "\xc3\xa9");
    assert_wrong(&in_body, start, "unknown field");
}

TEST(name_that_is_no_utf8_is_refused)
{
    struct request request = {.operation = "acquireLock", .query = "\xff=1"};
    struct reading *reading = reading_of(&request);
    assert_false(reading->read);
    assert_int_equal(reading->exchange.reply.status, 400);
    assert_non_null(strstr(reading->exchange.reply.body, "\"parameter\":\"?\""));
    reading_close(reading);
}

TEST(handler_refuses_field_by_name)
{
    struct exchange exchange = {.head.target = "/locks/a"};
    field_refuse(&exchange, FIELD_LIMIT, "only with mode=shared");
    assert_int_equal(exchange.reply.status, 400);
    assert_non_null(strstr(exchange.reply.body, "\"parameter\":\"limit\""));
    assert_non_null(strstr(exchange.reply.body, "limit: only with mode=shared"));
    exchange_clear(&exchange);
    struct exchange list = {.head.target = "/locks"};
    field_refuse(&list, FIELD_CURSOR, "no");
    assert_non_null(strstr(list.reply.body, "\"parameter\":\"cursor\""));
    exchange_clear(&list);
}
