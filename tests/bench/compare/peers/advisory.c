/* Clients of one advisory lock of PostgreSQL: advisory CONNINFO CLIENTS SECONDS; prints turns for
 * contended.py. libpq and epoll in one process, as Baton's clients in this comparison have it, and
 * unlike an interpreter or a thread for each it does not hold the server up. */
#include "tests/support/clock.h"

#include <err.h>
#include <inttypes.h>
#include <postgresql/libpq-fe.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>

enum { EVENTS = 64 };

struct client {
    PGconn *link;
    bool acquiring;
    int64_t arrived;
    int64_t granted;
};

static void run(const struct client *client, const char *statement)
{
    if (!PQsendQueryPrepared(client->link, statement, 0, NULL, NULL, NULL, 0) ||
        PQflush(client->link) != 0)
        errx(2, "PostgreSQL: %s", PQerrorMessage(client->link));
}

static void acquire(struct client *client)
{
    client->arrived = clock_ns();
    client->granted = 0;
    client->acquiring = true;
    run(client, "lock");
}

/* Reads what has come; returns whether the reply is complete. */
static bool replied(const struct client *client)
{
    if (!PQconsumeInput(client->link))
        errx(2, "PostgreSQL: %s", PQerrorMessage(client->link));
    while (!PQisBusy(client->link)) {
        PGresult *result = PQgetResult(client->link);
        if (!result)
            return true;
        if (PQresultStatus(result) != PGRES_TUPLES_OK)
            errx(2, "PostgreSQL: %s", PQresultErrorMessage(result));
        PQclear(result);
    }
    return false;
}

static void serve(struct client *client, size_t number)
{
    if (!replied(client))
        return;
    if (client->acquiring) {
        client->granted = clock_ns();
        client->acquiring = false;
        printf("%zu %" PRId64 " %" PRId64 " %" PRId64 "\n", number, client->arrived,
               client->granted, clock_ns());
        run(client, "unlock");
    } else {
        acquire(client);
    }
}

static void prepare(const struct client *client, const char *name, const char *query)
{
    PGresult *result = PQprepare(client->link, name, query, 0, NULL);
    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        errx(2, "PostgreSQL: %s", PQerrorMessage(client->link));
    PQclear(result);
}

static void open_client(struct client *client, const char *where, int epoll)
{
    struct epoll_event interest = {.events = EPOLLIN, .data.ptr = client};
    client->link = PQconnectdb(where);
    if (PQstatus(client->link) != CONNECTION_OK)
        errx(2, "PostgreSQL: %s", PQerrorMessage(client->link));
    prepare(client, "lock", "SELECT pg_advisory_lock(1)");
    prepare(client, "unlock", "SELECT pg_advisory_unlock(1)");
    PQsetnonblocking(client->link, 1);
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, PQsocket(client->link), &interest) < 0)
        err(2, "epoll_ctl");
}

static void contend(struct client *clients, size_t count, int epoll, int64_t end)
{
    struct epoll_event events[EVENTS];
    for (size_t i = 0; i < count; i++)
        acquire(&clients[i]);
    for (int64_t left; (left = end - clock_ns()) > 0;) {
        int n = epoll_wait(epoll, events, EVENTS, (int)(left / 1000000) + 1);
        for (int i = 0; i < n; i++) {
            struct client *client = events[i].data.ptr;
            serve(client, (size_t)(client - clients));
        }
    }
}

int main(int argc, char **argv)
{
    if (argc != 4)
        errx(2, "expected CONNINFO CLIENTS SECONDS");
    size_t count = (size_t)atol(argv[2]);
    struct client *clients = calloc(count, sizeof *clients);
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (!clients || epoll < 0)
        err(2, "advisory");
    for (size_t i = 0; i < count; i++)
        open_client(&clients[i], argv[1], epoll);
    int64_t start = clock_ns(), end = start + (int64_t)(atof(argv[3]) * 1e9);
    printf("# window %" PRId64 " %" PRId64 "\n", start, end);
    contend(clients, count, epoll, end);
    for (size_t i = 0; i < count; i++)
        if (clients[i].acquiring)
            printf("%zu %" PRId64 " 0 0\n", i, clients[i].arrived);
    fflush(stdout);
    _Exit(0); /* closing many connections one after the other takes its time */
}
