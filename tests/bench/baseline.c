#include "tests/bench/baseline.h"

#include "tests/support/clock.h"

#include <err.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { REPLY_MS = 20000, EVENTS = 64 };

void baseline_open(struct baseline *baseline, const char *redis, const struct run *run)
{
    baseline->taker = plain_connect(redis);
    baseline->giver = plain_connect(redis);
    snprintf(baseline->key, sizeof baseline->key, "bench-%08x-list", run->id);
}

void baseline_close(struct baseline *baseline)
{
    redisFree(baseline->taker);
    redisFree(baseline->giver);
}

int64_t baseline_hand_over(struct baseline *baseline, int64_t pause_ms)
{
    plain_send(baseline->taker, "BLPOP %s 0", baseline->key);
    freeReplyObject(plain_command(baseline->giver, "PING")); /* then Redis has the BLPOP, too */
    if (pause_ms)
        clock_sleep_ms(pause_ms);
    int64_t start = clock_us(), end = 0;
    plain_send(baseline->giver, "LPUSH %s 1", baseline->key);
    for (bool pushed = false; !pushed || !end;) {
        struct pollfd news[] = {{.fd = baseline->taker->fd, .events = POLLIN},
                                {.fd = baseline->giver->fd, .events = POLLIN}};
        if (poll(news, 2, REPLY_MS) < 1)
            errx(2, "no hand-over by BLPOP");
        redisReply *taken = news[0].revents ? plain_read(baseline->taker) : NULL;
        if (taken)
            end = clock_us();
        redisReply *answer = news[1].revents ? plain_read(baseline->giver) : NULL;
        pushed = pushed || answer;
        if (taken)
            freeReplyObject(taken);
        if (answer)
            freeReplyObject(answer);
    }
    return end - start;
}

/* What a client does next after a reply: an array is BLPOP's. Returns whether it was one. */
static bool go_on(redisContext *link, const char *key)
{
    redisReply *reply = plain_read(link);
    if (!reply)
        return false;
    bool taken = reply->type == REDIS_REPLY_ARRAY;
    freeReplyObject(reply);
    if (taken)
        plain_send(link, "LPUSH %s 1", key);
    else
        plain_send(link, "BLPOP %s 0", key);
    return taken;
}

static double pass_around(redisContext **links, size_t count, const char *key, int64_t ms)
{
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    for (size_t i = 0; i < count; i++) {
        struct epoll_event interest = {.events = EPOLLIN, .data.ptr = links[i]};
        epoll_ctl(epoll, EPOLL_CTL_ADD, links[i]->fd, &interest);
        if (i > 0)
            plain_send(links[i], "BLPOP %s 0", key);
    }
    int64_t start = clock_us(), end = start + ms * 1000, passed = 0;
    plain_send(links[0], "LPUSH %s 1", key);
    while (clock_us() < end) {
        struct epoll_event events[EVENTS];
        int n = epoll_wait(epoll, events, EVENTS, REPLY_MS);
        if (n < 1)
            errx(2, "the element is lost");
        for (int i = 0; i < n; i++)
            passed += go_on(events[i].data.ptr, key);
    }
    close(epoll);
    return (double)passed * 1e6 / (double)(clock_us() - start);
}

double baseline_contend(const char *redis, const struct run *run, size_t clients, int64_t ms)
{
    char key[64];
    snprintf(key, sizeof key, "bench-%08x-round", run->id);
    redisContext **links = calloc(clients, sizeof(redisContext *));
    if (!links)
        err(2, "baseline");
    for (size_t i = 0; i < clients; i++)
        links[i] = plain_connect(redis);
    double rate = pass_around(links, clients, key, ms);
    for (size_t i = 0; i < clients; i++)
        redisFree(links[i]);
    free(links);
    redisContext *link = plain_connect(redis);
    freeReplyObject(plain_command(link, "DEL %s", key));
    redisFree(link);
    return rate;
}
