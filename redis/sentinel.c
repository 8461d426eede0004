#include "redis/sentinel.h"

#include "redis/errors.h"
#include "redis/session.h"
#include "redis/votes.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ID_SIZE = 48 };

static const char SWITCHES[] = "+switch-master";

/* The connection to one of the sentinels. */
struct scout {
    struct scout *next;
    struct sentinel *sentinel;
    struct session *session;
    char host[REDIS_HOST_LONGEST + 1];
    int port;
    bool is_learnt;     /* from another one */
    uint64_t mentioned; /* when another one last named it */
    bool is_heard;      /* it has answered, or cannot be reached, since it was opened */
    bool is_dropped;
    char id[ID_SIZE]; /* of the sentinel, which may have several addresses; "" if it is not known */

    bool asking;     /* a round of questions is under way */
    bool ask_again;  /* when it is over */
    size_t answered; /* of its questions */
    uint64_t asked;  /* when it began */
    struct vote draft;

    bool has_vote;
    bool knows_no_such_name;
    struct vote vote;
    int code; /* of `trouble`, why it has no vote */
    struct failure trouble;
};

struct sentinel {
    uv_loop_t *loop;
    struct redis_url url;
    struct guide guide;
    struct scout *scouts;
    size_t scout_count;
    bool has_current;
    struct vote current; /* the last one that the guide was told */
    void (*warning)(void *context, const char *text);
    void *context;
    bool closing;
    void (*closed)(void *context);
    void *closed_context;
};

/* What is to be thought of the answers */

static bool answers(const struct scout *scout)
{
    return !scout->trouble.text[0];
}

/* A sentinel that is known by two addresses counts once: by the one at which it answers. */
static bool is_twin(const struct scout *scout)
{
    bool is_before = true;
    for (const struct scout *other = scout->sentinel->scouts; other; other = other->next) {
        bool is_same = scout->id[0] && !other->is_dropped && strcmp(other->id, scout->id) == 0;
        if (other == scout)
            is_before = false;
        else if (is_same && (answers(other) == answers(scout) ? is_before : answers(other)))
            return true;
    }
    return false;
}

struct hearing {
    const struct vote *votes[SENTINELS_MOST];
    size_t count;
    size_t sentinels;
    bool all_heard;
    size_t strangers; /* that do not know the name of the primary */
    const struct scout
        *worst; /* in trouble; of those that somebody has to mend, if there are any */
    bool all_need_mending;
};

static void hear(struct hearing *hearing, const struct scout *scout)
{
    hearing->sentinels++;
    hearing->all_heard &= scout->is_heard;
    hearing->strangers += scout->knows_no_such_name;
    if (scout->has_vote)
        hearing->votes[hearing->count++] = &scout->vote;
    if (answers(scout))
        return;
    if (!hearing->worst || (scout->code == -EPROTO && hearing->worst->code != -EPROTO))
        hearing->worst = scout;
    hearing->all_need_mending &= scout->code == -EPROTO;
}

static struct hearing hear_all(const struct sentinel *sentinel)
{
    struct hearing hearing = {.all_heard = true, .all_need_mending = true};
    for (const struct scout *scout = sentinel->scouts; scout; scout = scout->next)
        if (!scout->is_dropped && !is_twin(scout))
            hear(&hearing, scout);
    return hearing;
}

static void despair(struct sentinel *sentinel, const struct hearing *hearing)
{
    struct failure reason;
    const char *name = sentinel->url.master;
    const char *trouble = hearing->worst ? hearing->worst->trouble.text : "";
    int code = -EAGAIN;
    if (hearing->count > 0)
        failure_set(&reason, code,
                    "the few sentinels that answer know only of a former primary \"%s\"; waiting "
                    "for the others",
                    name);
    else if (hearing->strangers == hearing->sentinels)
        code = failure_set(&reason, -EPROTO,
                           "no sentinel knows a primary called \"%s\": correct the name in "
                           "redis-url (`SENTINEL MASTERS` lists those that there are)",
                           name);
    else if (hearing->strangers > 0)
        failure_set(&reason, code,
                    "no sentinel that answers knows a primary called \"%s\", and not all answer: "
                    "%s",
                    name, trouble);
    else
        code = failure_set(&reason, hearing->all_need_mending ? -EPROTO : -EAGAIN,
                           "no sentinel tells where the primary \"%s\" is: %s", name, trouble);
    guide_despair(&sentinel->guide, code, reason.text);
}

static void judge(struct sentinel *sentinel)
{
    if (sentinel->closing)
        return;
    struct hearing hearing = hear_all(sentinel);
    const struct vote *winner =
        votes_winner(hearing.votes, hearing.count, hearing.sentinels, hearing.all_heard,
                     sentinel->has_current ? &sentinel->current : NULL);
    if (winner) {
        sentinel->has_current = true;
        sentinel->current = *winner;
        guide_point(&sentinel->guide, winner->host, winner->port);
    } else if (hearing.all_heard && (hearing.count == 0 || !sentinel->guide.knows)) {
        despair(sentinel, &hearing);
    }
}

/* Asking */

static int scout_add(struct sentinel *sentinel, const char *host, int port, const char *learnt_id,
                     struct failure *failure);

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

/* By another address it is the same as long as it answers at the one that is known: else it may
 * have moved. A learnt one that is not there any more is then forgotten in its time. */
static bool is_same(const struct scout *scout, const struct vote *place, const char *id)
{
    return vote_names(place, scout->host, scout->port) ||
           (id[0] && answers(scout) && strcmp(id, scout->id) == 0);
}

static void meet(struct sentinel *sentinel, const redisReply *fields)
{
    struct vote place;
    char id[ID_SIZE] = "";
    if (!read_place(field(fields, "ip"), field(fields, "port"), &place))
        return;
    copy_text(field(fields, "runid"), id, sizeof id);
    for (struct scout *scout = sentinel->scouts; scout; scout = scout->next) {
        if (scout->is_dropped || !is_same(scout, &place, id))
            continue;
        scout->mentioned = uv_now(sentinel->loop);
        return;
    }
    scout_add(sentinel, place.host, place.port, id, NULL);
}

static bool told_others(struct scout *scout, const redisReply *reply)
{
    for (size_t i = 0; element(reply, i); i++)
        meet(scout->sentinel, element(reply, i));
    return true;
}

static bool joined(struct scout *scout, const redisReply *reply)
{
    (void)scout;
    return reply->type == REDIS_REPLY_ARRAY;
}

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
    scout->asked = uv_now(scout->sentinel->loop);
    for (size_t i = 0; i < QUESTION_COUNT; i++) {
        const struct question *question = &QUESTIONS[i];
        const struct slice words[] = {slice_of(question->words[0]), slice_of(question->words[1]),
                                      slice_of(scout->sentinel->url.master)};
        session_send_words(scout->session, words, question->names ? 3 : 2);
    }
    session_wake(scout->session, scout->asked + SENTINEL_ANSWER_MS);
}

/* As soon as that is decent. */
static void scout_ask_soon(struct scout *scout)
{
    if (!session_is_ready(scout->session))
        return; /* it is asked when it is */
    scout->ask_again = true;
    if (!scout->asking)
        session_wake(scout->session, scout->asked + SENTINEL_SPACE_MS);
}

static void scout_round_ends(struct scout *scout)
{
    scout->asking = false;
    scout->is_heard = true;
    scout->has_vote = !scout->knows_no_such_name;
    scout->vote = scout->draft;
    scout->trouble.text[0] = '\0';
    uint64_t pause = scout->ask_again ? SENTINEL_SPACE_MS : SENTINEL_ASK_MS;
    session_wake(scout->session, scout->asked + pause);
    if (scout->is_learnt && is_twin(scout)) {
        scout->is_dropped = true;
        session_close(scout->session);
    }
    judge(scout->sentinel);
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

static bool is_message(const redisReply *reply)
{
    return slice_equals(text_of(element(reply, 0)), "message") && element(reply, 2);
}

/* Its answers, and not the message, say where the primary is: they have an epoch. */
static void scout_replied(void *context, const redisReply *reply)
{
    struct scout *scout = context;
    if (scout->sentinel->closing || scout->is_dropped)
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
    uint64_t now = uv_now(scout->sentinel->loop);
    uint64_t pause = scout->asking      ? SENTINEL_ANSWER_MS
                     : scout->ask_again ? SENTINEL_SPACE_MS
                                        : SENTINEL_ASK_MS;
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
                session_place(scout->session), SENTINEL_ANSWER_MS);
    session_lose(scout->session, -EAGAIN, reason.text);
}

static void scout_ready(void *context, const struct session_peer *peer)
{
    struct scout *scout = context;
    (void)peer;
    scout_ask(scout);
}

static void scout_lost(void *context, const struct session_loss *loss)
{
    struct scout *scout = context;
    struct sentinel *sentinel = scout->sentinel;
    scout->asking = false;
    scout->has_vote = false;
    if (sentinel->closing || scout->is_dropped)
        return;
    scout->is_heard = true;
    scout->knows_no_such_name = false;
    scout->code = loss->code;
    failure_set(&scout->trouble, loss->code, "%s", loss->reason);
    if (scout->is_learnt && uv_now(sentinel->loop) - scout->mentioned >= SENTINEL_FORGET_MS) {
        scout->is_dropped = true;
        session_close(scout->session);
    } else if (loss->is_news) {
        sentinel->warning(sentinel->context, loss->reason);
    }
    judge(sentinel);
}

/* The beginning and the end */

static void sentinel_free(struct sentinel *sentinel)
{
    void (*closed)(void *context) = sentinel->closed;
    void *closed_context = sentinel->closed_context;
    redis_url_free(&sentinel->url);
    free(sentinel);
    if (closed)
        closed(closed_context);
}

static void scout_closed(void *context)
{
    struct scout *scout = context;
    struct sentinel *sentinel = scout->sentinel;
    struct scout **place = &sentinel->scouts;
    while (*place != scout)
        place = &(*place)->next;
    *place = scout->next;
    free(scout);
    sentinel->scout_count--;
    if (sentinel->closing && !sentinel->scouts)
        sentinel_free(sentinel);
}

static int scout_open(struct scout *scout, struct failure *failure)
{
    const struct session_events events = {
        .context = scout,
        .ready = scout_ready,
        .replied = scout_replied,
        .lost = scout_lost,
        .woken = scout_woken,
        .closed = scout_closed,
    };
    struct redis_url url;
    struct sentinel *sentinel = scout->sentinel;
    int result = redis_url_of(&sentinel->url, REDIS_SENTINEL, scout->host, scout->port, &url);
    if (result < 0)
        return failure_set(failure, result, "no memory");
    result = session_open(&scout->session, sentinel->loop, &url, NULL, &events, failure);
    redis_url_free(&url);
    return result;
}

/* `learnt_id` is NULL for one of the URL. */
static int scout_add(struct sentinel *sentinel, const char *host, int port, const char *learnt_id,
                     struct failure *failure)
{
    struct scout *scout = sentinel->scout_count < SENTINELS_MOST ? calloc(1, sizeof *scout) : NULL;
    if (!scout)
        return failure_set(failure, -ENOMEM, "no memory");
    scout->sentinel = sentinel;
    snprintf(scout->host, sizeof scout->host, "%s", host);
    scout->port = port;
    scout->is_learnt = learnt_id != NULL;
    snprintf(scout->id, sizeof scout->id, "%s", learnt_id ? learnt_id : "");
    scout->mentioned = uv_now(sentinel->loop);
    int result = scout_open(scout, failure);
    if (result < 0) {
        free(scout);
        return result;
    }
    struct scout **last = &sentinel->scouts; /* those of the URL stay in front */
    while (*last)
        last = &(*last)->next;
    *last = scout;
    sentinel->scout_count++;
    return 0;
}

static void sentinel_doubted(void *context)
{
    struct sentinel *sentinel = context;
    for (struct scout *scout = sentinel->scouts; scout && !sentinel->closing; scout = scout->next)
        if (!scout->is_dropped)
            scout_ask_soon(scout);
}

int sentinel_open(struct sentinel **ret, uv_loop_t *loop, const struct redis_url *url,
                  void (*warning)(void *context, const char *text), void *context,
                  struct failure *failure)
{
    struct sentinel *sentinel = calloc(1, sizeof *sentinel);
    if (!sentinel)
        return failure_set(failure, -ENOMEM, "no memory");
    sentinel->loop = loop;
    sentinel->warning = warning;
    sentinel->context = context;
    guide_init(&sentinel->guide, sentinel_doubted, sentinel);
    int result = redis_url_copy(url, &sentinel->url);
    if (result < 0)
        failure_set(failure, result, "no memory");
    for (size_t i = 0; result == 0 && i < url->node_count; i++)
        result = scout_add(sentinel, url->nodes[i].host, url->nodes[i].port, NULL, failure);
    if (result == 0) {
        *ret = sentinel;
    } else if (sentinel->scouts) {
        sentinel_close(sentinel, NULL, NULL); /* the loop ends what was begun */
    } else {
        redis_url_free(&sentinel->url);
        free(sentinel);
    }
    return result;
}

struct guide *sentinel_guide(struct sentinel *sentinel)
{
    return &sentinel->guide;
}

void sentinel_close(struct sentinel *sentinel, void (*closed)(void *context), void *context)
{
    sentinel->closing = true;
    sentinel->closed = closed;
    sentinel->closed_context = context;
    for (struct scout *scout = sentinel->scouts; scout; scout = scout->next)
        if (!scout->is_dropped)
            session_close(scout->session);
}
