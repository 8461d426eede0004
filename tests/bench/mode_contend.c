#include "tests/bench/caller.h"
#include "tests/bench/modes.h"
#include "tests/bench/plain.h"
#include "tests/bench/run.h"

#include "tests/support/clock.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { EVENTS = 64, REPLY_MS = 20000 };

struct contender {
    struct caller caller;
    unsigned token;
    bool holds;
};

/* A grant, or a token on its way to one: who came first, and who was granted first. */
struct turn {
    int64_t arrival; /* in which place Redis got the acquire; 0: not seen */
    int64_t fence;   /* 0: not granted */
};

struct contention {
    struct run *run;
    struct contender *contenders;
    size_t count;
    int epoll;
    redisContext *monitor;
    redisContext *link;
    int64_t arrivals;
    struct turn *turns; /* by number of the token */
    size_t room;
    const char *wait;
};

static struct turn *turn_of(struct contention *contention, size_t number)
{
    if (number >= contention->room) {
        size_t room = 2 * number + 1024;
        contention->turns = reallocarray(contention->turns, room, sizeof *contention->turns);
        if (!contention->turns)
            err(2, "contend");
        memset(contention->turns + contention->room, 0,
               (room - contention->room) * sizeof *contention->turns);
        contention->room = room;
    }
    return &contention->turns[number];
}

/* The first time that a script has a token is when its request joins the queue. */
static void note_arrival(struct contention *contention, const char *text)
{
    int64_t number = run_find_token(contention->run, text);
    struct turn *turn = number < 0 ? NULL : turn_of(contention, (size_t)number);
    if (turn && !turn->arrival)
        turn->arrival = ++contention->arrivals;
}

/* Returns whether the line is that of the ECHO of catch_up. */
static bool note_line(struct contention *contention, redisReply *line)
{
    bool is_echo = strstr(line->str, "\"ECHO\" \"now\"");
    note_arrival(contention, line->str);
    freeReplyObject(line);
    return is_echo;
}

static void read_monitor(struct contention *contention)
{
    redisReply *line = plain_read(contention->monitor);
    for (; line; line = plain_take(contention->monitor))
        note_line(contention, line);
}

/* Reads all that happened until now. */
static void catch_up(struct contention *contention)
{
    bool is_caught_up = false;
    freeReplyObject(plain_command(contention->link, "ECHO now"));
    while (!is_caught_up) {
        redisReply *line = plain_take(contention->monitor);
        if (!line)
            line = plain_read(contention->monitor);
        is_caught_up = line && note_line(contention, line);
    }
}

static void ask(struct contention *contention, struct contender *contender)
{
    char token[RUN_TOKEN], target[RUN_TARGET], query[64] = "";
    if (!contender->holds) {
        contender->token = contention->run->next++;
        snprintf(query, sizeof query, "?ttl=10s&wait=%s", contention->wait);
    }
    run_token(contention->run, contender->token, token);
    run_target(contention->run, 0, query, target);
    int result =
        caller_send(&contender->caller, contender->holds ? "DELETE" : "POST", target, token);
    if (result < 0)
        errx(2, "%s: %s", target, strerror(-result));
}

static void serve(struct contention *contention, struct contender *contender)
{
    int result = caller_take(&contender->caller);
    if (result < 0)
        errx(2, "a connection was lost: %s", strerror(-result));
    if (result == 0)
        return;
    if (contender->caller.status != (contender->holds ? 200 : 201))
        errx(2, "%d: %s", contender->caller.status, contender->caller.body);
    contender->holds = !contender->holds;
    if (contender->holds)
        turn_of(contention, contender->token)->fence = caller_integer(&contender->caller, "fence");
    ask(contention, contender);
}

static void serve_all(struct contention *contention)
{
    struct epoll_event events[EVENTS];
    int n = epoll_wait(contention->epoll, events, EVENTS, REPLY_MS);
    if (n < 1)
        errx(1, "nobody was granted the lock for %d s", REPLY_MS / 1000);
    for (int i = 0; i < n; i++) {
        if (events[i].data.ptr)
            serve(contention, events[i].data.ptr);
        else
            read_monitor(contention);
    }
}

static void watch(const struct contention *contention, int fd, void *who)
{
    struct epoll_event interest = {.events = EPOLLIN, .data.ptr = who};
    if (epoll_ctl(contention->epoll, EPOLL_CTL_ADD, fd, &interest) < 0)
        err(2, "epoll_ctl");
}

static void contend(struct contention *contention, const struct sockaddr_in *server, int64_t ms)
{
    contention->epoll = epoll_create1(EPOLL_CLOEXEC);
    contention->contenders = calloc(contention->count, sizeof *contention->contenders);
    if (!contention->contenders)
        err(2, "contend");
    watch(contention, contention->monitor->fd, NULL);
    for (size_t i = 0; i < contention->count; i++) {
        struct contender *contender = &contention->contenders[i];
        int result = caller_open(&contender->caller, server);
        if (result < 0)
            errx(2, "cannot connect: %s", strerror(-result));
        watch(contention, contender->caller.fd, contender);
        ask(contention, contender);
    }
    for (int64_t end = clock_ms() + ms; clock_ms() < end;)
        serve_all(contention);
    catch_up(contention);
    for (size_t i = 0; i < contention->count; i++)
        caller_close(&contention->contenders[i].caller);
    free(contention->contenders);
    close(contention->epoll);
}

/* Who was never granted comes last. */
static int by_fence(const void *left, const void *right)
{
    int64_t a = ((const struct turn *)left)->fence, b = ((const struct turn *)right)->fence;
    return a && b ? (a > b) - (a < b) : !a - !b;
}

/* Grants that passed somebody who came earlier, but was granted later or still waited. */
static void check_order(struct contention *contention, struct figures *figures)
{
    int64_t passed = 0, grants = 0, earliest = INT64_MAX;
    if (!contention->turns)
        errx(1, "nobody was granted the lock");
    qsort(contention->turns, contention->room, sizeof *contention->turns, by_fence);
    for (size_t i = contention->room; i-- > 0;) {
        const struct turn *turn = &contention->turns[i];
        if (turn->fence && !turn->arrival)
            errx(2, "MONITOR has not shown the request with fence %lld", (long long)turn->fence);
        grants += turn->fence > 0;
        passed += turn->fence && turn->arrival > earliest;
        if (turn->arrival && turn->arrival < earliest)
            earliest = turn->arrival;
    }
    figure_at_most(figures, (double)passed, "", 0, "grants that passed an earlier one, of %lld",
                   (long long)grants);
}

void mode_contend(const struct options *options, struct figures *figures)
{
    options_need(options, 1, 1, 0);
    struct run run;
    run_begin(&run);
    struct sockaddr_in server = caller_address(options->urls[0]);
    struct contention contention = {
        .run = &run, .count = (size_t)options->clients, .wait = options->wait};
    contention.monitor = plain_connect(options->redis);
    freeReplyObject(plain_command(contention.monitor, "MONITOR"));
    contention.link = plain_connect(options->redis);
    contend(&contention, &server, options->seconds * 1000);
    check_order(&contention, figures);
    redisFree(contention.monitor);
    redisFree(contention.link);
    free(contention.turns);
}
