/* url.h: where Redis is and how to get in, read from one URL. */
#ifndef BATON_REDIS_ADDRESS_URL_H
#define BATON_REDIS_ADDRESS_URL_H

#include "base/failure.h"

#include <stdbool.h>
#include <stddef.h>

/* What is expected to answer, or to be asked for what is. */
enum redis_kind {
    REDIS_SERVER,   /* a Redis: at `path` or `host` */
    REDIS_SENTINEL, /* a sentinel; no URL says that, but who asks one by one
                       (redis/sentinel/sentinel.h) */
    REDIS_WATCHED,  /* the primary of `master`, which the sentinels at `nodes` know */
    REDIS_QUORUM,   /* independent primaries at `nodes`, an odd number of them */
    REDIS_NODE,     /* a Redis that is one of a Cluster; no URL says that, either */
    REDIS_CLUSTER,  /* a Redis Cluster, some of whose nodes are at `nodes` */
    REDIS_KINDS     /* how many there are */
};

enum {
    REDIS_NODES_MOST = 16,
    REDIS_HOST_LONGEST = 253,
    REDIS_QUORUM_LEAST = 3, /* members; */
    REDIS_QUORUM_MOST = 9,
};

struct redis_node {
    char *host; /* an IPv6 address without its brackets */
    int port;
};

struct redis_url {
    enum redis_kind kind;
    char *path;               /* of a Unix socket, else NULL */
    char *host;               /* NULL with a path or nodes; an IPv6 address without its brackets */
    int port;                 /* 6379 where the URL names none */
    struct redis_node *nodes; /* NULL for a single server */
    size_t node_count;
    char *master;   /* what the sentinels call the primary and its replicas, else NULL */
    int database;   /* 0 where the URL names none */
    char *user;     /* NULL for the default user */
    char *password; /* NULL for no login */
    bool tls;
    /* Not from the URL, but from settings (redis/address/access.h); each may be NULL. */
    char *sentinel_user; /* for the sentinels: user and password above are for Redis alone */
    char *sentinel_password;
    char *ca;          /* a file: whom to trust in place of the system's certificates */
    char *certificate; /* a file: who we are; */
    char *key;         /* a file: its key; NULL without a certificate, and only then */
    char *server_name; /* what the certificate of Redis names, in place of the host */
};

/* Reads redis://[user:password@]host[:port][/db], rediss://…, unix:///path[?db=N] (with an
 * optional user:password@ in front of the path), and
 * redis+sentinel://[user:password@]host[:port][,host[:port]]…/MASTER[/db] (port 26379 where none
 * is named; rediss+sentinel://… for TLS to sentinels and servers), and
 * redis+quorum://[user:password@]host[:port],host[:port],host[:port]…[/db] (an odd number of
 * different ones; rediss+quorum://… for TLS), and
 * redis+cluster://[user:password@]host[:port][,host[:port]]… (or rediss+cluster://…; a Cluster has
 * database 0 alone). User, password and path are
 * percent-decoded; `:password@` means the default user. Returns 0, or -EINVAL (or -ENOTSUP for
 * rediss:// where hiredis came without TLS) with a failure that names what is wrong and repeats
 * nothing of the URL, since any part of it may belong to a password that was not encoded.
 */
int redis_url_parse(const char *text, struct redis_url *ret, struct failure *failure);

/* Returns 0 or -ENOMEM, with *ret zeroed. */
int redis_url_copy(const struct redis_url *url, struct redis_url *ret);

/* Frees all of it, the password overwritten first; takes a zeroed one too. */
void redis_url_free(struct redis_url *url);

/* The URL of one server that it leads to (REDIS_SERVER or REDIS_NODE), or of one sentinel
 * (REDIS_SENTINEL), with what is needed to get in. Returns 0 or -ENOMEM, with *ret zeroed. */
int redis_url_of(const struct redis_url *url, enum redis_kind kind, const char *host, int port,
                 struct redis_url *ret);

/* Writes the URL without user and password, for logs. */
void redis_url_describe(const struct redis_url *url, char *text, size_t size);

#endif
