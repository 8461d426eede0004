/* script_call.h: one call of a script, as a store takes it. */
#ifndef BATON_REDIS_TYPES_SCRIPT_CALL_H
#define BATON_REDIS_TYPES_SCRIPT_CALL_H

#include "redis/types/result.h"
#include "redis/types/script.h"

struct script_call {
    const struct script *script;
    struct slice key;              /* KEYS[1] */
    const struct slice *arguments; /* ARGV */
    size_t argument_count;
    /* The script came too late, or has done only a part of its work: whether to make the call
     * again, behind the calls made meanwhile; if it came too late, only a few times. NULL: yes. */
    bool (*is_wanted)(const void *context);
    bool is_once;     /* a call that came too late is not made again */
    store_done *done; /* NULL: nobody needs the result */
    void *context;    /* of both */
};

#endif
