#include "redis/wire/greeting.h"

#include "redis/wire/errors.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <string.h>

void greeting_begin(struct greeting *greeting, const struct redis_url *url, const char *place,
                    void (*send)(void *context, const struct slice *words, size_t count),
                    void *context)
{
    *greeting = (struct greeting){.place = place, .kind = url->kind, .keeps_all = url->keeps_all};
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
    if (url->keeps_all) {
        *step++ = GREETING_CONFIG;
        send(context,
             (struct slice[]){slice_of("CONFIG"), slice_of("GET"), slice_of("appendfsync")}, 3);
    }
    *step++ = GREETING_INFO;
    send(context, (struct slice[]){slice_of("INFO")}, 1);
}

static int greeting_refused(const struct greeting *greeting, enum greeting_step step,
                            const char *error, struct failure *failure)
{
    static const char *const CHECK_LOGIN[] = {
        ". Check user and password for Redis.",
        ". Check --redis-sentinel-user and --redis-sentinel-password."};
    static const char *const LOG_IN[] = {
        ". Put a password into redis-url, or give --redis-password.",
        ". Give --redis-sentinel-password."};
    bool is_sentinel = greeting->kind == REDIS_SENTINEL;
    const char *advice = "";
    if (step == GREETING_AUTH)
        advice = CHECK_LOGIN[is_sentinel];
    else if (step == GREETING_SELECT)
        advice = ". Check the number of the database in redis-url.";
    else if (error_has_code(error, "NOAUTH"))
        advice = LOG_IN[is_sentinel];
    else if (error_has_code(error, "ERR unknown command"))
        advice = ". batond needs that command: take it out of the rename-command lines of Redis.";
    int code = error_passes(error) ? -EAGAIN : -EPROTO;
    const char *arguments = strstr(error, ", with args ");
    int length = (int)(arguments ? (size_t)(arguments - error) : strlen(error));
    if (length > 0 && error[length - 1] == '.')
        length--;
    return failure_set(failure, code, "%s refuses to serve: %.*s%s", greeting->place, length, error,
                       code == -EPROTO ? advice : "");
}

static int greeting_id_answered(struct greeting *greeting, const redisReply *reply,
                                struct failure *failure)
{
    if (reply->type == REDIS_REPLY_INTEGER)
        greeting->client_id = reply->integer;
    else if (reply->type == REDIS_REPLY_ERROR && !error_has_code(reply->str, "NOPERM"))
        return greeting_refused(greeting, GREETING_ID, reply->str, failure);
    return -EINPROGRESS;
}

/* Many users may not ask that. */
static int greeting_config_answered(struct greeting *greeting, const redisReply *reply)
{
    bool has_value =
        reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 && reply->element[1]->str;
    if (has_value)
        snprintf(greeting->appendfsync, sizeof greeting->appendfsync, "%s", reply->element[1]->str);
    return -EINPROGRESS;
}

static void greeting_warn_of_loss(struct greeting *greeting)
{
    bool has_no_file = greeting->info.has_no_file;
    if (greeting->keeps_all && (has_no_file || strcmp(greeting->appendfsync, "no") == 0))
        failure_set(&greeting->warning, 0,
                    "redis-keeps is all, but %s is no, so a restart of Redis loses locks, and "
                    "others are granted them. Set %s, or set redis-keeps to unknown.",
                    has_no_file ? "appendonly" : "appendfsync",
                    has_no_file ? "appendonly to yes" : "appendfsync to always");
}

/* Returns why the server is of another kind than the URL asks for, or NULL. */
static const char *greeting_misplaced(const struct greeting *greeting)
{
    const struct server_info *info = &greeting->info;
    if (info->sentinel && greeting->kind != REDIS_SENTINEL)
        return "it is a sentinel. Write redis+sentinel://host:26379/MASTER";
    if (!info->sentinel && greeting->kind == REDIS_SENTINEL)
        return "it is not a sentinel. redis+sentinel:// names sentinels (usually at port 26379), "
               "which know where Redis is.";
    if (info->clustered && greeting->kind == REDIS_SERVER)
        return "it is a node of a Redis Cluster, which has at most a part of the locks. Write "
               "redis+cluster://host:port";
    if (!info->clustered && greeting->kind == REDIS_NODE)
        return "it is not a node of a Redis Cluster. Write redis://host:port, or set "
               "cluster-enabled to yes.";
    return NULL;
}

static int greeting_judge(struct greeting *greeting, const redisReply *reply,
                          struct failure *failure)
{
    struct failure why;
    struct server_info *info = &greeting->info;
    server_info_read((struct slice){reply->str, reply->len}, info);
    const char *wrong = greeting_misplaced(greeting);
    if (wrong)
        return failure_set(failure, -EPROTO, "cannot use %s: %s", greeting->place, wrong);
    if (greeting->primary_only && info->replica)
        return failure_set(failure, -EAGAIN,
                           "cannot use %s: %s call it the primary, but it is a replica "
                           "(yet, or again)",
                           greeting->place,
                           greeting->kind == REDIS_NODE ? "other nodes" : "the sentinels");
    struct server_info judged = *info;
    judged.replica &= !greeting->replica_will_do;
    int result = server_info_check(&judged, &why);
    if (result < 0)
        return failure_set(failure, result, "cannot use %s: %s", greeting->place, why.text);
    if (greeting->kind != REDIS_SENTINEL && !server_info_warn(&judged, &greeting->warning))
        greeting_warn_of_loss(greeting);
    return 0;
}

static int greeting_info_answered(struct greeting *greeting, const redisReply *reply,
                                  struct failure *failure)
{
    if (reply->type == REDIS_REPLY_STRING)
        return greeting_judge(greeting, reply, failure);
    if (reply->type != REDIS_REPLY_ERROR)
        return failure_set(failure, -EPROTO, "%s is not a Redis: its answer to INFO is not a text",
                           greeting->place);
    if (!error_has_code(reply->str, "NOPERM"))
        return greeting_refused(greeting, GREETING_INFO, reply->str, failure);
    if (greeting->kind == REDIS_SENTINEL)
        return 0; /* its answers will show whether it is a sentinel */
    if (greeting->primary_only)
        return failure_set(failure, -EPROTO,
                           "batond cannot ask %s whether it is the primary, because this user may "
                           "not run INFO. Allow it with `ACL SETUSER … +info`.",
                           greeting->place);
    return failure_set(&greeting->warning, 0,
                       "batond cannot check the version and the settings of Redis, because this "
                       "user may not run INFO. Allow it with `ACL SETUSER … +info`.");
}

int greeting_answered(struct greeting *greeting, const redisReply *reply, struct failure *failure)
{
    enum greeting_step step = greeting->steps[greeting->answered++];
    if (step == GREETING_INFO)
        return greeting_info_answered(greeting, reply, failure);
    if (step == GREETING_CONFIG)
        return greeting_config_answered(greeting, reply);
    if (step == GREETING_ID)
        return greeting_id_answered(greeting, reply, failure);
    if (reply->type == REDIS_REPLY_ERROR)
        return greeting_refused(greeting, step, reply->str, failure);
    return -EINPROGRESS;
}
