#include "redis/wire/server_info.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OLDEST_MAJOR = 7, OLDEST_MINOR = 0 }; /* they have Functions */

static void server_info_copy(struct slice value, char *text, size_t size)
{
    size_t length = value.length < size ? value.length : size - 1;
    memcpy(text, value.bytes, length);
    text[length] = '\0';
}

static void server_info_read_version(struct server_info *info, struct slice value)
{
    server_info_copy(value, info->version, sizeof info->version);
    sscanf(info->version, "%4d.%4d", &info->major, &info->minor);
}

/* Valkey still reports redis_version, and may drop it some day. All versions of Valkey, from 7.2
 * on, are new enough. */
static void server_info_read_valkey_version(struct server_info *info, struct slice value)
{
    if (info->version[0] == '\0')
        server_info_read_version(info, value);
}

/* Anything but 0 counts: a server that may be loading has not all of its data. */
static void server_info_read_loading(struct server_info *info, struct slice value)
{
    info->loading = !slice_equals(value, "0");
}

static void server_info_read_up(struct server_info *info, struct slice value)
{
    char digits[24];
    server_info_copy(value, digits, sizeof digits);
    info->peer.up_s = strtoll(digits, NULL, 10);
}

static void server_info_read_replicas(struct server_info *info, struct slice value)
{
    char digits[16];
    server_info_copy(value, digits, sizeof digits);
    info->peer.replicas = (int)strtol(digits, NULL, 10);
}

/* INFO has this line only if the setting is not 0. */
static void server_info_read_needs_replicas(struct server_info *info, struct slice value)
{
    (void)value;
    info->needs_replicas = true;
}

/* A field is a text, a bool that is set by one value, or read by a function. */
#define TEXT(member)                                                                               \
    .at = offsetof(struct server_info, member), .size = sizeof((struct server_info *)0)->member
#define FLAG(member, value) .at = offsetof(struct server_info, member), .set_by = value
static const struct field {
    const char *name;
    void (*read)(struct server_info *info, struct slice value);
    size_t at;          /* of the member, without `read` */
    size_t size;        /* of a text */
    const char *set_by; /* the value that sets a bool; NULL: it is a text */
} FIELDS[] = {
    {"redis_version", .read = server_info_read_version},
    {"valkey_version", .read = server_info_read_valkey_version},
    {"loading", .read = server_info_read_loading},
    {"redis_mode", FLAG(sentinel, "sentinel")},
    {"redis_mode", FLAG(clustered, "cluster")},
    {"server_mode", FLAG(sentinel, "sentinel")}, /* the name that Valkey uses */
    {"server_mode", FLAG(clustered, "cluster")},
    {"role", FLAG(replica, "slave")},
    {"slave_read_only", FLAG(replica_writable, "0")},
    {"maxmemory_policy", TEXT(eviction)},
    {"run_id", TEXT(peer.run_id)},
    {"master_replid", TEXT(peer.history)},
    {"master_replid2", TEXT(peer.history_before)},
    {"uptime_in_seconds", .read = server_info_read_up},
    {"connected_slaves", .read = server_info_read_replicas},
    {"min_slaves_good_slaves", .read = server_info_read_needs_replicas},
    {"aof_enabled", FLAG(has_no_file, "0")},
};

static void server_info_read_field(struct server_info *info, const struct field *field,
                                   struct slice value)
{
    char *member = (char *)info + field->at;
    if (field->read)
        field->read(info, value);
    else if (field->set_by)
        *(bool *)member |= slice_equals(value, field->set_by);
    else
        server_info_copy(value, member, field->size);
}

static void server_info_read_line(struct server_info *info, struct slice line)
{
    const char *colon = line.length > 0 ? memchr(line.bytes, ':', line.length) : NULL;
    if (!colon)
        return;
    size_t name_length = (size_t)(colon - line.bytes);
    struct slice name = {line.bytes, name_length};
    struct slice value = {colon + 1, line.length - name_length - 1};
    for (size_t i = 0; i < sizeof FIELDS / sizeof FIELDS[0]; i++)
        if (slice_equals(name, FIELDS[i].name))
            server_info_read_field(info, &FIELDS[i], value);
}

void server_info_read(struct slice info, struct server_info *ret)
{
    *ret = (struct server_info){0};
    const char *end = info.bytes + info.length;
    for (const char *at = info.bytes; at < end;) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        const char *next = line_end ? line_end + 1 : end;
        size_t length = (size_t)((line_end ? line_end : end) - at);
        if (length > 0 && at[length - 1] == '\r')
            length--;
        server_info_read_line(ret, (struct slice){at, length});
        at = next;
    }
}

static bool server_info_is_too_old(const struct server_info *info)
{
    return info->major < OLDEST_MAJOR ||
           (info->major == OLDEST_MAJOR && info->minor < OLDEST_MINOR);
}

int server_info_check(const struct server_info *info, struct failure *failure)
{
    if (info->version[0] == '\0')
        return failure_set(failure, -EPROTO, "it does not tell its version. Is it a Redis?");
    if (server_info_is_too_old(info))
        return failure_set(
            failure, -EPROTO,
            "it is version %s, but batond needs Redis 7.0, Valkey 7.2, or newer. Upgrade it.",
            info->version);
    if (info->loading)
        return failure_set(failure, -EAGAIN, "it is still loading its data");
    if (info->replica && !info->replica_writable)
        return failure_set(failure, -EAGAIN,
                           "it is a read-only replica. Let redis-url name the primary.");
    return 0;
}

bool server_info_warn(const struct server_info *info, struct failure *warning)
{
    if (info->replica)
        failure_set(warning, 0,
                    "Redis is a writable replica, so its primary may overwrite locks at any time. "
                    "Let redis-url name the primary.");
    else if (info->eviction[0] != '\0' && strcmp(info->eviction, "noeviction") != 0)
        failure_set(warning, 0,
                    "Redis may evict locks when its memory is full (maxmemory-policy is %s). Set "
                    "maxmemory-policy to noeviction.",
                    info->eviction);
    else
        return false;
    return true;
}
