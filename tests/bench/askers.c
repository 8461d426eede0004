#include "tests/bench/askers.h"

#include "tests/support/clock.h"

#include <err.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { EVENTS = 64, REPLY_MS = 20000 };

/* Base64 of something, too, as etcd wants its names. */
static void choose_name(struct askers *askers, struct asker *asker)
{
    snprintf(asker->values.of[VALUE_NAME], EXCHANGE_VALUE, "bench%08x%011u", askers->run.id,
             askers->names++);
}

static void send_step(struct askers *askers, struct asker *asker)
{
    char request[EXCHANGE_MOST];
    if (asker->step == askers->exchange.once) {
        run_token(&askers->run, askers->run.next++, asker->values.of[VALUE_TOKEN]);
        if (askers->fresh)
            choose_name(askers, asker);
    }
    size_t length = exchange_ask(&askers->exchange, asker->step, &asker->values, request);
    asker->asked = clock_ns();
    int result = caller_send_made(&asker->caller, request, length);
    if (result < 0)
        errx(2, "cannot send: %s", strerror(-result));
}

/* Takes what has come; with a whole answer, goes on to the next step. Returns whether it was one.
 */
static bool take(struct askers *askers, struct asker *asker)
{
    int result = caller_take(&asker->caller);
    if (result == 0)
        return false;
    if (result < 0)
        errx(2, "a connection was lost: %s", strerror(-result));
    asker->answered = clock_ns();
    bool right = exchange_check(&askers->exchange, asker->step, &asker->caller, &asker->values);
    askers->answered(askers->context, asker, right);
    if (++asker->step == askers->exchange.count)
        asker->step = askers->exchange.once;
    return true;
}

static void prepare(struct askers *askers, struct asker *asker, const struct sockaddr_in *server)
{
    int result = caller_open(&asker->caller, server);
    if (result < 0)
        errx(2, "cannot connect: %s", strerror(-result));
    asker->caller.redis = askers->exchange.redis;
    choose_name(askers, asker);
    while (asker->step < askers->exchange.once) {
        send_step(askers, asker);
        do {
            struct pollfd news = {.fd = asker->caller.fd, .events = POLLIN};
            if (poll(&news, 1, REPLY_MS) < 1)
                errx(2, "no answer");
        } while (!take(askers, asker));
    }
    struct epoll_event interest = {.events = EPOLLIN, .data.ptr = asker};
    if (epoll_ctl(askers->epoll, EPOLL_CTL_ADD, asker->caller.fd, &interest) < 0)
        err(2, "epoll_ctl");
}

void askers_open(struct askers *askers, const struct options *options)
{
    struct sockaddr_in server;
    options_need(options, 1, 0, 0);
    if (!options->exchange || options->clients == 0)
        errx(2, "this needs --exchange and --clients");
    askers->count = (size_t)options->clients;
    askers->fresh = options->fresh;
    askers->epoll = epoll_create1(EPOLL_CLOEXEC);
    askers->of = calloc(askers->count, sizeof *askers->of);
    if (!askers->of || askers->epoll < 0)
        err(2, "askers");
    run_begin(&askers->run);
    exchange_read(&askers->exchange, options->exchange, options->urls[0], &server);
    for (size_t i = 0; i < askers->count; i++)
        prepare(askers, &askers->of[i], &server);
}

void askers_close(struct askers *askers)
{
    for (size_t i = 0; i < askers->count; i++)
        caller_close(&askers->of[i].caller);
    free(askers->of);
    close(askers->epoll);
    exchange_clear(&askers->exchange);
}

void askers_start(struct askers *askers)
{
    for (size_t i = 0; i < askers->count; i++)
        send_step(askers, &askers->of[i]);
}

int askers_serve(struct askers *askers, int timeout_ms, bool go_on)
{
    struct epoll_event events[EVENTS];
    int served = 0, n = epoll_wait(askers->epoll, events, EVENTS, timeout_ms);
    for (int i = 0; i < n; i++) {
        if (!take(askers, events[i].data.ptr))
            continue;
        served++;
        if (go_on)
            send_step(askers, events[i].data.ptr);
    }
    return n < 1 ? -1 : served;
}
