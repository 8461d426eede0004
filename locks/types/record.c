#include "locks/types/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void record_read_text(const struct value *reply, size_t at, char *ret, size_t size)
{
    struct slice text = {"", 0};
    value_text(value_at(reply, at), &text);
    snprintf(ret, size, "%.*s", (int)text.length, text.bytes);
}

static int64_t record_read_number(const struct value *reply, size_t at)
{
    char text[32];
    record_read_text(reply, at, text, sizeof text);
    return strtoll(text, NULL, 10);
}

bool record_read(const struct value *reply, struct record *ret)
{
    *ret = (struct record){
        .span = record_read_number(reply, 4),
        .before = record_read_number(reply, 5),
        .turns = record_read_number(reply, 6),
        .opens = record_read_number(reply, 7),
        .since = record_read_number(reply, 9),
        .floor = record_read_number(reply, 12),
        .level = record_read_number(reply, 13),
        .followers = (int)record_read_number(reply, 14),
    };
    record_read_text(reply, 1, ret->epoch, sizeof ret->epoch);
    record_read_text(reply, 2, ret->run, sizeof ret->run);
    record_read_text(reply, 3, ret->history, sizeof ret->history);
    record_read_text(reply, 8, ret->reason, sizeof ret->reason);
    record_read_text(reply, 10, ret->by, sizeof ret->by);
    record_read_text(reply, 11, ret->ended, sizeof ret->ended);
    return value_integer(value_at(reply, 0), &ret->time);
}

enum quarantine_reason record_reason(const struct record *record)
{
    enum quarantine_reason reason = quarantine_reason_of(slice_of(record->reason));
    return reason == QUARANTINE_NONE ? QUARANTINE_EPOCH : reason;
}

int64_t record_longest(const struct record *record)
{
    return record->span > record->before ? record->span : record->before;
}

bool record_is_ended(const struct record *record)
{
    return record->ended[0] && strcmp(record->ended, record->epoch) == 0;
}
