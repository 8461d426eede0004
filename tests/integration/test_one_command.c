/* An uncontended acquire is exactly one command to Redis: one FCALL, in which the clock is read,
 * the name is read and the name is written, once each. */
#include "tests/integration/service.h"

#include "tests/support/raw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Each worker looks at the record of Redis once a second: one call, with TIME and one HMGET. And
 * about once an hour at the libraries: one call, with TIME, HSET and HGETALL. */
enum { ACQUIRES = 10000, BATCH = 100, REPLIES_SIZE = 128 * 1024, LOOKS_MOST = 40 };

static const char *const COUNTED[] = {"fcall", "time", "get", "set"};
enum { COUNTED_COUNT = sizeof COUNTED / sizeof *COUNTED };

/* How many commands Redis has run, those within scripts included, without our own INFO and the PING
 * by which a server makes sure of its inbox once a second, whatever it does. */
static long long all_calls(struct redis_process *redis)
{
    static const char OURS[] = "cmdstat_info:", PINGS[] = "cmdstat_ping:";
    long long sum = 0;
    redisReply *reply = redis_process_command(redis, "INFO commandstats");
    for (const char *line = strstr(reply->str, "cmdstat_"); line;
         line = strstr(line, "\ncmdstat_")) {
        line += *line == '\n';
        if (strncmp(line, OURS, strlen(OURS)) != 0 && strncmp(line, PINGS, strlen(PINGS)) != 0)
            sum += strtoll(strstr(line, "calls=") + strlen("calls="), NULL, 10);
        line++;
    }
    freeReplyObject(reply);
    return sum;
}

/* Sends a batch of acquires over one kept connection, and hears all of them granted. */
static void acquire_batch(int fd, int first)
{
    static char requests[BATCH * 80], replies[REPLIES_SIZE];
    char *end = requests;
    for (int i = first; i < first + BATCH; i++)
        end += sprintf(end, "POST /locks/name%d HTTP/1.1\r\nHost: h\r\n\r\n", i);
    assert_true(raw_send(fd, requests, (size_t)(end - requests)));
    size_t length = 0;
    int granted = 0;
    while (granted < BATCH) {
        length += raw_receive(fd, replies + length, REPLIES_SIZE - length, "}", 10000, NULL);
        granted = 0;
        for (char *at = replies; (at = strstr(at, "\"holds\":1}")); at++)
            granted++;
        assert_true(length + 1 < REPLIES_SIZE);
    }
}

static void ten_thousand_acquires_are_ten_thousand_commands(void **state)
{
    struct service *service = *state;
    long long before[COUNTED_COUNT];
    int fd = raw_connect(service->batond.port);
    answers(service->client, "POST /locks/first", NULL, 201, NULL); /* loads the library */
    for (int i = 0; i < COUNTED_COUNT; i++)
        before[i] = redis_process_calls(&service->redis, COUNTED[i]);
    long long all = all_calls(&service->redis);
    long long looks = redis_process_calls(&service->redis, "hmget");
    long long checks = redis_process_calls(&service->redis, "hgetall");

    for (int i = 0; i < ACQUIRES; i += BATCH)
        acquire_batch(fd, i);
    close(fd);

    all = all_calls(&service->redis) - all;
    looks = redis_process_calls(&service->redis, "hmget") - looks;
    checks = redis_process_calls(&service->redis, "hgetall") - checks;
    assert_in_range(looks, 0, LOOKS_MOST);
    for (int i = 0; i < COUNTED_COUNT; i++) {
        bool is_of_looks = strcmp(COUNTED[i], "fcall") == 0 || strcmp(COUNTED[i], "time") == 0;
        assert_int_equal(redis_process_calls(&service->redis, COUNTED[i]) - before[i],
                         ACQUIRES + (is_of_looks ? looks + checks : 0));
    }
    assert_int_equal(all, COUNTED_COUNT * ACQUIRES + 3 * looks + 4 * checks); /* and nothing else */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_thousand_acquires_are_ten_thousand_commands),
    };
    return cmocka_run_group_tests(tests, service_start, service_stop);
}
