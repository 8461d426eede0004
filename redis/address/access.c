#include "redis/address/access.h"

#include "base/memory.h"
#include "redis/tls/trust.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

/* Each setting, and where the URL keeps its value. */
static const struct part {
    const char *name;
    size_t from;
    size_t to;
    bool needs_tls;
    bool needs_sentinels;
} PARTS[] = {
#define PART(name, member, needs_tls, needs_sentinels)                                             \
    {                                                                                              \
        name, offsetof(struct redis_access, member), offsetof(struct redis_url, member),           \
            needs_tls, needs_sentinels                                                             \
    }
    PART("redis-user", user, false, false),
    PART("redis-password", password, false, false),
    PART("redis-sentinel-user", sentinel_user, false, true),
    PART("redis-sentinel-password", sentinel_password, false, true),
    PART("redis-ca", ca, true, false),
    PART("redis-cert", certificate, true, false),
    PART("redis-key", key, true, false),
    PART("redis-server-name", server_name, true, false),
#undef PART
};

enum { PART_COUNT = sizeof PARTS / sizeof PARTS[0] };

static const char *access_given(const struct redis_access *access, const struct part *part)
{
    return *(const char *const *)((const char *)access + part->from);
}

static int access_add(struct redis_url *url, const struct part *part, const char *text,
                      struct failure *failure)
{
    char **place = (char **)((char *)url + part->to);
    if (!text[0])
        return failure_set(failure, -EINVAL, "--%s is empty. Leave it out.", part->name);
    if (*place)
        return failure_set(failure, -EINVAL,
                           "--%s is given, and redis-url has it, too. Keep one of them.",
                           part->name);
    if (part->needs_tls && !url->tls)
        return failure_set(failure, -EINVAL,
                           "--%s is for TLS, but redis-url does not ask for TLS. Write "
                           "rediss://host, or leave --%s out.",
                           part->name, part->name);
    if (part->needs_sentinels && url->kind != REDIS_WATCHED)
        return failure_set(failure, -EINVAL,
                           "--%s is for sentinels, but redis-url names none. Write "
                           "redis+sentinel://host:26379/MASTER, or leave --%s out.",
                           part->name, part->name);
    *place = memory_checked(strdup(text));
    return 0;
}

static int access_check_pairs(const struct redis_url *url, struct failure *failure)
{
    if (url->user && !url->password)
        return failure_set(failure, -EINVAL, "--redis-user needs --redis-password. Give both.");
    if (url->sentinel_user && !url->sentinel_password)
        return failure_set(failure, -EINVAL,
                           "--redis-sentinel-user needs --redis-sentinel-password. Give both.");
    if (!url->certificate != !url->key)
        return failure_set(failure, -EINVAL,
                           "--redis-cert and --redis-key need each other. Give both, or neither.");
    return 0;
}

int redis_access_add(struct redis_url *url, const struct redis_access *access,
                     struct failure *failure)
{
    int result = 0;
    for (size_t i = 0; result == 0 && i < PART_COUNT; i++)
        if (access_given(access, &PARTS[i]))
            result = access_add(url, &PARTS[i], access_given(access, &PARTS[i]), failure);
    return result < 0 ? result : access_check_pairs(url, failure);
}

int redis_access_read_files(struct redis_url *url, struct failure *failure)
{
    const struct tls_files files = {url->ca, url->certificate, url->key};
    return url->tls && !url->trust ? tls_trust_open(&url->trust, &files, failure) : 0;
}

int redis_access_expect_none(const struct redis_access *access, struct failure *failure)
{
    for (size_t i = 0; i < PART_COUNT; i++)
        if (access_given(access, &PARTS[i]))
            return failure_set(failure, -EINVAL,
                               "--%s is for a Redis that --redis-url names, but there is no "
                               "--redis-url. Give one, or leave --%s out: the Redis that batond "
                               "starts itself needs no login and no TLS.",
                               PARTS[i].name, PARTS[i].name);
    return 0;
}
