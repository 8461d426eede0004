/* url.h: where Redis is and how to log in, read from one URL. */
#ifndef BATON_REDIS_ADDRESS_URL_H
#define BATON_REDIS_ADDRESS_URL_H

#include "base/failure.h"

#include <stdbool.h>
#include <stddef.h>

struct tls_trust;

/* The kind of server that a URL leads to. */
enum redis_kind {
    REDIS_SERVER,   /* one Redis, at `path` or `host` */
    REDIS_SENTINEL, /* one sentinel: only redis_url_of makes this kind */
    REDIS_WATCHED,  /* the primary that the sentinels at `nodes` call `master` */
    REDIS_QUORUM,   /* independent primaries at `nodes`, an odd number of them */
    REDIS_NODE,     /* one node of a Cluster: only redis_url_of makes this kind */
    REDIS_CLUSTER,  /* a Cluster; `nodes` are some of its nodes */
    REDIS_KINDS     /* the number of kinds */
};

enum {
    REDIS_NODES_MOST = 16,
    REDIS_HOST_LONGEST = 253,
    REDIS_QUORUM_LEAST = 3, /* members of a quorum */
    REDIS_QUORUM_MOST = 9,
    REDIS_TIMEOUT_MS = 800, /* short enough for "503 within a second" */
};

struct redis_node {
    char *host; /* an IPv6 address without its brackets */
    int port;
};

struct redis_url {
    enum redis_kind kind;
    char *path;               /* of a Unix socket, else NULL */
    char *host;               /* NULL with a path or nodes; an IPv6 address without its brackets */
    int port;                 /* 6379 if the URL names none */
    struct redis_node *nodes; /* NULL for a single server */
    size_t node_count;
    char *master;   /* what the sentinels call the primary and its replicas, else NULL */
    int database;   /* 0 if the URL names none */
    char *user;     /* NULL for the default user */
    char *password; /* NULL for no login */
    bool tls;
    int timeout_ms; /* Redis has this long to reply to a command and to those before it. After that
                     * the command counts as lost: batond gives up its connection, and every call
                     * on it ends. REDIS_TIMEOUT_MS unless a setting says another time */
    bool keeps_all; /* the operator says that a restart of Redis loses nothing: batond warns if the
                     * settings of Redis contradict that */
    /* Settings that the URL has no place for (redis/address/access.h); each may be NULL. */
    char *sentinel_user; /* for the sentinels; `user` and `password` are for Redis alone */
    char *sentinel_password;
    char *ca;                /* a file: the CAs to trust, in place of the system's certificates */
    char *certificate;       /* a file: our own certificate */
    char *key;               /* a file: the key of `certificate`; NULL exactly if that is */
    char *server_name;       /* the name in the certificate of Redis, in place of the host */
    struct tls_trust *trust; /* what these files have, shared with every copy; NULL: not read yet */
};

/* Reads one of these URLs:
 * - redis://[user:password@]host[:port][/db]
 * - unix://[user:password@]/path[?db=N]
 * - redis+sentinel://[user:password@]host[:port][,host[:port]]…/MASTER[/db]; the default port is
 *   26379
 * - redis+quorum://[user:password@]host[:port],host[:port],host[:port]…[/db]; an odd number of
 *   different servers
 * - redis+cluster://[user:password@]host[:port][,host[:port]]…; a Cluster has only database 0
 * With rediss in place of redis, batond speaks TLS, to sentinels as well.
 *
 * User, password and path are percent-decoded; `:password@` means the default user. Returns 0, or
 * -EINVAL with a failure. It says what is wrong, but repeats nothing of the URL, since any part of
 * it may belong to a password that was not encoded. */
int redis_url_parse(const char *text, struct redis_url *ret, struct failure *failure);

void redis_url_copy(const struct redis_url *url, struct redis_url *ret);

/* Overwrites the passwords and frees all members. A zeroed URL is allowed. */
void redis_url_free(struct redis_url *url);

/* Makes the URL of one server behind `url` (REDIS_SERVER or REDIS_NODE), or of one sentinel
 * (REDIS_SENTINEL), with what is needed to log in. */
void redis_url_of(const struct redis_url *url, enum redis_kind kind, const char *host, int port,
                  struct redis_url *ret);

/* Writes the URL without user and password, for logs. */
void redis_url_describe(const struct redis_url *url, char *text, size_t size);

#endif
