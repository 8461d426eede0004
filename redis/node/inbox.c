#include "redis/node/inbox.h"

#include "base/memory.h"
#include "redis/wire/errors.h"
#include "redis/wire/session.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <string.h>

enum { SUBSCRIPTIONS_MOST = 2 };

static const char INVALIDATE[] = "__redis__:invalidate";

struct inbox {
    uv_loop_t *loop;
    struct session *session;
    struct inbox_events events;
    int64_t client_id;
    size_t confirmed; /* subscriptions */
    bool closing;
    void (*closed)(void *context);
    void *closed_context;
    size_t channel_length;
    char channel[];
};

static struct slice inbox_channel(const struct inbox *inbox)
{
    return (struct slice){inbox->channel, inbox->channel_length};
}

static size_t inbox_subscriptions(const struct inbox *inbox)
{
    return inbox->channel_length > 0 ? SUBSCRIPTIONS_MOST : SUBSCRIPTIONS_MOST - 1;
}

/* Messages and answers */

static struct slice inbox_text_at(const redisReply *array, size_t index)
{
    if (index >= array->elements || array->element[index]->type != REDIS_REPLY_STRING)
        return (struct slice){NULL, 0};
    return (struct slice){array->element[index]->str, array->element[index]->len};
}

static void inbox_strange(struct inbox *inbox)
{
    struct failure reason;
    failure_set(&reason, -EAGAIN, "%s sent a subscriber an unexpected answer",
                session_place(inbox->session));
    session_lose(inbox->session, -EAGAIN, reason.text);
}

/* After FLUSHALL, Redis sends a null, not a list. */
static void inbox_invalidated(struct inbox *inbox, const redisReply *keys)
{
    if (keys->type != REDIS_REPLY_ARRAY)
        inbox->events.invalidated(inbox->events.context, (struct slice){NULL, 0});
    for (size_t i = 0; i < keys->elements && !inbox->closing; i++)
        inbox->events.invalidated(inbox->events.context, inbox_text_at(keys, i));
}

static void inbox_message(struct inbox *inbox, const redisReply *reply)
{
    if (reply->elements != 3)
        return;
    struct slice channel = inbox_text_at(reply, 1);
    if (slice_equals(channel, INVALIDATE))
        inbox_invalidated(inbox, reply->element[2]);
    else if (channel.bytes) /* the only other channel */
        inbox->events.message(inbox->events.context, inbox_text_at(reply, 2));
}

/* The last part of the channel is new at each start, so the rule names the part before it. */
static void inbox_forbidden(struct inbox *inbox)
{
    struct failure reason;
    struct slice channel = inbox_channel(inbox);
    while (channel.length > 0 && channel.bytes[channel.length - 1] != ':')
        channel.length--;
    failure_set(&reason, -EPROTO,
                "%s does not let this user subscribe. Allow it with `ACL SETUSER … +subscribe "
                "+ping &%.*s* &%s`.",
                session_place(inbox->session), (int)channel.length, channel.bytes, INVALIDATE);
    session_lose(inbox->session, -EPROTO, reason.text);
}

/* A user without the right to PING gets this reply, which also proves that the connection is
 * alive. */
static void inbox_refused(struct inbox *inbox, const char *error)
{
    bool forbidden = error_has_code(error, "NOPERM");
    if (forbidden && inbox_is_listening(inbox))
        return;
    if (forbidden) {
        inbox_forbidden(inbox);
        return;
    }
    struct failure reason;
    failure_set(&reason, -EAGAIN, "%s ended the subscription: %s", session_place(inbox->session),
                error);
    session_lose(inbox->session, -EAGAIN, reason.text);
}

static struct slice inbox_kind(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ARRAY ? inbox_text_at(reply, 0) : (struct slice){NULL, 0};
}

static void inbox_confirmed(struct inbox *inbox)
{
    if (++inbox->confirmed == inbox_subscriptions(inbox))
        inbox->events.listening(inbox->events.context);
}

/* Redis confirms each channel of a SUBSCRIBE, and the first confirmation is the answer to it. */
static bool inbox_received(void *context, const redisReply *reply)
{
    struct inbox *inbox = context;
    struct slice kind = inbox_kind(reply);
    bool is_confirmation = slice_equals(kind, "subscribe");
    if (reply->type == REDIS_REPLY_ERROR || slice_equals(kind, "pong") ||
        (is_confirmation && inbox->confirmed == 0))
        return false;
    if (inbox->closing)
        return true;
    if (slice_equals(kind, "message"))
        inbox_message(inbox, reply);
    else if (is_confirmation && !inbox_is_listening(inbox))
        inbox_confirmed(inbox);
    else
        inbox_strange(inbox);
    return true;
}

static void inbox_subscribed(void *context, const redisReply *reply)
{
    struct inbox *inbox = context;
    if (inbox->closing)
        return;
    if (reply->type == REDIS_REPLY_ERROR)
        inbox_refused(inbox, reply->str);
    else if (slice_equals(inbox_kind(reply), "subscribe"))
        inbox_confirmed(inbox);
    else
        inbox_strange(inbox);
}

/* Redis answers in order: after a PONG it confirms no subscription any more. */
static void inbox_pong(void *context, const redisReply *reply)
{
    struct inbox *inbox = context;
    if (inbox->closing)
        return;
    if (reply->type == REDIS_REPLY_ERROR)
        inbox_refused(inbox, reply->str);
    else if (!inbox_is_listening(inbox))
        inbox_strange(inbox);
}

/* Asking */

static void inbox_ask(struct inbox *inbox, const struct slice *words, size_t count,
                      call_answered *answered)
{
    uv_update_time(inbox->loop); /* this turn may have taken long already */
    session_ask(inbox->session, words, count, session_timeout_ms(inbox->session), answered);
    session_flush(inbox->session); /* before batond does anything else that takes long */
}

static void inbox_ready(void *context, const struct session_peer *peer)
{
    struct inbox *inbox = context;
    const struct slice words[1 + SUBSCRIPTIONS_MOST] = {slice_of("SUBSCRIBE"), slice_of(INVALIDATE),
                                                        inbox_channel(inbox)};
    inbox->client_id = peer->client_id;
    inbox_ask(inbox, words, 1 + inbox_subscriptions(inbox), inbox_subscribed);
}

static void inbox_ping(void *context)
{
    static const struct slice PING = {"PING", 4};
    inbox_ask(context, &PING, 1, inbox_pong);
}

static void inbox_lost(void *context, const struct session_loss *loss)
{
    struct inbox *inbox = context;
    inbox->confirmed = 0;
    if (!inbox->closing)
        inbox->events.lost(inbox->events.context, loss->reason);
}

/* The beginning and the end */

static void inbox_closed(void *context)
{
    struct inbox *inbox = context;
    void (*closed)(void *context) = inbox->closed;
    void *closed_context = inbox->closed_context;
    free(inbox);
    closed(closed_context);
}

struct inbox *inbox_open(uv_loop_t *loop, const struct redis_url *url, struct endpoint *endpoint,
                         struct slice channel, const struct inbox_events *events)
{
    struct inbox *inbox = memory_checked(calloc(1, sizeof *inbox + channel.length));
    inbox->loop = loop;
    inbox->events = *events;
    inbox->channel_length = channel.length;
    if (channel.length > 0)
        memcpy(inbox->channel, channel.bytes, channel.length);
    const struct session_events session_events = {
        .context = inbox,
        .pace = {.ask_ms = INBOX_PING_MS, .is_patient = true},
        .ready = inbox_ready,
        .ask = inbox_ping,
        .message = inbox_received,
        .lost = inbox_lost,
        .closed = inbox_closed,
    };
    inbox->session = session_open(loop, url, endpoint, &session_events);
    return inbox;
}

void inbox_close(struct inbox *inbox, void (*closed)(void *context), void *context)
{
    inbox->closing = true;
    inbox->closed = closed;
    inbox->closed_context = context;
    session_close(inbox->session);
}

bool inbox_is_listening(const struct inbox *inbox)
{
    return inbox->confirmed == inbox_subscriptions(inbox);
}

int64_t inbox_client_id(const struct inbox *inbox)
{
    return inbox->client_id;
}
