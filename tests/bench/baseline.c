#include "tests/bench/baseline.h"

#include "tests/support/clock.h"

#include <err.h>
#include <poll.h>
#include <stdio.h>

enum { REPLY_MS = 20000 };

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
