/* The record of a shard: scripts/epoch.lua. */
#include "base/random.h"
#include "locks/quarantine/shard.h"
#include "locks/scripts/scripts.h"
#include "locks/types/number_text.h"
#include "locks/types/stamp.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool record_is_still(const struct shard *shard, const struct store_result *result)
{
    struct record record;
    return result->outcome == STORE_REPLIED && record_read(result->reply, &record) &&
           strcmp(record.epoch, shard->epoch.id) == 0;
}

/* Reading */

struct slice guard_record_key(const struct guard *guard, const char *tag, char text[KEY_LENGTH])
{
    bool is_tagged = tag[0] != '\0';
    struct slice prefix = guard->options.key_prefix;
    int length = snprintf(text, KEY_LENGTH, "%.*sepoch%s%s%s", (int)prefix.length, prefix.bytes,
                          is_tagged ? ":{" : "", tag, is_tagged ? "}" : "");
    return (struct slice){text, (size_t)length};
}

static void record_send(const struct shard *shard, const struct script *script,
                        const struct slice *arguments, size_t count, store_done *done,
                        void *context)
{
    struct guard *guard = shard->guard;
    char key[KEY_LENGTH];
    if (store_is_closing(guard->store))
        return;
    store_eval_first(guard->store, shard->number, script,
                     guard_record_key(guard, shard->epoch.tag, key), arguments, count, done,
                     context);
}

bool record_has_moved(const struct shard *shard)
{
    char tag[STORE_TAG_SIZE];
    store_first_tag(shard->guard->store, shard->number, tag);
    return strcmp(tag, shard->epoch.tag) != 0;
}

static void record_choose_tag(struct shard *shard)
{
    struct store *store = shard->guard->store;
    if (!record_has_moved(shard))
        return;
    if (shard->epoch.is_known) {
        char key[KEY_LENGTH];
        struct slice before = guard_record_key(shard->guard, shard->epoch.tag, key);
        shard->epoch.is_moved = true;
        shard->epoch.has_come |= store_shard(store, before) == shard->number;
    }
    store_first_tag(store, shard->number, shard->epoch.tag);
}

void record_ask(struct shard *shard, store_done *done)
{
    const struct slice arguments[] = {stamp_placeholder(), slice_of("1")};
    bool may_ask = store_peer(shard->guard->store, shard->number)->run_id[0] != '\0';
    record_choose_tag(shard);
    shard->connection.is_asking = true;
    record_send(shard, &script_epoch_read, arguments, may_ask ? 2 : 1, done, shard);
}

/* Writing */

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

void record_raise(struct shard *shard, int64_t span, store_done *done, void *context)
{
    char text[NUMBER_TEXT];
    const struct slice arguments[] = {stamp_placeholder(), slice_of(shard->epoch.id),
                                      slice_of("raise"), number_text(span, text)};
    record_send(shard, &script_epoch, arguments, COUNT(arguments), done, context);
}

void record_extend(struct shard *shard, enum quarantine_reason reason, store_done *done)
{
    char opens[NUMBER_TEXT], floor[NUMBER_TEXT], level[NUMBER_TEXT];
    const struct slice arguments[] = {stamp_placeholder(),
                                      slice_of(shard->epoch.id),
                                      slice_of("extend"),
                                      number_text(shard->quarantine.opens, opens),
                                      slice_of(quarantine_word(reason)),
                                      number_text(shard->numbers.floor, floor),
                                      number_text(shard->numbers.level, level)};
    record_send(shard, &script_epoch, arguments, COUNT(arguments), done, shard);
}

void record_make_epoch(char epoch[EPOCH_SIZE])
{
    uint64_t random;
    random_bytes(&random, sizeof random);
    snprintf(epoch, EPOCH_SIZE, "%016" PRIx64, random);
}

void record_begin(struct shard *shard, const struct record *found, const char *epoch, int64_t opens,
                  enum quarantine_reason reason, int64_t span, store_done *done)
{
    const struct store_peer *peer = store_peer(shard->guard->store, shard->number);
    char id[EPOCH_SIZE], longest[NUMBER_TEXT], until[NUMBER_TEXT], floor[NUMBER_TEXT],
        level[NUMBER_TEXT];
    record_make_epoch(id);
    const struct slice arguments[] = {
        stamp_placeholder(), slice_of(found->epoch),
        slice_of("begin"),   number_text(span, longest),
        slice_of("epoch"),   slice_of(epoch ? epoch : id),
        slice_of("run"),     slice_of(peer->run_id),
        slice_of("history"), slice_of(peer->history),
        slice_of("until"),   number_text(opens, until),
        slice_of("reason"),  slice_of(quarantine_word(reason)),
        slice_of("by"),      slice_of(shard->guard->process),
        slice_of("floor"),   number_text(shard->numbers.floor, floor),
        slice_of("level"),   number_text(shard->numbers.level, level),
    };
    shard->connection.is_asking = true;
    record_send(shard, &script_epoch, arguments, COUNT(arguments), done, shard);
}

void record_end(struct shard *shard, const char *epoch, store_done *done, void *context)
{
    bool is_known = shard->epoch.is_known && shard->quarantine.opens;
    const struct slice arguments[] = {stamp_placeholder(),
                                      slice_of(is_known ? shard->epoch.id : ""), slice_of("end"),
                                      slice_of(epoch), slice_of(shard->guard->process)};
    record_choose_tag(shard);
    record_send(shard, &script_epoch, arguments, COUNT(arguments), done, context);
}
