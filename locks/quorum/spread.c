#include "locks/quorum/spread.h"

#include "locks/quorum/majority.h"
#include "locks/scripts/scripts.h"

#include <stdlib.h>

struct spreading {
    struct broadcast broadcast;
    spread_done *done;
    void *context;
    unsigned members;
    int64_t version;
    int64_t known[TALLY_MEMBERS];
};

static void hear(struct broadcast *broadcast, unsigned member, const struct store_result *result)
{
    struct spreading *spreading = (struct spreading *)broadcast;
    if (result->outcome == STORE_REPLIED)
        value_integer(value_at(result->reply, 1), &spreading->known[member]);
}

static bool decide(struct broadcast *broadcast, bool is_last)
{
    struct spreading *spreading = (struct spreading *)broadcast;
    unsigned count = 0;
    for (unsigned i = 0; i < spreading->members; i++)
        count += spreading->known[i] >= spreading->version;
    bool is_known = count > spreading->members / 2;
    if (!is_known && !is_last)
        return false;
    spreading->done(spreading->context, is_known);
    return true;
}

static void end(struct broadcast *broadcast)
{
    free(broadcast);
}

void spread(struct locks *locks, struct slice key, const int64_t known[TALLY_MEMBERS],
            int64_t version, spread_done *done, void *context)
{
    static const struct broadcast_kind KIND = {hear, decide, end};
    char number[NUMBER_TEXT];
    const struct slice arguments[] = {stamp_room(), slice_of(""), number_text(version, number)};
    struct spreading *spreading = calloc(1, sizeof *spreading);
    if (!spreading)
        abort();
    spreading->done = done;
    spreading->context = context;
    spreading->members = store_part_count(locks->store);
    spreading->version = version;
    memcpy(spreading->known, known, sizeof spreading->known);
    broadcast_begin(&spreading->broadcast, locks, &KIND);
    broadcast_send_all(&spreading->broadcast, &script_raise, key, arguments,
                       sizeof arguments / sizeof arguments[0]);
}

void spread_of(struct locks *locks, struct slice key, const struct tally *tally, int64_t version,
               spread_done *done, void *context)
{
    int64_t known[TALLY_MEMBERS] = {0};
    for (unsigned i = 0; i < tally->members; i++)
        known[i] = tally->votes[i].version;
    spread(locks, key, known, version, done, context);
}
