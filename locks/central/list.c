#include "base/memory.h"
#include "locks/calls/operation.h"
#include "locks/calls/script_answer.h"
#include "locks/central/cursor.h"
#include "locks/scripts/scripts.h"

#include <errno.h>

enum {
    KEYS_LOOKED_AT = 2000, /* by one script, in about 1 ms of Redis */
    ARGUMENTS = 4,         /* before the keys */
    /* The longest time to fill a page: an empty page is of no use to a client. */
    PATIENCE_MS = 300,
};

_Static_assert(ARGUMENTS + CURSOR_NAMES <= OPERATION_SCAN_ARGUMENTS, "a cursor fits into a call");

struct listing {
    struct locks *locks;
    struct locks_listener listener;
    size_t limit;
    size_t reported;
    uint64_t started;  /* by uv_hrtime, in ns */
    unsigned position; /* of the shard that replies next */
    size_t prefix_length;
    char prefix[NAME_LENGTH];
    int64_t held_ms;
    size_t owner_length;
    char owner[OWNER_NAME_LENGTH];
};

static void list_ask(struct listing *listing, const struct cursor *from);

static void listing_end(struct listing *listing, enum locks_result result, struct slice next,
                        const char *error)
{
    listing->listener.done(listing->listener.context, result, next, error);
    free(listing);
}

static bool central_list_wants(const struct listing *listing, struct slice name)
{
    const struct locks_listener *listener = &listing->listener;
    return name.length >= listing->prefix_length &&
           memcmp(name.bytes, listing->prefix, listing->prefix_length) == 0 &&
           (!listener->wants || listener->wants(listener->context, name));
}

static void list_skip(const struct listing *listing, struct slice key)
{
    char bytes[NAME_LENGTH];
    struct slice name = operation_name(listing->locks, key, bytes);
    if (listing->listener.skipped && name.length > 0 && central_list_wants(listing, name))
        listing->listener.skipped(listing->listener.context, name);
}

static void list_report_skipped(const struct listing *listing, const struct value *skipped)
{
    struct slice key;
    for (size_t i = 0; i < value_count(skipped); i++)
        if (value_text(value_at(skipped, i), &key))
            list_skip(listing, key);
}

/* Reports one lock to the listener, or logs that batond cannot read it. Returns false if the reply
 * has another shape. */
static bool list_report(struct listing *listing, const struct value *entry)
{
    struct slice key;
    struct lock_view view;
    if (!value_text(value_at(entry, 0), &key))
        return false;
    if (!reply_read_view(value_at(entry, 1), &view)) {
        script_answer_report_damaged(listing->locks, key, REPLY_UNREADABLE);
        list_skip(listing, key);
        return true;
    }
    char bytes[NAME_LENGTH];
    struct slice name = operation_name(listing->locks, key, bytes);
    if (name.length > 0 && central_list_wants(listing, name)) {
        listing->reported++;
        listing->listener.each(listing->listener.context, name, &view);
    }
    return true;
}

/* Reads the cursor of a reply. `names` holds the names to which the cursor points. The cursor
 * leaves out the same names as the pages, since clients can read it. */
static bool list_read_cursor(const struct listing *listing, const struct value *reply,
                             char names[CURSOR_NAMES][NAME_LENGTH], struct cursor *ret)
{
    const struct value *rest = value_at(reply, 1);
    ret->name_count = 0;
    if (!value_text(value_at(reply, 0), &ret->scan) || ret->scan.length > CURSOR_SCAN_LENGTH ||
        value_count(rest) > CURSOR_NAMES)
        return false;
    for (size_t i = 0; i < value_count(rest); i++) {
        struct slice key;
        if (!value_text(value_at(rest, i), &key))
            return false;
        struct slice name = operation_name(listing->locks, key, names[ret->name_count]);
        if (name.length > 0 && central_list_wants(listing, name))
            ret->names[ret->name_count++] = name;
    }
    return true;
}

/* Moves on to the next shard. Returns false after the last shard. */
static bool list_next_shard(const struct listing *listing, struct cursor *cursor)
{
    unsigned shard;
    cursor->position++;
    cursor->scan = slice_of("0");
    return store_seek_shard(listing->locks->store, &cursor->position, &shard);
}

static bool list_is_patient(const struct listing *listing)
{
    return uv_hrtime() - listing->started < PATIENCE_MS * UINT64_C(1000000);
}

/* Reports the locks of one reply, then goes on or ends the listing. Returns false, without ending
 * the listing, if the reply has another shape. */
static bool list_go_on(struct listing *listing, const struct value *reply)
{
    char names[CURSOR_NAMES][NAME_LENGTH];
    struct cursor cursor;
    const struct value *page = value_at(reply, 2);
    cursor.position = listing->position;
    if (!list_read_cursor(listing, reply, names, &cursor))
        return false;
    for (size_t i = 0; i < value_count(page); i++)
        if (!list_report(listing, value_at(page, i)))
            return false;
    list_report_skipped(listing, value_at(reply, 3));

    bool at_end = cursor.scan.length == 0 && cursor.name_count == 0;
    bool part_ends = at_end;
    if (at_end)
        at_end = !list_next_shard(listing, &cursor);
    bool has_room = listing->reported == 0 || (part_ends && listing->reported < listing->limit);
    if (!at_end && has_room && list_is_patient(listing)) {
        list_ask(listing, &cursor);
        return true;
    }
    char text[CURSOR_TEXT];
    if (!at_end)
        cursor_encode(&cursor, text);
    listing_end(listing, LOCKS_DONE, at_end ? slice_of(NULL) : slice_of(text), NULL);
    return true;
}

static void list_answered(void *context, const struct store_result *result)
{
    struct listing *listing = context;
    if (result->outcome != STORE_REPLIED || !list_go_on(listing, result->reply))
        listing_end(listing, LOCKS_UNAVAILABLE, slice_of(NULL),
                    operation_unavailable_because(result));
}

static void list_ask(struct listing *listing, const struct cursor *from)
{
    struct slice beginning = {listing->prefix, listing->prefix_length};
    char limit[DECIMAL_TEXT], budget[DECIMAL_TEXT], held[DECIMAL_TEXT];
    char keys[CURSOR_NAMES][KEY_LENGTH];
    struct slice arguments[ARGUMENTS + CURSOR_NAMES] = {
        decimal_text((int64_t)(listing->limit - listing->reported), limit),
        decimal_text(KEYS_LOOKED_AT, budget),
        {listing->owner, listing->owner_length},
        decimal_text(listing->held_ms, held),
    };
    for (size_t i = 0; i < from->name_count; i++)
        arguments[ARGUMENTS + i] = operation_key(listing->locks, from->names[i], keys[i]);
    const struct script_call call = {
        .script = &script_list,
        .arguments = arguments,
        .argument_count = ARGUMENTS + from->name_count,
        .done = list_answered,
        .context = listing,
    };
    listing->position = from->position;
    operation_scan(listing->locks, &listing->position, from->scan, beginning, &call);
}

int locks_list(struct locks *locks, struct slice prefix, const struct list_filter *filter,
               struct slice cursor, size_t limit, const struct locks_listener *listener)
{
    struct cursor from = {.scan = slice_of("0")};
    char bytes[CURSOR_BYTES];
    if (cursor.length > 0 && cursor_decode(cursor, bytes, &from) < 0)
        return -EINVAL;

    struct listing *listing = memory_checked(malloc(sizeof *listing));
    *listing = (struct listing){.locks = locks,
                                .listener = *listener,
                                .limit = limit,
                                .started = uv_hrtime(),
                                .prefix_length = prefix.length};
    if (prefix.length > 0)
        memcpy(listing->prefix, prefix.bytes, prefix.length);
    if (filter) {
        listing->held_ms = filter->held_ms;
        listing->owner_length = filter->owner.length;
    }
    if (listing->owner_length > 0)
        memcpy(listing->owner, filter->owner.bytes, filter->owner.length);
    list_ask(listing, &from);
    return 0;
}
