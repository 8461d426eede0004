/* watched.h: a primary and its replicas, and the sentinels that watch them. */
#ifndef BATON_TESTS_SUPPORT_WATCHED_H
#define BATON_TESTS_SUPPORT_WATCHED_H

#include "tests/support/certificates.h"
#include "tests/support/faults/hosts.h"
#include "tests/support/redis_process.h"

enum {
    WATCHED_SERVERS = 3,
    WATCHED_SENTINELS = 3,
    WATCHED_DOWN_MS = 1000, /* after which the sentinels call a server down */
    WATCHED_FLAGS = 24,
};

struct watcher {
    struct process process;
    struct temp_dir dir;
    char socket[112];
    int port;
    int tls_port;
};

struct watched {
    struct redis_process servers[WATCHED_SERVERS]; /* use watched_ask: they are disconnected */
    struct watcher sentinels[WATCHED_SENTINELS];
    int tls_ports[WATCHED_SERVERS];
    const char *flags[WATCHED_SERVERS][WATCHED_FLAGS];
    const struct hosts *hosts;
    struct temp_dir certificates;
    struct certificate authority, certificate; /* of all of them */
    char url[160]; /* redis+sentinel://… with all of them; rediss+… with TLS */
};

struct watched_options {
    const char *password; /* of the sentinels; NULL: none */
    bool names;           /* the sentinels call servers by the name localhost */
    bool tls;             /* they and the servers talk TLS to one another; watched_ask does not */
    const struct hosts *hosts; /* server i is on host i, and the sentinels are on the next ones;
                                  NULL: all are on this one, and on 127.0.0.1 */
    const char *const *redis;  /* more arguments of the servers; may be NULL */
    const char *const
        *environment[WATCHED_SERVERS]; /* as process_start has it, which it outlives */
};

/* Starts all, and waits for peace. The primary is "mymaster", at first servers[0]. `options` may be
 * NULL; those it points to outlive it, as it stays where it is. */
void watched_start(struct watched *watched, const struct watched_options *options);
void watched_stop(struct watched *watched);

/* The same without options, as fixtures of cmocka: *state is the struct. */
int watched_set_up(void **state);
int watched_tear_down(void **state);

/* Which server the sentinel `index` calls the primary. */
int watched_primary(const struct watched *watched, int index);

/* Waits until all sentinels that answer - on hosts of their own, most of them - call another server
 * than `old` the primary, and until that one says so, too; at most 40 s. Returns which. */
int watched_await_other(const struct watched *watched, int old);

/* Waits until all sentinels know one another and the same primary, and the replicas of that one
 * have caught up. Returns which server it is. */
int watched_await_peace(const struct watched *watched);

/* Waits until the server is a replica that has caught up. */
void watched_await_replica(const struct watched *watched, int server);

/* Has a sentinel promote another server, although the primary is well. Waits until it has chosen
 * which, and no longer. */
void watched_fail_over(const struct watched *watched);

/* Starts a server again after redis_process_kill, a sentinel after process_kill. */
void watched_resume(struct watched *watched, int server);
void watched_resume_sentinel(struct watched *watched, int index);

/* The same, at another port; waits until the others know it there. Its id stays. */
void watched_move_sentinel(struct watched *watched, int index);

/* Asks on a new connection (printf-like). Fails the test if nobody answers there; NULL is never
 * returned. To be freed with freeReplyObject. */
redisReply *watched_ask(int port, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
