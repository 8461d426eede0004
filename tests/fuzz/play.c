#include "tests/fuzz/play.h"

#include "api/access/completion.h"
#include "locks/calls/state.h"
#include "tests/fuzz/answer.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

enum { ANSWERS_MOST = 10000, HOUR_MS = 3600 * 1000 };

static const struct store_result GONE = {.outcome = STORE_UNSENT};

static char *metrics(void *context)
{
    (void)context;
    return strdup("");
}

void play_open(struct play *play)
{
    fuzz_begin();
    *play = (struct play){.store = NULL};
    uv_loop_init(&play->loop);
    static const struct redis_url ANY = {.kind = REDIS_SERVER};
    const struct locks_options options = {.loop = &play->loop,
                                          .redis_url = &ANY,
                                          .key_prefix = slice_of("baton:"),
                                          .retention_ms = HOUR_MS,
                                          .waiter_lease_ms = 10000,
                                          .claim_window_ms = 2000,
                                          .max_waiters = 1000};
    CLAIM(locks_open(&play->locks, &options) == 0);
    play->store = play->locks->store;
    play->api.locks = play->locks;
    play->api.principals = principals_anonymous();
    play->api.default_ttl_ms = 30000;
    play->api.max_ttl_ms = 24 * HOUR_MS;
    play->api.max_wait_ms = PLAY_LONGEST_WAIT_MS;
    play->api.metrics = metrics;
    hold_counter_begin(&play->hold_counter);
    play->api.hold_counter = &play->hold_counter;
}

/* Callers. */

static struct play *play_of(const struct exchange *exchange)
{
    return (struct play *)((char *)exchange->api - offsetof(struct play, api));
}

static void leave(struct play *play, size_t place)
{
    struct caller *caller = play->callers[place];
    play->callers[place] = NULL;
    exchange_clear(&caller->exchange);
    question_clear(&caller->question);
    free(caller);
}

static size_t place_of(const struct caller *caller)
{
    size_t place = 0;
    while (play_of(&caller->exchange)->callers[place] != caller)
        place++;
    return place;
}

/* A stream stays until it is complete. */
static void finish(struct caller *caller)
{
    caller->parked = false;
    answer_judge(&caller->exchange);
    if (!caller->exchange.stream.is_stream)
        leave(play_of(&caller->exchange), place_of(caller));
}

/* The server looks after the callback: what the API does behind it must find its exchange. */
static void answered(struct exchange *exchange)
{
    struct caller *caller = (struct caller *)exchange;
    CLAIM(caller->parked && !caller->gone && exchange->reply.status);
    caller->parked = false;
}

static bool is_connected(struct exchange *exchange)
{
    return !((struct caller *)exchange)->gone;
}

static void streamed(struct exchange *exchange)
{
    CLAIM(!((struct caller *)exchange)->gone);
}

static void collect_one(struct caller *caller)
{
    const struct stream *stream = &caller->exchange.stream;
    if (!caller->parked && caller->exchange.reply.status && !stream->is_stream)
        finish(caller);
    else if (stream->is_stream && (stream->finished || stream->overflown))
        play_hang_up(play_of(&caller->exchange), place_of(caller));
    else if (stream->is_stream)
        exchange_drained(&caller->exchange);
}

/* Takes what has been answered since. */
static void collect(struct play *play)
{
    for (size_t i = 0; i < PLAY_CALLERS; i++)
        if (play->callers[i])
            collect_one(play->callers[i]);
}

void play_turn(struct play *play)
{
    uv_run(&play->loop, UV_RUN_NOWAIT);
    collect(play);
}

void play_ask(struct play *play, struct question *question)
{
    size_t place = 0;
    while (place < PLAY_CALLERS && play->callers[place])
        place++;
    struct caller *caller = calloc(1, sizeof *caller);
    if (!caller)
        abort();
    caller->question = *question;
    if (place == PLAY_CALLERS) {
        question_clear(&caller->question);
        free(caller);
        return;
    }
    play->callers[place] = caller;
    caller->exchange = (struct exchange){
        .head.method = question->method,
        .head.client = "192.0.2.1",
        .head.target = question->target,
        .body = {question->body, question->body_length},
        .head.has_body = question->body_length > 0,
        .head.content_type = "application/json",
        .head.accept = question->accept,
        .head.authorization = question->authorization,
        .head.lock_token = question->lock_token,
        .head.if_none_match = question->if_none_match,
        .head.last_event_id = question->last_event_id,
        .head.request_id = "fuzz",
        .answered = answered,
        .is_connected = is_connected,
        .streamed = streamed,
    };
    caller->parked =
        api_admit(&play->api, &caller->exchange) && api_handle(&caller->exchange) != ANSWERED;
    CLAIM(caller->parked == (caller->exchange.reply.status == 0));
    collect(play);
}

/* Nobody notices that the client of a request has gone that only waits for Redis to answer. */
void play_hang_up(struct play *play, size_t place)
{
    struct caller *caller = place < PLAY_CALLERS ? play->callers[place] : NULL;
    if (!caller)
        return;
    void (*hung_up)(struct exchange *) = caller->exchange.hung_up;
    bool is_stream = caller->exchange.stream.is_stream;
    if (!hung_up && !is_stream)
        return;
    if (is_stream)
        answer_judge_stream(&caller->exchange);
    caller->gone = true;
    caller->exchange.hung_up = NULL;
    if (hung_up)
        hung_up(&caller->exchange);
    leave(play, place);
}

void play_answer_all(struct play *play, const struct store_result *result)
{
    int answers = 0;
    while (fake_store_waiting(play->store) > 0) {
        CLAIM(answers++ < ANSWERS_MOST);
        fake_store_answer(play->store, result);
    }
    collect(play);
}

/* The end. */

/* Nothing more happens until time goes on. */
static void settle(struct play *play)
{
    for (int i = 0; i < 4 || fake_store_waiting(play->store) > 0; i++) {
        CLAIM(i < ANSWERS_MOST);
        play_answer_all(play, &GONE);
        play_turn(play);
    }
}

static void dismiss(struct play *play)
{
    for (size_t i = 0; i < PLAY_CALLERS; i++) {
        if (!play->callers[i])
            continue;
        CLAIM(play->callers[i]->exchange.stream.is_stream);
        play_hang_up(play, i);
    }
}

void play_close(struct play *play)
{
    settle(play);
    for (int i = 0; i < 2; i++) {
        fuzz_pass(PLAY_LONGEST_WAIT_MS + 1000);
        play_turn(play);
        settle(play);
    }
    dismiss(play);
    settle(play);
    CLAIM(!play->api.connection_holds.lh_first);
    principals_drop(play->api.principals);
    locks_close(play->locks, NULL, NULL);
    for (int i = 0; uv_run(&play->loop, UV_RUN_NOWAIT) != 0; i++)
        CLAIM(i < ANSWERS_MOST);
    CLAIM(uv_loop_close(&play->loop) == 0);
}
