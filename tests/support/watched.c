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

static const struct timeval PATIENCE = {.tv_sec = ANSWER_MS / 1000};

static const char *address_of(const struct watched *watched, int host)
{
    return watched->hosts ? hosts_address(host) : "127.0.0.1";
}

/* For other servers, and the sentinels. */
static int port_of(const struct watched *watched, int server)
{
    return watched->tls_ports[server] ? watched->tls_ports[server] : watched->servers[server].port;
}

static void enter(const struct watched *watched, int host)
{
    if (watched->hosts)
        hosts_enter(watched->hosts, host);
}

static void leave(const struct watched *watched)
{
    if (watched->hosts)
        hosts_leave(watched->hosts);
}

/* NULL where nobody answers. Who has no password takes a login for an error, and goes on. */
static redisReply *ask_link(redisContext *link, const char *command)
{
    redisReply *reply = NULL;
    if (link && !link->err) {
        redisSetTimeout(link, PATIENCE);
        freeReplyObject(redisCommand(link, "AUTH %s", PASSWORD_OF_SENTINELS));
        reply = redisCommand(link, command);
    }
    redisFree(link);
    return reply;
}

/* By a Unix socket, which no cut concerns. */
static redisReply *try_to_ask(const char *socket, const char *command)
{
    return ask_link(redisConnectUnixWithTimeout(socket, PATIENCE), command);
}

redisReply *watched_ask(int port, const char *format, ...)
{
    char command[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    redisReply *reply = ask_link(redisConnectWithTimeout("127.0.0.1", port, PATIENCE), command);
    if (!reply)
        fail_msg("port %d does not answer to %s", port, command);
    return reply;
}

static bool says_of_replication(const struct redis_process *server, const char *const *words)
{
    redisReply *reply = try_to_ask(server->socket, "INFO replication");
    bool has = reply && reply->type == REDIS_REPLY_STRING;
    for (; has && *words; words++)
        has = strstr(reply->str, *words) != NULL;
    freeReplyObject(reply);
    return has;
}

/* The name's value in the answer to SENTINEL MASTER; -1 where nobody answers. */
static long figure_of(const struct watcher *sentinel, const char *name)
{
    long figure = -1;
    redisReply *reply = try_to_ask(sentinel->socket, "SENTINEL MASTER mymaster");
    for (size_t i = 0; reply && i + 1 < reply->elements; i += 2)
        if (strcmp(reply->element[i]->str, name) == 0)
            figure = strtol(reply->element[i + 1]->str, NULL, 10);
    freeReplyObject(reply);
    return figure;
}

static void write_config(const struct watched *watched, int index,
                         const struct watched_options *options)
{
    const struct watcher *watcher = &watched->sentinels[index];
    char path[120];
    snprintf(path, sizeof path, "%s/conf", watcher->dir.path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "port %d\nbind %s\ndir %s\nunixsocket %s\n", watcher->port,
            address_of(watched, WATCHED_SERVERS + index), watcher->dir.path, watcher->socket);
    if (watched->hosts)
        fprintf(file, "protected-mode no\n");
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
            options->names ? "localhost" : address_of(watched, 0), port_of(watched, 0),
            WATCHED_DOWN_MS);
    fclose(file);
}

/* A sentinel asks servers for news every ten seconds, as a rule, and corrects one that takes itself
 * for the primary after eight. Before Redis 7 that cannot be changed: tests take longer there. */
static bool hurries(void *context)
{
    const struct watcher *watcher = context;
    redisReply *reply = try_to_ask(
        watcher->socket, "SENTINEL DEBUG INFO-PERIOD 300 PUBLISH-PERIOD 300 TILT-PERIOD 1000");
    freeReplyObject(reply);
    return reply != NULL;
}

static void launch_sentinel(struct watched *watched, int index)
{
    struct watcher *watcher = &watched->sentinels[index];
    char config[120], log[100];
    snprintf(config, sizeof config, "%s/conf", watcher->dir.path);
    snprintf(log, sizeof log, "%s/log", watcher->dir.path);
    enter(watched, WATCHED_SERVERS + index);
    process_start(&watcher->process,
                  (const char *const[]){redis_process_program(), config, "--sentinel", NULL}, NULL,
                  log);
    leave(watched);
    if (!clock_wait_until(hurries, watcher, READY_MS))
        fail_msg("a sentinel does not start");
}

static void start_sentinel(struct watched *watched, int index,
                           const struct watched_options *options)
{
    struct watcher *watcher = &watched->sentinels[index];
    struct temp_dir dir;
    temp_dir_make(&dir);
    snprintf(watcher->socket, sizeof watcher->socket, "%s/socket", dir.path);
    watcher->dir = dir;
    watcher->port = free_port();
    watcher->tls_port = options->tls ? free_port() : 0;
    write_config(watched, index, options);
    launch_sentinel(watched, index);
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
static void write_flags(const struct watched *watched, int index, const char *const *more,
                        const char *flags[WATCHED_FLAGS])
{
    const char *const common[] = {"--repl-diskless-sync-delay",
                                  "0",
                                  "--repl-backlog-size",
                                  "4mb",
                                  "--protected-mode",
                                  watched->hosts ? "no" : "yes",
                                  "--bind",
                                  address_of(watched, index),
                                  watched->hosts ? NULL : "-::1",
                                  NULL};
    size_t count = 0;
    for (; more && *more && count < WATCHED_FLAGS / 2; more++)
        flags[count++] = *more;
    for (size_t i = 0; common[i]; i++)
        flags[count++] = common[i];
}

static void start_servers(struct watched *watched, const struct watched_options *options)
{
    for (int i = 0; i < WATCHED_SERVERS; i++) {
        struct redis_process *server = &watched->servers[i];
        write_flags(watched, i, options->redis, watched->flags[i]);
        enter(watched, i);
        redis_process_start(server,
                            &(struct redis_options){.port = true,
                                                    .arguments = watched->flags[i],
                                                    .environment = options->environment[i]});
        leave(watched);
        if (options->tls)
            start_tls(watched, i);
        if (i > 0)
            freeReplyObject(redis_process_command(server, "REPLICAOF %s %d", address_of(watched, 0),
                                                  port_of(watched, 0)));
        disconnect(server);
    }
    for (int i = 1; i < WATCHED_SERVERS; i++)
        watched_await_replica(watched, i);
}

void watched_start(struct watched *watched, const struct watched_options *options)
{
    static const struct watched_options NONE = {.names = false};
    options = options ? options : &NONE;
    signal(SIGPIPE, SIG_IGN); /* who is asked here may hang up meanwhile */
    *watched = (struct watched){.hosts = options->hosts};
    snprintf(watched->url, sizeof watched->url, "%s+sentinel://",
             options->tls ? "rediss" : "redis");
    if (options->tls)
        make_certificates(watched);
    start_servers(watched, options);
    for (int i = 0; i < WATCHED_SENTINELS; i++) {
        start_sentinel(watched, i, options);
        size_t length = strlen(watched->url);
        snprintf(watched->url + length, sizeof watched->url - length, "%s%s:%d", i ? "," : "",
                 address_of(watched, WATCHED_SERVERS + i),
                 options->tls ? watched->sentinels[i].tls_port : watched->sentinels[i].port);
    }
    strcat(watched->url, "/mymaster");
    watched_await_peace(watched);
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

/* -1 where it does not answer. On hosts of their own, ports may be the same. */
static int primary_of(const struct watched *watched, int index)
{
    int found = -1;
    redisReply *reply =
        try_to_ask(watched->sentinels[index].socket, "SENTINEL GET-MASTER-ADDR-BY-NAME mymaster");
    for (int i = 0; reply && reply->elements == 2 && i < WATCHED_SERVERS; i++)
        if (watched->hosts ? strcmp(reply->element[0]->str, hosts_address(i)) == 0
                           : atoi(reply->element[1]->str) == port_of(watched, i))
            found = i;
    freeReplyObject(reply);
    return found;
}

int watched_set_up(void **state)
{
    *state = calloc(1, sizeof(struct watched));
    watched_start(*state, NULL);
    return 0;
}

int watched_tear_down(void **state)
{
    watched_stop(*state);
    free(*state);
    return 0;
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
    int votes[WATCHED_SERVERS] = {0}, answered = 0;
    for (int i = 0; i < WATCHED_SENTINELS; i++) {
        int primary = watched->sentinels[i].process.pid ? primary_of(watched, i) : -1;
        answered += primary >= 0;
        if (primary >= 0 && primary != change->old)
            votes[change->primary = primary]++;
    }
    clock_sleep_ms(20);
    return answered > 0 &&
           votes[change->primary] >= (watched->hosts ? WATCHED_SENTINELS / 2 + 1 : answered) &&
           says_of_replication(&watched->servers[change->primary],
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
    clock_sleep_ms(20);
    return says_of_replication(context,
                               (const char *const[]){"role:slave", "master_link_status:up", NULL});
}

void watched_await_replica(const struct watched *watched, int server)
{
    if (!clock_wait_until(is_replica, (void *)(uintptr_t)&watched->servers[server], READY_MS))
        fail_msg("server %d does not become a replica", server);
}

static bool are_at_peace(void *context)
{
    struct change *change = context;
    const struct watched *watched = change->watched;
    change->primary = primary_of(watched, 0);
    for (int i = 0; i < WATCHED_SENTINELS; i++)
        if (change->primary < 0 || primary_of(watched, i) != change->primary ||
            figure_of(&watched->sentinels[i], "num-slaves") != WATCHED_SERVERS - 1 ||
            figure_of(&watched->sentinels[i], "num-other-sentinels") != WATCHED_SENTINELS - 1)
            return false;
    for (int i = 0; i < WATCHED_SERVERS; i++)
        if (i != change->primary && !is_replica((void *)(uintptr_t)&watched->servers[i]))
            return false;
    return says_of_replication(&watched->servers[change->primary],
                               (const char *const[]){"role:master", "connected_slaves:2", NULL});
}

int watched_await_peace(const struct watched *watched)
{
    struct change change = {.watched = watched};
    if (!clock_wait_until(are_at_peace, &change, READY_MS))
        fail_msg("the servers and sentinels do not settle");
    return change.primary;
}

static const char *text_of(const redisReply *master, const char *name)
{
    for (size_t i = 0; master && i + 1 < master->elements; i += 2)
        if (strcmp(master->element[i]->str, name) == 0)
            return master->element[i + 1]->str;
    return "";
}

/* A sentinel gives a failover up, and does not begin it again, where it has no replica that it has
 * heard of within three INFO-PERIODs, and once the one that it has chosen has stood still for the
 * failover-timeout. */
static bool has_chosen_another(void *context)
{
    static const char *const CHOSEN[] = {"send_slaveof_noone", "wait_promotion", "reconf_slaves",
                                         "update_config"};
    const struct change *change = context;
    const struct watched *watched = change->watched;
    const char *socket = watched->sentinels[0].socket;
    redisReply *master = try_to_ask(socket, "SENTINEL MASTER mymaster");
    const char *state = text_of(master, "failover-state");
    int primary = primary_of(watched, 0);
    bool has_chosen = primary >= 0 && primary != change->old;
    for (size_t i = 0; i < LENGTH(CHOSEN); i++)
        has_chosen |= strcmp(state, CHOSEN[i]) == 0;
    if (master && !*state && !has_chosen) {
        freeReplyObject(try_to_ask(socket, "SENTINEL SET mymaster failover-timeout 60000"));
        freeReplyObject(try_to_ask(socket, "SENTINEL FAILOVER mymaster"));
    }
    freeReplyObject(master);
    clock_sleep_ms(10);
    return has_chosen;
}

void watched_fail_over(const struct watched *watched)
{
    struct change change = {.watched = watched, .old = watched_primary(watched, 0)};
    if (!clock_wait_until(has_chosen_another, &change, READY_MS))
        fail_msg("no sentinel begins a failover");
}

void watched_resume_sentinel(struct watched *watched, int index)
{
    launch_sentinel(watched, index);
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
            try_to_ask(move->watched->sentinels[i].socket, "SENTINEL SENTINELS mymaster");
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
    launch_sentinel(watched, index);
    struct move move = {watched, index};
    if (!clock_wait_until(others_know_its_place, &move, READY_MS))
        fail_msg("the other sentinels do not learn where it is");
}

void watched_resume(struct watched *watched, int server)
{
    enter(watched, server);
    redis_process_resume(&watched->servers[server]);
    leave(watched);
    disconnect(&watched->servers[server]);
}
