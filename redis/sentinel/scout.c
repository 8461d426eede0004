#include "redis/sentinel/scout.h"

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

/* Of a list of names, each followed by its value. */
static struct slice field(const redisReply *fields, const char *name)
{
    for (size_t i = 0; element(fields, i + 1); i += 2)
        if (slice_equals(text_of(element(fields, i)), name))
            return text_of(element(fields, i + 1));
    return (struct slice){NULL, 0};
}

static bool copy_text(struct slice text, char *ret, size_t size)
{
    bool fits = text.length > 0 && text.length < size && !memchr(text.bytes, '\0', text.length);
    if (fits)
        snprintf(ret, size, "%.*s", (int)text.length, text.bytes);
    return fits;
}

static bool read_place(struct slice host, struct slice port, struct vote *ret)
{
    char number[8];
    if (!copy_text(host, ret->host, sizeof ret->host) || !copy_text(port, number, sizeof number))
        return false;
    ret->port = atoi(number);
    return ret->port > 0 && ret->port <= 65535;
}

/* Answers, each of which ends the connection where it returns false. */

static bool left(struct scout *scout, const redisReply *reply)
{
    (void)scout;
    return reply->type == REDIS_REPLY_ARRAY;
}

static bool told_id(struct scout *scout, const redisReply *reply)
{
    return copy_text(text_of(reply), scout->id, sizeof scout->id);
}

/* Redis calls it a master, Valkey a primary. */
static bool told_state(struct scout *scout, const redisReply *reply)
{
    static const char UNKNOWN[] = "ERR No such ";
    char epoch[24] = "";
    scout->knows_no_such_name =
        reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, UNKNOWN, sizeof UNKNOWN - 1) == 0;
    if (scout->knows_no_such_name)
        return true;
    if (!copy_text(field(reply, "config-epoch"), epoch, sizeof epoch))
        return false;
    scout->draft.epoch = strtoull(epoch, NULL, 10);
    return true;
}

static bool told_address(struct scout *scout, const redisReply *reply)
{
    if (scout->knows_no_such_name)
        return true;
    return read_place(text_of(element(reply, 0)), text_of(element(reply, 1)), &scout->draft);
}

static void told_other(struct scout *scout, const redisReply *fields)
{
    struct vote place;
    char id[SCOUT_ID_SIZE] = "";
    if (!read_place(field(fields, "ip"), field(fields, "port"), &place))
        return;
    copy_text(field(fields, "runid"), id, sizeof id);
    scout->events->named(scout->events->context, &place, id);
}

static bool told_others(struct scout *scout, const redisReply *reply)
{
    for (size_t i = 0; element(reply, i); i++)
        told_other(scout, element(reply, i));
    return true;
}

static bool joined(struct scout *scout, const redisReply *reply)
{
    (void)scout;
    return reply->type == REDIS_REPLY_ARRAY;
}

/* Asking */

/* In this order. Who is subscribed may ask for nothing else, so each round begins by leaving and
 * ends by joining again; it is sent in one piece, and a switch that is published in between shows
 * in the answers. */
static const struct question {
    const char *words[3]; /* the name of the primary is put behind them, where `names` */
    bool names;
    bool (*answered)(struct scout *scout, const redisReply *reply);
} QUESTIONS[] = {
    {{"UNSUBSCRIBE", SWITCHES}, false, left},
    {{"SENTINEL", "MYID"}, false, told_id},
    {{"SENTINEL", "MASTER"}, true, told_state},
    {{"SENTINEL", "GET-MASTER-ADDR-BY-NAME"}, true, told_address},
    {{"SENTINEL", "SENTINELS"}, true, told_others},
    {{"SUBSCRIBE", SWITCHES}, false, joined},
};

enum { QUESTION_COUNT = sizeof QUESTIONS / sizeof QUESTIONS[0] };

static void scout_ask(struct scout *scout)
{
    scout->asking = true;
    scout->ask_again = false;
    scout->answered = 0;
    scout->draft = (struct vote){.port = 0};
    scout->asked = uv_now(scout->loop);
    for (size_t i = 0; i < QUESTION_COUNT; i++) {
        const struct question *question = &QUESTIONS[i];
        const struct slice words[] = {slice_of(question->words[0]), slice_of(question->words[1]),
                                      slice_of(scout->master)};
        session_send_words(scout->session, words, question->names ? 3 : 2);
    }
    session_wake(scout->session, scout->asked + SCOUT_ANSWER_MS);
}

void scout_ask_soon(struct scout *scout)
{
    if (!session_is_ready(scout->session))
        return; /* it is asked when it is */
    scout->ask_again = true;
    if (!scout->asking)
        session_wake(scout->session, scout->asked + SCOUT_SPACE_MS);
}

static void scout_round_ends(struct scout *scout)
{
    scout->asking = false;
    scout->is_heard = true;
    scout->has_vote = !scout->knows_no_such_name;
    scout->vote = scout->draft;
    scout->voted = scout->has_vote ? scout->asked : 0;
    scout->trouble.text[0] = '\0';
    uint64_t pause = scout->ask_again ? SCOUT_SPACE_MS : SCOUT_ASK_MS;
    session_wake(scout->session, scout->asked + pause);
    scout->events->answered(scout->events->context, scout);
}

static void scout_forbidden(struct scout *scout)
{
    struct failure reason;
    failure_set(&reason, -EPROTO,
                "%s does not let this user ask: allow it there with `ACL SETUSER … +info "
                "+client|id +sentinel|myid +sentinel|master +sentinel|get-master-addr-by-name "
                "+sentinel|sentinels +subscribe +unsubscribe &%s`",
                session_place(scout->session), SWITCHES);
    session_lose(scout->session, -EPROTO, reason.text);
}

static void scout_strange(struct scout *scout, const redisReply *reply)
{
    struct failure reason;
    failure_set(&reason, -EAGAIN, "%s answers as no sentinel does%s%s",
                session_place(scout->session), reply->type == REDIS_REPLY_ERROR ? ": " : "",
                reply->type == REDIS_REPLY_ERROR ? reply->str : "");
    session_lose(scout->session, -EAGAIN, reason.text);
}

/* What the session tells */

static bool is_message(const redisReply *reply)
{
    return slice_equals(text_of(element(reply, 0)), "message") && element(reply, 2);
}

/* Its answers, and not the message, say where the primary is: they have an epoch. */
static void scout_replied(void *context, const redisReply *reply)
{
    struct scout *scout = context;
    if (scout->is_dropped)
        return;
    if (is_message(reply)) {
        scout_ask_soon(scout);
        return;
    }
    bool is_error = reply->type == REDIS_REPLY_ERROR;
    if (is_error && error_has_code(reply->str, "NOPERM"))
        scout_forbidden(scout);
    else if (!scout->asking || !QUESTIONS[scout->answered].answered(scout, reply))
        scout_strange(scout, reply);
    else if (++scout->answered == QUESTION_COUNT)
        scout_round_ends(scout);
}

/* Answers that came while this process itself was held up are not late. */
static void scout_woken(void *context)
{
    struct scout *scout = context;
    while (scout->asking && session_read(scout->session))
        ;
    if (!session_is_ready(scout->session))
        return;
    uint64_t now = uv_now(scout->loop);
    uint64_t pause = scout->asking      ? SCOUT_ANSWER_MS
                     : scout->ask_again ? SCOUT_SPACE_MS
                                        : SCOUT_ASK_MS;
    if (now < scout->asked + pause) {
        session_wake(scout->session, scout->asked + pause);
        return;
    }
    if (!scout->asking) {
        scout_ask(scout);
        return;
    }
    struct failure reason;
    failure_set(&reason, -EAGAIN, "%s did not answer within %d ms; is it stopped or overloaded?",
                session_place(scout->session), SCOUT_ANSWER_MS);
    session_lose(scout->session, -EAGAIN, reason.text);
}

static void scout_ready(void *context, const struct session_peer *peer)
{
    (void)peer;
    scout_ask(context);
}

static void scout_lost(void *context, const struct session_loss *loss)
{
    struct scout *scout = context;
    scout->asking = false;
    scout->has_vote = false;
    if (scout->is_dropped)
        return;
    scout->is_heard = true;
    scout->knows_no_such_name = false;
    scout->code = loss->code;
    failure_set(&scout->trouble, loss->code, "%s", loss->reason);
    scout->events->lost(scout->events->context, scout, loss);
}

/* The beginning and the end */

static void scout_closed(void *context)
{
    struct scout *scout = context;
    scout->events->closed(scout->events->context, scout);
    free(scout);
}

int scout_open(struct scout **ret, uv_loop_t *loop, const struct redis_url *url, const char *host,
               int port, const struct scout_events *events, struct failure *failure)
{
    struct scout *scout = calloc(1, sizeof *scout);
    if (!scout)
        return failure_set(failure, -ENOMEM, "no memory");
    const struct session_events told = {
        .context = scout,
        .ready = scout_ready,
        .replied = scout_replied,
        .lost = scout_lost,
        .woken = scout_woken,
        .closed = scout_closed,
    };
    struct redis_url its_url;
    scout->loop = loop;
    scout->events = events;
    scout->master = url->master;
    snprintf(scout->host, sizeof scout->host, "%s", host);
    scout->port = port;
    int result = redis_url_of(url, REDIS_SENTINEL, host, port, &its_url);
    if (result < 0) {
        failure_set(failure, result, "no memory");
    } else {
        result = session_open(&scout->session, loop, &its_url, NULL, &told, failure);
        redis_url_free(&its_url);
    }
    if (result < 0)
        free(scout);
    else
        *ret = scout;
    return result;
}

void scout_close(struct scout *scout)
{
    if (!scout->is_dropped)
        session_close(scout->session);
    scout->is_dropped = true;
}
