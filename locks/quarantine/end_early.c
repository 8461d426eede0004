#include "locks/quarantine/end_early.h"

#include "base/memory.h"
#include "locks/quarantine/identity.h"
#include "locks/quarantine/identity_record.h"
#include "locks/quarantine/pause.h"

#include <stdio.h>
#include <string.h>

/* Every shard that serves names is asked, even if no quarantine is known here: another worker may
 * have noticed a loss first. */
struct ending {
    struct guard *guard;
    end_early_done *done;
    void *context;
    unsigned asking, answered, ended; /* shards */
    char error[STORE_ERROR_TEXT];     /* why a shard has not answered */
};

struct ending_shard {
    struct ending *ending;
    struct shard *shard;
    char era[IDENTITY_ERA_SIZE];
};

static void end_early_finish(struct ending *ending)
{
    enum quarantine_reason reason;
    bool is_left = pause_of_any_ms(ending->guard, &reason) > 0;
    bool is_unheard = ending->answered == 0;
    if (!ending->error[0])
        snprintf(ending->error, sizeof ending->error, "this batond has just noticed another loss");
    ending->done(ending->context, ending->ended, is_left || is_unheard ? ending->error : NULL);
    free(ending);
}

static void end_early_on_reply(void *context, const struct store_result *result)
{
    struct ending_shard *asked = context;
    struct ending *ending = asked->ending;
    struct identity_record record;
    if (result->outcome == STORE_REPLIED && identity_record_read(result->reply, &record)) {
        ending->answered++;
        ending->ended += strcmp(record.era, asked->era) == 0;
        identity_hear(asked->shard, result);
    } else {
        snprintf(ending->error, sizeof ending->error, "%s",
                 result->error ? result->error : "this batond cannot ask a server of Redis");
    }
    free(asked);
    if (--ending->asking == 0)
        end_early_finish(ending);
}

static void end_early_ask(struct ending *ending, struct shard *shard)
{
    struct ending_shard *asked = memory_checked(malloc(sizeof *asked));
    *asked = (struct ending_shard){.ending = ending, .shard = shard};
    identity_record_make_era(asked->era);
    ending->asking++;
    identity_record_end(shard, asked->era, end_early_on_reply, asked);
}

bool end_early(struct guard *guard, end_early_done *done, void *context)
{
    unsigned count = store_shard_count(guard->store);
    struct ending *ending = memory_checked(calloc(1, sizeof *ending));
    *ending = (struct ending){.guard = guard, .done = done, .context = context};
    for (unsigned i = 0; i < count && !store_is_closing(guard->store); i++)
        if (store_shard_serves(guard->store, i))
            end_early_ask(ending, shard_at(guard, i));
    if (ending->asking > 0)
        return true;
    free(ending);
    return false;
}
