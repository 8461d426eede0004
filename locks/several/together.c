/* Renewing or releasing several names: each by itself, all sent together. */
#include "locks/calls/operation.h"
#include "locks/types/names.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

struct together;

struct part {
    struct together *together;
    char owner[OWNER_LENGTH];
};

struct together {
    several_done *done;
    void *context;
    struct names *names;
    size_t asking;
    char error[STORE_ERROR_TEXT];
    struct several_reply reply;
    struct part parts[];
};

/* Redis being away says more of the whole than one name that is not held: whoever is told of that
 * takes the others for renewed. */
static int weight(enum locks_result result)
{
    switch (result) {
    case LOCKS_DONE:
        return 0;
    case LOCKS_UNCONFIRMED:
        return 2;
    case LOCKS_DAMAGED:
        return 3;
    case LOCKS_UNAVAILABLE:
        return 4;
    default:
        return 1;
    }
}

static void conclude(struct together *together)
{
    struct several_reply *reply = &together->reply;
    for (size_t i = 0; i < reply->count; i++)
        if (weight(reply->each[i].result) > weight(reply->result))
            reply->result = reply->each[i].result;
    together->done(together->context, reply);
    free(together->names);
    free(together);
}

/* Outlives the reply that it stands in, which has one of the two. */
static void keep_owner(struct part *part, struct slice *owner)
{
    if (owner->length == 0)
        return;
    memcpy(part->owner, owner->bytes, owner->length);
    owner->bytes = part->owner;
}

static void answered(void *context, const struct locks_reply *reply)
{
    struct part *part = context;
    struct together *together = part->together;
    size_t i = (size_t)(part - together->parts);
    together->reply.each[i].result = reply->result;
    together->reply.each[i].release = reply->release;
    together->reply.each[i].hold = reply->hold;
    keep_owner(part, &together->reply.each[i].hold.owner);
    keep_owner(part, &together->reply.each[i].release.owner);
    if (weight(reply->result) > 1)
        snprintf(together->error, sizeof together->error, "%s", reply->error);
    if (--together->asking == 0)
        conclude(together);
}

static struct together *together_new(const struct slice *names, size_t count, several_done *done,
                                     void *context)
{
    assert(count > 0); /* or nobody would ever be answered */
    struct together *together = calloc(1, sizeof *together + count * sizeof together->parts[0]);
    if (!together)
        abort();
    together->done = done;
    together->context = context;
    together->names = names_sorted(names, count, NULL, 0);
    together->asking = together->reply.count = count;
    together->reply.result = LOCKS_DONE;
    together->reply.error = together->error;
    for (size_t i = 0; i < count; i++) {
        together->reply.each[i].name = together->names->each[i];
        together->parts[i].together = together;
    }
    return together;
}

void locks_renew_several(struct locks *locks, const struct slice *names, size_t count,
                         struct slice token, int64_t ttl_ms, int64_t replicas, several_done *done,
                         void *context)
{
    struct together *together = together_new(names, count, done, context);
    for (size_t i = 0; i < count; i++)
        locks_renew(locks, together->names->each[i], token, ttl_ms, replicas, answered,
                    &together->parts[i]);
}

void locks_release_several(struct locks *locks, const struct slice *names, size_t count,
                           struct slice token, several_done *done, void *context)
{
    struct together *together = together_new(names, count, done, context);
    for (size_t i = 0; i < count; i++)
        locks_release(locks, together->names->each[i], token, answered, &together->parts[i]);
}
