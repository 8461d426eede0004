#include "tests/bench/lane.h"

#include "tests/support/clock.h"

#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
    REPLY_MS = 20000,
    RECONNECT_EVERY = 25, /* hand-overs: so as to meet every worker, where there are several */
};

struct lane_name {
    unsigned held; /* number of the token that holds it */
    size_t head;   /* which of its waiters is next */
};

static void *make(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory)
        err(2, "lane");
    return memory;
}

static void connect_caller(struct lane *lane, struct caller *caller)
{
    int result = caller_open(caller, &lane->server);
    if (result < 0)
        errx(2, "cannot connect: %s", strerror(-result));
    struct epoll_event interest = {.events = EPOLLIN, .data.ptr = caller};
    if (epoll_ctl(lane->epoll, EPOLL_CTL_ADD, caller->fd, &interest) < 0)
        err(2, "epoll_ctl");
}

static struct caller *control_of(const struct lane *lane)
{
    return lane->control[lane->rounds % LANE_CONTROLS];
}

/* A request of a control connection that has to succeed. */
static struct caller *call(const struct lane *lane, const char *method, const char *target,
                           const char *token, int wanted)
{
    struct caller *control = control_of(lane);
    int status = caller_call(control, method, target, token);
    if (status < 0)
        errx(2, "%s %s: %s", method, target, strerror(-status));
    if (status != wanted)
        errx(2, "%s %s: %d %s", method, target, status, control->body);
    return control;
}

static void take_name(struct lane *lane, size_t name)
{
    char target[RUN_TARGET], token[RUN_TOKEN];
    lane->name[name].held = lane->run->next++;
    run_token(lane->run, lane->name[name].held, token);
    run_target(lane->run, lane->first + name, "?ttl=10m", target);
    call(lane, "POST", target, token, 201);
}

void lane_open(struct lane *lane, struct run *run, const struct lane_options *options)
{
    *lane = (struct lane){.run = run,
                          .server = caller_address(options->url),
                          .first = options->first_name,
                          .names = options->names,
                          .waiters = options->waiters,
                          .epoll = epoll_create1(EPOLL_CLOEXEC)};
    snprintf(lane->query, sizeof lane->query, "?ttl=10m&wait=%s", options->wait);
    lane->name = make(lane->names, sizeof *lane->name);
    lane->parked = make(lane->names * lane->waiters, sizeof *lane->parked);
    lane->token = make(lane->names * lane->waiters, sizeof *lane->token);
    for (size_t i = 0; i < LANE_CONTROLS; i++) {
        lane->control[i] = make(1, sizeof **lane->control);
        connect_caller(lane, lane->control[i]);
    }
    for (size_t i = 0; i < lane->names * lane->waiters; i++)
        lane->parked[i].fd = -1;
    for (size_t i = 0; i < lane->names; i++)
        take_name(lane, i);
}

/* Waits until the queue of the name has that length, with this client at its end. */
static void wait_for_length(const struct lane *lane, size_t name, int64_t length,
                            struct caller *last)
{
    char target[RUN_TARGET];
    run_target(lane->run, lane->first + name, "", target);
    int64_t deadline = clock_ms() + REPLY_MS;
    while (caller_integer(call(lane, "GET", target, NULL, 200), "queue_length") != length) {
        if (caller_take(last) != 0)
            errx(2, "%s: does not wait: %d %s", target, last->status, last->body);
        if (clock_ms() > deadline)
            errx(2, "%s: there are not %lld waiters", target, (long long)length);
    }
}

/* Afterwards the queue of the name has `length` waiters. */
static void park(struct lane *lane, size_t name, size_t index, size_t length)
{
    size_t which = name * lane->waiters + index;
    char target[RUN_TARGET], token[RUN_TOKEN];
    lane->token[which] = lane->run->next++;
    run_token(lane->run, lane->token[which], token);
    run_target(lane->run, lane->first + name, lane->query, target);
    int result = caller_send(&lane->parked[which], "POST", target, token);
    if (result < 0)
        errx(2, "%s: %s", target, strerror(-result));
    wait_for_length(lane, name, (int64_t)length, &lane->parked[which]);
}

void lane_fill(struct lane *lane)
{
    for (size_t name = 0; name < lane->names; name++) {
        for (size_t index = 0; index < lane->waiters; index++) {
            connect_caller(lane, &lane->parked[name * lane->waiters + index]);
            park(lane, name, index, index + 1);
        }
    }
}

/* Waits until a reply is complete, and returns whose. NULL when nothing came within `ms`. */
static struct caller *next_reply(const struct lane *lane, int64_t ms)
{
    int64_t deadline = clock_us() + ms * 1000;
    for (int64_t left = ms * 1000; left > 0; left = deadline - clock_us()) {
        struct epoll_event event;
        int n = epoll_wait(lane->epoll, &event, 1, (int)((left + 999) / 1000));
        if (n < 0 && errno != EINTR)
            err(2, "epoll_wait");
        if (n < 1)
            continue;
        int result = caller_take(event.data.ptr);
        if (result < 0)
            errx(2, "a connection was lost: %s", strerror(-result));
        if (result > 0)
            return event.data.ptr;
    }
    return NULL;
}

static void check(const struct caller *caller, int wanted)
{
    if (caller->status != wanted)
        errx(2, "%d instead of %d: %s", caller->status, wanted, caller->body);
}

int64_t lane_hand_over(struct lane *lane, size_t name)
{
    struct lane_name *state = &lane->name[name];
    size_t which = name * lane->waiters + state->head;
    struct caller *head = &lane->parked[which], *control = control_of(lane);
    char target[RUN_TARGET], token[RUN_TOKEN];
    run_token(lane->run, state->held, token);
    run_target(lane->run, lane->first + name, "", target);
    int64_t start = clock_us(), end = 0;
    int result = caller_send(control, "DELETE", target, token);
    if (result < 0)
        errx(2, "DELETE %s: %s", target, strerror(-result));
    for (bool released = false; !released || !end;) {
        struct caller *caller = next_reply(lane, REPLY_MS);
        if (!caller)
            errx(1, "%s: released, but nobody was granted it", target);
        if (caller == head)
            end = clock_us();
        else if (caller != control)
            errx(1, "%s: answered out of order: %d %s", target, caller->status, caller->body);
        released = released || caller == control;
        check(caller, caller == head ? 201 : 200);
    }
    state->held = lane->token[which];
    return end - start;
}

void lane_refill(struct lane *lane, size_t name)
{
    struct lane_name *state = &lane->name[name];
    struct caller *caller = &lane->parked[name * lane->waiters + state->head];
    if (++lane->rounds % RECONNECT_EVERY == 0) {
        caller_close(caller);
        connect_caller(lane, caller);
    }
    park(lane, name, state->head, lane->waiters);
    state->head = (state->head + 1) % lane->waiters;
}

void lane_rest(struct lane *lane, int64_t ms)
{
    const struct caller *caller = next_reply(lane, ms);
    if (caller)
        errx(1, "answered while nothing happened: %d %s", caller->status, caller->body);
}

void lane_close(struct lane *lane)
{
    for (size_t i = 0; i < lane->names * lane->waiters; i++)
        caller_close(&lane->parked[i]);
    for (size_t i = 0; i < lane->names; i++) {
        char target[RUN_TARGET], token[RUN_TOKEN];
        run_token(lane->run, lane->name[i].held, token);
        run_target(lane->run, lane->first + i, "", target);
        call(lane, "DELETE", target, token, 200);
    }
    for (size_t i = 0; i < LANE_CONTROLS; i++) {
        caller_close(lane->control[i]);
        free(lane->control[i]);
    }
    free(lane->name);
    free(lane->parked);
    free(lane->token);
    close(lane->epoll);
}
