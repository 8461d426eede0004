/* fuzz_replies.c: what Redis answers and tells, in any order. The input is a play, a line a step:
 *   > REQUEST   a client asks (question.h)
 *   < REPLY     Redis answers the call that waits longest (notation.h); -ERR refuses it
 *   ?  ~        that call is lost on the way: nobody knows its outcome; it was never sent
 *   @ TEXT      a message in the inbox
 *   ^ KEY       a tracked key has changed; without one: any may have
 *   + *         the connection is back; the inbox is subscribed again
 *   . MS        time passes
 *   x N         the Nth client hangs up
 *   d           this batond is to stop */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/notation.h"
#include "tests/fuzz/play.h"

#include <hiredis/hiredis.h>
#include <stdlib.h>

enum { STEPS_MOST = 200, PASSES_MOST_MS = 100000 };

static void ask(struct play *play, struct slice text)
{
    struct question question;
    question_read(text, &question);
    play_ask(play, &question);
}

static void reply(struct play *play, struct slice text)
{
    redisReply *tree = notation_read(text);
    struct store_result result = {.outcome = STORE_REPLIED,
                                  .reply = (const struct value *)(const void *)tree};
    if (tree->type == REDIS_REPLY_ERROR)
        result = (struct store_result){.outcome = STORE_REFUSED, .error = tree->str};
    fake_store_answer(play->store, &result);
    freeReplyObject(tree);
}

static void lose(struct play *play, struct slice text)
{
    (void)text;
    fake_store_answer(play->store, &(struct store_result){.outcome = STORE_IN_DOUBT});
}

static void leave_unsent(struct play *play, struct slice text)
{
    (void)text;
    fake_store_answer(play->store, &(struct store_result){.outcome = STORE_UNSENT});
}

static void notify(struct play *play, struct slice text)
{
    const struct store_events *events = fake_store_events(play->store);
    char *copy = fuzz_text(text);
    events->message(events->context, 0, slice_of(copy));
    free(copy);
}

static void touch(struct play *play, struct slice text)
{
    const struct store_events *events = fake_store_events(play->store);
    char *copy = fuzz_text(text);
    events->invalidated(events->context, slice_of(copy));
    free(copy);
}

static void come_back(struct play *play, struct slice text)
{
    const struct store_events *events = fake_store_events(play->store);
    (void)text;
    events->up(events->context, 0);
    locks_try_again(play->locks);
}

static void listen_again(struct play *play, struct slice text)
{
    const struct store_events *events = fake_store_events(play->store);
    (void)text;
    events->listening(events->context, 0);
}

static unsigned long number(struct slice text)
{
    char *copy = fuzz_text(text);
    unsigned long value = strtoul(copy, NULL, 10);
    free(copy);
    return value;
}

static void pass(struct play *play, struct slice text)
{
    unsigned long ms = number(text);
    (void)play;
    fuzz_pass(ms < PASSES_MOST_MS ? ms : PASSES_MOST_MS);
}

static void hang_up(struct play *play, struct slice text)
{
    play_hang_up(play, number(text));
}

static void stop(struct play *play, struct slice text)
{
    (void)text;
    if (!play->api.draining)
        api_drain(&play->api);
}

static const struct step {
    char sigil;
    void (*act)(struct play *play, struct slice text);
} STEPS[] = {{'>', ask},    {'<', reply},   {'?', lose},      {'~', leave_unsent},
             {'@', notify}, {'^', touch},   {'+', come_back}, {'*', listen_again},
             {'.', pass},   {'x', hang_up}, {'d', stop}};

static void act(struct play *play, struct slice line)
{
    for (size_t i = 0; i < sizeof STEPS / sizeof STEPS[0]; i++) {
        if (line.bytes[0] != STEPS[i].sigil)
            continue;
        size_t skipped = line.length > 1 && line.bytes[1] == ' ' ? 2 : 1;
        STEPS[i].act(play, (struct slice){line.bytes + skipped, line.length - skipped});
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct play play;
    struct slice rest = {(const char *)bytes, size};
    play_open(&play);
    for (int i = 0; i < STEPS_MOST && rest.length > 0; i++) {
        struct slice line = fuzz_cut(&rest, '\n');
        if (line.length > 0)
            act(&play, line);
        play_turn(&play);
    }
    play_close(&play);
    return 0;
}
