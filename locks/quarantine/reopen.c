#include "locks/central/operation.h"
#include "locks/quarantine/identity.h"
#include "locks/quarantine/identity_record.h"

#include <stdio.h>
#include <stdlib.h>

/* Every server that serves names is asked, also where nothing is known of a quarantine: another
 * worker may have noticed first. */
struct reopening {
    struct locks *locks;
    locks_reopened *done;
    void *context;
    unsigned asking, answered, ended; /* servers */
    char error[STORE_ERROR_TEXT];     /* why one was not */
};

struct asked {
    struct reopening *reopening;
    struct guard_part *part;
    char era[IDENTITY_ERA_SIZE];
};

static void finish(struct reopening *reopening)
{
    enum quarantine_reason reason;
    bool is_left = locks_pause(reopening->locks, &reason) > 0;
    bool is_unheard = reopening->answered == 0;
    if (!reopening->error[0])
        snprintf(reopening->error, sizeof reopening->error, "another loss was noticed just now");
    reopening->done(reopening->context, reopening->ended,
                    is_left || is_unheard ? reopening->error : NULL);
    free(reopening);
}

static void asked(void *context, const struct store_result *result)
{
    struct asked *asked = context;
    struct reopening *reopening = asked->reopening;
    struct identity_record record;
    if (result->outcome == STORE_REPLIED && identity_record_read(result->reply, &record)) {
        reopening->answered++;
        reopening->ended += strcmp(record.era, asked->era) == 0;
        identity_hear(asked->part, result);
    } else {
        snprintf(reopening->error, sizeof reopening->error, "%s",
                 result->error ? result->error : "a server of Redis cannot be asked");
    }
    free(asked);
    if (--reopening->asking == 0)
        finish(reopening);
}

static void ask(struct reopening *reopening, struct guard_part *part)
{
    struct asked *ask = malloc(sizeof *ask);
    if (!ask)
        abort();
    *ask = (struct asked){.reopening = reopening, .part = part};
    identity_record_make_era(ask->era);
    reopening->asking++;
    identity_record_end(part, ask->era, asked, ask);
}

bool locks_reopen(struct locks *locks, locks_reopened *done, void *context)
{
    unsigned count = store_part_count(locks->store);
    struct reopening *reopening = calloc(1, sizeof *reopening);
    if (!reopening)
        abort();
    *reopening = (struct reopening){.locks = locks, .done = done, .context = context};
    for (unsigned i = 0; i < count && !store_is_closing(locks->store); i++)
        if (store_part_serves(locks->store, i))
            ask(reopening, guard_part(locks, i));
    if (reopening->asking > 0)
        return true;
    free(reopening);
    return false;
}
