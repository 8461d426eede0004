#include "redis/greeting.h"

#include "redis/errors.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <string.h>

void greeting_begin(struct greeting *greeting, const struct redis_url *url, const char *place,
                    void (*send)(void *context, const struct slice *words, size_t count),
                    void *context)
{
    *greeting = (struct greeting){.place = place};
    enum greeting_step *step = greeting->steps;
    const struct slice auth[] = {slice_of("AUTH"), slice_of(url->user), slice_of(url->password)};
    if (url->user || url->password)
        *step++ = GREETING_AUTH;
    if (url->user)
        send(context, auth, 3);
    else if (url->password)
        send(context, (struct slice[]){auth[0], auth[2]}, 2);
    if (url->database != 0) {
        char number[16];
        snprintf(number, sizeof number, "%d", url->database);
        *step++ = GREETING_SELECT;
        send(context, (struct slice[]){slice_of("SELECT"), slice_of(number)}, 2);
    }
    *step++ = GREETING_ID;
    send(context, (struct slice[]){slice_of("CLIENT"), slice_of("ID")}, 2);
    *step++ = GREETING_INFO;
    send(context, (struct slice[]){slice_of("INFO")}, 1);
}

static int refused(const struct greeting *greeting, enum greeting_step step, const char *error,
                   struct failure *failure)
{
    const char *advice = "";
    if (step == GREETING_AUTH)
        advice = ": check user and password for Redis";
    else if (step == GREETING_SELECT)
        advice = ": check the database's number in redis-url";
    else if (error_has_code(error, "NOAUTH"))
        advice = ": put a password into redis-url, or give --redis-password";
    int code = error_passes(error) ? -EAGAIN : -EPROTO;
    int length = (int)strlen(error);
    if (length > 0 && error[length - 1] == '.')
        length--;
    return failure_set(failure, code, "Redis at %s refuses to serve: %.*s%s", greeting->place,
                       length, error, code == -EPROTO ? advice : "");
}

static int id_answered(struct greeting *greeting, const redisReply *reply, struct failure *failure)
{
    if (reply->type == REDIS_REPLY_INTEGER)
        greeting->client_id = reply->integer;
    else if (reply->type == REDIS_REPLY_ERROR && !error_has_code(reply->str, "NOPERM"))
        return refused(greeting, GREETING_ID, reply->str, failure);
    return -EINPROGRESS;
}

static int judge(struct greeting *greeting, const redisReply *reply, struct failure *failure)
{
    struct failure why;
    facts_read((struct slice){reply->str, reply->len}, &greeting->facts);
    int result = facts_check(&greeting->facts, &why);
    if (result < 0)
        return failure_set(failure, result, "cannot use Redis at %s: %s", greeting->place,
                           why.text);
    facts_warn(&greeting->facts, &greeting->warning);
    return 0;
}

static int info_answered(struct greeting *greeting, const redisReply *reply,
                         struct failure *failure)
{
    if (reply->type == REDIS_REPLY_STRING)
        return judge(greeting, reply, failure);
    if (reply->type != REDIS_REPLY_ERROR)
        return failure_set(failure, -EPROTO, "what answers at %s is no Redis", greeting->place);
    if (!error_has_code(reply->str, "NOPERM"))
        return refused(greeting, GREETING_INFO, reply->str, failure);
    return failure_set(&greeting->warning, 0,
                       "the version and the settings of Redis cannot be checked, since this user "
                       "may not run INFO: allow it with `ACL SETUSER … +info`");
}

int greeting_answered(struct greeting *greeting, const redisReply *reply, struct failure *failure)
{
    enum greeting_step step = greeting->steps[greeting->answered++];
    if (step == GREETING_INFO)
        return info_answered(greeting, reply, failure);
    if (step == GREETING_ID)
        return id_answered(greeting, reply, failure);
    if (reply->type == REDIS_REPLY_ERROR)
        return refused(greeting, step, reply->str, failure);
    return -EINPROGRESS;
}
