/* What a request may carry: each field, each way to give it wrongly, and that the answer names it.
 */
#include "tests/support/fixtures/service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char TOKEN[] = "my-token-0123456789abcdef";
static const char TOKEN_HEADER[] = "Lock-Token: my-token-0123456789abcdef";

#define TEN      "0123456789"
#define FIFTY    TEN TEN TEN TEN TEN
#define TOO_LONG FIFTY FIFTY "0123456789012345678901234567890" /* 131 */

/* A request and the parameter that its 400 names; NULL where the reply has none. */
static const struct refusal {
    const char *request;
    const char *header;
    const char *body;
    const char *code;
    const char *parameter;
} REFUSALS[] = {
#define PARAMETER "invalid_parameter"
    /* Of the wrong type, or out of range, in the body. */
    {"POST /locks/a", NULL, "{\"ttl_ms\": \"5s\"}", PARAMETER, "ttl_ms"},
    {"POST /locks/a", NULL, "{\"ttl_ms\": 5000.5}", PARAMETER, "ttl_ms"},
    {"POST /locks/a", NULL, "{\"ttl_ms\": true}", PARAMETER, "ttl_ms"},
    {"POST /locks/a", NULL, "{\"ttl_ms\": [5000]}", PARAMETER, "ttl_ms"},
    {"POST /locks/a", NULL, "{\"ttl_ms\": 99}", PARAMETER, "ttl_ms"},
    {"POST /locks/a", NULL, "{\"ttl_ms\": 0}", PARAMETER, "ttl_ms"},
    {"POST /locks/a", NULL, "{\"ttl_ms\": -5000}", PARAMETER, "ttl_ms"},
    {"POST /locks/a", NULL, "{\"ttl_ms\": 3600001}", PARAMETER, "ttl_ms"},
    {"POST /locks/a", NULL, "{\"ttl_ms\": 9223372036854775807}", PARAMETER, "ttl_ms"},
    {"POST /locks/a", NULL, "{\"wait_ms\": 60001}", PARAMETER, "wait_ms"},
    {"POST /locks/a", NULL, "{\"wait_ms\": 1, \"keep_ms\": 30001}", PARAMETER, "keep_ms"},
    {"POST /locks/a", NULL, "{\"keep_ms\": 5}", PARAMETER, "keep_ms"},
    {"POST /locks", NULL, "{\"names\": \"a\"}", PARAMETER, "names"},
    {"POST /locks", NULL, "{\"names\": [\"a\\u0000\"]}", "invalid_json", NULL},
    {"POST /locks/a", NULL, "{\"wait_ms\": -1}", PARAMETER, "wait_ms"},
    {"POST /locks/a", NULL, "{\"wait_ms\": \"0\"}", PARAMETER, "wait_ms"},
    {"POST /locks/a", NULL, "{\"owner\": \"\"}", PARAMETER, "owner"},
    {"POST /locks/a", NULL, "{\"owner\": 7}", PARAMETER, "owner"},
    {"POST /locks/a", NULL, "{\"owner\": \"" TOO_LONG "\"}", PARAMETER, "owner"},
    {"POST /locks/a", NULL, "{\"owner\": \"a\\nb\"}", PARAMETER, "owner"},
    {"POST /locks/a", NULL, "{\"owner\": \"a\\u0085b\"}", PARAMETER, "owner"},
    {"POST /locks/a", NULL, "{\"mode\": \"exclusively\"}", PARAMETER, "mode"},
    {"POST /locks/a", NULL, "{\"mode\": \"Shared\"}", PARAMETER, "mode"},
    {"POST /locks/a", NULL, "{\"mode\": 1}", PARAMETER, "mode"},
    {"POST /locks/a", NULL, "{\"mode\": \"shared\", \"limit\": 0}", PARAMETER, "limit"},
    {"POST /locks/a", NULL, "{\"mode\": \"shared\", \"limit\": 1000001}", PARAMETER, "limit"},
    {"POST /locks/a", NULL, "{\"mode\": \"shared\", \"limit\": \"5\"}", PARAMETER, "limit"},
    {"POST /locks/a", NULL, "{\"limit\": 5}", PARAMETER, "limit"},
    {"POST /locks/a", NULL, "{\"mode\": \"exclusive\", \"limit\": 5}", PARAMETER, "limit"},
    {"POST /locks/a", NULL, "{\"token\": \"short-0123456789abcde\"}", PARAMETER, "token"},
    {"POST /locks/a", NULL, "{\"token\": \"" TOO_LONG "\"}", PARAMETER, "token"},
    {"POST /locks/a", NULL, "{\"token\": \"my token 0123456789abcdef\"}", PARAMETER, "token"},
    {"POST /locks/a", NULL, "{\"token\": \"my+token/0123456789abcdef=\"}", PARAMETER, "token"},
    {"POST /locks/a", NULL, "{\"meta\": []}", PARAMETER, "meta"},
    {"POST /locks/a", NULL, "{\"meta\": \"x\"}", PARAMETER, "meta"},
    {"PUT /locks/a", TOKEN_HEADER, "{\"ttl_ms\": 99}", PARAMETER, "ttl_ms"},
    {"PUT /locks/a", TOKEN_HEADER, "{\"ttl_ms\": 3600001}", PARAMETER, "ttl_ms"},
    {"POST /locks/a?ttl=24h", NULL, NULL, PARAMETER, "ttl"},
    {"PUT /locks/a", NULL, "{\"token\": 22}", PARAMETER, "token"},
    {"DELETE /locks/a", NULL, "{\"token\": \"short\"}", PARAMETER, "token"},

    /* The same in the query. */
    {"POST /locks/a?ttl=99ms", NULL, NULL, PARAMETER, "ttl"},
    {"POST /locks/a?ttl=25h", NULL, NULL, PARAMETER, "ttl"},
    {"POST /locks/a?ttl=5x", NULL, NULL, PARAMETER, "ttl"},
    {"POST /locks/a?ttl=-5s", NULL, NULL, PARAMETER, "ttl"},
    {"POST /locks/a?ttl=5.5s", NULL, NULL, PARAMETER, "ttl"},
    {"POST /locks/a?ttl=%205s", NULL, NULL, PARAMETER, "ttl"},
    {"POST /locks/a?ttl=5s%20", NULL, NULL, PARAMETER, "ttl"},
    {"POST /locks/a?ttl=5s%00", NULL, NULL, PARAMETER, "ttl"},
    {"POST /locks/a?ttl=S", NULL, NULL, PARAMETER, "ttl"},
    {"POST /locks/a?ttl=", NULL, NULL, PARAMETER, "ttl"},
    {"POST /locks/a?ttl", NULL, NULL, PARAMETER, "ttl"},
    {"POST /locks/a?ttl=%zz", NULL, NULL, PARAMETER, "ttl"},
    {"POST /locks/a?ttl=5s%", NULL, NULL, PARAMETER, "ttl"},
    {"POST /locks/a?ttl=5s%3", NULL, NULL, PARAMETER, "ttl"},
    {"POST /locks/a?ttl=99999999999999999999999h", NULL, NULL, PARAMETER, "ttl"},
    {"POST /locks/a?wait=60001ms", NULL, NULL, PARAMETER, "wait"},
    {"POST /locks/a?wait=1s&keep=31s", NULL, NULL, PARAMETER, "keep"},
    {"POST /locks/a?hold=me", NULL, NULL, PARAMETER, "hold"},
    {"GET /locks/a/events?wait=61s", NULL, NULL, PARAMETER, "wait"},
    {"GET /locks/a/events?after=x", NULL, NULL, PARAMETER, "after"},
    {"GET /events?limit=0", NULL, NULL, PARAMETER, "limit"},
    {"POST /locks/a?owner=", NULL, NULL, PARAMETER, "owner"},
    {"POST /locks/a?owner", NULL, NULL, PARAMETER, "owner"},
    {"POST /locks/a?owner=" TOO_LONG, NULL, NULL, PARAMETER, "owner"},
    {"POST /locks/a?owner=a%0Ab", NULL, NULL, PARAMETER, "owner"},
    {"POST /locks/a?owner=a%00b", NULL, NULL, PARAMETER, "owner"},
    {"POST /locks/a?owner=%ff", NULL, NULL, PARAMETER, "owner"},
    {"POST /locks/a?mode=both", NULL, NULL, PARAMETER, "mode"},
    {"POST /locks/a?mode=shared&limit=0", NULL, NULL, PARAMETER, "limit"},
    {"POST /locks/a?mode=shared&limit=1000001", NULL, NULL, PARAMETER, "limit"},
    {"POST /locks/a?mode=shared&limit=99999999999999999999", NULL, NULL, PARAMETER, "limit"},
    {"POST /locks/a?mode=shared&limit=+5", NULL, NULL, PARAMETER, "limit"},
    {"POST /locks/a?mode=shared&limit=5s", NULL, NULL, PARAMETER, "limit"},
    {"POST /locks/a?mode=shared&limit=", NULL, NULL, PARAMETER, "limit"},
    {"POST /locks/a?limit=5", NULL, NULL, PARAMETER, "limit"},
    {"PUT /locks/a?ttl=1ms", TOKEN_HEADER, NULL, PARAMETER, "ttl"},
    {"DELETE /locks/a?force=yes", NULL, NULL, PARAMETER, "force"},
    {"DELETE /locks/a?force=", NULL, NULL, PARAMETER, "force"},
    {"DELETE /locks/a?force=TRUE", NULL, NULL, PARAMETER, "force"},
    {"GET /locks?limit=0", NULL, NULL, PARAMETER, "limit"},
    {"GET /locks?limit=1001", NULL, NULL, PARAMETER, "limit"},
    {"GET /locks?limit=ten", NULL, NULL, PARAMETER, "limit"},
    {"GET /locks?cursor=", NULL, NULL, PARAMETER, "cursor"},
    {"GET /locks?cursor=%21", NULL, NULL, PARAMETER, "cursor"},
    {"GET /locks?cursor=17", NULL, NULL, PARAMETER, "cursor"},
    {"GET /locks?prefix=%ff", NULL, NULL, PARAMETER, "prefix"},

    /* In the header. */
    {"POST /locks/a", "Lock-Token: short", NULL, PARAMETER, "Lock-Token"},
    {"POST /locks/a", "Lock-Token;", NULL, PARAMETER, "Lock-Token"},
    {"POST /locks/a", "Lock-Token: my token 0123456789abcdef", NULL, PARAMETER, "Lock-Token"},
    {"PUT /locks/a", "Lock-Token: short", NULL, PARAMETER, "Lock-Token"},
    {"DELETE /locks/a", "Lock-Token: " TOO_LONG, NULL, PARAMETER, "Lock-Token"},
    {"GET /locks/a", "Lock-Token: short", NULL, PARAMETER, "Lock-Token"},

    /* Unknown. */
    {"POST /locks/a", NULL, "{\"ttl\": 5000}", PARAMETER, "ttl"},
    {"POST /locks", NULL, "{\"keep_ms\": 5}", PARAMETER, "keep_ms"},
    {"POST /locks/a", NULL, "{\"\": 5}", PARAMETER, "body"},
    {"POST /locks/a", NULL, "{\"force\": true}", PARAMETER, "force"},
    {"POST /locks/a", NULL, "{\"TTL_MS\": 5000}", PARAMETER, "TTL_MS"},
    {"POST /locks/a?ttl_ms=5000", NULL, NULL, PARAMETER, "ttl_ms"},
    {"POST /locks/a?keep=5s", NULL, NULL, PARAMETER, "keep_ms"},
    {"POST /locks/a?meta=%7B%7D", NULL, NULL, PARAMETER, "meta"},
    {"POST /locks/a?=5", NULL, NULL, PARAMETER, "query"},
    {"GET /livez?=1", NULL, NULL, PARAMETER, "query"},
    {"GET /livez?=", NULL, NULL, PARAMETER, "query"},
    {"GET /readyz?verbose=", NULL, NULL, PARAMETER, "verbose"},
    {"PUT /locks/a", NULL, "{\"owner\": \"a\"}", PARAMETER, "owner"},
    {"PUT /locks/a?mode=shared", TOKEN_HEADER, NULL, PARAMETER, "mode"},
    {"DELETE /locks/a", NULL, "{\"ttl_ms\": 500}", PARAMETER, "ttl_ms"},
    {"DELETE /locks/a", NULL, "{\"force\": true}", PARAMETER, "force"},
    {"DELETE /locks/a?ttl=5s", TOKEN_HEADER, NULL, PARAMETER, "ttl"},
    {"GET /locks/a?after=5", NULL, NULL, PARAMETER, "after"},
    {"GET /locks?owner=a", NULL, NULL, PARAMETER, "owner"},
    {"GET /livez?verbose", NULL, NULL, PARAMETER, "verbose"},
    {"GET /readyz?a=b", NULL, NULL, PARAMETER, "a"},
    {"GET /metrics?a=b", NULL, NULL, PARAMETER, "a"},
    {"GET /openapi.yaml?a=b", NULL, NULL, PARAMETER, "a"},
    {"GET /locks/a", NULL, "{}", PARAMETER, "body"},
    {"GET /locks", NULL, "{}", PARAMETER, "body"},
    {"GET /livez", NULL, "{}", PARAMETER, "body"},

    /* A token in the URL would be in every log on its way. */
    {"POST /locks/a?token=my-token-0123456789abcdef", NULL, NULL, PARAMETER, "token"},
    {"PUT /locks/a?token=my-token-0123456789abcdef", NULL, NULL, PARAMETER, "token"},
    {"DELETE /locks/a?token=my-token-0123456789abcdef", NULL, NULL, PARAMETER, "token"},
    {"GET /locks/a?token=my-token-0123456789abcdef", NULL, NULL, PARAMETER, "token"},

    /* Given twice. */
    {"POST /locks/a?ttl=5s", NULL, "{\"ttl_ms\": 5000}", PARAMETER, "ttl_ms"},
    {"POST /locks/a?wait=0", NULL, "{\"wait_ms\": 0}", PARAMETER, "wait_ms"},
    {"POST /locks/a?owner=a", NULL, "{\"owner\": \"a\"}", PARAMETER, "owner"},
    {"POST /locks/a?mode=shared", NULL, "{\"mode\": \"shared\"}", PARAMETER, "mode"},
    {"POST /locks/a?mode=shared&limit=2", NULL, "{\"limit\": 2}", PARAMETER, "limit"},
    {"POST /locks/a?ttl=5s&ttl=5s", NULL, NULL, PARAMETER, "ttl"},
    {"POST /locks/a", TOKEN_HEADER, "{\"token\": \"my-token-0123456789abcdef\"}", PARAMETER,
     "Lock-Token"},
    {"PUT /locks/a?ttl=5s", TOKEN_HEADER, "{\"ttl_ms\": 5000}", PARAMETER, "ttl_ms"},
    {"PUT /locks/a", TOKEN_HEADER, "{\"token\": \"my-token-0123456789abcdef\"}", PARAMETER,
     "Lock-Token"},
    {"DELETE /locks/a?force=true&force=true", NULL, NULL, PARAMETER, "force"},
    {"GET /locks?limit=5&prefix=a&limit=5", NULL, NULL, PARAMETER, "limit"},

    /* Missing, or not to be had together. */
    {"PUT /locks/a", NULL, NULL, PARAMETER, "token"},
    {"PUT /locks/a", NULL, "{\"ttl_ms\": 5000}", PARAMETER, "token"},
    {"DELETE /locks/a", NULL, NULL, PARAMETER, "token"},
    {"DELETE /locks/a?force=false", NULL, NULL, PARAMETER, "token"},
    {"DELETE /locks/a?force=true", TOKEN_HEADER, NULL, PARAMETER, "force"},
    {"DELETE /locks/a?force=true", NULL, "{\"token\": \"my-token-0123456789abcdef\"}", PARAMETER,
     "force"},

    /* No JSON object, or not a plain one. */
    {"POST /locks/a", NULL, "{", "invalid_json", NULL},
    {"POST /locks/a", NULL, "nonsense", "invalid_json", NULL},
    {"POST /locks/a", NULL, " ", "invalid_json", NULL},
    {"POST /locks/a", NULL, "[]", PARAMETER, "body"},
    {"POST /locks/a", NULL, "\"text\"", PARAMETER, "body"},
    {"POST /locks/a", NULL, "{\"ttl_ms\": 5000} x", "invalid_json", NULL},
    {"POST /locks/a", NULL, "{}{}", "invalid_json", NULL},
    {"POST /locks/a", NULL, "{'ttl_ms': 5000}", "invalid_json", NULL},
    {"POST /locks/a", NULL, "{\"ttl_ms\": 5000,}", "invalid_json", NULL},
    {"POST /locks/a", NULL, "{\"ttl_ms\": 5000, \"ttl_ms\": 5000}", "invalid_json", NULL},
    {"POST /locks/a", NULL, "{\"meta\": {\"a\": 1, \"a\": 2}}", "invalid_json", NULL},
    {"POST /locks/a", NULL, "{\"ttl_ms\": 99999999999999999999}", PARAMETER, "ttl_ms"},
    {"POST /locks/a", NULL, "{\"wait_ms\": 0, \"ttl_ms\": -99999999999999999999}", PARAMETER,
     "ttl_ms"},
    {"POST /locks/a", NULL, "{\"owner\": \"\xff\"}", "invalid_json", NULL},
    {"POST /locks/a", NULL, "{\"owner\": \"\xed\xa0\x80\"}", "invalid_json", NULL},
    {"POST /locks/a", NULL, "{\"owner\": \"a\\u0000b\"}", "invalid_json", NULL},
    {"POST /locks/a", NULL, "{\"owner\": \"\\ud800\"}", "invalid_json", NULL},
    {"POST /locks/a", NULL, "\xef\xbb\xbf{}", "invalid_json", NULL},
    {"PUT /locks/a", TOKEN_HEADER, "[]", PARAMETER, "body"},
    {"DELETE /locks/a", TOKEN_HEADER, "{", "invalid_json", NULL},
};

static struct http_client *client_of(void **state)
{
    return ((struct service *)*state)->client;
}

static void whatever_is_wrong_is_named(void **state)
{
    struct http_client *client = client_of(state);
    for (size_t i = 0; i < sizeof REFUSALS / sizeof *REFUSALS; i++) {
        const struct refusal *refusal = &REFUSALS[i];
        answers_with(client, refusal->header, refusal->request, refusal->body, 400, refusal->code);
        const char *named = http_text(client, "parameter");
        if (!refusal->parameter ? named != NULL : !named || strcmp(named, refusal->parameter) != 0)
            fail_msg("%s %s names %s: %s", refusal->request, refusal->body, named,
                     client->reply.body);
        assert_null(http_header(client, "Retry-After"));
    }
}

/* A problem's detail is for people: what they cannot see in it is escaped. */
static void what_is_invisible_shows_in_a_detail(void **state)
{
    struct http_client *client = client_of(state);
    answers(client, "POST /locks/a", "{\"t\\u202etl\\u2028\\n\": 1}", 400, "invalid_parameter");
    assert_string_equal(http_text(client, "parameter"), "t\xe2\x80\xaetl\xe2\x80\xa8\n");
    assert_non_null(strstr(http_text(client, "detail"), "t\\u202etl\\u2028\\u000a: unknown field"));
    answers_with(client, "Accept: text/plain", "POST /locks/a", "{\"t\\u202etl\\n\": 1}", 400,
                 NULL);
    assert_non_null(strstr(client->reply.body, "t\\u202etl\\u000a: unknown field"));
}

/* Whoever finds it to be none: the reader of fields, or the locks. */
static void a_cursor_that_is_none_is_told_of_once(void **state)
{
    static const char *const CURSORS[] = {"", "%21", "17", "x"};
    struct http_client *client = client_of(state);
    for (size_t i = 0; i < sizeof CURSORS / sizeof *CURSORS; i++) {
        char request[64];
        snprintf(request, sizeof request, "GET /locks?cursor=%s", CURSORS[i]);
        answers(client, request, NULL, 400, "invalid_parameter");
        assert_string_equal(http_text(client, "detail"),
                            "cursor: expected the cursor of the page before, unchanged");
    }
}

/* All of them were refused before Redis was asked. */
static void nothing_of_it_locked(void **state)
{
    answers(client_of(state), "GET /locks", NULL, 200, NULL);
    assert_int_equal(json_array_size(member(client_of(state), "locks")), 0);
}

static void a_refused_token_is_not_repeated_in_the_answer(void **state)
{
    struct http_client *client = client_of(state);
    answers(client, "POST /locks/a?token=my-token-0123456789abcdef", NULL, 400,
            "invalid_parameter");
    assert_null(strstr(client->reply.body, TOKEN));
    answers_with(client, "Lock-Token: my-token-0123456789abcdef!", "POST /locks/a", NULL, 400,
                 "invalid_parameter");
    assert_null(strstr(client->reply.body, TOKEN));
}

static void two_tokens_are_one_too_many(void **state)
{
    struct http_client *client = client_of(state);
    const struct http_call call = {
        .method = "DELETE",
        .path = "/locks/a",
        .headers =
            (const char *const[]){TOKEN_HEADER, "lock-token: my-token-0123456789abcdeg", NULL},
    };
    assert_int_equal(http_request(client, &call), 400);
    assert_string_equal(member_text(client, "parameter"), "Lock-Token");
}

/* A body {"meta": {"a": "xx...x"}} whose meta has `length` bytes as compact JSON. */
static char *body_with_meta(size_t length)
{
    char *body;
    size_t text = length - strlen("{\"a\":\"\"}");
    char *filler = malloc(text + 1);
    memset(filler, 'x', text);
    filler[text] = '\0';
    if (asprintf(&body, "{ \"meta\" : { \"a\" : \"%s\" } }", filler) < 0)
        abort();
    free(filler);
    return body;
}

static void meta_has_at_most_a_kibibyte(void **state)
{
    struct http_client *client = client_of(state);
    char *longest = body_with_meta(1024), *too_long = body_with_meta(1025);
    answers(client, "POST /locks/meta", too_long, 400, "invalid_parameter");
    assert_string_equal(http_text(client, "parameter"), "meta");
    answers(client, "POST /locks/meta", longest, 201, NULL);
    answers(client, "GET /locks/meta", NULL, 200, NULL);
    assert_int_equal(strlen(member_text(client, "holders.0.meta.a")), 1024 - 8);
    free(longest);
    free(too_long);
}

/* It is measured as it was sent, without the space between its parts. */
static void meta_is_measured_as_it_was_sent(void **state)
{
    struct http_client *client = client_of(state);
    char meta[1200], body[1300];
    char *at = stpcpy(meta, "{\"n\":[0.1");
    while (at - meta < 1018)
        at = stpcpy(at, ",0.1");
    strcpy(at, "]}");
    snprintf(body, sizeof body, "{\"meta\": %s}", meta);
    answers(client, "POST /locks/measured", body, 201, NULL);
    answers(client, "GET /locks/measured", NULL, 200, NULL);
    assert_non_null(strstr(client->reply.body, meta));
    strcpy(at, ",1e5]}");
    snprintf(body, sizeof body, "{\"meta\": %s}", meta);
    answers(client, "POST /locks/too-much", body, 400, "invalid_parameter");
    assert_string_equal(http_text(client, "parameter"), "meta");
}

static void readers_see_meta_as_it_was_sent(void **state)
{
    static const struct {
        const char *sent, *seen;
    } METAS[] = {
        {"{\"a\":0.1,\"b\":1e3,\"c\":-0.0,\"d\":1.10}",
         "{\"a\":0.1,\"b\":1e3,\"c\":-0.0,\"d\":1.10}"},
        {" { \"a b\" : [ 1 ,\t2 ] ,\n\"c\" : \" , } \\\" \" } ",
         "{\"a b\":[1,2],\"c\":\" , } \\\" \"}"},
        {"{\"\\u00e9\":\"\\u2028\\/\"}", "{\"\\u00e9\":\"\\u2028\\/\"}"},
        {"{ }", "{}"},
    };
    static const char *const AROUND[][2] = {
        {"{\"meta\":", "}"},
        {" { \"ttl_ms\" : 5000 , \"met\\u0061\" :", ", \"owner\" : \"m,e}\" } "},
        {"{\"owner\":\"{\\\"meta\\\":1\",\"meta\":", ",\"ttl_ms\":5000}"}};
    struct http_client *client = client_of(state);
    for (size_t i = 0; i < sizeof METAS / sizeof *METAS; i++)
        for (size_t j = 0; j < sizeof AROUND / sizeof *AROUND; j++) {
            char body[512], seen[256];
            snprintf(body, sizeof body, "%s%s%s", AROUND[j][0], METAS[i].sent, AROUND[j][1]);
            snprintf(seen, sizeof seen, "\"meta\":%s}", METAS[i].seen);
            answers(client, "POST /locks/seen", body, 201, NULL);
            answers(client, "GET /locks/seen", NULL, 200, NULL);
            if (!strstr(client->reply.body, seen))
                fail_msg("%s is shown as %s", body, client->reply.body);
            answers(client, "DELETE /locks/seen?force=true", NULL, 200, NULL);
        }
}

static void meta_comes_back_as_it_was(void **state)
{
    struct http_client *client = client_of(state);
    static const char META[] = "{\"text\":\"\\\"\\u00e9\\n\\u0001/"
                               "\",\"big\":9223372036854775807,\"real\":1.5,\"none\":null,"
                               "\"list\":[true,false,[],{}],\"{\":\"}\"}";
    char body[512];
    snprintf(body, sizeof body, "{\"meta\": %s}", META);
    answers(client, "POST /locks/back", body, 201, NULL);
    answers(client, "GET /locks/back", NULL, 200, NULL);
    json_t *expected = json_loads(META, 0, NULL);
    assert_true(json_equal(member(client, "holders.0.meta"), expected));
    json_decref(expected);
    answers(client, "POST /locks/none", "{\"meta\": {}}", 201, NULL);
    answers(client, "GET /locks/none", NULL, 200, NULL);
    assert_int_equal(json_object_size(member(client, "holders.0.meta")), 0);
    assert_true(json_is_object(member(client, "holders.0.meta")));
}

/* `depth` levels in all: the body's own, meta's, and lists within it. */
static void ask_with_depth(struct http_client *client, int depth, long status, const char *code)
{
    char body[256] = "{\"meta\":{\"[[[[{\":";
    for (int i = 2; i < depth; i++)
        strcat(body, "[");
    if (depth == 2)
        strcat(body, "1");
    for (int i = 2; i < depth; i++)
        strcat(body, "]");
    strcat(body, "}}");
    answers(client, "POST /locks/deep", body, status, code);
}

static void json_nests_at_most_sixteen_deep(void **state)
{
    struct http_client *client = client_of(state);
    ask_with_depth(client, 17, 400, "invalid_json");
    ask_with_depth(client, 100, 400, "invalid_json");
    ask_with_depth(client, 16, 201, NULL);
}

static void the_edges_of_each_range_are_inside(void **state)
{
    struct http_client *client = client_of(state);
    answers(client, "POST /locks/e1", "{\"ttl_ms\": 100}", 201, NULL);
    answers(client, "POST /locks/e2", "{\"ttl_ms\": 3600000}", 201, NULL);
    answers(client, "POST /locks/e3", "{\"mode\": \"shared\", \"limit\": 1}", 201, NULL);
    answers(client, "POST /locks/e4", "{\"mode\": \"shared\", \"limit\": 1000000}", 201, NULL);
    answers(client, "POST /locks/e5", "{\"token\": \"0123456789012345678_-A\"}", 201, NULL);
    answers(client, "POST /locks/e6", "{\"token\": \"" FIFTY FIFTY TEN TEN "01234567\"}", 201,
            NULL);
    answers(client, "POST /locks/e7", "{\"owner\": \"" FIFTY FIFTY TEN TEN "01234567\"}", 201,
            NULL);
    answers(client, "POST /locks/e8", "{\"owner\": \"" FIFTY FIFTY TEN TEN "012345\303\251x\"}",
            400, "invalid_parameter");
    answers(client, "POST /locks/e9", "{\"owner\": \" \"}", 201, NULL);
    answers(client, "POST /locks/e10", "{}", 201, NULL);
    answers(client, "POST /locks/e11", " \t\r\n{ } \n", 201, NULL);
    answers(client, "GET /locks?limit=1", NULL, 200, NULL);
    answers(client, "GET /locks?limit=1000&prefix=", NULL, 200, NULL);
}

static void the_media_type_has_to_be_json(void **state)
{
    static const char *const REFUSED[] = {
        "Content-Type: text/plain", "Content-Type: application/x-www-form-urlencoded",
        "Content-Type: application/jsonp",
        "Content-Type:", "Content-Type: application/problem+json"};
    static const char *const TAKEN[] = {"Content-Type: application/json",
                                        "Content-Type: APPLICATION/Json; charset=utf-8",
                                        "Content-Type: application/json;charset=utf-8"};
    struct http_client *client = client_of(state);
    for (size_t i = 0; i < sizeof REFUSED / sizeof *REFUSED; i++)
        answers_with(client, REFUSED[i], "POST /locks/media", "{}", 415, "unsupported_media_type");
    answers_with(client, REFUSED[0], "PUT /locks/media", "{}", 415, "unsupported_media_type");
    answers_with(client, REFUSED[0], "DELETE /locks/media", "{}", 415, "unsupported_media_type");
    for (size_t i = 0; i < sizeof TAKEN / sizeof *TAKEN; i++)
        answers_with(client, TAKEN[i], "POST /locks/media?mode=shared", "{}", 201, NULL);
    answers_with(client, REFUSED[0], "POST /locks/media?mode=shared", NULL, 201, NULL);
}

/* Nothing here decodes what a client has compressed. */
static void a_body_has_no_coding(void **state)
{
    static const char *const REFUSED[] = {"Content-Encoding: gzip", "Content-Encoding: deflate, br",
                                          "Content-Encoding: identity, gzip"};
    static const char *const METHODS[] = {"POST /locks/coding", "PUT /locks/coding",
                                          "DELETE /locks/coding", "POST /locks"};
    struct http_client *client = client_of(state);
    for (size_t i = 0; i < sizeof REFUSED / sizeof *REFUSED; i++)
        for (size_t j = 0; j < sizeof METHODS / sizeof *METHODS; j++) {
            answers_with(client, REFUSED[i], METHODS[j], "{}", 415, "unsupported_media_type");
            assert_non_null(strstr(http_text(client, "detail"), "Content-Encoding"));
        }
    answers_with(client, "Content-Encoding: Identity", "POST /locks/coding", "{}", 201, NULL);
    answers_with(client, REFUSED[0], "GET /locks/coding", NULL, 200, NULL);
}

static void a_method_that_nobody_knows_is_not_implemented(void **state)
{
    static const char *const UNKNOWN[] = {"BREW /locks/a", "get /locks/a", "BREW /nowhere",
                                          "PROPFIND /livez"};
    static const char *const KNOWN[] = {"PATCH /locks/a", "OPTIONS /livez", "TRACE /events"};
    struct http_client *client = client_of(state);
    for (size_t i = 0; i < sizeof UNKNOWN / sizeof *UNKNOWN; i++) {
        answers(client, UNKNOWN[i], NULL, 501, "unsupported");
        assert_null(http_header(client, "Allow"));
    }
    for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++) {
        answers(client, KNOWN[i], NULL, 405, "method_not_allowed");
        assert_non_null(http_header(client, "Allow"));
    }
}

static void a_flag_that_stands_alone_is_true(void **state)
{
    struct http_client *client = client_of(state);
    answers(client, "POST /locks/flag", NULL, 201, NULL);
    answers(client, "DELETE /locks/flag?force", NULL, 200, NULL);
    assert_int_equal(member_integer(client, "broken"), 1);
    answers(client, "GET /readyz?verbose", NULL, 200, NULL);
    assert_non_null(member(client, "checks"));
}

/* 64 names of 255 bytes: 127 letters, each of two bytes or an escape of six, and a number. */
static void names_at_their_longest_fit(struct http_client *client, const char *letter)
{
    static const char DIGITS[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";
    char *body = malloc(1 << 17), *at = stpcpy(body, "{\"ttl_ms\": 1000, \"names\": [");
    for (int i = 0; i < 64; i++) {
        at += sprintf(at, "%s\"%c", i ? ", " : "", DIGITS[i]);
        for (int j = 0; j < 127; j++)
            at = stpcpy(at, letter);
        *at++ = '"';
    }
    strcpy(at, "]}");
    answers(client, "POST /locks", body, 201, NULL);
    assert_int_equal(json_array_size(member(client, "locks")), 64);
    assert_int_equal(strlen(member_text(client, "locks.63.name")), 255);
    answers_with(client, NULL, "DELETE /locks", NULL, 400, "invalid_parameter");
    free(body);
}

static void sixty_four_of_the_longest_names_fit(void **state)
{
    struct http_client *client = client_of(state);
    names_at_their_longest_fit(client, "\xc3\xa4");
    names_at_their_longest_fit(client, "\\u00f6");
}

static char *body_of_size(size_t size)
{
    char *body = malloc(size + 1);
    memset(body, ' ', size);
    memcpy(body, "{}", 2);
    body[size] = '\0';
    return body;
}

static void a_body_has_at_most_64_kibibytes(void **state)
{
    struct http_client *client = client_of(state);
    static const char *const METHODS[] = {"POST /locks/big", "PUT /locks/big", "DELETE /locks/big"};
    char *most = body_of_size(65536), *more = body_of_size(65537), *huge = body_of_size(1 << 20);
    for (size_t i = 0; i < 3; i++) {
        answers(client, METHODS[i], more, 413, "too_large");
        answers_with(client, "Transfer-Encoding: chunked", METHODS[i], more, 413, "too_large");
        answers_with(client, "Transfer-Encoding: chunked", METHODS[i], huge, 413, "too_large");
    }
    answers_with(client, "Expect: 100-continue", METHODS[0], huge, 413, "too_large");
    answers(client, METHODS[0], most, 201, NULL);
    answers_with(client, "Transfer-Encoding: chunked", "POST /locks/big2", most, 201, NULL);
    answers_with(client, "Accept: text/plain", METHODS[0], more, 413, NULL);
    assert_string_equal(client->reply.body, "too_large: a body has at most 65536 bytes\n");
    answers(client, "PATCH /locks/big", more, 405, "method_not_allowed");
    answers(client, "POST /nowhere", more, 404, "not_found");
    free(most);
    free(more);
    free(huge);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_is_wrong_is_named),
        cmocka_unit_test(what_is_invisible_shows_in_a_detail),
        cmocka_unit_test(a_cursor_that_is_none_is_told_of_once),
        cmocka_unit_test(nothing_of_it_locked),
        cmocka_unit_test(a_refused_token_is_not_repeated_in_the_answer),
        cmocka_unit_test(meta_has_at_most_a_kibibyte),
        cmocka_unit_test(meta_comes_back_as_it_was),
        cmocka_unit_test(meta_is_measured_as_it_was_sent),
        cmocka_unit_test(readers_see_meta_as_it_was_sent),
        cmocka_unit_test(json_nests_at_most_sixteen_deep),
        cmocka_unit_test(the_edges_of_each_range_are_inside),
        cmocka_unit_test(two_tokens_are_one_too_many),
        cmocka_unit_test(the_media_type_has_to_be_json),
        cmocka_unit_test(a_body_has_no_coding),
        cmocka_unit_test(a_method_that_nobody_knows_is_not_implemented),
        cmocka_unit_test(a_flag_that_stands_alone_is_true),
        cmocka_unit_test(sixty_four_of_the_longest_names_fit),
        cmocka_unit_test(a_body_has_at_most_64_kibibytes),
    };
    return cmocka_run_group_tests(tests, service_start, service_stop);
}
