#include "tests/integration/parked.h"

#include "tests/support/raw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct parked *parked_send(int port, const char *header, const char *request, const char *body)
{
    struct parked *parked = calloc(1, sizeof *parked);
    char *text;
    if (!parked || asprintf(&text,
                            "%s HTTP/1.1\r\nHost: h\r\nConnection: close\r\n%s%s%s"
                            "Content-Length: %zu\r\n\r\n%s",
                            request, header ? header : "", header ? "\r\n" : "",
                            body ? "Content-Type: application/json\r\n" : "",
                            body ? strlen(body) : 0, body ? body : "") < 0)
        abort();
    parked->fd = raw_connect(port);
    assert_true(parked->fd >= 0);
    assert_true(raw_send(parked->fd, text, strlen(text)));
    free(text);
    return parked;
}

struct parked *parked_send_token(int port, const char *token, const char *request)
{
    char header[TOKEN_TEXT + 16];
    snprintf(header, sizeof header, "Lock-Token: %s", token);
    return parked_send(port, header, request, NULL);
}

/* Reads on until `until` (NULL: the end) has come behind `from`. */
static void receive(struct parked *parked, const char *until, size_t from, int timeout_ms)
{
    int64_t deadline = clock_ms() + timeout_ms;
    while (!parked->closed && !(until && strstr(parked->text + from, until))) {
        int64_t left = deadline - clock_ms();
        if (left < 0)
            return;
        char *end = parked->text + parked->length;
        parked->length += raw_receive(parked->fd, end, sizeof parked->text - parked->length, "\n",
                                      (int)left, &parked->closed);
    }
}

bool parked_waits(struct parked *parked, int ms)
{
    receive(parked, "\n", 0, ms);
    return parked->length == 0 && !parked->closed;
}

bool parked_hears(struct parked *parked, const char *text, int timeout_ms)
{
    receive(parked, text, parked->seen, timeout_ms);
    const char *found = strstr(parked->text + parked->seen, text);
    if (found)
        parked->seen = (size_t)(found - parked->text) + strlen(text);
    return found;
}

bool parked_ends(struct parked *parked, int timeout_ms)
{
    receive(parked, NULL, 0, timeout_ms);
    return parked->closed;
}

long parked_answer(struct parked *parked, int timeout_ms)
{
    struct http_reply *reply = &parked->client.reply;
    if (!parked_ends(parked, timeout_ms) ||
        sscanf(parked->text, "HTTP/1.1 %ld", &reply->status) < 1)
        return 0;
    char *end = strstr(parked->text, "\r\n\r\n");
    assert_non_null(end);
    reply->headers = parked->text;
    reply->body = end + 4;
    reply->length = parked->length - (size_t)(reply->body - parked->text);
    json_decref(reply->json);
    reply->json = json_loadb(reply->body, reply->length, JSON_REJECT_DUPLICATES, NULL);
    return reply->status;
}

void parked_close(struct parked *parked)
{
    close(parked->fd);
    json_decref(parked->client.reply.json);
    free(parked);
}
