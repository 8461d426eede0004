#include "tests/bench/caller.h"
#include "tests/bench/modes.h"
#include "tests/bench/run.h"

#include "tests/support/clock.h"

#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
    REPLY_MS = 20000,
    SLACK_MS = 1000, /* beyond the claim window, for the longest stall */
};

enum state { WAITS, HOLDS, DONE, LOST };

struct client {
    struct caller caller;
    enum state state;
    unsigned token;
    bool doomed; /* a client of the batond that is killed */
};

/* Clients of two batonds wait for one lock, in turn; each releases it as soon as it has it. The
 * clients of the one that is killed are gone with it: they do not come back with their token, so a
 * hold that was claimed for one of them, but not told, ends by its TTL, which is short. */
struct crowd {
    struct run run;
    struct sockaddr_in servers[2];
    struct caller control; /* to the one that survives */
    struct client *clients;
    size_t count;
    size_t there; /* clients that are neither done nor lost */
    int epoll;
    size_t granted;       /* so far */
    size_t granted_after; /* the kill, to clients of the survivor */
    size_t passed;        /* grants while somebody live waited in front */
    size_t first;         /* the first client that may still wait for the survivor */
    int64_t last_us;      /* time of the latest grant */
    int64_t stall_us;     /* the longest time between two */
    bool killed;
};

static void call(struct crowd *crowd, const char *method, const char *query, unsigned token,
                 int wanted)
{
    char target[RUN_TARGET], text[RUN_TOKEN];
    run_target(&crowd->run, 0, query, target);
    run_token(&crowd->run, token, text);
    int status = caller_call(&crowd->control, method, target, text);
    if (status != wanted)
        errx(2, "%s %s: %s", method, target, status < 0 ? strerror(-status) : crowd->control.body);
}

static void wait_for_length(struct crowd *crowd, int64_t length)
{
    int64_t deadline = clock_ms() + REPLY_MS;
    do {
        if (clock_ms() > deadline)
            errx(2, "there are not %lld waiters", (long long)length);
        call(crowd, "GET", "", 0, 200);
    } while (caller_integer(&crowd->control, "queue_length") != length);
}

static void send_own(struct crowd *crowd, struct client *client, const char *method,
                     const char *query)
{
    char target[RUN_TARGET], text[RUN_TOKEN];
    run_target(&crowd->run, 0, query, target);
    run_token(&crowd->run, client->token, text);
    int result = caller_send(&client->caller, method, target, text);
    if (result < 0 && !(client->doomed && crowd->killed))
        errx(2, "%s %s: %s", method, target, strerror(-result));
}

static void park(struct crowd *crowd, const char *wait)
{
    char query[64];
    snprintf(query, sizeof query, "?ttl=2s&wait=%s", wait);
    for (size_t i = 0; i < crowd->count; i++) {
        struct client *client = &crowd->clients[i];
        client->doomed = i % 2 == 0;
        client->token = crowd->run.next++;
        int result = caller_open(&client->caller, &crowd->servers[i % 2]);
        if (result < 0)
            errx(2, "cannot connect: %s", strerror(-result));
        struct epoll_event interest = {.events = EPOLLIN, .data.ptr = client};
        epoll_ctl(crowd->epoll, EPOLL_CTL_ADD, client->caller.fd, &interest);
        send_own(crowd, client, "POST", query);
        wait_for_length(crowd, (int64_t)i + 1);
    }
}

/* Its batond is dead. What it held is released through the other one. */
static void lose(struct crowd *crowd, struct client *client, int error)
{
    if (!client->doomed || !crowd->killed)
        errx(2, "a connection was lost: %s", strerror(-error));
    caller_close(&client->caller);
    if (client->state == HOLDS)
        call(crowd, "DELETE", "", client->token, 200);
    crowd->there -= client->state != DONE;
    client->state = LOST;
}

static void grant(struct crowd *crowd, struct client *client)
{
    int64_t now = clock_us();
    if (now - crowd->last_us > crowd->stall_us)
        crowd->stall_us = now - crowd->last_us;
    crowd->last_us = now;
    crowd->granted++;
    crowd->granted_after += crowd->killed && !client->doomed;
    client->state = HOLDS;
    while (crowd->first < crowd->count && crowd->clients[crowd->first].state != WAITS)
        crowd->first++;
    for (size_t i = crowd->first; &crowd->clients[i] < client; i++) {
        if (crowd->clients[i].state == WAITS && !(crowd->clients[i].doomed && crowd->killed)) {
            crowd->passed++;
            break;
        }
    }
    send_own(crowd, client, "DELETE", "");
}

static void serve(struct crowd *crowd, struct client *client)
{
    int result = caller_take(&client->caller);
    if (result < 0)
        lose(crowd, client, result);
    if (result <= 0)
        return;
    if (client->caller.status != (client->state == WAITS ? 201 : 200))
        errx(1, "%d: %s", client->caller.status, client->caller.body);
    if (client->state == WAITS) {
        grant(crowd, client);
        return;
    }
    client->state = DONE;
    crowd->there--;
}

static void release_all(struct crowd *crowd, pid_t pid, size_t kill_at)
{
    while (crowd->there > 0) {
        struct epoll_event event;
        int n = epoll_wait(crowd->epoll, &event, 1, REPLY_MS);
        if (n < 0 && errno != EINTR)
            err(2, "epoll_wait");
        if (n == 0)
            errx(1, "nobody was granted the lock for %d s, with %zu clients still there",
                 REPLY_MS / 1000, crowd->there);
        if (n > 0)
            serve(crowd, event.data.ptr);
        if (!crowd->killed && crowd->granted >= kill_at) {
            crowd->killed = true;
            if (kill(pid, SIGKILL) < 0)
                err(2, "kill %d", (int)pid);
        }
    }
}

static void report(const struct options *options, struct figures *figures,
                   const struct crowd *crowd, size_t kill_at)
{
    size_t survivors = 0, left_out = 0;
    for (size_t i = 0; i < crowd->count; i++) {
        survivors += !crowd->clients[i].doomed;
        left_out += !crowd->clients[i].doomed && crowd->clients[i].state != DONE;
    }
    figure_plain((double)crowd->granted_after, "",
                 "killed after %zu grants; granted to the other's clients since", kill_at);
    figure_at_most(figures, (double)left_out, "", 0,
                   "clients of the other that were not granted, of %zu", survivors);
    figure_at_most(figures, (double)crowd->passed, "", 0, "grants that passed somebody");
    figure_at_most(figures, (double)crowd->stall_us / 1000, "ms",
                   (double)(options->claim_window_ms + SLACK_MS), "longest time without a grant");
}

void mode_kill(const struct options *options, struct figures *figures)
{
    options_need(options, 2, 0, 1);
    struct crowd crowd = {.count = (size_t)options->waiters,
                          .there = (size_t)options->waiters,
                          .epoll = epoll_create1(EPOLL_CLOEXEC)};
    run_begin(&crowd.run);
    crowd.clients = calloc(crowd.count, sizeof *crowd.clients);
    if (!crowd.clients)
        err(2, "kill");
    for (size_t i = 0; i < 2; i++)
        crowd.servers[i] = caller_address(options->urls[i]);
    int result = caller_open(&crowd.control, &crowd.servers[1]);
    if (result < 0)
        errx(2, "cannot connect: %s", strerror(-result));
    unsigned held = crowd.run.next++;
    call(&crowd, "POST", "?ttl=10m", held, 201);
    park(&crowd, options->wait);

    unsigned short seed[3] = {(unsigned short)options->seed};
    size_t kill_at = crowd.count / 10 + (size_t)nrand48(seed) % (crowd.count / 4 + 1);
    crowd.last_us = clock_us();
    call(&crowd, "DELETE", "", held, 200);
    release_all(&crowd, (pid_t)options->pid, kill_at);
    report(options, figures, &crowd, kill_at);
    for (size_t i = 0; i < crowd.count; i++)
        if (crowd.clients[i].state != LOST)
            caller_close(&crowd.clients[i].caller);
    caller_close(&crowd.control);
    free(crowd.clients);
    close(crowd.epoll);
}
