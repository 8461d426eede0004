#include "locks/calls/operation.h"
#include "locks/scripts/scripts.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    KEYS_LOOKED_AT = 200, /* by one script: about a millisecond of Redis */
    SCAN_LENGTH = 20,
};

struct counting {
    struct locks *locks;
    unsigned position; /* of the part of the store that is asked */
    locks_counted *done;
    void *context;
};

/* The cursor in use: SCAN's own, behind the position of a part that is not the first. */
struct place {
    unsigned position;
    struct slice scan;
};

static struct place read_place(struct slice cursor)
{
    struct place place = {.scan = cursor};
    const char *colon = cursor.length > 0 ? memchr(cursor.bytes, ':', cursor.length) : NULL;
    if (colon) {
        size_t length = (size_t)(colon + 1 - cursor.bytes);
        place.position = (unsigned)strtoul(cursor.bytes, NULL, 10);
        place.scan = (struct slice){colon + 1, cursor.length - length};
    }
    return place;
}

/* Where to go on after a part's answer; "0" at the end of the last part. */
static struct slice write_place(const struct counting *counting, struct slice scan,
                                char text[LOCKS_COUNT_CURSOR_LENGTH + 1])
{
    unsigned position = counting->position, part;
    if (slice_equals(scan, "0")) {
        position++;
        if (!store_seek_part(counting->locks->store, &position, &part))
            return scan;
    }
    if (position == 0)
        return scan;
    snprintf(text, LOCKS_COUNT_CURSOR_LENGTH + 1, "%u:%.*s", position, (int)scan.length,
             scan.bytes);
    return slice_of(text);
}

static bool read_part(const struct value *reply, struct locks_count *ret)
{
    return value_text(value_at(reply, 0), &ret->cursor) && ret->cursor.length > 0 &&
           ret->cursor.length <= SCAN_LENGTH && value_integer(value_at(reply, 1), &ret->holds) &&
           ret->holds >= 0;
}

static void counted(void *context, const struct store_result *result)
{
    struct counting *counting = context;
    char text[LOCKS_COUNT_CURSOR_LENGTH + 1];
    struct locks_count count = {.result = LOCKS_DONE, .keys = KEYS_LOOKED_AT};
    if (result->outcome == STORE_REPLIED && read_part(result->reply, &count))
        count.cursor = write_place(counting, count.cursor, text);
    else
        count = (struct locks_count){.result = LOCKS_UNAVAILABLE};
    counting->done(counting->context, &count);
    free(counting);
}

void locks_count(struct locks *locks, struct slice cursor, locks_counted *done, void *context)
{
    struct slice key_prefix = {locks->key_prefix, locks->key_prefix_length};
    struct place place = read_place(cursor);
    unsigned part = 0;
    char pattern[KEY_PATTERN_LENGTH], keys[NUMBER_TEXT];
    struct counting *counting = malloc(sizeof *counting);
    if (!counting)
        abort();
    unsigned position = place.position;
    if (store_seek_part(locks->store, &position, &part) && position != place.position)
        place.scan = slice_of("0"); /* the part has other slots by now: another one has its place */
    const struct slice arguments[] = {
        stamp_room(),
        place.scan,
        {pattern, name_to_pattern(key_prefix, slice_of(""), pattern)},
        number_text(KEYS_LOOKED_AT, keys),
    };
    *counting = (struct counting){locks, position, done, context};
    const struct script_call call = {
        .script = &script_census,
        .key = key_prefix,
        .arguments = arguments,
        .argument_count = sizeof arguments / sizeof arguments[0],
        .done = counted,
        .context = counting,
    };
    ask_redis_at(locks, part, &call);
}
