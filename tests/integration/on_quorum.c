#include "tests/integration/on_quorum.h"

#include <stdio.h>
#include <string.h>

enum { SETTLED_MS = 200 };

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

void await_settled_at(struct quorum_servers *servers, const char *name)
{
    int64_t seen[QUORUM_MEMBERS] = {0}, now[QUORUM_MEMBERS];
    int64_t begun = clock_ms(), since = begun;
    await_held_at(servers, name, QUORUM_MEMBERS);
    while (clock_ms() < since + SETTLED_MS) {
        quorum_servers_versions(servers, name, now);
        if (memcmp(seen, now, sizeof seen) != 0)
            since = clock_ms();
        if (since > begun + PATIENCE_MS)
            fail_msg("%s: its version does not come to rest", name);
        memcpy(seen, now, sizeof seen);
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
