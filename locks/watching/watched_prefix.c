#include "locks/watching/watched_prefix.h"

#include "base/decimal.h"
#include "base/memory.h"
#include "locks/scripts/scripts.h"

enum {
    KEYS_LOOKED_AT =
        1000,          /* by one script: a millisecond of Redis where few of them are found... */
    NAMES_FOUND = 100, /* ... and where many are */
    FREE_MOST = 4096,
};

static int64_t later(int64_t one, int64_t other)
{
    return one > other ? one : other;
}

bool watched_prefix_has(const struct watched_prefix *watched, struct slice name)
{
    size_t length = watched->prefix_length;
    return length == 0 ||
           (name.length >= length && memcmp(name.bytes, watched->prefix, length) == 0);
}

struct watched_prefix *watched_prefix_open(struct watched_prefixes *all, struct locks *locks,
                                           struct prefix_names *known, struct slice prefix,
                                           watched_prefix_scanned *scanned, void *context)
{
    struct watched_prefix *watched = memory_checked(calloc(1, sizeof *watched + prefix.length));
    watched->locks = locks;
    watched->known = known;
    watched->scanned = scanned;
    watched->context = context;
    watched->prefix_length = prefix.length;
    if (prefix.length > 0)
        memcpy(watched->prefix, prefix.bytes, prefix.length);
    watched->all = all;
    LIST_INSERT_HEAD(all, watched, others);
    return watched;
}

void watched_prefix_close(struct watched_prefix *watched)
{
    LIST_REMOVE(watched, others);
    watched->ended = true;
    if (!watched->scanning)
        free(watched);
}

void watched_prefixes_forget_oldest(const struct watched_prefixes *all, struct prefix_names *known)
{
    struct prefix_name *oldest;
    while (known->free.count > FREE_MOST && (oldest = TAILQ_FIRST(&known->free.names)) &&
           !oldest->touched) {
        for (struct watched_prefix *watched = LIST_FIRST(all); watched;
             watched = LIST_NEXT(watched, others)) {
            if (!watched_prefix_has(watched, oldest->name))
                continue;
            watched->forgotten = later(watched->forgotten, oldest->version);
            watched->since = later(watched->since, oldest->version);
        }
        prefix_name_forget(known, oldest);
    }
}

bool watched_prefix_covers(const struct watched_prefix *watched, int64_t since)
{
    return watched->ready && (since == 0 || watched->since <= since);
}

static void watched_prefix_ask(struct watched_prefix *watched, struct slice cursor);

static void watched_prefix_begin(struct watched_prefix *watched)
{
    watched->forgotten = 0;
    watched->position = 0;
    watched->began = 0;
    watched_prefix_ask(watched, slice_of("0"));
}

/* Returns false if the entry is not of the expected shape. */
static bool watched_prefix_note(struct watched_prefix *watched, const struct value *entry)
{
    struct slice key;
    int64_t version, next_ms;
    if (!value_text(value_at(entry, 0), &key) || !value_integer(value_at(entry, 1), &version) ||
        !value_integer(value_at(entry, 2), &next_ms))
        return false;
    char bytes[NAME_LENGTH];
    struct slice name = operation_name(watched->locks, key, bytes);
    if (name.length == 0)
        return true;
    struct prefix_name *known = prefix_name_get(watched->known, name);
    bool is_held = next_ms >= 0;
    uint64_t end = watched->asked + (uint64_t)(is_held ? next_ms : 0);
    prefix_name_seen(watched->known, known, version, is_held, end);
    return true;
}

static void watched_prefix_finish(struct watched_prefix *watched, const char *error)
{
    watched->scanning = false;
    if (!error) {
        watched->ready = true;
        watched->since = later(watched->scan_since, watched->forgotten);
    }
    watched->scanned(watched->context, watched, error);
}

static bool watched_prefix_read_part(struct watched_prefix *watched, const struct value *part)
{
    struct slice cursor;
    int64_t time;
    if (!value_text(value_at(part, 0), &cursor) || cursor.length > DECIMAL_LONGEST ||
        !value_integer(value_at(part, 1), &time))
        return false;
    const struct value *found = value_at(part, 2);
    for (size_t i = 0; i < value_count(found); i++)
        if (!watched_prefix_note(watched, value_at(found, i)))
            return false;
    if (watched->began == 0 || time < watched->began)
        watched->began = time;
    watched_prefixes_forget_oldest(watched->all, watched->known);
    if (cursor.length > 0) {
        watched_prefix_ask(watched, cursor);
        return true;
    }
    watched->position++;
    if (store_seek_shard(watched->locks->store, &watched->position, &(unsigned){0})) {
        watched_prefix_ask(watched, slice_of("0"));
        return true;
    }
    if (watched->scan_since == 0)
        watched->scan_since = watched->began; /* Redis tells of later changes */
    watched_prefix_finish(watched, NULL);
    return true;
}

static void watched_prefix_answered(void *context, const struct store_result *result)
{
    struct watched_prefix *watched = context;
    if (watched->ended)
        free(watched);
    else if (result->outcome == STORE_REPLIED && watched->scan_again) {
        watched->scan_again = false;
        watched_prefix_begin(watched);
    } else if (result->outcome != STORE_REPLIED ||
               !watched_prefix_read_part(watched, result->reply))
        watched_prefix_finish(watched, operation_unavailable_because(result));
}

static void watched_prefix_ask(struct watched_prefix *watched, struct slice cursor)
{
    struct locks *locks = watched->locks;
    struct slice key_prefix = locks->options.key_prefix;
    struct slice prefix = {watched->prefix, watched->prefix_length};
    char pattern[KEY_PATTERN_LENGTH], since[DECIMAL_TEXT], keys[DECIMAL_TEXT], names[DECIMAL_TEXT];
    const struct slice arguments[] = {
        stamp_placeholder(),
        cursor,
        {pattern, name_to_pattern(key_prefix, prefix, pattern)},
        watched->scan_since ? decimal_text(watched->scan_since, since) : slice_of(""),
        decimal_text(KEYS_LOOKED_AT, keys),
        decimal_text(NAMES_FOUND, names),
    };
    unsigned shard = 0;
    store_seek_shard(locks->store, &watched->position, &shard);
    watched->asked = uv_now(locks->loop);
    const struct script_call call = {
        .script = &script_changes,
        .key = key_prefix,
        .arguments = arguments,
        .argument_count = sizeof arguments / sizeof arguments[0],
        .done = watched_prefix_answered,
        .context = watched,
    };
    script_call_send_at(locks, shard, &call);
}

void watched_prefix_scan(struct watched_prefix *watched, int64_t since)
{
    if (watched->scanning)
        return;
    watched->scanning = true;
    watched->scan_since = since;
    watched_prefix_begin(watched);
}

void watched_prefix_doubt(struct watched_prefix *watched, int64_t since)
{
    watched->ready = false;
    if (watched->scanning) {
        watched->scan_again = true;
        watched->scan_since = since;
    } else {
        watched_prefix_scan(watched, since);
    }
}
