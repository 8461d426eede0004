#include "base/memory.h"
#include "locks/calls/operation.h"
#include "locks/scripts/scripts.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    KEYS_LOOKED_AT = 200, /* by one script, in about 1 ms of Redis */
    SCAN_LENGTH = 20,
};

struct counting {
    struct locks *locks;
    unsigned position; /* of the shard that counts now */
    locks_counted *done;
    void *context;
};

/* The text of a cursor is SCAN's cursor. After the first shard, the position of the shard and a
 * colon come before it. */
struct count_cursor {
    unsigned position;
    struct slice scan;
};

static struct count_cursor count_cursor_read(struct slice cursor)
{
    struct count_cursor from = {.scan = cursor};
    const char *colon = cursor.length > 0 ? memchr(cursor.bytes, ':', cursor.length) : NULL;
    if (colon) {
        size_t length = (size_t)(colon + 1 - cursor.bytes);
        from.position = (unsigned)strtoul(cursor.bytes, NULL, 10);
        from.scan = (struct slice){colon + 1, cursor.length - length};
    }
    return from;
}

/* The cursor of the next call, after a shard has replied with `scan`; "0" after the last shard. */
static struct slice count_cursor_write(const struct counting *counting, struct slice scan,
                                       char text[LOCKS_COUNT_CURSOR_LENGTH + 1])
{
    unsigned position = counting->position, shard;
    if (slice_equals(scan, "0")) {
        position++;
        if (!store_seek_shard(counting->locks->store, &position, &shard))
            return scan;
    }
    if (position == 0)
        return scan;
    snprintf(text, LOCKS_COUNT_CURSOR_LENGTH + 1, "%u:%.*s", position, (int)scan.length,
             scan.bytes);
    return slice_of(text);
}

static bool count_read_reply(const struct value *reply, struct locks_count *ret)
{
    return value_text(value_at(reply, 0), &ret->cursor) && ret->cursor.length > 0 &&
           ret->cursor.length <= SCAN_LENGTH && value_integer(value_at(reply, 1), &ret->holds) &&
           ret->holds >= 0;
}

static void count_answered(void *context, const struct store_result *result)
{
    struct counting *counting = context;
    char text[LOCKS_COUNT_CURSOR_LENGTH + 1];
    struct locks_count count = {.result = LOCKS_DONE, .keys = KEYS_LOOKED_AT};
    if (result->outcome == STORE_REPLIED && count_read_reply(result->reply, &count))
        count.cursor = count_cursor_write(counting, count.cursor, text);
    else
        count = (struct locks_count){.result = LOCKS_UNAVAILABLE};
    counting->done(counting->context, &count);
    free(counting);
}

void locks_count(struct locks *locks, struct slice cursor, locks_counted *done, void *context)
{
    struct count_cursor from = count_cursor_read(cursor);
    char keys[DECIMAL_TEXT];
    const struct slice argument = decimal_text(KEYS_LOOKED_AT, keys);
    struct counting *counting = memory_checked(malloc(sizeof *counting));
    *counting = (struct counting){locks, from.position, done, context};
    const struct script_call call = {
        .script = &script_count,
        .arguments = &argument,
        .argument_count = 1,
        .done = count_answered,
        .context = counting,
    };
    operation_scan(locks, &counting->position, from.scan, slice_of(""), &call);
}
