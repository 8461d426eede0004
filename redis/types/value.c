#include "redis/types/value.h"

#include <hiredis/hiredis.h>

/* A value is a reply of hiredis under another name, so that callers do not need hiredis. */
static const redisReply *value_reply(const struct value *value)
{
    return (const redisReply *)(const void *)value;
}

static bool value_is_array(const redisReply *reply)
{
    return reply && reply->type == REDIS_REPLY_ARRAY;
}

size_t value_count(const struct value *array)
{
    const redisReply *reply = value_reply(array);
    return value_is_array(reply) ? reply->elements : 0;
}

const struct value *value_at(const struct value *array, size_t index)
{
    const redisReply *reply = value_reply(array);
    if (!value_is_array(reply) || index >= reply->elements)
        return NULL;
    return (const struct value *)(const void *)reply->element[index];
}

bool value_integer(const struct value *value, int64_t *ret)
{
    const redisReply *reply = value_reply(value);
    if (!reply || reply->type != REDIS_REPLY_INTEGER || reply->integer > VALUE_HIGHEST ||
        reply->integer < -VALUE_HIGHEST)
        return false;
    *ret = reply->integer;
    return true;
}

bool value_text(const struct value *value, struct slice *ret)
{
    const redisReply *reply = value_reply(value);
    if (!reply || (reply->type != REDIS_REPLY_STRING && reply->type != REDIS_REPLY_STATUS))
        return false;
    *ret = (struct slice){reply->str, reply->len};
    return true;
}
