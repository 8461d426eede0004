#include "locks/operation.h"
#include "locks/scripts.h"

#include <stdlib.h>

enum { KEYS_LOOKED_AT = 200 }; /* by one script: about a millisecond of Redis */

struct counting {
    locks_counted *done;
    void *context;
};

static bool read_part(const struct value *reply, struct locks_count *ret)
{
    return value_text(value_at(reply, 0), &ret->cursor) && ret->cursor.length > 0 &&
           ret->cursor.length <= LOCKS_COUNT_CURSOR_LENGTH &&
           value_integer(value_at(reply, 1), &ret->holds) && ret->holds >= 0;
}

static void counted(void *context, const struct store_result *result)
{
    struct counting *counting = context;
    struct locks_count count = {.result = LOCKS_DONE, .keys = KEYS_LOOKED_AT};
    if (result->outcome != STORE_REPLIED || !read_part(result->reply, &count))
        count = (struct locks_count){.result = LOCKS_UNAVAILABLE};
    counting->done(counting->context, &count);
    free(counting);
}

void locks_count(struct locks *locks, struct slice cursor, locks_counted *done, void *context)
{
    struct slice key_prefix = {locks->key_prefix, locks->key_prefix_length};
    char pattern[KEY_PATTERN_LENGTH], keys[NUMBER_TEXT];
    const struct slice arguments[] = {
        slice_of(locks->retention),
        cursor,
        {pattern, name_to_pattern(key_prefix, slice_of(""), pattern)},
        number_text(KEYS_LOOKED_AT, keys),
    };
    struct counting *counting = malloc(sizeof *counting);
    if (!counting)
        abort();
    *counting = (struct counting){done, context};
    store_eval(locks->store, &script_census, key_prefix, arguments,
               sizeof arguments / sizeof arguments[0], counted, counting);
}
