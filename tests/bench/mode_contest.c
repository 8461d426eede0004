#include "tests/bench/exchange.h"
#include "tests/bench/modes.h"
#include "tests/bench/run.h"

#include "tests/support/clock.h"

#include <err.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS = 64, REPLY_MS = 20000 };

/* A client asks (arrived), is granted the lock, sends the release at once, and asks again when that
 * is answered. In ns; 0: not within the time. */
struct turn {
    size_t client;
    int64_t arrived;
    int64_t granted;
    int64_t released;
};

struct contender {
    struct caller caller;
    struct values values;
    size_t step; /* that it waits for the answer of */
    struct turn turn;
};

struct contest {
    struct exchange exchange; /* each: acquires, and releases */
    struct run run;
    struct contender *contenders;
    size_t count;
    struct turn *turns; /* that are over */
    size_t turn_count;
    size_t room;
    int epoll;
};

static void keep_turn(struct contest *contest, const struct turn *turn)
{
    if (contest->turn_count == contest->room) {
        contest->room = 2 * contest->room + 65536;
        contest->turns = reallocarray(contest->turns, contest->room, sizeof *contest->turns);
        if (!contest->turns)
            err(2, "contest");
    }
    contest->turns[contest->turn_count++] = *turn;
}

static void send_step(struct contest *contest, struct contender *contender)
{
    char request[EXCHANGE_MOST];
    if (contender->step == contest->exchange.once)
        run_token(&contest->run, contest->run.next++, contender->values.of[VALUE_TOKEN]);
    size_t length = exchange_ask(&contest->exchange, contender->step, &contender->values, request);
    if (contender->step == contest->exchange.once)
        contender->turn = (struct turn){.client = contender->turn.client, .arrived = clock_ns()};
    else if (contender->step > contest->exchange.once)
        contender->turn.released = clock_ns();
    int result = caller_send_made(&contender->caller, request, length);
    if (result < 0)
        errx(2, "cannot send: %s", strerror(-result));
}

/* Takes what has come, and with a whole answer goes on to the next step. Returns whether it was. */
static bool serve(struct contest *contest, struct contender *contender)
{
    int result = caller_take(&contender->caller);
    if (result == 0)
        return false;
    if (result < 0)
        errx(2, "a connection was lost: %s", strerror(-result));
    if (contender->step == contest->exchange.once)
        contender->turn.granted = clock_ns();
    else if (contender->step > contest->exchange.once)
        keep_turn(contest, &contender->turn);
    if (!exchange_check(&contest->exchange, contender->step, &contender->caller,
                        &contender->values))
        errx(2, "step %zu was answered: %s", contender->step, contender->caller.reply);
    if (++contender->step == contest->exchange.count)
        contender->step = contest->exchange.once;
    return true;
}

/* Connects, and asks what is to be asked once. */
static void prepare(struct contest *contest, struct contender *contender,
                    const struct sockaddr_in *server)
{
    int result = caller_open(&contender->caller, server);
    if (result < 0)
        errx(2, "cannot connect: %s", strerror(-result));
    contender->caller.redis = contest->exchange.redis;
    while (contender->step < contest->exchange.once) {
        send_step(contest, contender);
        do {
            struct pollfd news = {.fd = contender->caller.fd, .events = POLLIN};
            if (poll(&news, 1, REPLY_MS) < 1)
                errx(2, "no answer");
        } while (!serve(contest, contender));
    }
    struct epoll_event interest = {.events = EPOLLIN, .data.ptr = contender};
    if (epoll_ctl(contest->epoll, EPOLL_CTL_ADD, contender->caller.fd, &interest) < 0)
        err(2, "epoll_ctl");
}

static void contend(struct contest *contest, int64_t end)
{
    struct epoll_event events[EVENTS];
    for (size_t i = 0; i < contest->count; i++)
        send_step(contest, &contest->contenders[i]);
    for (int64_t left; (left = end - clock_ns()) > 0;) {
        int n = epoll_wait(contest->epoll, events, EVENTS, (int)(left / 1000000) + 1);
        for (int i = 0; i < n; i++)
            if (serve(contest, events[i].data.ptr))
                send_step(contest, events[i].data.ptr);
    }
    for (size_t i = 0; i < contest->count; i++)
        keep_turn(contest, &contest->contenders[i].turn);
}

/* For tests/bench/compare/contended.py. */
static void print(const struct contest *contest, int64_t start, int64_t end)
{
    printf("# window %" PRId64 " %" PRId64 "\n", start, end);
    for (size_t i = 0; i < contest->turn_count; i++) {
        const struct turn *turn = &contest->turns[i];
        printf("%zu %" PRId64 " %" PRId64 " %" PRId64 "\n", turn->client, turn->arrived,
               turn->granted, turn->released);
    }
}

static void finish(struct contest *contest)
{
    for (size_t i = 0; i < contest->count; i++)
        caller_close(&contest->contenders[i].caller);
    free(contest->contenders);
    free(contest->turns);
    close(contest->epoll);
    exchange_clear(&contest->exchange);
}

void mode_contest(const struct options *options, struct figures *figures)
{
    (void)figures;
    options_need(options, 1, 0, 0);
    if (!options->exchange || options->clients == 0)
        errx(2, "this needs --exchange and --clients");
    struct contest contest = {.count = (size_t)options->clients,
                              .epoll = epoll_create1(EPOLL_CLOEXEC),
                              .contenders =
                                  calloc((size_t)options->clients, sizeof *contest.contenders)};
    if (!contest.contenders || contest.epoll < 0)
        err(2, "contest");
    struct sockaddr_in server;
    exchange_read(&contest.exchange, options->exchange, options->urls[0], &server);
    run_begin(&contest.run);
    for (size_t i = 0; i < contest.count; i++) {
        contest.contenders[i].turn.client = i;
        prepare(&contest, &contest.contenders[i], &server);
    }
    int64_t start = clock_ns(), end = start + options->seconds * 1000000000;
    contend(&contest, end);
    print(&contest, start, end);
    finish(&contest);
}
