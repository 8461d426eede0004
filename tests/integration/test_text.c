/* Accept: text/plain: every operation of /locks answers in a line that people and scripts read. */
#include "tests/support/fixtures/service.h"

#include <regex.h>
#include <string.h>

#define NAMES "{\"names\":[\"two-a\",\"two-b\"]}"

#define LEFT "[0-9]+ s left"
#define HELD "for [0-9]+ s, " LEFT

static const char MINE[] = "Lock-Token: a-token-of-the-test-01";
static const char OTHERS[] = "Lock-Token: a-token-of-the-test-02";

/* Each row finds what those before have left. `line` is a regular expression. */
static const struct {
    const char *token; /* NULL: none */
    const char *request, *body, *line;
    long status;
} ROWS[] = {
    {NULL, "GET /locks/door", NULL, "free", 200},
    {NULL, "GET /locks/door/events", NULL, "free", 200},
    {MINE, "POST /locks/door?owner=alice&ttl=1h", NULL, "a-token-of-the-test-01", 201},
    {MINE, "POST /locks/door?owner=alice&ttl=1h", NULL, "a-token-of-the-test-01", 200},
    {NULL, "GET /locks/door", NULL, "held by alice " HELD, 200},
    {NULL, "GET /locks/door/events", NULL, "held by alice " HELD, 200},
    {MINE, "GET /locks/door", NULL, "held by alice for .* left; this token holds it", 200},
    {OTHERS, "GET /locks/door", NULL, "held by alice for .* left; this token does not hold it",
     200},
    {NULL, "GET /locks?prefix=do", NULL, "door: held by alice " HELD, 200},
    {NULL, "GET /locks?prefix=nothing", NULL, "", 200},
    {MINE, "PUT /locks/door?ttl=2h", NULL, "invalid_parameter: ttl: .*", 400},
    {MINE, "PUT /locks/door?ttl=10m", NULL, "held by alice, " LEFT, 200},
    {NULL, "POST /locks/door", NULL,
     "locked: Held by alice " HELD "\\. Wait for it with wait=30s, .*", 409},
    {NULL, "POST /locks/door?wait=1ms&keep=30s", NULL, "wait_timeout: .*", 409},
    {NULL, "GET /locks/door", NULL, "held by alice " HELD ", 1 waiting", 200},
    {OTHERS, "DELETE /locks/door", NULL, "not_held: .*", 409},
    {OTHERS, "PUT /locks/door", NULL, "not_held: .*", 409},
    {NULL, "DELETE /locks/door", NULL, "invalid_parameter: token: missing\\. .*", 400},
    {MINE, "DELETE /locks/door", NULL, "released after [0-9]+ s", 200},
    {MINE, "POST /locks/pool?mode=shared&owner=bob&ttl=30m", NULL, "a-token-of-the-test-01", 201},
    {OTHERS, "POST /locks/pool?mode=shared&owner=bob&ttl=1h", NULL, "a-token-of-the-test-02", 201},
    {NULL, "GET /locks/pool", NULL, "held by bob \\(shared\\) " HELD ", and 1 more", 200},
    {MINE, "DELETE /locks/pool", NULL, "released after [0-9]+ s; 1 hold of this owner left", 200},
    {NULL, "DELETE /locks/pool?force", NULL, "broken: 1 hold, of bob \\(shared\\)", 200},
    {NULL, "DELETE /locks/pool?force", NULL, "broken: 0 holds", 200},
    {MINE, "POST /locks?owner=carol", NAMES, "a-token-of-the-test-01", 201},
    {MINE, "PUT /locks?ttl=1h", NAMES, "2 locks held by carol, " LEFT, 200},
    {OTHERS, "PUT /locks", NAMES, "not_held: .*", 409},
    {OTHERS, "POST /locks", NAMES, "locked: .*", 409},
    {MINE, "DELETE /locks", NAMES, "released: 2 locks", 200},
    {MINE, "POST /locks/one", NULL, "a-token-of-the-test-01", 201},
    {NULL, "DELETE /locks?prefix=o&force&reason=over", NULL, "broken: 1 hold of 1 lock", 200},
    {NULL, "PATCH /locks/door", NULL, "method_not_allowed: Use .*", 405},
    {NULL, "GET /locks/door?what=1", NULL, "invalid_parameter: what: .*", 400},
};

static void is_line(const char *request, const char *body, const char *pattern)
{
    char whole[256];
    regex_t compiled;
    snprintf(whole, sizeof whole, *pattern ? "^%s\n$" : "^%s$", pattern);
    assert_int_equal(regcomp(&compiled, whole, REG_EXTENDED | REG_NOSUB), 0);
    if (regexec(&compiled, body, 0, NULL, 0) != 0 || strchr(body, '\n') != strrchr(body, '\n'))
        fail_msg("%s: %s is not %s", request, body, pattern);
    regfree(&compiled);
}

TEST_OF_CLIENT(every_operation_of_locks_answers_with_a_line)
{
    for (size_t i = 0; i < LENGTH(ROWS); i++) {
        char method[16];
        const char *path = strchr(ROWS[i].request, ' ') + 1;
        snprintf(method, sizeof method, "%.*s", (int)(path - 1 - ROWS[i].request), ROWS[i].request);
        const struct http_call call = {.method = method,
                                       .path = path,
                                       .body = ROWS[i].body,
                                       .headers = LIST("Accept: text/plain", ROWS[i].token)};
        if (http_request(client, &call) != ROWS[i].status ||
            strncmp(http_header(client, "Content-Type"), "text/plain", 10) != 0)
            fail_msg("%s: %s%s", ROWS[i].request, client->reply.headers, client->reply.body);
        is_line(ROWS[i].request, client->reply.body, ROWS[i].line);
    }
}

TEST_OF_CLIENT(list_says_what_its_page_lacks)
{
    static const char PREFIX[] = "more-";
    char request[64];
    for (int i = 0; i < 3; i++) {
        snprintf(request, sizeof request, "POST /locks/%s%d", PREFIX, i);
        answers(client, request, NULL, 201, NULL);
    }
    snprintf(request, sizeof request, "GET /locks?limit=1&prefix=%s", PREFIX);
    answers_with(client, "Accept: text/plain", request, NULL, 200, NULL);
    assert_non_null(strstr(client->reply.body, "(more with cursor="));
}

TEST_OF_CLIENT(invisible_characters_of_owner_are_escaped)
{
    answers(client, "POST /locks/odd", "{\"owner\": \"a\\u202eb\"}", 201, NULL);
    answers_with(client, "Accept: text/plain", "GET /locks/odd", NULL, 200, NULL);
    assert_int_equal(strncmp(client->reply.body, "held by a\\u202eb for ", 21), 0);
}

TEST_OF_CLIENT(other_paths_answer_in_json)
{
    answers_with(client, "Accept: text/plain", "GET /events?limit=x", NULL, 400,
                 "invalid_parameter");
    answers_with(client, "Accept: text/plain", "GET /lockss", NULL, 404, "not_found");
}

RUN_TESTS(service_start, service_stop)
