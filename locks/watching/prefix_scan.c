/* The scan of a watched prefix, part by part, at each shard. */
#include "base/decimal.h"
#include "locks/quarantine/guard.h"
#include "locks/scripts/scripts.h"
#include "locks/watching/prefix.h"

enum {
    KEYS_LOOKED_AT =
        1000,          /* by one script: a millisecond of Redis where few of them are found... */
    NAMES_FOUND = 100, /* ... and where many are */
    FREE_MOST = 4096,
    WINDOW_MS = 60000, /* names that were freed this long ago are found by a scan */
};

static int64_t later(int64_t one, int64_t other)
{
    return one > other ? one : other;
}

/* Names that were freed this long ago, Redis is about to forget. */
static int64_t memory_ms(const struct watched_prefix *watched)
{
    return watched->locks->options.retention_ms / 2;
}

static int64_t window_ms(const struct watched_prefix *watched)
{
    return memory_ms(watched) < WINDOW_MS ? memory_ms(watched) : WINDOW_MS;
}

bool prefix_scan_covers(const struct watched_prefix *watched, const struct prefix_position *from,
                        int64_t time)
{
    int64_t free_known = later(from->after, from->snapshot);
    int64_t lost = guard_lost_number(watched->locks->guard);
    if (lost <= time && free_known < lost)
        return false;
    return free_known >= later(watched->since, time - memory_ms(watched) * 1000);
}

void prefix_scan_forget_oldest(struct watched_prefix *watched)
{
    int64_t forgotten = prefix_name_forget_oldest(&watched->known, FREE_MOST);
    watched->since = later(watched->since, forgotten);
}

static void prefix_scan_ask(struct watched_prefix *watched, struct slice cursor);

static void prefix_scan_begin(struct watched_prefix *watched)
{
    watched->state = PREFIX_SCANNING;
    watched->position = 0;
    watched->since = 0;
    prefix_scan_ask(watched, slice_of("0"));
}

static void prefix_scan_end(struct watched_prefix *watched, const char *error)
{
    watched->state = error ? PREFIX_UNKNOWN : PREFIX_KNOWN;
    if (error)
        prefix_watches_give_up(watched, error);
    watched_prefix_plan(watched);
}

/* Returns false if the entry is not of the expected shape. */
static bool prefix_scan_note(struct watched_prefix *watched, const struct value *entry)
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
    struct prefix_name *known = prefix_name_get(&watched->known, name);
    bool is_held = next_ms >= 0;
    uint64_t end = watched->asked + (uint64_t)(is_held ? next_ms : 0);
    prefix_name_seen(&watched->known, known, version, is_held, end);
    return true;
}

static bool prefix_scan_read(struct watched_prefix *watched, const struct value *part)
{
    struct slice cursor;
    int64_t time;
    if (!value_text(value_at(part, 0), &cursor) || cursor.length > DECIMAL_LONGEST ||
        !value_integer(value_at(part, 1), &time))
        return false;
    const struct value *found = value_at(part, 2);
    for (size_t i = 0; i < value_count(found); i++)
        if (!prefix_scan_note(watched, value_at(found, i)))
            return false;
    watched->since = later(watched->since, time - window_ms(watched) * 1000);
    prefix_scan_forget_oldest(watched);
    bool is_next = cursor.length == 0;
    watched->position += is_next;
    if (!is_next || store_seek_shard(watched->locks->store, &watched->position, &(unsigned){0}))
        prefix_scan_ask(watched, is_next ? slice_of("0") : cursor);
    else
        prefix_scan_end(watched, NULL);
    return true;
}

static void prefix_scan_answered(void *context, const struct store_result *result)
{
    struct watched_prefix *watched = context;
    if (result->outcome == STORE_REPLIED && watched->state == PREFIX_SCANNING_AGAIN)
        prefix_scan_begin(watched);
    else if (result->outcome != STORE_REPLIED || !prefix_scan_read(watched, result->reply))
        prefix_scan_end(watched, operation_unavailable_because(result));
}

static void prefix_scan_ask(struct watched_prefix *watched, struct slice cursor)
{
    struct slice prefix = {watched->prefix, watched->prefix_length};
    char window[DECIMAL_TEXT], keys[DECIMAL_TEXT], names[DECIMAL_TEXT];
    const struct slice arguments[] = {
        decimal_text(window_ms(watched), window),
        decimal_text(KEYS_LOOKED_AT, keys),
        decimal_text(NAMES_FOUND, names),
    };
    const struct script_call call = {
        .script = &script_changes,
        .arguments = arguments,
        .argument_count = sizeof arguments / sizeof arguments[0],
        .done = prefix_scan_answered,
        .context = watched,
    };
    watched->asked = uv_now(watched->locks->loop);
    operation_scan(watched->locks, &watched->position, cursor, prefix, &call);
}

void prefix_scan(struct watched_prefix *watched)
{
    if (watched->state == PREFIX_UNKNOWN)
        prefix_scan_begin(watched);
}
