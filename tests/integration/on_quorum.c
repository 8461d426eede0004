#include "tests/integration/on_quorum.h"

#include <stdio.h>
#include <string.h>

void await_up(struct http_client *client, const char *members)
{
    int64_t deadline = clock_ms() + PATIENCE_MS;
    while (http_call(client, "GET", "/readyz?verbose", NULL) == 0 ||
           !strstr(client->reply.body, members)) {
        if (clock_ms() > deadline)
            fail_msg("not %s: %s", members, client->reply.body);
        clock_sleep_ms(20);
    }
}

void await_held_at(struct quorum_servers *servers, const char *name, int members)
{
    int64_t deadline = clock_ms() + PATIENCE_MS;
    while (quorum_servers_held(servers, name) != members) {
        if (clock_ms() > deadline)
            fail_msg("%s: held at %d members rather than %d", name,
                     quorum_servers_held(servers, name), members);
        clock_sleep_ms(5);
    }
}

void await_queue(struct http_client *client, const char *name, int64_t length)
{
    char path[100];
    int64_t deadline = clock_ms() + PATIENCE_MS;
    snprintf(path, sizeof path, "/locks/%s", name);
    while (http_call(client, "GET", path, NULL) != 200 ||
           http_integer(client, "queue_length") != length) {
        if (clock_ms() > deadline)
            fail_msg("not %d wait: %s", (int)length, client->reply.body);
        clock_sleep_ms(5);
    }
}
