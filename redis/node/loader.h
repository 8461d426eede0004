/* loader.h: what a connection does about a Redis that does not have batond's library of functions.
 */
#ifndef BATON_REDIS_NODE_LOADER_H
#define BATON_REDIS_NODE_LOADER_H

#include "redis/wire/call.h"

#include <stdbool.h>
#include <stdint.h>

/* batond calls a function without asking whether it is there: as a rule it is, because Redis keeps
 * libraries on disk and gives them to its replicas. When Redis answers "Function not found", the
 * connection sends the library, and right behind it the call once more. The calls that were under
 * way miss their function as well; each goes once more when its answer comes. New calls are held
 * until Redis has answered the library: by then it has answered every call that was sent before the
 * library. So the calls run in the order in which they were made. (If another batond loads the
 * library meanwhile, calls that were under way may run before those that missed their function.)
 *
 * Zeroed for each new connection. */
struct loader {
    bool is_loading;
    struct call_queue held; /* calls that were made while it loads, and were not sent yet */
    uint64_t refused_at;    /* when Redis refused the library, on the loop's clock, in ms; 0: it did
                             * not */
    char error[160];        /* what Redis said then */
};

/* Notes that a FUNCTION LOAD is on its way. */
void loader_begin(struct loader *loader);

/* Notes the answer; `error` is NULL or the error reply. If the error says that Redis had the
 * library already, that is no refusal. The caller then sends what was held. */
void loader_end(struct loader *loader, const char *error, uint64_t now);

/* Returns the error by which Redis refused the library a moment ago, NULL if it did not: while a
 * full Redis or missing rights stand in the way, not every call tries again. */
const char *loader_refusal(const struct loader *loader, uint64_t now);

#endif
