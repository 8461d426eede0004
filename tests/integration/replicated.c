#include "tests/integration/replicated.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SYNC_MS = 20000 };

int64_t replication_number(struct redis_process *redis, const char *field)
{
    char pattern[64];
    snprintf(pattern, sizeof pattern, "\n%s:", field);
    redisReply *reply = redis_process_command(redis, "INFO replication");
    const char *found = strstr(reply->str, pattern);
    int64_t number = found ? strtoll(found + strlen(pattern), NULL, 10) : -1;
    freeReplyObject(reply);
    return number;
}

static int online(struct redis_process *primary)
{
    int count = 0;
    redisReply *reply = redis_process_command(primary, "INFO replication");
    for (const char *at = strstr(reply->str, "state=online"); at;
         at = strstr(at + 1, "state=online"))
        count++;
    freeReplyObject(reply);
    return count;
}

bool replicated_are(struct replicated *all, int count, int timeout_ms)
{
    int64_t deadline = clock_ms() + timeout_ms;
    while (online(&all->primary) != count) {
        if (clock_ms() > deadline)
            return false;
        clock_sleep_ms(10);
    }
    return true;
}

void replicated_start(struct replicated *all, int ms)
{
    static const char *const PRIMARY[] = {"--repl-diskless-sync-delay", "0", NULL};
    *all = (struct replicated){.wire = {.port = 0}};
    redis_process_start(&all->primary, &(struct redis_options){.port = true, .arguments = PRIMARY});
    wire_delay_start(&all->wire, all->primary.port, ms);
    for (int i = 0; i < REPLICAS; i++) {
        redis_process_start(&all->replicas[i], &(struct redis_options){.port = true});
        freeReplyObject(
            redis_process_command(&all->replicas[i], "REPLICAOF 127.0.0.1 %d", all->wire.port));
    }
    assert_true(replicated_are(all, REPLICAS, SYNC_MS));
    /* One that is online need not have acknowledged anything yet. */
    freeReplyObject(redis_process_command(&all->primary, "SET warm 1"));
    assert_int_equal(redis_process_integer(&all->primary, "WAIT %d %d", REPLICAS, SYNC_MS),
                     REPLICAS);
}

void replicated_stop(struct replicated *all)
{
    for (int i = 0; i < REPLICAS; i++)
        redis_process_stop(&all->replicas[i]);
    wire_delay_stop(&all->wire);
    redis_process_stop(&all->primary);
}

void replicated_open(struct replicated *all, int ms, const char *const *arguments)
{
    replicated_start(all, ms);
    batond_process_start(&all->batond, &(struct batond_options){.redis_url = all->primary.port_url,
                                                                .arguments = arguments});
    all->client = http_client_new(all->batond.url);
}

void replicated_close(struct replicated *all)
{
    http_client_free(all->client);
    int code = batond_process_stop(&all->batond);
    replicated_stop(all);
    assert_int_equal(code, 0);
}
