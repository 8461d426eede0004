#include "locks/calls/libraries.h"

#include "base/decimal.h"
#include "base/memory.h"
#include "base/random.h"
#include "locks/calls/state.h"
#include "locks/quarantine/guard.h"
#include "locks/quarantine/stamp.h"
#include "locks/scripts/scripts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEPT_MS = 24 * 60 * 60 * 1000,
    FIRST_PART = 720, /* the first check comes after 1 to 3 of this many parts of the interval: if
                       * that is an hour, after 5 to 15 s */
};

static const char OURS[] = "baton_"; /* how all libraries of batond begin */
static const char SUFFIX[] = ":libraries";

struct libraries {
    struct locks *locks;
    uv_timer_t timer;
    int64_t check_ms;
};

/* One call to one shard. */
struct libraries_question {
    struct locks *locks;
    unsigned shard;
};

/* Deletes only libraries of batond, whatever the hash in Redis names. */
static bool libraries_may_delete(struct slice name)
{
    size_t head = sizeof OURS - 1;
    return name.length > head && memcmp(name.bytes, OURS, head) == 0 &&
           !slice_equals(name, script_library.name);
}

static void libraries_answered(void *context, const struct store_result *result)
{
    const struct libraries_question question = *(struct libraries_question *)context;
    struct store *store = question.locks->store;
    free(context);
    if (result->outcome != STORE_REPLIED || store_is_closing(store))
        return;
    for (size_t i = 0; i < value_count(result->reply); i++) {
        struct slice name;
        if (value_text(value_at(result->reply, i), &name) && libraries_may_delete(name))
            store_delete_library(store, question.shard, name);
    }
}

/* The hash lies beside the epoch of the shard, in the same slot of a Cluster. */
static void libraries_ask(struct locks *locks, unsigned shard)
{
    char tag[STORE_TAG_SIZE], key[KEY_LENGTH], kept[DECIMAL_TEXT];
    store_first_tag(locks->store, shard, tag);
    struct slice whole = guard_epoch_key(locks->guard, tag, key);
    whole.length += (size_t)snprintf(key + whole.length, sizeof key - whole.length, "%s", SUFFIX);
    const struct slice arguments[] = {
        stamp_placeholder(),
        slice_of(script_library.name),
        decimal_text(KEPT_MS, kept),
    };
    struct libraries_question *question = memory_checked(malloc(sizeof *question));
    *question = (struct libraries_question){locks, shard};
    const struct script_call call = {
        .script = &script_libraries,
        .key = whole,
        .arguments = arguments,
        .argument_count = sizeof arguments / sizeof arguments[0],
        .done = libraries_answered,
        .context = question,
    };
    store_eval_first(locks->store, shard, &call);
}

/* From three to five quarters of the interval, so that workers do not all ask at once. */
static uint64_t libraries_pause(const struct libraries *libraries)
{
    uint32_t half = (uint32_t)(libraries->check_ms / 2);
    return (uint64_t)libraries->check_ms - half / 2 + random_below(half + 1);
}

static void libraries_on_timer(uv_timer_t *timer)
{
    struct libraries *libraries = timer->data;
    struct locks *locks = libraries->locks;
    if (store_is_closing(locks->store))
        return;
    for (unsigned shard = 0; shard < store_shard_count(locks->store); shard++)
        if (store_shard_serves(locks->store, shard) && store_shard_is_up(locks->store, shard))
            libraries_ask(locks, shard);
    uv_timer_start(timer, libraries_on_timer, libraries_pause(libraries), 0);
}

void libraries_open(struct locks *locks, int64_t check_ms)
{
    if (check_ms == 0)
        return;
    struct libraries *libraries = locks->libraries = memory_checked(calloc(1, sizeof *libraries));
    uint32_t part = (uint32_t)(check_ms / FIRST_PART);
    libraries->locks = locks;
    libraries->check_ms = check_ms;
    uv_timer_init(locks->loop, &libraries->timer);
    libraries->timer.data = libraries;
    uv_timer_start(&libraries->timer, libraries_on_timer, part + random_below(2 * part + 1), 0);
}

static void libraries_on_closed(uv_handle_t *timer)
{
    free(timer->data);
}

void libraries_close(struct locks *locks)
{
    if (locks->libraries)
        uv_close((uv_handle_t *)&locks->libraries->timer, libraries_on_closed);
    locks->libraries = NULL;
}
