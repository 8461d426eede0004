/* fuzz_inbox.c: what a Redis says to a subscriber, a line a reply (notation.h); `lost` is the loss
 * of the connection, which then is made anew, `.` a second that passes. */
#include "redis/node/inbox.h"
#include "redis/wire/session.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/notation.h"

#include <hiredis/hiredis.h>
#include <stdlib.h>

/* In place of redis/wire/session.c: one that is ready at once, again after each loss. */
struct session {
    struct session_events events;
    bool ready;
    call_answered *answered; /* NULL: nothing is asked */
};

struct session *session_open(uv_loop_t *loop, const struct redis_url *url,
                             struct endpoint *endpoint, const struct session_events *events)
{
    struct session *session = calloc(1, sizeof *session);
    (void)url, (void)endpoint;
    if (!session)
        abort();
    session->events = *events;
    loop->data = session;
    return session;
}

void session_lose(struct session *session, int code, const char *reason)
{
    CLAIM(session->ready && code < 0 && reason[0]);
    session->ready = false;
    session->answered = NULL;
    session->events.lost(session->events.context,
                         &(struct session_loss){.code = code, .reason = reason});
}

void session_close(struct session *session)
{
    const struct session_events events = session->events;
    if (session->ready)
        session_lose(session, -1, "closed");
    free(session);
    events.closed(events.context);
}

void session_ask(struct session *session, const struct slice *words, size_t count,
                 unsigned answer_ms, call_answered *answered)
{
    CLAIM(session->ready && count > 0 && words[0].length > 0 && answer_ms > 0);
    CLAIM(!session->answered);
    session->answered = answered;
}

void session_flush(struct session *session)
{
    CLAIM(session->ready);
}

unsigned session_timeout_ms(const struct session *session)
{
    (void)session;
    return 800;
}

const char *session_place(const struct session *session)
{
    (void)session;
    return "redis://h:6379/0";
}

/* What is fuzzed, and who listens to it. */

struct ear {
    uv_loop_t loop; /* its data is the inbox's session */
    size_t received;
    bool listens;
};

static void on_listening(void *context)
{
    struct ear *ear = context;
    CLAIM(!ear->listens);
    ear->listens = true;
}

static void ear_receive(void *context, struct slice text)
{
    struct ear *ear = context;
    for (size_t i = 0; i < text.length; i++)
        ear->received += text.bytes[i] == ' ';
}

static void on_lost(void *context, const char *reason)
{
    ((struct ear *)context)->listens = false;
    CLAIM(reason[0]);
}

static void on_closed(void *context)
{
    ((struct ear *)context)->loop.data = NULL;
}

static void receive(struct session *session, struct slice line)
{
    redisReply *reply = notation_read(line);
    call_answered *answered = session->answered;
    if (session->events.message(session->events.context, reply)) {
        freeReplyObject(reply);
        return;
    }
    session->answered = NULL;
    if (answered)
        answered(session->events.context, reply);
    else
        session_lose(session, -1, "a reply to nothing");
    freeReplyObject(reply);
}

static void pass(struct ear *ear, struct session *session)
{
    fuzz_pass(1000);
    uv_update_time(&ear->loop);
    if (!session->answered)
        session->events.ask(session->events.context);
}

static void step(struct ear *ear, struct slice line)
{
    static const struct session_peer PEER = {.client_id = 5};
    struct session *session = ear->loop.data;
    if (!session->ready) {
        session->ready = true;
        session->events.ready(session->events.context, &PEER);
    }
    if (slice_equals(line, "lost"))
        session_lose(session, -1, "lost");
    else if (slice_equals(line, "."))
        pass(ear, session);
    else
        receive(session, line);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct slice rest = {(const char *)bytes, size};
    struct ear ear = {.received = 0};
    const struct inbox_events events = {&ear, on_listening, ear_receive, ear_receive, on_lost};
    uv_loop_init(&ear.loop);
    struct inbox *inbox = inbox_open(&ear.loop, NULL, NULL, slice_of("baton:inbox:1"), &events);
    while (rest.length > 0) {
        step(&ear, fuzz_cut(&rest, '\n'));
        CLAIM(inbox_is_listening(inbox) == ear.listens);
    }
    inbox_close(inbox, on_closed, &ear);
    CLAIM(!ear.loop.data);
    CLAIM(uv_loop_close(&ear.loop) == 0);
    return 0;
}
