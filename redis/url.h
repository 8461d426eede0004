/* url.h: where Redis is and how to get in, read from one URL. */
#ifndef BATON_REDIS_URL_H
#define BATON_REDIS_URL_H

#include "base/failure.h"

#include <stdbool.h>
#include <stddef.h>

struct redis_url {
    char *path;     /* of a Unix socket, else NULL */
    char *host;     /* NULL with a path; an IPv6 address without its brackets */
    int port;       /* 6379 where the URL names none */
    int database;   /* 0 where the URL names none */
    char *user;     /* NULL for the default user */
    char *password; /* NULL for no login */
    bool tls;
    /* Not from the URL, but from settings (redis/access.h); each may be NULL. */
    char *ca;          /* a file: whom to trust in place of the system's certificates */
    char *certificate; /* a file: who we are; */
    char *key;         /* a file: its key; NULL without a certificate, and only then */
    char *server_name; /* what the certificate of Redis names, in place of the host */
};

/* Reads redis://[user:password@]host[:port][/db], rediss://… and unix:///path[?db=N] (with an
 * optional user:password@ in front of the path). User, password and path are percent-decoded;
 * `:password@` means the default user. Returns 0, or -EINVAL (or -ENOTSUP for rediss:// where
 * hiredis came without TLS) with a failure that names what is wrong and repeats nothing of the URL,
 * since any part of it may belong to a password that was not encoded.
 */
int redis_url_parse(const char *text, struct redis_url *ret, struct failure *failure);

/* Returns 0 or -ENOMEM, with *ret zeroed. */
int redis_url_copy(const struct redis_url *url, struct redis_url *ret);

/* Frees all of it, the password overwritten first; takes a zeroed one too. */
void redis_url_free(struct redis_url *url);

/* Writes the URL without user and password, for logs. */
void redis_url_describe(const struct redis_url *url, char *text, size_t size);

#endif
