/* redis_process.h: a redis-server of a test's own - or what $BATON_TEST_REDIS_SERVER names, such as
 * valkey-server - and a link to talk to it. */
#ifndef BATON_TESTS_SUPPORT_REDIS_PROCESS_H
#define BATON_TESTS_SUPPORT_REDIS_PROCESS_H

#include "tests/support/process.h"
#include "tests/support/temp_dir.h"

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdint.h>

enum { REDIS_BUS = 10000 }; /* a node's port for the other ones is so far above its port */

struct redis_process {
    struct process process;
    struct temp_dir dir; /* its data, socket and log */
    char socket[100];    /* the path of its Unix socket */
    int port;            /* on 127.0.0.1; 0 without one */
    char url[120];       /* unix://... */
    char port_url[48];   /* redis://127.0.0.1:PORT; "" without a port */
    redisContext *link;  /* belongs to the thread of the test; NULL while stopped */
    bool durable, cluster;
    const char *const *arguments;
    const char *const *environment;
};

struct redis_options {
    bool port;    /* listen on a free TCP port too */
    bool durable; /* keep its data over a restart (append-only file, fsync always) */
    bool cluster; /* a node of a Cluster, with a port; so far it knows no other one */
    const char *const *arguments;   /* more for redis-server, NULL-terminated, e.g. {"--maxmemory",
                                       "2mb", NULL}; must outlive it if it is to be restarted */
    const char *const *environment; /* the same for variables: {"A=1", NULL} */
};

/* How long batond, or a store of a fixture, waits for a reply: longer than Redis stands still on a
 * busy machine. BATON_TEST_REDIS_TIMEOUT has another number of ms, for tests of how soon things
 * happen. */
int redis_patience_ms(void);

/* What is started: redis-server, unless the environment says otherwise. */
const char *redis_process_program(void);

/* Starts it and waits until it answers. `options` may be NULL. Fails the test if it cannot. */
void redis_process_start(struct redis_process *redis, const struct redis_options *options);

/* Starts it again, with the same directory, socket and port, after redis_process_halt or _kill. */
void redis_process_resume(struct redis_process *redis);

/* SIGTERM or SIGKILL; the directory stays. */
void redis_process_halt(struct redis_process *redis);
void redis_process_kill(struct redis_process *redis);

/* SIGSTOP and SIGCONT: it is there and does not answer. */
void redis_process_freeze(struct redis_process *redis);
void redis_process_thaw(struct redis_process *redis);

/* Ends it and removes its directory. Takes a zeroed one too. */
void redis_process_stop(struct redis_process *redis);

/* Runs a command (printf-like, as redisCommand). Fails the test on an error reply. The reply is to
 * be freed with freeReplyObject. */
redisReply *redis_process_command(struct redis_process *redis, const char *format, ...);

/* The same for a command that answers an integer, such as "EXISTS %s". */
int64_t redis_process_integer(struct redis_process *redis, const char *format, ...);

/* How often a command has run, by INFO commandstats: "fcall", "cmdstat_" left out. */
int64_t redis_process_calls(struct redis_process *redis, const char *command);

/* The same in what INFO commandstats has answered. */
int64_t redis_calls_in(const char *commandstats, const char *command);

/* Waits until so many workers have looked at the epoch, as each does once a second. */
void redis_process_await_looks(struct redis_process *redis, int workers);

/* Writes its file now, once what it writes for a replica is done. */
void redis_process_save(struct redis_process *redis);

/* Empties it; scripts stay loaded. For batond that is a loss of data. */
void redis_process_flush(struct redis_process *redis);

/* Deletes all locks. The epoch stays, so batond has lost nothing. */
void redis_process_forget(struct redis_process *redis);

#endif
