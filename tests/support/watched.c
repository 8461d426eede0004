#include "tests/support/watched.h"

#include "tests/support/clock.h"
#include "tests/support/cmocka.h"
#include "tests/support/free_port.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { READY_MS = 40000, ANSWER_MS = 2000 };

static const char PASSWORD_OF_SENTINELS[] = "watch-out";

static redisContext *connect_to(int port)
{
    struct timeval limit = {.tv_sec = ANSWER_MS / 1000};
    redisContext *link = redisConnectWithTimeout("127.0.0.1", port, limit);
    if (link && !link->err)
        redisSetTimeout(link, limit);
    return link;
}

/* NULL where nobody answers. Who has no password takes a login for an error, and goes on. */
static redisReply *try_to_ask(int port, const char *command)
{
    redisContext *link = connect_to(port);
    redisReply *reply = NULL;
    if (link && !link->err) {
        freeReplyObject(redisCommand(link, "AUTH %s", PASSWORD_OF_SENTINELS));
        reply = redisCommand(link, command);
    }
    redisFree(link);
    return reply;
}

redisReply *watched_ask(int port, const char *format, ...)
{
    char command[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    redisReply *reply = try_to_ask(port, command);
    if (!reply)
        fail_msg("port %d does not answer to %s", port, command);
    return reply;
}

static bool text_has(int port, const char *command, const char *const *words)
{
    redisReply *reply = try_to_ask(port, command);
    bool has = reply && reply->type == REDIS_REPLY_STRING;
    for (; has && *words; words++)
        has = strstr(reply->str, *words) != NULL;
    freeReplyObject(reply);
    return has;
}

/* The name's value in the answer to SENTINEL MASTER; -1 where nobody answers. */
static long figure_of(int port, const char *name)
{
    long figure = -1;
    redisReply *reply = try_to_ask(port, "SENTINEL MASTER mymaster");
    for (size_t i = 0; reply && i + 1 < reply->elements; i += 2)
        if (strcmp(reply->element[i]->str, name) == 0)
            figure = strtol(reply->element[i + 1]->str, NULL, 10);
    freeReplyObject(reply);
    return figure;
}

static void write_config(const struct watcher *watcher, const struct watched *watched,
                         const struct watched_options *options)
{
    char path[120];
    snprintf(path, sizeof path, "%s/conf", watcher->dir.path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "port %d\nbind 127.0.0.1\ndir %s\n", watcher->port, watcher->dir.path);
    if (options->tls)
        fprintf(file,
                "tls-port %d\ntls-cert-file %s\ntls-key-file %s\ntls-ca-cert-file %s\n"
                "tls-auth-clients no\ntls-replication yes\n",
                watcher->tls_port, watched->certificate.file, watched->certificate.key,
                watched->authority.file);
    if (options->names)
        fprintf(file, "sentinel resolve-hostnames yes\nsentinel announce-hostnames yes\n");
    if (options->password)
        fprintf(file, "requirepass %s\nsentinel sentinel-pass %s\n", PASSWORD_OF_SENTINELS,
                PASSWORD_OF_SENTINELS);
    fprintf(file,
            "sentinel monitor mymaster %s %d 2\n"
            "sentinel down-after-milliseconds mymaster %d\n"
            "sentinel failover-timeout mymaster 3000\n",
            options->names ? "localhost" : "127.0.0.1",
            options->tls ? watched->tls_ports[0] : watched->servers[0].port, WATCHED_DOWN_MS);
    fclose(file);
}

/* A sentinel asks servers for news every ten seconds, as a rule, and corrects one that takes itself
 * for the primary after eight. Before Redis 7 that cannot be changed: tests take longer there. */
static bool hurries(void *context)
{
    const struct watcher *watcher = context;
    redisReply *reply = try_to_ask(
        watcher->port, "SENTINEL DEBUG INFO-PERIOD 300 PUBLISH-PERIOD 300 TILT-PERIOD 1000");
    freeReplyObject(reply);
    return reply != NULL;
}

static void launch_sentinel(struct watcher *watcher)
{
    char config[120], log[100];
    snprintf(config, sizeof config, "%s/conf", watcher->dir.path);
    snprintf(log, sizeof log, "%s/log", watcher->dir.path);
    process_start(&watcher->process,
                  (const char *const[]){redis_process_program(), config, "--sentinel", NULL}, NULL,
                  log);
    if (!clock_wait_until(hurries, watcher, READY_MS))
        fail_msg("a sentinel does not start");
}

static void start_sentinel(struct watched *watched, struct watcher *watcher,
                           const struct watched_options *options)
{
    temp_dir_make(&watcher->dir);
    watcher->port = free_port();
    watcher->tls_port = options->tls ? free_port() : 0;
    write_config(watcher, watched, options);
    launch_sentinel(watcher);
}

/* hiredis cannot be told from outside that Sentinel ends connections: watched_ask makes its own. */
static void disconnect(struct redis_process *server)
{
    if (server->link)
        redisFree(server->link);
    server->link = NULL;
}

static void make_certificates(struct watched *watched)
{
    temp_dir_make(&watched->certificates);
    certificate_make(&watched->authority, &watched->certificates, "authority",
                     &(struct certificate_options){.authority = true});
    certificate_make(
        &watched->certificate, &watched->certificates, "redis",
        &(struct certificate_options){.issuer = &watched->authority, .names = "IP:127.0.0.1"});
}

/* At a port of its own, beside the plain one. */
static void start_tls(struct watched *watched, int index)
{
    struct redis_process *server = &watched->servers[index];
    watched->tls_ports[index] = free_port();
    freeReplyObject(redis_process_command(
        server,
        "CONFIG SET tls-cert-file %s tls-key-file %s tls-ca-cert-file %s tls-auth-clients no "
        "tls-replication yes tls-port %d",
        watched->certificate.file, watched->certificate.key, watched->authority.file,
        watched->tls_ports[index]));
}

/* Where the name localhost is ::1, too, it may be that one that a sentinel takes. */
static void start_servers(struct watched *watched, bool tls)
{
    static const char *const COMMON[] = {
        "--bind", "127.0.0.1",           "-::1", "--repl-diskless-sync-delay",
        "0",      "--repl-backlog-size", "4mb",  NULL};
    for (int i = 0; i < WATCHED_SERVERS; i++) {
        struct redis_process *server = &watched->servers[i];
        redis_process_start(server, &(struct redis_options){.port = true, .arguments = COMMON});
        if (tls)
            start_tls(watched, i);
        int port = tls ? watched->tls_ports[0] : watched->servers[0].port;
        if (i > 0)
            freeReplyObject(redis_process_command(server, "REPLICAOF 127.0.0.1 %d", port));
        disconnect(server);
    }
    for (int i = 1; i < WATCHED_SERVERS; i++)
        watched_await_replica(watched, i);
}

static bool all_are_known(void *context)
{
    const struct watched *watched = context;
    for (int i = 0; i < WATCHED_SENTINELS; i++) {
        int port = watched->sentinels[i].port;
        if (figure_of(port, "num-slaves") != WATCHED_SERVERS - 1 ||
            figure_of(port, "num-other-sentinels") != WATCHED_SENTINELS - 1)
            return false;
        clock_sleep_ms(50);
    }
    return true;
}

void watched_start(struct watched *watched, const struct watched_options *options)
{
    static const struct watched_options NONE = {.names = false};
    options = options ? options : &NONE;
    *watched = (struct watched){.url = ""};
    snprintf(watched->url, sizeof watched->url, "%s+sentinel://",
             options->tls ? "rediss" : "redis");
    if (options->tls)
        make_certificates(watched);
    start_servers(watched, options->tls);
    for (int i = 0; i < WATCHED_SENTINELS; i++) {
        start_sentinel(watched, &watched->sentinels[i], options);
        size_t length = strlen(watched->url);
        snprintf(watched->url + length, sizeof watched->url - length, "%s127.0.0.1:%d",
                 i ? "," : "",
                 options->tls ? watched->sentinels[i].tls_port : watched->sentinels[i].port);
    }
    strcat(watched->url, "/mymaster");
    if (!clock_wait_until(all_are_known, watched, READY_MS))
        fail_msg("the sentinels do not find each other");
}

void watched_stop(struct watched *watched)
{
    for (int i = 0; i < WATCHED_SENTINELS; i++) {
        process_kill(&watched->sentinels[i].process);
        temp_dir_remove(&watched->sentinels[i].dir);
    }
    for (int i = 0; i < WATCHED_SERVERS; i++)
        redis_process_stop(&watched->servers[i]);
    temp_dir_remove(&watched->certificates);
}

/* -1 where it does not answer. */
static int primary_of(const struct watched *watched, int index)
{
    int port = 0, found = -1;
    redisReply *reply =
        try_to_ask(watched->sentinels[index].port, "SENTINEL GET-MASTER-ADDR-BY-NAME mymaster");
    if (reply && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2)
        port = atoi(reply->element[1]->str);
    freeReplyObject(reply);
    for (int i = 0; i < WATCHED_SERVERS; i++)
        if (watched->servers[i].port == port)
            found = i;
    return found;
}

int watched_primary(const struct watched *watched, int index)
{
    int primary = primary_of(watched, index);
    assert_in_range(primary, 0, WATCHED_SERVERS - 1);
    return primary;
}

struct change {
    const struct watched *watched;
    int old;
    int primary;
};

static bool has_changed(void *context)
{
    struct change *change = context;
    const struct watched *watched = change->watched;
    change->primary = -1;
    for (int i = 0; i < WATCHED_SENTINELS; i++) {
        int primary = watched->sentinels[i].process.pid ? primary_of(watched, i) : -1;
        if (primary < 0)
            continue;
        if (primary == change->old || (change->primary >= 0 && change->primary != primary))
            return false;
        change->primary = primary;
    }
    clock_sleep_ms(20);
    return change->primary >= 0 &&
           text_has(watched->servers[change->primary].port, "INFO replication",
                    (const char *const[]){"role:master", NULL});
}

int watched_await_other(const struct watched *watched, int old)
{
    struct change change = {.watched = watched, .old = old};
    if (!clock_wait_until(has_changed, &change, READY_MS))
        fail_msg("the sentinels do not switch");
    return change.primary;
}

static bool is_replica(void *context)
{
    const struct redis_process *server = context;
    clock_sleep_ms(20);
    return text_has(server->port, "INFO replication",
                    (const char *const[]){"role:slave", "master_link_status:up", NULL});
}

void watched_await_replica(const struct watched *watched, int server)
{
    if (!clock_wait_until(is_replica, (void *)(uintptr_t)&watched->servers[server], READY_MS))
        fail_msg("server %d does not become a replica", server);
}

static bool begins_to_fail_over(void *context)
{
    const struct watched *watched = context;
    redisReply *reply = watched_ask(watched->sentinels[0].port, "SENTINEL FAILOVER mymaster");
    bool begins = reply->type == REDIS_REPLY_STATUS;
    freeReplyObject(reply);
    if (!begins)
        clock_sleep_ms(50);
    return begins;
}

void watched_fail_over(const struct watched *watched)
{
    if (!clock_wait_until(begins_to_fail_over, (void *)(uintptr_t)watched, READY_MS))
        fail_msg("no sentinel begins a failover");
}

void watched_resume_sentinel(struct watched *watched, int index)
{
    launch_sentinel(&watched->sentinels[index]);
}

struct move {
    const struct watched *watched;
    int index;
};

static bool others_know_its_place(void *context)
{
    const struct move *move = context;
    bool all = true;
    for (int i = 0; all && i < WATCHED_SENTINELS; i++) {
        int known = i == move->index ? 0 : -1;
        redisReply *reply =
            try_to_ask(move->watched->sentinels[i].port, "SENTINEL SENTINELS mymaster");
        for (size_t j = 0; known < 0 && reply && j < reply->elements; j++)
            if (atoi(reply->element[j]->element[5]->str) ==
                move->watched->sentinels[move->index].port)
                known = 0;
        all = known == 0;
        if (reply)
            freeReplyObject(reply);
    }
    return all;
}

void watched_move_sentinel(struct watched *watched, int index)
{
    struct watcher *watcher = &watched->sentinels[index];
    char path[120];
    snprintf(path, sizeof path, "%s/conf", watcher->dir.path);
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    watcher->port = free_port();
    fprintf(file, "\nport %d\n", watcher->port); /* the last one counts */
    fclose(file);
    launch_sentinel(watcher);
    struct move move = {watched, index};
    if (!clock_wait_until(others_know_its_place, &move, READY_MS))
        fail_msg("the other sentinels do not learn where it is");
}

void watched_resume(struct watched *watched, int server)
{
    redis_process_resume(&watched->servers[server]);
    disconnect(&watched->servers[server]);
}
