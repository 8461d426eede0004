#include "locks/waiting/doubt.h"

#include "base/memory.h"
#include "base/table.h"
#include "locks/calls/operation.h"
#include "locks/scripts/scripts.h"

enum { TRIES_MOST = 3 }; /* a script that failed so often is not cured by trying again */

struct doubt {
    struct doubt *next;
    struct doubt **place; /* what points to this one */
    struct locks *locks;
    struct attempt attempt;
    enum leaving how;
    int64_t keep_ms;
    bool asked;     /* Redis has been asked and has not answered yet */
    unsigned tries; /* that ended with an error of which nobody knows what it left behind */
    size_t key_length;
    size_t token_length;
    char key_and_token[];
};

void doubts_open(struct locks *locks)
{
    locks->doubts = memory_checked(calloc(1, sizeof *locks->doubts));
}

void doubts_close(struct locks *locks)
{
    while (locks->doubts->first) {
        struct doubt *doubt = locks->doubts->first;
        locks->doubts->first = doubt->next;
        free(doubt);
    }
    free(locks->doubts);
}

static struct slice key_of(const struct doubt *doubt)
{
    return (struct slice){doubt->key_and_token, doubt->key_length};
}

/* Whether the shard that serves its name is up. */
static bool can_ask(const struct doubt *doubt)
{
    const struct store *store = doubt->locks->store;
    return store_shard_is_up(store, store_shard(store, key_of(doubt)));
}

static void forget(struct doubt *doubt)
{
    *doubt->place = doubt->next;
    if (doubt->next)
        doubt->next->place = doubt->place;
    free(doubt);
}

/* Where Redis refused, or was lost, it is asked again; but where the script itself fails, as on a
 * key that is none of Baton's, doubts must not pile up for ever. */
static void asked(void *context, const struct store_result *result)
{
    struct doubt *doubt = context;
    doubt->asked = false;
    if (result->outcome == STORE_IN_DOUBT && can_ask(doubt))
        doubt->tries++;
    if (result->outcome == STORE_REPLIED || doubt->tries == TRIES_MOST)
        forget(doubt);
}

#define LEAVINGS(X)                                                                                \
    X(LEAVE_GONE, "gone")                                                                          \
    X(LEAVE_DRAIN, "drain")                                                                        \
    X(LEAVE_STALE, "stale")

static void ask(struct doubt *doubt)
{
    static const char *const WORDS[] = {LEAVINGS(TABLE_ROW)};
    TABLE_IS_COMPLETE(LEAVINGS, LEAVE_KINDS);
    struct locks *locks = doubt->locks;
    struct slice key = key_of(doubt);
    char keep[NUMBER_TEXT];
    const struct slice arguments[] = {
        stamp_room(),
        {doubt->key_and_token + doubt->key_length, doubt->token_length},
        slice_of(doubt->attempt.text),
        number_text(doubt->keep_ms, keep),
        slice_of(WORDS[doubt->how]),
        slice_of(locks->waiter_lease),
        slice_of(locks->claim_window),
    };
    doubt->asked = true;
    const struct script_call call = {
        .script = &script_leave,
        .key = key,
        .arguments = arguments,
        .argument_count = sizeof arguments / sizeof arguments[0],
        .done = asked,
        .context = doubt,
    };
    script_call_send(locks, &call);
}

void doubts_ask(struct locks *locks)
{
    for (struct doubt *doubt = locks->doubts->first; doubt; doubt = doubt->next) {
        if (!doubt->asked && can_ask(doubt))
            ask(doubt);
    }
}

void doubts_add(struct locks *locks, struct slice key, struct slice token,
                const struct attempt *attempt, enum leaving how, int64_t keep_ms)
{
    struct doubt *doubt = memory_checked(malloc(sizeof *doubt + key.length + token.length));
    *doubt = (struct doubt){.next = locks->doubts->first,
                            .place = &locks->doubts->first,
                            .locks = locks,
                            .attempt = *attempt,
                            .how = how,
                            .keep_ms = keep_ms,
                            .key_length = key.length,
                            .token_length = token.length};
    memcpy(doubt->key_and_token, key.bytes, key.length);
    memcpy(doubt->key_and_token + key.length, token.bytes, token.length);
    if (doubt->next)
        doubt->next->place = &doubt->next;
    locks->doubts->first = doubt;
    if (can_ask(doubt))
        ask(doubt);
}
