#include "tests/budget/client.h"

#include "tests/budget/counts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { REQUEST = 1024, TURNS_MOST = 1000, STATUS_AT = 9 };

static const char LENGTH[] = "Content-Length: ";

void client_connect(struct client *client, struct host *host)
{
    *client = (struct client){.host = host, .fd = host_connect(host)};
}

void client_ask(struct client *client, const char *method, const char *target, const char *token)
{
    char request[REQUEST];
    int length = snprintf(request, sizeof request,
                          "%s %s HTTP/1.1\r\nHost: localhost:7420\r\nUser-Agent: budget\r\n"
                          "Accept: */*\r\n%s%s%s\r\n",
                          method, target, token ? "Lock-Token: " : "", token ? token : "",
                          token ? "\r\n" : "");
    client->length = 0;
    counts.system_calls++;
    if (send(client->fd, request, (size_t)length, MSG_NOSIGNAL) != length)
        abort();
}

static void turn(void *host)
{
    host_turn(host);
}

static bool is_complete(const struct client *client)
{
    const char *end = strstr(client->answer, "\r\n\r\n");
    const char *length = strcasestr(client->answer, LENGTH);
    return end && length && length < end &&
           client->length >=
               (size_t)(end + 4 - client->answer) + strtoul(length + strlen(LENGTH), NULL, 10);
}

static bool has_come(struct client *client)
{
    counts.system_calls++;
    ssize_t length = recv(client->fd, client->answer + client->length,
                          sizeof client->answer - 1 - client->length, MSG_DONTWAIT);
    if (length > 0)
        client->length += (size_t)length;
    client->answer[client->length] = '\0';
    return is_complete(client);
}

static void settle(const struct client *client)
{
    for (int turns = 0; !host_rests(client->host); turns++) {
        if (turns == TURNS_MOST)
            abort();
        counts_while(turn, client->host);
    }
}

void client_take(struct client *client, int status)
{
    for (int turns = 0; !has_come(client) && turns < TURNS_MOST; turns++)
        counts_while(turn, client->host);
    settle(client);
    if (client->length > STATUS_AT && atoi(client->answer + STATUS_AT) == status)
        return;
    fprintf(stderr, "budget: expected %d, not:\n%s\n", status, client->answer);
    exit(1);
}

void client_await(const struct client *client, enum lock_event_kind kind)
{
    atomic_uint_fast64_t *number = &client->host->metrics.lock_events[kind];
    uint64_t before = atomic_load(number);
    for (int turns = 0; atomic_load(number) == before; turns++) {
        if (turns == TURNS_MOST)
            abort();
        counts_while(turn, client->host);
    }
    settle(client);
}
