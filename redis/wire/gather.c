#include "redis/wire/gather.h"

#include <string.h>

/* Redis does nothing else while it runs a command, and a command of this length is read at once. */
enum { CALLS_MOST = 32, BYTES_MOST = 65536 };

bool gather_may_take(const struct call *call)
{
    return call->script && call->script->is_gathered && call->key_count == 1 && !call->is_part &&
           !call->is_full;
}

bool gather_has_room(const struct gather *gather, const struct call *call)
{
    if (gather->count == CALLS_MOST || gather->length + call->length > BYTES_MOST)
        return false;
    struct slice key = call_key(call);
    for (const struct call *other = gather->calls.head; other; other = other->next)
        if (slice_same(call_key(other), key))
            return false;
    return true;
}

void gather_add(struct gather *gather, struct call *call)
{
    call_queue_push(&gather->calls, call);
    gather->count++;
    gather->length += call->length;
}

struct call *gather_take(struct gather *gather)
{
    unsigned count = gather->count;
    gather->count = 0;
    gather->length = 0;
    return count > 1 ? call_new_many(&gather->calls) : call_queue_pop(&gather->calls);
}
