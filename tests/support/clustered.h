/* clustered.h: a Redis Cluster of a test's own: three primaries, each with a replica, and what
 * operators and bad luck do to them. */
#ifndef BATON_TESTS_SUPPORT_CLUSTERED_H
#define BATON_TESTS_SUPPORT_CLUSTERED_H

#include "tests/support/certificates.h"
#include "tests/support/faults/hosts.h"
#include "tests/support/redis_process.h"

enum {
    CLUSTERED_PRIMARIES = 3,
    CLUSTERED_NODES = 6, /* to begin with: nodes[3 + i] is the replica of nodes[i] */
    CLUSTERED_MOST = 8,
    CLUSTERED_SLOTS = 16384,
    CLUSTERED_DOWN_MS = 1000, /* after which the others take a silent node for dead */
};

struct clustered_options {
    const char *password; /* of all nodes; NULL: none */
    bool tls;             /* among them, and for clients at tls_ports; clustered_ask does not */
    bool partial;         /* goes on with some slots while others are served by nobody */
    bool no_replicas;
    bool is_patient; /* once it is formed, no node is taken for dead, however busy the machine is */
    const struct hosts
        *hosts; /* node i is on host i; NULL: all are on this one, and on 127.0.0.1 */
    const char *const *environment[CLUSTERED_MOST]; /* of nodes, as process_start has it */
};

/* To be used by one thread at a time. */
struct clustered {
    struct redis_process nodes[CLUSTERED_MOST]; /* use clustered_ask: they are disconnected */
    int tls_ports[CLUSTERED_MOST];
    char ids[CLUSTERED_MOST][41];
    redisContext *links[CLUSTERED_MOST];
    bool frozen[CLUSTERED_MOST];
    const char *arguments[CLUSTERED_MOST][40];
    char tls_port_texts[CLUSTERED_MOST][8];
    int count; /* nodes ever started; those that were removed have no process */
    struct clustered_options options;
    struct temp_dir certificates;
    struct certificate authority, certificate; /* of all of them */
    char url[240]; /* redis+cluster://… with the first six; rediss+… with TLS */
};

/* Starts all and waits until they agree, and the replicas have caught up. nodes[i] has
 * the i-th third of the slots. `options` may be NULL. Fails the test if it cannot. */
void clustered_start(struct clustered *clustered, const struct clustered_options *options);
void clustered_stop(struct clustered *clustered);

/* Asks that node (printf-like), by its Unix socket. Fails the test if it does not answer within 30
 * s or answers an error; NULL is never returned. To be freed with freeReplyObject. */
redisReply *clustered_ask(struct clustered *clustered, int node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The slot of a key such as "baton:{name}". */
int clustered_slot(const char *key);

/* Which node serves the slot, as `witness` sees it; -1: none, or the witness does not answer. */
int clustered_view(struct clustered *clustered, int witness, int slot);

/* The same as the first node sees it that answers. Fails the test where nobody serves it. */
int clustered_primary(struct clustered *clustered, int slot);

/* A replica of that primary; -1 where it has none. */
int clustered_replica(struct clustered *clustered, int primary);

/* Waits until all nodes that answer say that the Cluster is well and name the same primary of every
 * slot, and the replicas have caught up. */
void clustered_await_calm(struct clustered *clustered);

/* Waits until all nodes that answer take another one than `old` for the slot's primary, and until
 * the Cluster is well. Returns which. */
int clustered_await_other(struct clustered *clustered, int slot, int old);

/* Has this replica take its primary's place, although that one is well; waits until it has. */
void clustered_fail_over(struct clustered *clustered, int replica);

/* SIGKILL, SIGSTOP, SIGCONT, and a new start with the same port and id. A killed primary must not
 * be started again before its replica has taken its place: it would come back empty. */
void clustered_kill(struct clustered *clustered, int node);
void clustered_freeze(struct clustered *clustered, int node);
void clustered_thaw(struct clustered *clustered, int node);
void clustered_resume(struct clustered *clustered, int node);

/* Breaks the links of the primaries to all others: what is published is lost for whoever listens at
 * another one. Redis makes the links again within 100 ms. */
void clustered_break_links(struct clustered *clustered);

/* A slot on its way from one primary to another. */
struct slot_move {
    int slot, from, to;
};

/* Moves a slot with all its keys, one at a time, as redis-cli does. */
void clustered_move(struct clustered *clustered, const struct slot_move *move);

/* The same in pieces: begin; carry keys, at most so many (returns whether there may be more); end,
 * which must find the old place empty. */
void clustered_begin_move(struct clustered *clustered, const struct slot_move *move);
bool clustered_carry(struct clustered *clustered, const struct slot_move *move, int most);
void clustered_end_move(struct clustered *clustered, const struct slot_move *move);

/* Another primary, without a slot; returns which. Waits until all know it. */
int clustered_add(struct clustered *clustered);

/* Ends a node without a slot, and has the others forget it. */
void clustered_remove(struct clustered *clustered, int node);

#endif
