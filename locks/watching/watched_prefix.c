#include "locks/watching/watched_prefix.h"

#include "base/memory.h"
#include "locks/scripts/scripts.h"
#include "locks/types/cursor.h"

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

bool watched_prefix_has(const struct watched_prefix *region, struct slice name)
{
    size_t length = region->prefix_length;
    return length == 0 ||
           (name.length >= length && memcmp(name.bytes, region->prefix, length) == 0);
}

struct watched_prefix *watched_prefix_open(struct watched_prefix **list, struct locks *locks,
                                           struct prefix_names *known, struct slice prefix,
                                           watched_prefix_scanned *scanned, void *context)
{
    struct watched_prefix *region = memory_checked(calloc(1, sizeof *region + prefix.length));
    region->locks = locks;
    region->known = known;
    region->scanned = scanned;
    region->context = context;
    region->prefix_length = prefix.length;
    if (prefix.length > 0)
        memcpy(region->prefix, prefix.bytes, prefix.length);
    region->list = list;
    region->next = *list;
    region->place = list;
    if (region->next)
        region->next->place = &region->next;
    *list = region;
    return region;
}

void watched_prefix_close(struct watched_prefix *region)
{
    *region->place = region->next;
    if (region->next)
        region->next->place = region->place;
    region->ended = true;
    if (!region->scanning)
        free(region);
}

void watched_prefixes_forget_oldest(struct watched_prefix *list, struct prefix_names *known)
{
    struct prefix_name *oldest;
    while (known->free.count > FREE_MOST && (oldest = known->free.first) && !oldest->touched) {
        for (struct watched_prefix *region = list; region; region = region->next) {
            if (!watched_prefix_has(region, oldest->name))
                continue;
            region->forgotten = later(region->forgotten, oldest->version);
            region->since = later(region->since, oldest->version);
        }
        prefix_name_forget(known, oldest);
    }
}

bool watched_prefix_covers(const struct watched_prefix *region, int64_t since)
{
    return region->ready && (since == 0 || region->since <= since);
}

static void watched_prefix_ask(struct watched_prefix *region, struct slice cursor);

static void watched_prefix_begin(struct watched_prefix *region)
{
    region->forgotten = 0;
    region->position = 0;
    region->began = 0;
    watched_prefix_ask(region, slice_of("0"));
}

/* Returns false if the entry is not of the expected shape. */
static bool note(struct watched_prefix *region, const struct value *entry)
{
    struct slice prefix = {region->locks->key_prefix, region->locks->key_prefix_length};
    struct slice key;
    int64_t version, next_ms;
    if (!value_text(value_at(entry, 0), &key) || !value_integer(value_at(entry, 1), &version) ||
        !value_integer(value_at(entry, 2), &next_ms))
        return false;
    char name[NAME_LENGTH];
    size_t length = name_from_key(prefix, key, name);
    if (length == 0)
        return true;
    struct prefix_name *known = prefix_name_get(region->known, (struct slice){name, length});
    bool is_held = next_ms >= 0;
    uint64_t end = region->asked + (uint64_t)(is_held ? next_ms : 0);
    prefix_name_seen(region->known, known, version, is_held, end);
    return true;
}

static void watched_prefix_finish(struct watched_prefix *region, const char *error)
{
    region->scanning = false;
    if (!error) {
        region->ready = true;
        region->since = later(region->scan_since, region->forgotten);
    }
    region->scanned(region->context, region, error);
}

static bool read_part(struct watched_prefix *region, const struct value *part)
{
    struct slice cursor;
    int64_t time;
    if (!value_text(value_at(part, 0), &cursor) || cursor.length > CURSOR_SCAN_LENGTH ||
        !value_integer(value_at(part, 1), &time))
        return false;
    const struct value *found = value_at(part, 2);
    for (size_t i = 0; i < value_count(found); i++)
        if (!note(region, value_at(found, i)))
            return false;
    if (region->began == 0 || time < region->began)
        region->began = time;
    watched_prefixes_forget_oldest(*region->list, region->known);
    if (cursor.length > 0) {
        watched_prefix_ask(region, cursor);
        return true;
    }
    region->position++;
    if (store_seek_shard(region->locks->store, &region->position, &(unsigned){0})) {
        watched_prefix_ask(region, slice_of("0"));
        return true;
    }
    if (region->scan_since == 0)
        region->scan_since = region->began; /* Redis tells of later changes */
    watched_prefix_finish(region, NULL);
    return true;
}

static void watched_prefix_answered(void *context, const struct store_result *result)
{
    struct watched_prefix *region = context;
    if (region->ended)
        free(region);
    else if (result->outcome == STORE_REPLIED && region->scan_again) {
        region->scan_again = false;
        watched_prefix_begin(region);
    } else if (result->outcome != STORE_REPLIED || !read_part(region, result->reply))
        watched_prefix_finish(region, operation_unavailable_because(result));
}

static void watched_prefix_ask(struct watched_prefix *region, struct slice cursor)
{
    struct locks *locks = region->locks;
    struct slice key_prefix = {locks->key_prefix, locks->key_prefix_length};
    struct slice prefix = {region->prefix, region->prefix_length};
    char pattern[KEY_PATTERN_LENGTH], since[NUMBER_TEXT], keys[NUMBER_TEXT], names[NUMBER_TEXT];
    const struct slice arguments[] = {
        stamp_placeholder(),
        cursor,
        {pattern, name_to_pattern(key_prefix, prefix, pattern)},
        region->scan_since ? number_text(region->scan_since, since) : slice_of(""),
        number_text(KEYS_LOOKED_AT, keys),
        number_text(NAMES_FOUND, names),
    };
    unsigned shard = 0;
    store_seek_shard(locks->store, &region->position, &shard);
    region->asked = uv_now(locks->loop);
    const struct script_call call = {
        .script = &script_changes,
        .key = key_prefix,
        .arguments = arguments,
        .argument_count = sizeof arguments / sizeof arguments[0],
        .done = watched_prefix_answered,
        .context = region,
    };
    script_call_send_at(locks, shard, &call);
}

void watched_prefix_scan(struct watched_prefix *region, int64_t since)
{
    if (region->scanning)
        return;
    region->scanning = true;
    region->scan_since = since;
    watched_prefix_begin(region);
}

void watched_prefix_doubt(struct watched_prefix *region, int64_t since)
{
    region->ready = false;
    if (region->scanning) {
        region->scan_again = true;
        region->scan_since = since;
    } else {
        watched_prefix_scan(region, since);
    }
}
