#include "tests/contract/ask.h"

#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_HEADERS = 7 };

/* The body, with the spaces behind it; NULL where there is none. To be freed. */
static char *padded_body(const char *request, size_t padding)
{
    const char *body = strstr(request, "\n\n");
    char *text = NULL;
    if (body && asprintf(&text, "%s%*s", body + 2, (int)padding, "") < 0)
        abort();
    return text;
}

long ask(struct http_client *client, const char *request, size_t padding)
{
    const char *headers[MAX_HEADERS + 1] = {NULL};
    const char *end = strstr(request, "\n\n");
    char *head = strndup(request, end ? (size_t)(end - request) : strlen(request));
    char *body = padded_body(request, padding);
    char *rest = head;
    char *target = strsep(&rest, "\n");
    char *method = strsep(&target, " ");
    for (size_t i = 0; rest && i < MAX_HEADERS; i++)
        headers[i] = strsep(&rest, "\n");
    assert_null(rest);
    long status = http_request(
        client,
        &(struct http_call){.method = method, .path = target, .body = body, .headers = headers});
    if (!status)
        fail_msg("%s: %s", request, client->reply.trouble);
    free(head);
    free(body);
    return status;
}
