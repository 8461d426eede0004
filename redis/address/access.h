/* access.h: the settings for access to Redis that are not in its URL. */
#ifndef BATON_REDIS_ADDRESS_ACCESS_H
#define BATON_REDIS_ADDRESS_ACCESS_H

#include "redis/address/url.h"

/* A setting that is not given is NULL. */
struct redis_access {
    const char *user;
    const char *password;
    const char *sentinel_user; /* for the sentinels of redis+sentinel:// */
    const char *sentinel_password;
    const char *ca;          /* PEM file: the CAs to trust, in place of the system's certificates */
    const char *certificate; /* PEM file: our certificate and those that lead to its root */
    const char *key;         /* PEM file: the key of `certificate` */
    const char *server_name; /* sent as SNI; the certificate of Redis must be valid for it */
};

/* Adds copies of the settings to the URL. Returns 0, or a negative errno with a failure that names
 * the setting: the URL has its value already, or it needs another setting, TLS or sentinels. The
 * caller frees the URL in any case. */
int redis_access_add(struct redis_url *url, const struct redis_access *access,
                     struct failure *failure);

/* Reads the files that a URL with TLS names, unless it has read them already. Returns 0; -EINVAL
 * with a failure that names the setting and the file; or -EPROTO if there is nobody to trust. */
int redis_access_read_files(struct redis_url *url, struct failure *failure);

/* For a batond without a URL: fails if any setting is given. */
int redis_access_expect_none(const struct redis_access *access, struct failure *failure);

#endif
