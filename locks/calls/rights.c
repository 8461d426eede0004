#include "locks/calls/rights.h"

#include "locks/scripts/scripts.h"

#include <stdio.h>

/* Whether a function lacks commands (scripts/ready.lua), or batond may not call or load
 * functions. */
static bool rights_says_missing(const char *error)
{
    static const char *const WORDS[] = {"RIGHTS ", "NOPERM ", "COMMANDS ", "unknown command"};
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (strstr(error, WORDS[i]))
            return true;
    return false;
}

void rights_note(struct locks *locks, const char *error)
{
    bool is_missing = error && rights_says_missing(error);
    if (is_missing || !error)
        snprintf(locks->rights, sizeof locks->rights, "%s", is_missing ? error : "");
}

const char *rights_missing(const struct locks *locks, const char *otherwise)
{
    return locks->rights[0] ? locks->rights : otherwise;
}

static void rights_answered(void *context, const struct store_result *result)
{
    if (result->outcome == STORE_REPLIED || result->error)
        rights_note(context, result->error);
}

void rights_ask(struct locks *locks, unsigned shard)
{
    char tag[STORE_TAG_SIZE], key[KEY_LENGTH];
    if (!store_shard_serves(locks->store, shard))
        return;
    store_tag(locks->store, shard, tag);
    const struct slice arguments[] = {stamp_placeholder()};
    const struct script_call call = {
        .script = &script_ready,
        .key = operation_key(locks, slice_of(tag), key),
        .arguments = arguments,
        .argument_count = 1,
        .done = rights_answered,
        .context = locks,
    };
    store_eval_first(locks->store, shard, &call);
}
