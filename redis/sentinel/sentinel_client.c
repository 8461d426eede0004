#include "redis/sentinel/sentinel_client.h"

#include "base/memory.h"
#include "redis/wire/errors.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char SWITCHES[] = "+switch-master";

/* Parts of answers */

static struct slice text_of(const redisReply *reply)
{
    if (!reply || (reply->type != REDIS_REPLY_STRING && reply->type != REDIS_REPLY_STATUS))
        return (struct slice){NULL, 0};
    return (struct slice){reply->str, reply->len};
}

static const redisReply *element(const redisReply *array, size_t index)
{
    bool is_there = array->type == REDIS_REPLY_ARRAY && index < array->elements;
    return is_there ? array->element[index] : NULL;
}

/* Finds a field in a list of names, each followed by its value. */
static struct slice field(const redisReply *fields, const char *name)
{
    for (size_t i = 0; element(fields, i + 1); i += 2)
        if (slice_equals(text_of(element(fields, i)), name))
            return text_of(element(fields, i + 1));
    return (struct slice){NULL, 0};
}

static bool sentinel_client_copy_text(struct slice text, char *ret, size_t size)
{
    bool fits = text.length > 0 && text.length < size && !memchr(text.bytes, '\0', text.length);
    if (fits)
        snprintf(ret, size, "%.*s", (int)text.length, text.bytes);
    return fits;
}

static bool read_host_and_port(struct slice host, struct slice port, struct vote *ret)
{
    char number[8];
    if (!sentinel_client_copy_text(host, ret->host, sizeof ret->host) ||
        !sentinel_client_copy_text(port, number, sizeof number))
        return false;
    ret->port = atoi(number);
    return ret->port > 0 && ret->port <= 65535;
}

/* Handlers of answers. If one returns false, the connection ends. */

static bool check_left(struct sentinel_client *client, const redisReply *reply)
{
    (void)client;
    return reply->type == REDIS_REPLY_ARRAY;
}

static bool read_id(struct sentinel_client *client, const redisReply *reply)
{
    return sentinel_client_copy_text(text_of(reply), client->id, sizeof client->id);
}

/* Redis says "master", Valkey "primary". */
static bool read_state(struct sentinel_client *client, const redisReply *reply)
{
    static const char UNKNOWN[] = "ERR No such ";
    char epoch[24] = "";
    client->knows_no_such_name =
        reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, UNKNOWN, sizeof UNKNOWN - 1) == 0;
    if (client->knows_no_such_name)
        return true;
    if (!sentinel_client_copy_text(field(reply, "config-epoch"), epoch, sizeof epoch))
        return false;
    client->draft.epoch = strtoull(epoch, NULL, 10);
    return true;
}

static bool sentinel_client_read_address(struct sentinel_client *client, const redisReply *reply)
{
    if (client->knows_no_such_name)
        return true;
    return read_host_and_port(text_of(element(reply, 0)), text_of(element(reply, 1)),
                              &client->draft);
}

static void read_other(struct sentinel_client *client, const redisReply *fields)
{
    struct vote address;
    char id[SENTINEL_CLIENT_ID_SIZE] = "";
    if (!read_host_and_port(field(fields, "ip"), field(fields, "port"), &address))
        return;
    sentinel_client_copy_text(field(fields, "runid"), id, sizeof id);
    client->events->named(client->events->context, &address, id);
}

static bool read_others(struct sentinel_client *client, const redisReply *reply)
{
    for (size_t i = 0; element(reply, i); i++)
        read_other(client, element(reply, i));
    return true;
}

static bool check_joined(struct sentinel_client *client, const redisReply *reply)
{
    (void)client;
    return reply->type == REDIS_REPLY_ARRAY;
}

/* Asking */

/* The questions of a round, in order. A subscribed connection may ask nothing else, so each round
 * begins with UNSUBSCRIBE and ends with SUBSCRIBE. The client sends the round in one piece. The
 * answers show a failover that the sentinel publishes in between. */
static const struct question {
    const char *words[3]; /* if `names` is set, the name of the primary follows */
    bool names;
    bool (*answered)(struct sentinel_client *client, const redisReply *reply);
} QUESTIONS[] = {
    {{"UNSUBSCRIBE", SWITCHES}, false, check_left},
    {{"SENTINEL", "MYID"}, false, read_id},
    {{"SENTINEL", "MASTER"}, true, read_state},
    {{"SENTINEL", "GET-MASTER-ADDR-BY-NAME"}, true, sentinel_client_read_address},
    {{"SENTINEL", "SENTINELS"}, true, read_others},
    {{"SUBSCRIBE", SWITCHES}, false, check_joined},
};

enum { QUESTION_COUNT = sizeof QUESTIONS / sizeof QUESTIONS[0] };

static void sentinel_client_end_round(struct sentinel_client *client)
{
    client->is_settled = true;
    client->has_vote = !client->knows_no_such_name;
    client->vote = client->draft;
    client->voted = client->has_vote ? session_asked(client->session) : 0;
    client->trouble.text[0] = '\0';
    client->events->answered(client->events->context, client);
}

static void sentinel_client_refuse_user(struct sentinel_client *client)
{
    struct failure reason;
    failure_set(&reason, -EPROTO,
                "%s does not let this user ask. Allow it there with `ACL SETUSER … +info "
                "+client|id +sentinel|myid +sentinel|master +sentinel|get-master-addr-by-name "
                "+sentinel|sentinels +subscribe +unsubscribe &%s`.",
                session_place(client->session), SWITCHES);
    session_lose(client->session, -EPROTO, reason.text);
}

static void sentinel_client_refuse_answer(struct sentinel_client *client, const redisReply *reply)
{
    struct failure reason;
    failure_set(&reason, -EAGAIN, "%s does not answer like a sentinel%s%s",
                session_place(client->session), reply->type == REDIS_REPLY_ERROR ? ": " : "",
                reply->type == REDIS_REPLY_ERROR ? reply->str : "");
    session_lose(client->session, -EAGAIN, reason.text);
}

/* Events of the session */

static void sentinel_client_on_answered(void *context, const redisReply *reply)
{
    struct sentinel_client *client = context;
    if (client->is_dropped)
        return;
    if (reply->type == REDIS_REPLY_ERROR && error_has_code(reply->str, "NOPERM"))
        sentinel_client_refuse_user(client);
    else if (!QUESTIONS[client->answered].answered(client, reply))
        sentinel_client_refuse_answer(client, reply);
    else if (++client->answered == QUESTION_COUNT)
        sentinel_client_end_round(client);
}

static void sentinel_client_ask(void *context)
{
    struct sentinel_client *client = context;
    client->answered = 0;
    client->draft = (struct vote){.port = 0};
    for (size_t i = 0; i < QUESTION_COUNT; i++) {
        const struct question *question = &QUESTIONS[i];
        const struct slice words[] = {slice_of(question->words[0]), slice_of(question->words[1]),
                                      slice_of(client->master)};
        session_ask(client->session, words, question->names ? 3 : 2, SENTINEL_CLIENT_ANSWER_MS,
                    sentinel_client_on_answered);
    }
}

void sentinel_client_ask_soon(struct sentinel_client *client)
{
    session_ask_soon(client->session);
}

/* After a message it asks rather than believe it, because only answers have an epoch. */
static bool sentinel_client_on_message(void *context, const redisReply *reply)
{
    struct sentinel_client *client = context;
    bool is_message = slice_equals(text_of(element(reply, 0)), "message") && element(reply, 2);
    if (is_message)
        sentinel_client_ask_soon(client);
    return is_message;
}

static void sentinel_client_on_lost(void *context, const struct session_loss *loss)
{
    struct sentinel_client *client = context;
    client->has_vote = false;
    if (client->is_dropped)
        return;
    client->is_settled = true;
    client->knows_no_such_name = false;
    client->code = loss->code;
    failure_set(&client->trouble, loss->code, "%s", loss->reason);
    client->events->lost(client->events->context, client, loss);
}

/* The beginning and the end */

static void sentinel_client_on_closed(void *context)
{
    struct sentinel_client *client = context;
    client->events->closed(client->events->context, client);
    free(client);
}

struct sentinel_client *sentinel_client_open(uv_loop_t *loop, const struct redis_url *url,
                                             const char *host, int port,
                                             const struct sentinel_client_events *events)
{
    struct sentinel_client *client = memory_checked(calloc(1, sizeof *client));
    const struct session_events session_events = {
        .context = client,
        .pace = {.ask_ms = SENTINEL_CLIENT_ASK_MS, .space_ms = SENTINEL_CLIENT_SPACE_MS},
        .ask = sentinel_client_ask,
        .message = sentinel_client_on_message,
        .lost = sentinel_client_on_lost,
        .closed = sentinel_client_on_closed,
    };
    struct redis_url its_url;
    client->events = events;
    client->master = url->master;
    snprintf(client->host, sizeof client->host, "%s", host);
    client->port = port;
    redis_url_of(url, REDIS_SENTINEL, host, port, &its_url);
    client->session = session_open(loop, &its_url, NULL, &session_events);
    redis_url_free(&its_url);
    return client;
}

void sentinel_client_close(struct sentinel_client *client)
{
    if (!client->is_dropped)
        session_close(client->session);
    client->is_dropped = true;
}
