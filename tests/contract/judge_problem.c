#include "api/http/problem.h"

#include "tests/contract/judge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *code;
    long status;
    const char *title;
} ROWS[] = {
#define PROBLEM_ROW(name, code, status, title) {code, status, title},
    PROBLEMS(PROBLEM_ROW)
#undef PROBLEM_ROW
};

static bool has_text(struct http_client *client, const char *member, const char *expected,
                     struct failure *failure)
{
    const char *actual = http_text(client, member);
    return (actual && expected && !strcmp(actual, expected)) ||
           failure_set(failure, -EINVAL, "its %s is not %s", member, expected) == 0;
}

static bool has_status(struct http_client *client, long expected, struct failure *failure)
{
    return (client->reply.status == expected && http_integer(client, "status") == expected) ||
           failure_set(failure, -EINVAL, "its status is not %ld", expected) == 0;
}

/* The code's row: the same status, type and title. */
static bool is_of_table(struct http_client *client, const char *code, struct failure *failure)
{
    char type[64];
    snprintf(type, sizeof type, "urn:baton:problem:%s", code);
    for (size_t i = 0; i < PROBLEM_COUNT; i++)
        if (!strcmp(ROWS[i].code, code))
            return has_status(client, ROWS[i].status, failure) &&
                   has_text(client, "type", type, failure) &&
                   has_text(client, "title", ROWS[i].title, failure);
    return failure_set(failure, -EINVAL, "%s is not in the table", code) == 0;
}

/* Every 503, 429 and refusal of a lock that is held say when to come again, and nothing else does.
 */
static bool has_retry_after(struct http_client *client, const char *code, struct failure *failure)
{
    const char *header = http_header(client, "Retry-After");
    long long expected = 0;
    if (!strcmp(code, "locked") || !strcmp(code, "wait_timeout") ||
        (!strcmp(code, "quarantined") && client->reply.json))
        expected = (http_integer(client, "retry_after_ms") + 999) / 1000;
    else if (client->reply.status == 503 || client->reply.status == 429)
        expected = 1;
    return (header ? atoll(header) : 0) == expected ||
           failure_set(failure, -EINVAL, "Retry-After is not %lld", expected) == 0;
}

bool judge_problem(struct http_client *client, const char *path, struct failure *failure)
{
    char type[64];
    const char *code = http_text(client, "code");
    judge_media_type(client, type);
    if (strcmp(type, "application/problem+json") != 0)
        return true;
    if (!code)
        return failure_set(failure, -EINVAL, "it has no code") == 0;
    return is_of_table(client, code, failure) && has_text(client, "instance", path, failure) &&
           has_text(client, "request_id", http_header(client, "X-Request-Id"), failure) &&
           has_retry_after(client, code, failure);
}
