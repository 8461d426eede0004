/* DELETE /locks?prefix=…&force=true&reason=…: all locks under a prefix are broken, in portions, for
 * whoever has the right, and it is on record why. */
#include "tests/support/fixtures/guarded.h"
#include "tests/support/fixtures/parked.h"

#include <stdio.h>
#include <string.h>

enum { MANY = 250, PORTION = 100, CURSOR_TEXT = 8000 };

static void hold(struct http_client *client, const char *name, int number, const char *query)
{
    char request[200];
    snprintf(request, sizeof request, "POST /locks/%s%d%s", name, number, query);
    answers(client, request, NULL, 201, NULL);
}

/* Goes through all portions. Returns how many locks were broken, and of how many holds. */
static int64_t break_all(struct http_client *client, const char *query, int64_t *ret_holds)
{
    char cursor[CURSOR_TEXT] = "", request[CURSOR_TEXT + 200];
    int64_t locks = 0;
    *ret_holds = 0;
    do {
        snprintf(request, sizeof request, "DELETE /locks?force=true&reason=over&limit=%d%s%s%s",
                 PORTION, query, cursor[0] ? "&cursor=" : "", cursor);
        answers(client, request, NULL, 200, NULL);
        assert_true(member_integer(client, "locks") <= PORTION);
        locks += member_integer(client, "locks");
        *ret_holds += member_integer(client, "broken");
        const char *next = http_text(client, "cursor");
        assert_true(next || json_is_null(member(client, "cursor")));
        snprintf(cursor, sizeof cursor, "%s", next ? next : "");
    } while (cursor[0]);
    return locks;
}

static size_t listed(struct http_client *client, const char *target)
{
    assert_int_equal(http_call(client, "GET", target, NULL), 200);
    return json_array_size(member(client, "locks"));
}

TEST_OF_CLIENT_WITH(all_under_a_prefix_are_broken_and_no_other, service_forget, NULL)
{
    char token[TOKEN_TEXT];
    int64_t holds;
    for (int i = 0; i < MANY; i++)
        hold(client, "gone%2F", i, "");
    for (int i = 0; i < 10; i++)
        hold(client, "gone", i, "");
    for (int i = 0; i < 3; i++)
        hold(client, "gone%2Fshared", 0, "?mode=shared");
    answers(client, "POST /locks/gone%2Flast", NULL, 201, NULL);
    int64_t fence = member_integer(client, "fence");
    keep_token(client, token);
    assert_int_equal(break_all(client, "&prefix=gone%2F", &holds), MANY + 2);
    assert_int_equal(holds, MANY + 4);
    assert_int_equal(listed(client, "/locks?prefix=gone%2F"), 0);
    assert_int_equal(listed(client, "/locks?prefix=gone"), 10);
    answers_token(client, token, "PUT /locks/gone%2Flast", NULL, 409, "not_held");
    answers(client, "GET /locks/gone%2Flast", NULL, 200, NULL);
    assert_string_equal(member_text(client, "last_release.reason"), "forced");
    answers(client, "POST /locks/gone%2Flast", NULL, 201, NULL);
    assert_true(member_integer(client, "fence") > fence);
    assert_int_equal(break_all(client, "&prefix=none", &holds), 0);
    assert_int_equal(break_all(client, "&prefix=", &holds), 11);
    assert_int_equal(listed(client, "/locks"), 0);
}

TEST_ON(struct service *service, break_clears_an_unreadable_lock, service_forget, NULL)
{
    int64_t holds;
    hold(service->client, "bad", 1, "");
    freeReplyObject(redis_process_command(&service->redis, "SET baton:{bad1} junk"));
    answers(service->client, "GET /locks/bad1", NULL, 500, "damaged");
    assert_int_equal(break_all(service->client, "&prefix=bad", &holds), 1);
    assert_int_equal(holds, 0);
    answers(service->client, "POST /locks/bad1", NULL, 201, NULL);
}

TEST_OF_CLIENT_WITH(break_names_the_wrong_parameter, service_forget, NULL)
{
    static const struct {
        const char *request, *body, *parameter;
    } CASES[] = {
        {"DELETE /locks?force=true&reason=over", NULL, "prefix"},
        {"DELETE /locks?force=true&prefix=a", NULL, "reason"},
        {"DELETE /locks?force=true&prefix=a&reason=", NULL, "reason"},
        {"DELETE /locks?force=true&prefix=a&reason=over", "{\"names\": [\"b\"]}", "force"},
        {"DELETE /locks?force=true&prefix=a&reason=over",
         "{\"token\": \"a-token-that-holds-nothing\"}", "force"},
        {"DELETE /locks?force=true&prefix=a&reason=over&cursor=x", NULL, "cursor"},
        {"DELETE /locks?force=true&prefix=a&reason=over&limit=1001", NULL, "limit"},
        {"DELETE /locks?prefix=a&reason=over", NULL, "prefix"},
        {"DELETE /locks?force=false&prefix=a&reason=over", NULL, "prefix"},
        {"DELETE /locks?reason=over", NULL, "reason"},
        {"DELETE /locks?cursor=x", NULL, "cursor"},
        {"DELETE /locks", NULL, "names"},
    };
    hold(client, "a", 1, "");
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        answers(client, CASES[i].request, CASES[i].body, 400, "invalid_parameter");
        assert_string_equal(member_text(client, "parameter"), CASES[i].parameter);
    }
    assert_int_equal(listed(client, "/locks"), 1);
    answers(client, "DELETE /locks", "{\"force\": true, \"prefix\": \"a\", \"reason\": \"over\"}",
            200, NULL);
    assert_int_equal(member_integer(client, "locks"), 1);
}

TEST_ON(struct service *service, every_break_is_logged_with_its_reason, service_forget, NULL)
{
    char line[4096];
    size_t offset = 0;
    hold(service->client, "audited", 1, "");
    answers(service->client, "DELETE /locks?force=true&prefix=audited&reason=site%20closed", NULL,
            200, NULL);
    assert_true(process_wait_line(&service->batond.process, "site closed", &offset, line,
                                  sizeof line, CLOCK_HANG_MS));
    assert_non_null(strstr(line, "\"lock\":\"audited1\""));
    assert_non_null(strstr(line, "\"lock broken\""));
}

RUN_TESTS(service_start, service_stop)
