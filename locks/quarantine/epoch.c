#include "locks/quarantine/epoch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void epoch_read_text(const struct value *reply, size_t at, char *ret, size_t size)
{
    struct slice text = {"", 0};
    value_text(value_at(reply, at), &text);
    snprintf(ret, size, "%.*s", (int)text.length, text.bytes);
}

static int64_t epoch_read_number(const struct value *reply, size_t at)
{
    char text[32];
    epoch_read_text(reply, at, text, sizeof text);
    return strtoll(text, NULL, 10);
}

bool epoch_read(const struct value *reply, struct epoch *ret)
{
    *ret = (struct epoch){
        .span = epoch_read_number(reply, 4),
        .before = epoch_read_number(reply, 5),
        .turns = epoch_read_number(reply, 6),
        .opens = epoch_read_number(reply, 7),
        .since = epoch_read_number(reply, 9),
        .floor = epoch_read_number(reply, 12),
        .level = epoch_read_number(reply, 13),
        .followers = (int)epoch_read_number(reply, 14),
    };
    epoch_read_text(reply, 1, ret->id, sizeof ret->id);
    epoch_read_text(reply, 2, ret->run, sizeof ret->run);
    epoch_read_text(reply, 3, ret->history, sizeof ret->history);
    epoch_read_text(reply, 8, ret->reason, sizeof ret->reason);
    epoch_read_text(reply, 10, ret->by, sizeof ret->by);
    epoch_read_text(reply, 11, ret->ended, sizeof ret->ended);
    return value_integer(value_at(reply, 0), &ret->time);
}

enum quarantine_reason epoch_reason(const struct epoch *epoch)
{
    enum quarantine_reason reason = quarantine_reason_of(slice_of(epoch->reason));
    return reason == QUARANTINE_NONE ? QUARANTINE_EPOCH : reason;
}

int64_t epoch_longest(const struct epoch *epoch)
{
    return epoch->span > epoch->before ? epoch->span : epoch->before;
}

bool epoch_is_ahead(const struct epoch *epoch)
{
    return epoch->since > epoch->time;
}

bool epoch_is_ended(const struct epoch *epoch)
{
    return epoch->ended[0] && strcmp(epoch->ended, epoch->id) == 0;
}
