/* Renews or releases several names. Sends one script for each name, all at once. */
#include "base/memory.h"
#include "locks/calls/state.h"
#include "locks/calls/view_copy.h"
#include "locks/several/names.h"

#include <assert.h>
#include <stdio.h>

struct together;

struct together_entry {
    struct together *together;
    char owner[OWNER_LENGTH];
};

struct together {
    several_done *done;
    void *context;
    struct names *names;
    size_t asking;
    char error[STORE_ERROR_TEXT];
    struct lock_view *ended; /* the view of the name `reply.refused`; NULL: no end is known */
    struct several_reply reply;
    struct together_entry entries[];
};

/* The worst result becomes the result of the whole. A Redis that is down is worse than a name that
 * is not held: a client that gets NOT_HELD takes the other names as renewed. A hold at its max_held
 * still exists. */
static int together_weight(enum locks_result result)
{
    switch (result) {
    case LOCKS_DONE:
        return 0;
    case LOCKS_MAX_HELD:
        return 1;
    case LOCKS_UNCONFIRMED:
        return 3;
    case LOCKS_DAMAGED:
        return 4;
    case LOCKS_UNAVAILABLE:
        return 5;
    default:
        return 2;
    }
}

static void together_conclude(struct together *together)
{
    struct several_reply *reply = &together->reply;
    for (size_t i = 0; i < reply->count; i++)
        if (together_weight(reply->each[i].result) > together_weight(reply->result))
            reply->result = reply->each[i].result;
    together->done(together->context, reply);
    free(together->ended);
    free(together->names);
    free(together);
}

/* Keeps how one hold ended, for the reply. */
static void together_keep_end(struct together *together, size_t i, const struct lock_view *view)
{
    if (together->ended || view->last_release.fence == 0)
        return;
    together->ended = view_copy(view);
    together->reply.refused = i;
    together->reply.view = *together->ended;
}

static void together_answered(void *context, const struct locks_reply *reply)
{
    struct together_entry *entry = context;
    struct together *together = entry->together;
    size_t i = (size_t)(entry - together->entries);
    together->reply.each[i].result = reply->result;
    together->reply.each[i].release = reply->release;
    together->reply.each[i].hold = reply->hold;
    /* A reply has at most one of the two. */
    owner_keep(&together->reply.each[i].hold.owner, entry->owner);
    owner_keep(&together->reply.each[i].release.owner, entry->owner);
    if (reply->result == LOCKS_NOT_HELD)
        together_keep_end(together, i, &reply->view);
    if (together_weight(reply->result) > 2)
        snprintf(together->error, sizeof together->error, "%s", reply->error);
    if (--together->asking == 0)
        together_conclude(together);
}

static struct together *together_new(const struct slice *names, size_t count, several_done *done,
                                     void *context)
{
    assert(count > 0); /* without a name `done` would never run */
    struct together *together =
        memory_checked(calloc(1, sizeof *together + count * sizeof together->entries[0]));
    together->done = done;
    together->context = context;
    together->names = names_sorted(names, count, NULL, 0);
    together->asking = together->reply.count = count;
    together->reply.result = LOCKS_DONE;
    together->reply.error = together->error;
    for (size_t i = 0; i < count; i++) {
        together->reply.each[i].name = together->names->each[i];
        together->entries[i].together = together;
    }
    return together;
}

void locks_renew_several(struct locks *locks, const struct slice *names, size_t count,
                         struct slice token, int64_t ttl_ms, int64_t replicas, several_done *done,
                         void *context)
{
    struct together *together = together_new(names, count, done, context);
    for (size_t i = 0; i < count; i++)
        locks_renew(locks, together->names->each[i], token, ttl_ms, replicas, together_answered,
                    &together->entries[i]);
}

void locks_release_several(struct locks *locks, const struct slice *names, size_t count,
                           struct slice token, several_done *done, void *context)
{
    struct together *together = together_new(names, count, done, context);
    for (size_t i = 0; i < count; i++)
        locks_release(locks, together->names->each[i], token, together_answered,
                      &together->entries[i]);
}
