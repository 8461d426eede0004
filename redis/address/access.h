/* access.h: what settings of their own say of the way into Redis, beside its URL. */
#ifndef BATON_REDIS_ADDRESS_ACCESS_H
#define BATON_REDIS_ADDRESS_ACCESS_H

#include "redis/address/url.h"

/* Each may be NULL: not given. */
struct redis_access {
    const char *user;
    const char *password;
    const char *sentinel_user; /* for the sentinels of redis+sentinel://, */
    const char *sentinel_password;
    const char *ca; /* files in PEM: whom to trust in place of the system's certificates, */
    const char *certificate; /* who we are, with what leads to its root, */
    const char *key;         /* and its key */
    const char *server_name; /* sent as SNI, and what the certificate of Redis must be valid for */
};

/* Adds it to the URL, copied. Returns 0, or a negative errno with a failure that names the setting:
 * one that says again what the URL says, that has no use without another, or without TLS. The URL
 * is to be freed in any case. */
int redis_access_add(struct redis_url *url, const struct redis_access *access,
                     struct failure *failure);

/* The same for where there is no URL: every setting is one too many. */
int redis_access_expect_none(const struct redis_access *access, struct failure *failure);

#endif
