#include "tests/chaos/land.h"

#include "tests/support/clock.h"
#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { READY_MS = 40000, ANSWER_MS = 1000, SENTINEL_PORT = 26379, SERVER_FLAGS = 24 };

/* Over its Unix socket, which no cut concerns. NULL where nobody answers. */
static redisReply *ask(const char *socket, const char *command)
{
    struct timeval limit = {.tv_sec = ANSWER_MS / 1000};
    redisContext *link = redisConnectUnixWithTimeout(socket, limit);
    redisReply *reply = NULL;
    if (link && !link->err) {
        redisSetTimeout(link, limit);
        reply = redisCommand(link, command);
    }
    redisFree(link);
    return reply;
}

static bool says(const char *socket, const char *command, const char *const *words)
{
    redisReply *reply = ask(socket, command);
    bool has = reply && reply->type == REDIS_REPLY_STRING;
    for (; has && *words; words++)
        has = strstr(reply->str, *words) != NULL;
    freeReplyObject(reply);
    return has;
}

/* Servers */

static void start_server(struct land *land, int index, const struct land_options *options)
{
    static const char *const COMMON[] = {
        "--repl-diskless-sync-delay", "0", "--repl-backlog-size", "4mb", "--protected-mode", "no"};
    struct redis_process *server = &land->servers[index];
    const char *const *more = options->redis;
    const char **flags = calloc(SERVER_FLAGS, sizeof *flags); /* for as long as it may be resumed */
    size_t count = 0;
    flags[count++] = "--bind";
    flags[count++] = hosts_address(index);
    for (size_t i = 0; i < sizeof COMMON / sizeof COMMON[0]; i++)
        flags[count++] = COMMON[i];
    for (; more && *more && count < SERVER_FLAGS - 1; more++)
        flags[count++] = *more;
    hosts_enter(&land->hosts, index);
    redis_process_start(
        server, &(struct redis_options){
                    .port = true, .arguments = flags, .environment = options->environment[index]});
    hosts_leave(&land->hosts);
    if (index > 0)
        freeReplyObject(redis_process_command(server, "REPLICAOF %s %d", hosts_address(0),
                                              land->servers[0].port));
    redisFree(server->link); /* sentinels end connections */
    server->link = NULL;
}

void land_resume(struct land *land, int server)
{
    hosts_enter(&land->hosts, server);
    redis_process_resume(&land->servers[server]);
    hosts_leave(&land->hosts);
    redisFree(land->servers[server].link);
    land->servers[server].link = NULL;
}

/* Sentinels */

static void write_config(const struct land *land, int index, const char *path)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file,
            "port %d\nbind %s\nprotected-mode no\ndir %s\nunixsocket %s\n"
            "sentinel monitor mymaster %s %d 2\n"
            "sentinel down-after-milliseconds mymaster %d\n"
            "sentinel failover-timeout mymaster 3000\n",
            SENTINEL_PORT, hosts_address(land_sentinel_host(index)),
            land->sentinels[index].dir.path, land->sentinels[index].socket, hosts_address(0),
            land->servers[0].port, LAND_DOWN_MS);
    fclose(file);
}

/* A sentinel asks servers for news every ten seconds, as a rule, and corrects one that takes itself
 * for the primary after eight. */
static bool hurries(void *context)
{
    redisReply *reply =
        ask(context, "SENTINEL DEBUG INFO-PERIOD 300 PUBLISH-PERIOD 300 TILT-PERIOD 1000");
    freeReplyObject(reply);
    return reply != NULL;
}

static void start_sentinel(struct land *land, int index)
{
    struct land_sentinel *sentinel = &land->sentinels[index];
    char config[120], log[100], socket[100];
    temp_dir_make(&sentinel->dir);
    snprintf(socket, sizeof socket, "%s/socket", sentinel->dir.path);
    memcpy(sentinel->socket, socket, sizeof socket);
    snprintf(config, sizeof config, "%s/conf", sentinel->dir.path);
    snprintf(log, sizeof log, "%s/log", sentinel->dir.path);
    write_config(land, index, config);
    hosts_enter(&land->hosts, land_sentinel_host(index));
    process_start(&sentinel->process,
                  (const char *const[]){"redis-server", config, "--sentinel", NULL}, NULL, log);
    hosts_leave(&land->hosts);
    if (!clock_wait_until(hurries, sentinel->socket, READY_MS))
        fail_msg("a sentinel does not start");
}

/* The server that a sentinel calls the primary; -1 where it does not answer. */
static int called_primary(const struct land *land, int index)
{
    int found = -1;
    redisReply *reply =
        ask(land->sentinels[index].socket, "SENTINEL GET-MASTER-ADDR-BY-NAME mymaster");
    if (reply && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2)
        for (int i = 0; i < LAND_SERVERS; i++)
            if (strcmp(reply->element[0]->str, hosts_address(i)) == 0)
                found = i;
    freeReplyObject(reply);
    return found;
}

/* A number in what a sentinel tells of the primary; -1 where it does not answer. */
static long figure(const struct land *land, int index, const char *name)
{
    long figure = -1;
    redisReply *reply = ask(land->sentinels[index].socket, "SENTINEL MASTER mymaster");
    for (size_t i = 0; reply && i + 1 < reply->elements; i += 2)
        if (strcmp(reply->element[i]->str, name) == 0)
            figure = strtol(reply->element[i + 1]->str, NULL, 10);
    freeReplyObject(reply);
    return figure;
}

struct change {
    const struct land *land;
    int old; /* -1: any */
    int primary;
};

/* Most of them. */
static bool has_changed(void *context)
{
    struct change *change = context;
    int votes[LAND_SERVERS] = {0};
    for (int i = 0; i < LAND_SENTINELS; i++) {
        int primary = called_primary(change->land, i);
        if (primary >= 0 && primary != change->old && ++votes[primary] > LAND_SENTINELS / 2) {
            change->primary = primary;
            return true;
        }
    }
    clock_sleep_ms(20);
    return false;
}

int land_await_other(struct land *land, int old)
{
    struct change change = {.land = land, .old = old};
    if (!clock_wait_until(has_changed, &change, READY_MS))
        fail_msg("the sentinels do not switch");
    return change.primary;
}

static bool follows(const struct land *land, int server)
{
    return says(land->servers[server].socket, "INFO replication",
                (const char *const[]){"role:slave", "master_link_status:up", NULL});
}

static bool are_at_peace(void *context)
{
    struct change *change = context;
    const struct land *land = change->land;
    clock_sleep_ms(20);
    change->primary = called_primary(land, 0);
    for (int i = 0; i < LAND_SENTINELS; i++)
        if (change->primary < 0 || called_primary(land, i) != change->primary ||
            figure(land, i, "num-slaves") != LAND_SERVERS - 1 ||
            figure(land, i, "num-other-sentinels") != LAND_SENTINELS - 1)
            return false;
    for (int i = 0; i < LAND_SERVERS; i++)
        if (i != change->primary && !follows(land, i))
            return false;
    return says(land->servers[change->primary].socket, "INFO replication",
                (const char *const[]){"role:master", "connected_slaves:2", NULL});
}

int land_await_peace(struct land *land)
{
    struct change change = {.land = land};
    if (!clock_wait_until(are_at_peace, &change, READY_MS))
        fail_msg("the servers and sentinels do not settle");
    sides_await_ready(&land->sides, NULL);
    return change.primary;
}

/* All of it */

bool land_start(struct land *land, const struct land_options *options)
{
    *land = (struct land){.url = "redis+sentinel://"};
    if (!hosts_open(&land->hosts, LAND_HOSTS))
        return false;
    for (int i = 0; i < LAND_SERVERS; i++)
        start_server(land, i, options);
    for (int i = 0; i < LAND_SENTINELS; i++) {
        start_sentinel(land, i);
        size_t length = strlen(land->url);
        snprintf(land->url + length, sizeof land->url - length, "%s%s:%d", i ? "," : "",
                 hosts_address(land_sentinel_host(i)), SENTINEL_PORT);
    }
    strcat(land->url, "/mymaster");
    land_await_peace(land);
    sides_start(&land->sides, &land->hosts, LAND_SERVERS + LAND_SENTINELS, land->url,
                options->batond);
    land_await_peace(land);
    return true;
}

void land_stop(struct land *land)
{
    sides_stop(&land->sides);
    for (int i = 0; i < LAND_SENTINELS; i++) {
        process_kill(&land->sentinels[i].process);
        temp_dir_remove(&land->sentinels[i].dir);
    }
    for (int i = 0; i < LAND_SERVERS; i++) {
        redis_process_stop(&land->servers[i]);
        free((void *)(uintptr_t)land->servers[i].arguments);
    }
    hosts_close(&land->hosts);
}
