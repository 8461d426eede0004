#include "locks/quarantine/identity_record.h"

#include "base/random.h"
#include "locks/scripts/scripts.h"
#include "locks/types/name.h"
#include "locks/types/number_text.h"
#include "locks/types/stamp.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void identity_record_read_text(const struct value *value, char *ret, size_t size)
{
    struct slice text = {"", 0};
    value_text(value, &text);
    snprintf(ret, size, "%.*s", (int)text.length, text.bytes);
}

static int64_t identity_record_read_number(const struct value *value)
{
    char text[32];
    identity_record_read_text(value, text, sizeof text);
    return strtoll(text, NULL, 10);
}

bool identity_record_read(const struct value *reply, struct identity_record *ret)
{
    *ret = (struct identity_record){0};
    identity_record_read_text(value_at(reply, 1), ret->id, sizeof ret->id);
    identity_record_read_text(value_at(reply, 2), ret->era, sizeof ret->era);
    identity_record_read_text(value_at(reply, 3), ret->run, sizeof ret->run);
    identity_record_read_text(value_at(reply, 4), ret->history, sizeof ret->history);
    ret->ends[HORIZON_ALL] = identity_record_read_number(value_at(reply, 5));
    ret->ends[HORIZON_UNREPLICATED] = identity_record_read_number(value_at(reply, 6));
    ret->span = identity_record_read_number(value_at(reply, 7));
    ret->opens = identity_record_read_number(value_at(reply, 8));
    identity_record_read_text(value_at(reply, 9), ret->reason, sizeof ret->reason);
    ret->floor = identity_record_read_number(value_at(reply, 10));
    identity_record_read_text(value_at(reply, 11), ret->by, sizeof ret->by);
    ret->level = identity_record_read_number(value_at(reply, 12));
    ret->since = identity_record_read_number(value_at(reply, 13));
    identity_record_read_text(value_at(reply, 14), ret->ended, sizeof ret->ended);
    ret->followers = (int)identity_record_read_number(value_at(reply, 15));
    return value_integer(value_at(reply, 0), &ret->time);
}

enum quarantine_reason identity_record_reason(const struct identity_record *record)
{
    enum quarantine_reason reason = quarantine_reason_of(slice_of(record->reason));
    return reason == QUARANTINE_NONE ? QUARANTINE_EPOCH : reason;
}

bool identity_record_is_ended(const struct identity_record *record)
{
    return record->ended[0] && strcmp(record->ended, record->era) == 0;
}

bool identity_record_is_another_run(const char *one, const char *other)
{
    return one[0] && other[0] && strcmp(one, other) != 0;
}

bool identity_record_was_replica(const char *history, const struct store_peer *peer)
{
    const char *before = peer->history_before;
    return history[0] && peer->history[0] && strcmp(history, peer->history) != 0 &&
           before[strspn(before, "0")] != '\0';
}

bool identity_record_is_still(const struct shard *shard, const struct store_result *result)
{
    struct identity_record record;
    return result->outcome == STORE_REPLIED && identity_record_read(result->reply, &record) &&
           strcmp(record.id, shard->identity.id) == 0 &&
           strcmp(record.era, shard->identity.era) == 0;
}

/* Asking for the record */

struct slice identity_record_key(const struct guard *guard, const char *tag, char text[KEY_LENGTH])
{
    bool is_tagged = tag[0] != '\0';
    int length =
        snprintf(text, KEY_LENGTH, "%.*sepoch%s%s%s", (int)guard->options.key_prefix.length,
                 guard->options.key_prefix.bytes, is_tagged ? ":{" : "", tag, is_tagged ? "}" : "");
    return (struct slice){text, (size_t)length};
}

bool identity_record_has_moved(const struct shard *shard)
{
    char tag[STORE_TAG_SIZE];
    store_first_tag(shard->guard->store, shard->number, tag);
    return strcmp(tag, shard->key.tag) != 0;
}

/* If the first slot has gone to another shard, or a slot before it has come, the key changes.
 * Nothing is lost by that, and what is under the new key already may be another shard's record. */
static void identity_record_choose_tag(struct shard *shard)
{
    if (!identity_record_has_moved(shard))
        return;
    if (shard->identity.is_known && shard->identity.serves && !shard->key.before_tag[0]) {
        memcpy(shard->key.before_tag, shard->key.tag, sizeof shard->key.before_tag);
        memcpy(shard->key.before_id, shard->identity.id, sizeof shard->key.before_id);
    }
    store_first_tag(shard->guard->store, shard->number, shard->key.tag);
    shard->key.is_moved = shard->identity.is_known;
}

static void identity_record_send(const struct shard *shard, const struct script *script,
                                 const char *tag, const struct slice *arguments, size_t count,
                                 store_done *done, void *context)
{
    struct guard *guard = shard->guard;
    char key[KEY_LENGTH];
    if (store_is_closing(guard->store))
        return;
    store_eval_first(guard->store, shard->number, script, identity_record_key(guard, tag, key),
                     arguments, count, done, context);
}

void identity_record_ask(struct shard *shard, store_done *done)
{
    const struct slice arguments[] = {stamp_placeholder(), slice_of("1")};
    bool may_ask = store_peer(shard->guard->store, shard->number)->run_id[0] != '\0';
    identity_record_choose_tag(shard);
    shard->connection.is_asking = true;
    identity_record_send(shard, &script_epoch_read, shard->key.tag, arguments, may_ask ? 2 : 1,
                         done, shard);
}

void identity_record_ask_without(struct shard *shard, store_done *done)
{
    const struct slice arguments[] = {stamp_placeholder()};
    if (store_is_closing(shard->guard->store))
        return;
    store_eval_first(shard->guard->store, shard->number, &script_epoch_read, slice_of(NULL),
                     arguments, 1, done, shard);
}

bool identity_record_ask_before(struct shard *shard, store_done *done)
{
    const struct slice arguments[] = {stamp_placeholder()};
    const struct guard *guard = shard->guard;
    char key[KEY_LENGTH];
    if (!shard->key.before_tag[0])
        return false;
    if (store_shard(guard->store, identity_record_key(guard, shard->key.before_tag, key)) !=
        shard->number) {
        shard->key.before_tag[0] = '\0';
        return false;
    }
    shard->connection.is_asking = true;
    identity_record_send(shard, &script_epoch_read, shard->key.before_tag, arguments, 1, done,
                         shard);
    return true;
}

/* Writing the record */

/* Our moment by Redis' clock, at the latest. */
static struct slice identity_record_time(const struct shard *shard, int64_t moment,
                                         char text[NUMBER_TEXT])
{
    return number_text(moment ? clock_theirs(&shard->clock, moment) : 0, text);
}

void identity_record_raise(struct shard *shard, store_done *done, void *context)
{
    char all[NUMBER_TEXT], loose[NUMBER_TEXT], span[NUMBER_TEXT];
    const struct slice arguments[] = {
        stamp_placeholder(),
        slice_of(shard->identity.id),
        slice_of(shard->identity.era),
        slice_of("raise"),
        identity_record_time(shard, shard->horizon.ends[HORIZON_ALL], all),
        identity_record_time(shard, shard->horizon.ends[HORIZON_UNREPLICATED], loose),
        number_text(shard->horizon.span, span),
    };
    identity_record_send(shard, &script_epoch, shard->key.tag, arguments,
                         sizeof arguments / sizeof arguments[0], done, context);
}

void identity_record_make_era(char era[IDENTITY_ERA_SIZE])
{
    uint64_t random;
    random_bytes(&random, sizeof random);
    snprintf(era, IDENTITY_ERA_SIZE, "%016" PRIx64, random);
}

void identity_record_replace(struct shard *shard, const struct identity_record *found,
                             enum quarantine_reason reason, bool is_of_another, store_done *done)
{
    const struct store_peer *peer = store_peer(shard->guard->store, shard->number);
    bool keeps_id = found->id[0] && !is_of_another;
    char id[IDENTITY_ID_LENGTH + 1], era[IDENTITY_ERA_SIZE];
    char ends[NUMBER_TEXT], loose[NUMBER_TEXT], span[NUMBER_TEXT], opens[NUMBER_TEXT],
        floor[NUMBER_TEXT], level[NUMBER_TEXT];
    uint64_t random;
    random_bytes(&random, sizeof random);
    snprintf(id, sizeof id, "%016" PRIx64, random);
    identity_record_make_era(era);
    const struct slice arguments[] = {
        stamp_placeholder(),
        slice_of(found->id),
        slice_of(found->era),
        slice_of("replace"),
        slice_of("id"),
        slice_of(keeps_id ? found->id : id),
        slice_of("era"),
        slice_of(era),
        slice_of("run"),
        slice_of(peer->run_id),
        slice_of("history"),
        slice_of(peer->history),
        slice_of("ends"),
        identity_record_time(shard, shard->horizon.ends[HORIZON_ALL], ends),
        slice_of("loose"),
        identity_record_time(shard, shard->horizon.ends[HORIZON_UNREPLICATED], loose),
        slice_of("span"),
        number_text(shard->horizon.span, span),
        slice_of("until"),
        number_text(shard->quarantine.opens, opens),
        slice_of("reason"),
        slice_of(quarantine_word(reason)),
        slice_of("floor"),
        number_text(shard->fences.floor, floor),
        slice_of("level"),
        number_text(shard->fences.level, level),
        slice_of("by"),
        slice_of(shard->guard->process),
    };
    shard->connection.is_asking = true;
    identity_record_send(shard, &script_epoch, shard->key.tag, arguments,
                         sizeof arguments / sizeof arguments[0], done, shard);
}

void identity_record_extend(struct shard *shard, enum quarantine_reason reason, store_done *done)
{
    char opens[NUMBER_TEXT], floor[NUMBER_TEXT], level[NUMBER_TEXT];
    const struct slice arguments[] = {stamp_placeholder(),
                                      slice_of(shard->identity.id),
                                      slice_of(shard->identity.era),
                                      slice_of("extend"),
                                      number_text(shard->quarantine.opens, opens),
                                      slice_of(quarantine_word(reason)),
                                      number_text(shard->fences.floor, floor),
                                      number_text(shard->fences.level, level)};
    identity_record_send(shard, &script_epoch, shard->key.tag, arguments,
                         sizeof arguments / sizeof arguments[0], done, shard);
}

void identity_record_end(struct shard *shard, const char *era, store_done *done, void *context)
{
    bool is_known = shard->identity.is_known && shard->quarantine.opens;
    const struct slice arguments[] = {
        stamp_placeholder(),
        slice_of(is_known ? shard->identity.id : ""),
        slice_of(is_known ? shard->identity.era : ""),
        slice_of("end"),
        slice_of(era),
        slice_of(shard->guard->process),
    };
    identity_record_choose_tag(shard);
    identity_record_send(shard, &script_epoch, shard->key.tag, arguments,
                         sizeof arguments / sizeof arguments[0], done, context);
}
