/* What a principal sees of many locks: lists and events have what it may read, and nothing shows
 * that there is more. */
#include "tests/support/fixtures/guarded.h"
#include "tests/support/fixtures/parked.h"

#include "locks/central/cursor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MANY = 60 };

#define READ(prefix) "{\"prefix\":\"" prefix "\",\"verbs\":[\"read\"]}"

static const struct file_principal PRINCIPALS[] = {
    {"all", "[{\"prefix\":\"\",\"verbs\":[\"acquire\",\"read\",\"break\"]}]", NULL},
    {"team", "[" READ("team/") "]", NULL},
    {"parts", "[" READ("team/a") "," READ("team/c") "]", NULL},
    {"wide", "[" READ("team/") "," READ("other/") ",{\"prefix\":\"\",\"verbs\":[\"acquire\"]}]",
     NULL},
};

static const char *const NAMES[] = {"team/a1", "team/a2", "team/b1", "team/b2",
                                    "team/c1", "other/1", "teams",   "private/1"};

static int start(void **state)
{
    return guarded_start(state, PRINCIPALS, LENGTH(PRINCIPALS), 1);
}

static void write_segment(const char *name, char segment[64])
{
    size_t length = 0;
    for (; *name; name++)
        length += (size_t)sprintf(segment + length, *name == '/' ? "%%2F" : "%c", *name);
    segment[length] = '\0';
}

static void take(void **state, const char *name)
{
    char request[100], segment[64];
    write_segment(name, segment);
    snprintf(request, sizeof request, "POST /locks/%s?ttl=10m", segment);
    asks_for(service_client(state), AS("all"), request, 201);
}

/* Holds each of the names anew. */
static int hold_all(void **state)
{
    redis_process_forget(&((struct guarded *)*state)->service.redis);
    for (size_t i = 0; i < LENGTH(NAMES); i++)
        take(state, NAMES[i]);
    return 0;
}

/* Adds each name of the reply's locks to the text, with a space behind it. */
static void add_names(const struct http_client *client, char *names, size_t size)
{
    size_t i;
    json_t *lock;
    json_array_foreach (json_object_get(client->reply.json, "locks"), i, lock) {
        size_t length = strlen(names);
        snprintf(names + length, size - length, "%s ",
                 json_string_value(json_object_get(lock, "name")));
    }
}

/* Whether the text has just the names among NAMES that begin with one of these. */
static bool has_just(const char *names, const char *const prefixes[2])
{
    for (size_t i = 0; i < LENGTH(NAMES); i++) {
        char word[40];
        bool expected = false;
        for (int j = 0; j < 2 && prefixes[j]; j++)
            expected |= strncmp(NAMES[i], prefixes[j], strlen(prefixes[j])) == 0;
        snprintf(word, sizeof word, "%s ", NAMES[i]);
        const char *found = strstr(names, word);
        if ((found != NULL) != expected || (found && strstr(found + 1, word)))
            return false;
    }
    return true;
}

static const struct {
    const char *principal, *prefix, *seen[2]; /* none: it is refused */
} SEEN[] = {
    {"all", "", {""}},
    {"all", "team%2F", {"team/"}},
    {"team", "", {"team/"}},
    {"team", "team", {"team/"}},
    {"team", "team%2Fa", {"team/a"}},
    {"team", "teams", {NULL}},
    {"parts", "", {"team/a", "team/c"}},
    {"parts", "team%2F", {"team/a", "team/c"}},
    {"parts", "team%2Fa", {"team/a"}},
    {"parts", "team%2Fb", {NULL}},
    {"wide", "", {"team/", "other/"}},
    {"wide", "private", {NULL}},
};

/* All pages of a list, with so many at most on each. */
static void list(void **state, const char *principal, const char *prefix, int limit, char *names,
                 size_t size)
{
    struct http_client *client = service_client(state);
    char request[32768], cursor[30000] = "";
    names[0] = '\0';
    do {
        snprintf(request, sizeof request, "GET /locks?limit=%d&prefix=%s%s%s", limit, prefix,
                 cursor[0] ? "&cursor=" : "", cursor);
        asks_for(client, AS(principal), request, 200);
        add_names(client, names, size);
        const char *next = http_text(client, "cursor");
        snprintf(cursor, sizeof cursor, "%s", next ? next : "");
    } while (cursor[0]);
}

TEST_WITH(list_and_events_have_what_may_be_read, hold_all, NULL)
{
    static const int LIMITS[] = {1, 2, 1000};
    struct http_client *client = service_client(state);
    for (size_t i = 0; i < LENGTH(SEEN); i++) {
        char names[1024] = "", request[200];
        bool may = SEEN[i].seen[0] != NULL;
        snprintf(request, sizeof request, "GET /events?wait=0&prefix=%s", SEEN[i].prefix);
        asks_for(client, AS(SEEN[i].principal), request, may ? 200 : 403);
        add_names(client, names, sizeof names);
        if (may && !has_just(names, SEEN[i].seen))
            fail_msg("%s watches \"%s\": %s", SEEN[i].principal, SEEN[i].prefix, names);
        snprintf(request, sizeof request, "GET /locks?prefix=%s", SEEN[i].prefix);
        asks_for(client, AS(SEEN[i].principal), request, may ? 200 : 403);
        for (size_t j = 0; may && j < LENGTH(LIMITS); j++) {
            list(state, SEEN[i].principal, SEEN[i].prefix, LIMITS[j], names, sizeof names);
            if (!has_just(names, SEEN[i].seen))
                fail_msg("%s asks for \"%s\", %d a page: %s", SEEN[i].principal, SEEN[i].prefix,
                         LIMITS[j], names);
        }
    }
}

/* The names in a cursor, each with a space behind it. */
static void read_cursor(const char *text, char *names)
{
    char bytes[CURSOR_BYTES];
    struct cursor cursor;
    assert_int_equal(cursor_decode(slice_of(text), bytes, &cursor), 0);
    names[0] = '\0';
    for (size_t i = 0; i < cursor.name_count; i++)
        sprintf(names + strlen(names), "%.*s ", (int)cursor.names[i].length, cursor.names[i].bytes);
}

/* Redis finds more than fits a page, and what did not fit stands in the cursor. */
TEST_WITH(cursor_has_only_what_may_be_read, hold_all, NULL)
{
    struct http_client *client = service_client(state);
    char name[32], names[32768], request[32768], forged[30000] = "";
    size_t with_names = 0;
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, i % 2 ? "team/a-%d" : "team/b-%d", i);
        take(state, name);
    }
    asks_for(client, AS("all"), "GET /locks?limit=1&prefix=team%2F", 200);
    for (const char *next; (next = http_text(client, "cursor"));) {
        read_cursor(next, names);
        if (strstr(names, "team/b-"))
            snprintf(forged, sizeof forged, "%s", next);
        snprintf(request, sizeof request, "GET /locks?limit=1&prefix=team%%2F&cursor=%s", next);
        asks_for(client, AS("all"), request, 200);
    }
    asks_for(client, AS("parts"), "GET /locks?limit=1&prefix=team%2F", 200);
    for (const char *next; (next = http_text(client, "cursor"));) {
        read_cursor(next, names);
        with_names += names[0] != '\0';
        if (strstr(names, "team/b"))
            fail_msg("the cursor has %s", names);
        snprintf(request, sizeof request, "GET /locks?limit=1&prefix=team%%2F&cursor=%s", next);
        asks_for(client, AS("parts"), request, 200);
    }
    assert_true(with_names > 0 && forged[0]);

    snprintf(request, sizeof request, "GET /locks?limit=1000&prefix=team%%2Fa1&cursor=%s", forged);
    asks_for(client, AS("parts"), request, 200);
    names[0] = '\0';
    add_names(client, names, sizeof names);
    if (strstr(names, "team/b") || strstr(names, "team/a-"))
        fail_msg("another's cursor shows %s", names);
}

static struct parked *watches(void **state, const char *principal, const char *accept,
                              const char *request)
{
    const struct guarded *guarded = *state;
    char headers[2 * PRINCIPAL_HEADER_TEXT];
    principal_header(principal, headers);
    if (accept)
        snprintf(headers + strlen(headers), sizeof headers - strlen(headers), "\r\n%s", accept);
    return parked_send(guarded->service.batond.port, headers, request, NULL);
}

static int64_t version_now(void **state)
{
    asks_for(service_client(state), AS("all"), "GET /events?wait=0&prefix=team", 200);
    return http_integer(service_client(state), "version");
}

TEST_WITH(watch_is_woken_by_what_it_may_read, hold_all, NULL)
{
    char request[100], names[200] = "";
    snprintf(request, sizeof request, "GET /events?wait=20s&prefix=team&after=%" PRId64,
             version_now(state));
    struct parked *parked = watches(state, "parts", NULL, request);
    take(state, "team/b9");
    take(state, "teams/9");
    take(state, "other/9");
    version_now(state); /* behind a look at those three */
    assert_true(parked_waits(parked, 0));
    take(state, "team/a9");
    assert_int_equal(parked_answer(parked, CLOCK_HANG_MS), 200);
    add_names(&parked->client, names, sizeof names);
    assert_string_equal(names, "team/a9 ");
    int64_t version = http_integer(&parked->client, "version");
    parked_close(parked);

    /* From there on nothing is missed, nor is anything told of the others. */
    take(state, "team/b8");
    take(state, "team/c8");
    snprintf(request, sizeof request, "GET /events?wait=20s&after=%" PRId64, version);
    asks_for(service_client(state), AS("parts"), request, 200);
    names[0] = '\0';
    add_names(service_client(state), names, sizeof names);
    assert_string_equal(names, "team/c8 ");
}

/* What is left out does not count against the limit. */
TEST_WITH(limit_counts_what_may_be_read, hold_all, NULL)
{
    struct http_client *client = service_client(state);
    char request[100], names[200] = "";
    int64_t version = version_now(state);
    for (int i = 0; i < 5; i++) {
        char name[32];
        snprintf(name, sizeof name, "team/b%d0", i);
        take(state, name);
    }
    take(state, "team/a77");
    take(state, "team/c77");
    for (int i = 0; i < 2; i++) {
        snprintf(request, sizeof request, "GET /events?limit=1&after=%" PRId64, version);
        asks_for(client, AS("parts"), request, 200);
        add_names(client, names, sizeof names);
        version = http_integer(client, "version");
    }
    assert_string_equal(names, "team/a77 team/c77 ");
}

TEST_WITH(stream_resumes_with_what_may_be_read, hold_all, NULL)
{
    char header[100], id[32];
    struct parked *stream =
        watches(state, "parts", "Accept: text/event-stream", "GET /events?prefix=");
    assert_true(parked_receives(stream, "team/c1", CLOCK_HANG_MS));
    take(state, "team/b5");
    take(state, "team/a5");
    assert_true(parked_receives(stream, "team/a5", CLOCK_HANG_MS));
    /* What changed while a round of looks was under way may be told again after its id; what was
     * told before the round began is not. */
    take(state, "team/a4");
    assert_true(parked_receives(stream, "team/a4", CLOCK_HANG_MS));
    assert_null(strstr(stream->text, "team/b"));
    assert_null(strstr(stream->text, "other/"));
    const char *last = strstr(stream->text, "id: "), *next;
    while ((next = strstr(last + 4, "id: ")))
        last = next;
    snprintf(id, sizeof id, "%.16s", last + 4);
    parked_close(stream);

    take(state, "team/b6");
    take(state, "team/a6");
    snprintf(header, sizeof header, "Accept: text/event-stream\r\nLast-Event-ID: %s", id);
    stream = watches(state, "parts", header, "GET /events?prefix=");
    assert_true(parked_receives(stream, "team/a6", CLOCK_HANG_MS));
    assert_null(strstr(stream->text, "team/a5"));
    assert_null(strstr(stream->text, "team/b"));
    parked_close(stream);
}

/* Whoever has nothing to do here any more would otherwise go on reading for ever. */
TEST_WITH(stream_of_removed_principal_ends, hold_all, NULL)
{
    struct guarded *guarded = *state;
    static const char STREAM[] = "Accept: text/event-stream";
    struct parked *gone = watches(state, "team", STREAM, "GET /events?prefix=team/");
    struct parked *gone_too = watches(state, "wide", STREAM, "GET /locks/team%2Fz9/events");
    struct parked *stays = watches(state, "parts", STREAM, "GET /events?prefix=");
    assert_true(parked_receives(gone, "team/c1", CLOCK_HANG_MS));
    assert_true(parked_receives(gone_too, "team/z9", CLOCK_HANG_MS));
    assert_true(parked_receives(stays, "team/c1", CLOCK_HANG_MS));
    static const struct file_principal LEFT[] = {
        {"all", "[{\"prefix\":\"\",\"verbs\":[\"acquire\",\"read\",\"break\"]}]", NULL},
        {"parts", "[" READ("team/a") "," READ("team/c") "]", NULL},
        {"wide", "[" READ("other/") "]", NULL},
    };
    guarded_reload(guarded, LEFT, LENGTH(LEFT));
    int64_t deadline = clock_ms() + CLOCK_HANG_MS;
    while (asks(service_client(state), AS("team"), "GET /locks/team%2Fa1") != 401)
        assert_true(clock_ms() < deadline);
    take(state, "team/z9");
    take(state, "team/a9");
    assert_true(parked_receives(stays, "team/a9", CLOCK_HANG_MS));
    assert_true(parked_receives(gone, "\r\n0\r\n\r\n", CLOCK_HANG_MS));
    assert_true(parked_receives(gone_too, "\r\n0\r\n\r\n", CLOCK_HANG_MS));
    assert_null(strstr(gone->text, "team/z9"));
    assert_null(strstr(gone_too->text, "\"held\""));
    parked_close(gone);
    parked_close(gone_too);
    parked_close(stays);
    guarded_reload(guarded, PRINCIPALS, LENGTH(PRINCIPALS));
}

RUN_TESTS(start, guarded_stop)
