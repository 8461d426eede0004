#include "redis/wire/facts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OLDEST_MAJOR = 6, OLDEST_MINOR = 2 };

static void copy(struct slice value, char *text, size_t size)
{
    size_t length = value.length < size ? value.length : size - 1;
    memcpy(text, value.bytes, length);
    text[length] = '\0';
}

static void read_version(struct facts *facts, struct slice value)
{
    copy(value, facts->version, sizeof facts->version);
    sscanf(facts->version, "%4d.%4d", &facts->major, &facts->minor);
}

/* Valkey keeps redis_version for those who ask for it, and may drop it some day. All its versions
 * are new enough. */
static void read_valkey_version(struct facts *facts, struct slice value)
{
    if (facts->version[0] == '\0')
        read_version(facts, value);
}

static void read_loading(struct facts *facts, struct slice value)
{
    facts->loading = !slice_equals(value, "0");
}

static void read_mode(struct facts *facts, struct slice value)
{
    facts->sentinel = slice_equals(value, "sentinel");
    facts->clustered = slice_equals(value, "cluster");
}

static void read_role(struct facts *facts, struct slice value)
{
    facts->replica = slice_equals(value, "slave");
}

static void read_read_only(struct facts *facts, struct slice value)
{
    facts->replica_writable = slice_equals(value, "0");
}

static void read_eviction(struct facts *facts, struct slice value)
{
    copy(value, facts->eviction, sizeof facts->eviction);
}

static void read_run_id(struct facts *facts, struct slice value)
{
    copy(value, facts->run_id, sizeof facts->run_id);
}

static void read_history(struct facts *facts, struct slice value)
{
    copy(value, facts->history, sizeof facts->history);
}

static void read_history_before(struct facts *facts, struct slice value)
{
    copy(value, facts->history_before, sizeof facts->history_before);
}

static void read_up(struct facts *facts, struct slice value)
{
    char digits[24];
    copy(value, digits, sizeof digits);
    facts->up_s = strtoll(digits, NULL, 10);
}

static void read_replicas(struct facts *facts, struct slice value)
{
    char digits[16];
    copy(value, digits, sizeof digits);
    facts->replicas = (int)strtol(digits, NULL, 10);
}

/* The line is only there where the setting is not 0. */
static void read_needs_replicas(struct facts *facts, struct slice value)
{
    (void)value;
    facts->needs_replicas = true;
}

static void read_append_only(struct facts *facts, struct slice value)
{
    facts->has_no_file = slice_equals(value, "0");
}

static const struct field {
    const char *name;
    void (*read)(struct facts *facts, struct slice value);
} FIELDS[] = {
    {"redis_version", read_version},
    {"valkey_version", read_valkey_version},
    {"loading", read_loading},
    {"redis_mode", read_mode},
    {"server_mode", read_mode}, /* Valkey's name for it */
    {"role", read_role},
    {"slave_read_only", read_read_only},
    {"maxmemory_policy", read_eviction},
    {"run_id", read_run_id},
    {"master_replid", read_history},
    {"master_replid2", read_history_before},
    {"uptime_in_seconds", read_up},
    {"connected_slaves", read_replicas},
    {"min_slaves_good_slaves", read_needs_replicas},
    {"aof_enabled", read_append_only},
};

static void read_line(struct facts *facts, struct slice line)
{
    const char *colon = line.length > 0 ? memchr(line.bytes, ':', line.length) : NULL;
    if (!colon)
        return;
    size_t name_length = (size_t)(colon - line.bytes);
    struct slice name = {line.bytes, name_length};
    struct slice value = {colon + 1, line.length - name_length - 1};
    for (size_t i = 0; i < sizeof FIELDS / sizeof FIELDS[0]; i++)
        if (slice_equals(name, FIELDS[i].name))
            FIELDS[i].read(facts, value);
}

void facts_read(struct slice info, struct facts *ret)
{
    *ret = (struct facts){0};
    const char *end = info.bytes + info.length;
    for (const char *at = info.bytes; at < end;) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        const char *next = line_end ? line_end + 1 : end;
        size_t length = (size_t)((line_end ? line_end : end) - at);
        if (length > 0 && at[length - 1] == '\r')
            length--;
        read_line(ret, (struct slice){at, length});
        at = next;
    }
}

static bool is_too_old(const struct facts *facts)
{
    return facts->major < OLDEST_MAJOR ||
           (facts->major == OLDEST_MAJOR && facts->minor < OLDEST_MINOR);
}

int facts_check(const struct facts *facts, struct failure *failure)
{
    if (facts->version[0] == '\0')
        return failure_set(failure, -EPROTO, "it does not tell its version; is it a Redis?");
    if (is_too_old(facts))
        return failure_set(failure, -EPROTO,
                           "it is version %s, but 6.2 or newer is needed: upgrade it",
                           facts->version);
    if (facts->loading)
        return failure_set(failure, -EAGAIN, "it is still loading its data");
    if (facts->replica && !facts->replica_writable)
        return failure_set(failure, -EAGAIN,
                           "it is a read-only replica: point redis-url to the primary");
    return 0;
}

bool facts_warn(const struct facts *facts, struct failure *warning)
{
    if (facts->replica)
        failure_set(warning, 0,
                    "Redis is a writable replica: its primary may overwrite locks at any time; "
                    "point redis-url to the primary");
    else if (facts->eviction[0] != '\0' && strcmp(facts->eviction, "noeviction") != 0)
        failure_set(warning, 0,
                    "Redis may evict locks when its memory is full (maxmemory-policy %s): set "
                    "maxmemory-policy to noeviction",
                    facts->eviction);
    else
        return false;
    return true;
}
