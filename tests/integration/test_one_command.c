/* An uncontended acquire is exactly one command to Redis: one FCALL, in which the clock is read,
 * the name is read, the record of Redis' data is looked at and the name is written, once each. */
#include "tests/support/fixtures/service.h"

#include "tests/support/raw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Each worker looks at the record of Redis once a second: one call, with TIME and one HMGET. And
 * about once an hour at the libraries: one call, with TIME, HSET, PEXPIRE and HGETALL. If the
 * machine stands still, a call comes too late: it reads the clock alone, and is made again. If it
 * does so for long, a worker has to tell Redis of its TTLs anew, and the figures tell nothing. */
enum {
    ACQUIRES = 10000,
    BATCH = 100,
    REPLIES_SIZE = 128 * 1024,
    WORKERS = 2,
    LOOK_EVERY_MS = 1000,
    LONG_MS = 1000,
    LATE_MOST = ACQUIRES / 100
};

/* How many calls of each command Redis has counted, those within scripts included; `all` is without
 * our own INFO and the PING by which a server makes sure of its inbox once a second, whatever it
 * does. */
struct calls {
    long long fcall, time, get, hget, set, hmget, hgetall, all;
};

static long long counted(const char *stats, const char *command)
{
    char stat[32];
    snprintf(stat, sizeof stat, "cmdstat_%s:calls=", command);
    const char *found = strstr(stats, stat);
    return found ? strtoll(found + strlen(stat), NULL, 10) : 0;
}

/* All of one INFO: a look between two of them would be in one figure and not in the other. */
static struct calls calls_so_far(struct redis_process *redis)
{
    redisReply *reply = redis_process_command(redis, "INFO commandstats");
    const char *stats = reply->str;
    struct calls calls = {
        .fcall = counted(stats, "fcall"),
        .time = counted(stats, "time"),
        .get = counted(stats, "get"),
        .hget = counted(stats, "hget"),
        .set = counted(stats, "set"),
        .hmget = counted(stats, "hmget"),
        .hgetall = counted(stats, "hgetall"),
        .all = -counted(stats, "info") - counted(stats, "ping"),
    };
    for (const char *line = stats; (line = strstr(line, ":calls=")); line++)
        calls.all += strtoll(line + strlen(":calls="), NULL, 10);
    freeReplyObject(reply);
    return calls;
}

/* Sends a batch of acquires over one kept connection, and hears all of them granted. */
static void acquire_batch(int fd, int first)
{
    static char requests[BATCH * 80], replies[REPLIES_SIZE];
    char *end = requests;
    for (int i = first; i < first + BATCH; i++)
        end += sprintf(end, "POST /locks/name%d?ttl=1h HTTP/1.1\r\nHost: h\r\n\r\n", i);
    assert_true(raw_send(fd, requests, (size_t)(end - requests)));
    size_t length = 0;
    int granted = 0;
    while (granted < BATCH) {
        length +=
            raw_receive(fd, replies + length, REPLIES_SIZE - length, "}", CLOCK_HANG_MS, NULL);
        granted = 0;
        for (char *at = replies; (at = strstr(at, "\"holds\":1}")); at++)
            granted++;
        assert_true(length + 1 < REPLIES_SIZE);
    }
}

/* Of names from this number on. Returns whether the machine never stood still for long. */
static bool acquire_all(int fd, int first)
{
    bool is_steady = true;
    for (int i = 0; i < ACQUIRES; i += BATCH) {
        int64_t begun = clock_ms();
        acquire_batch(fd, first + i);
        is_steady &= clock_ms() - begun < LONG_MS;
    }
    return is_steady;
}

TEST_ON_SERVICE(ten_thousand_acquires_are_ten_thousand_commands)
{
    int fd = raw_connect(service->batond.port);
    /* It loads the library, and raises the span beyond all that follows. */
    answers(service->client, "POST /locks/first?ttl=1h", NULL, 201, NULL);
    acquire_batch(
        fd, -BATCH); /* another worker may serve it, and has yet to learn what the first has */
    int64_t begun, deadline = clock_ms() + CLOCK_HANG_MS;
    struct calls before;
    int first = 0;
    do {
        assert_true(clock_ms() < deadline);
        begun = clock_ms();
        before = calls_so_far(&service->redis);
    } while (!acquire_all(fd, ACQUIRES * first++));
    struct calls now = calls_so_far(&service->redis);
    close(fd);

    long long looks = now.hmget - before.hmget, checks = now.hgetall - before.hgetall,
              calls = now.fcall - before.fcall, late = calls - ACQUIRES - looks - checks;
    assert_in_range(looks, 0, WORKERS * ((clock_ms() - begun) / LOOK_EVERY_MS + 2));
    assert_in_range(late, 0, LATE_MOST);
    assert_int_equal(now.time - before.time, calls);
    assert_int_equal(now.get - before.get, ACQUIRES);
    assert_int_equal(now.hget - before.hget, ACQUIRES);
    assert_int_equal(now.set - before.set, ACQUIRES);
    assert_int_equal(now.all - before.all,
                     5 * ACQUIRES + 3 * looks + 5 * checks + 2 * late); /* and nothing else */
}

static int start(void **state)
{
    return service_start_with(state, NULL, LIST("--quarantine=auto", "--workers=2"));
}

RUN_TESTS(start, service_stop)
