/* The epoch of a shard: scripts/epoch.lua. */
#include "base/decimal.h"
#include "base/random.h"
#include "locks/quarantine/shard.h"
#include "locks/quarantine/stamp.h"
#include "locks/scripts/scripts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct slice guard_epoch_key(const struct guard *guard, const char *tag, char text[KEY_LENGTH])
{
    bool is_tagged = tag[0] != '\0';
    struct slice prefix = guard->options.key_prefix;
    int length = snprintf(text, KEY_LENGTH, "%.*sepoch%s%s%s", (int)prefix.length, prefix.bytes,
                          is_tagged ? ":{" : "", tag, is_tagged ? "}" : "");
    return (struct slice){text, (size_t)length};
}

static void epoch_send(const struct shard *shard, const struct script *script,
                       const struct slice *arguments, size_t count, store_done *done, void *context)
{
    struct guard *guard = shard->guard;
    char key[KEY_LENGTH];
    if (store_is_closing(guard->store))
        return;
    const struct script_call call = {
        .script = script,
        .key = guard_epoch_key(guard, shard->known.tag, key),
        .arguments = arguments,
        .argument_count = count,
        .done = done,
        .context = context,
    };
    store_eval_first(guard->store, shard->number, &call);
}

bool epoch_has_moved(const struct shard *shard)
{
    char tag[STORE_TAG_SIZE];
    store_first_tag(shard->guard->store, shard->number, tag);
    return strcmp(tag, shard->known.tag) != 0;
}

static void epoch_choose_tag(struct shard *shard)
{
    struct store *store = shard->guard->store;
    if (!epoch_has_moved(shard))
        return;
    if (shard->known.is_known) {
        char key[KEY_LENGTH];
        struct slice before = guard_epoch_key(shard->guard, shard->known.tag, key);
        shard->known.is_moved = true;
        shard->known.slot_gained |= store_shard(store, before) == shard->number;
    }
    store_first_tag(store, shard->number, shard->known.tag);
}

void epoch_ask(struct shard *shard, store_done *done)
{
    const struct slice arguments[] = {stamp_placeholder(), slice_of("1")};
    bool may_ask = store_peer(shard->guard->store, shard->number)->run_id[0] != '\0';
    epoch_choose_tag(shard);
    shard->connection.is_asking = true;
    epoch_send(shard, &script_epoch_read, arguments, may_ask ? 2 : 1, done, shard);
}

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

void epoch_raise(struct shard *shard, int64_t span, store_done *done, void *context)
{
    char text[DECIMAL_TEXT];
    const struct slice arguments[] = {stamp_placeholder(), slice_of(shard->known.id),
                                      slice_of("raise"), decimal_text(span, text)};
    epoch_send(shard, &script_epoch, arguments, COUNT(arguments), done, context);
}

void epoch_extend(struct shard *shard, enum quarantine_reason reason, store_done *done)
{
    char opens[DECIMAL_TEXT], floor[DECIMAL_TEXT], level[DECIMAL_TEXT];
    const struct slice arguments[] = {stamp_placeholder(),
                                      slice_of(shard->known.id),
                                      slice_of("extend"),
                                      decimal_text(shard->quarantine.opens, opens),
                                      slice_of(quarantine_word(reason)),
                                      decimal_text(shard->numbers.floor, floor),
                                      decimal_text(shard->numbers.level, level)};
    epoch_send(shard, &script_epoch, arguments, COUNT(arguments), done, shard);
}

void epoch_make_id(char id[EPOCH_SIZE])
{
    uint64_t random;
    random_bytes(&random, sizeof random);
    snprintf(id, EPOCH_SIZE, "%016" PRIx64, random);
}

void epoch_begin(struct shard *shard, const struct epoch *found, const char *kept, int64_t opens,
                 enum quarantine_reason reason, int64_t span, store_done *done)
{
    const struct store_peer *peer = store_peer(shard->guard->store, shard->number);
    char id[EPOCH_SIZE], longest[DECIMAL_TEXT], until[DECIMAL_TEXT], floor[DECIMAL_TEXT],
        level[DECIMAL_TEXT];
    epoch_make_id(id);
    const struct slice arguments[] = {
        stamp_placeholder(), slice_of(found->id),
        slice_of("begin"),   decimal_text(span, longest),
        slice_of("id"),      slice_of(kept ? kept : id),
        slice_of("run"),     slice_of(peer->run_id),
        slice_of("history"), slice_of(peer->history),
        slice_of("until"),   decimal_text(opens, until),
        slice_of("reason"),  slice_of(quarantine_word(reason)),
        slice_of("by"),      slice_of(shard->guard->process),
        slice_of("floor"),   decimal_text(shard->numbers.floor, floor),
        slice_of("level"),   decimal_text(shard->numbers.level, level),
    };
    shard->connection.is_asking = true;
    epoch_send(shard, &script_epoch, arguments, COUNT(arguments), done, shard);
}

void epoch_end(struct shard *shard, const char *id, store_done *done, void *context)
{
    bool is_known = shard->known.is_known && shard->quarantine.opens;
    const struct slice arguments[] = {stamp_placeholder(),
                                      slice_of(is_known ? shard->known.id : ""), slice_of("end"),
                                      slice_of(id), slice_of(shard->guard->process)};
    epoch_choose_tag(shard);
    epoch_send(shard, &script_epoch, arguments, COUNT(arguments), done, context);
}
