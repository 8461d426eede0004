#include "locks/quorum/version_agreement.h"

#include "base/memory.h"
#include "locks/quorum/state.h"
#include "locks/scripts/scripts.h"

struct version_agreement {
    struct broadcast broadcast;
    version_agree_done *done;
    void *context;
    unsigned members;
    int64_t version;
    int64_t known[TALLY_MEMBERS];
};

static void version_agreement_observe(struct broadcast *broadcast, unsigned member,
                                      const struct store_result *result)
{
    struct version_agreement *agreement = (struct version_agreement *)broadcast;
    if (result->outcome == STORE_REPLIED)
        value_integer(value_at(result->reply, 1), &agreement->known[member]);
}

static bool version_agreement_decide(struct broadcast *broadcast, bool is_last)
{
    struct version_agreement *agreement = (struct version_agreement *)broadcast;
    unsigned count = 0;
    for (unsigned i = 0; i < agreement->members; i++)
        count += agreement->known[i] >= agreement->version;
    bool is_known = count > agreement->members / 2;
    if (!is_known && !is_last)
        return false;
    agreement->done(agreement->context, is_known);
    return true;
}

void version_agree(struct locks *locks, struct slice key, const int64_t known[TALLY_MEMBERS],
                   int64_t version, version_agree_done *done, void *context)
{
    static const struct broadcast_kind KIND = {version_agreement_observe, version_agreement_decide,
                                               NULL};
    char number[DECIMAL_TEXT];
    const struct slice arguments[] = {stamp_placeholder(), slice_of(""),
                                      decimal_text(version, number)};
    if (store_is_closing(locks->store)) { /* a closing store takes no calls */
        done(context, false);
        return;
    }
    struct version_agreement *agreement = memory_checked(calloc(1, sizeof *agreement));
    agreement->done = done;
    agreement->context = context;
    agreement->members = store_shard_count(locks->store);
    agreement->version = version;
    memcpy(agreement->known, known, sizeof agreement->known);
    broadcast_begin(&agreement->broadcast, &locks->quorum->broadcasts, key, &KIND);
    broadcast_send_all(&agreement->broadcast, &script_raise, arguments,
                       sizeof arguments / sizeof arguments[0]);
}

void version_agree_tally(struct locks *locks, struct slice key, const struct tally *tally,
                         int64_t version, version_agree_done *done, void *context)
{
    int64_t known[TALLY_MEMBERS] = {0};
    for (unsigned i = 0; i < tally->members; i++)
        known[i] = tally->votes[i].version;
    version_agree(locks, key, known, version, done, context);
}
