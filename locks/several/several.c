/* Acquiring several names. One is asked for after the other, also where nobody waits: so of two
 * callers that want the same names, whoever gets the first one is in front for all of them, while
 * sent all at once they could refuse each other for ever. */
#include "locks/calls/confirm.h"
#include "locks/calls/engine.h"
#include "locks/calls/request.h"
#include "locks/types/names.h"

#include <stdio.h>
#include <stdlib.h>

/* One of the names, once it is held. */
struct part {
    struct several *several;
    struct renewer *renewer;
    enum locks_result result; /* DONE: it was granted to this request, REPEATED: held before */
    struct attempt attempt;
    struct hold hold;
    uint64_t told;          /* when, by the loop's clock, `hold` was true */
    struct store_mark mark; /* where in what Redis has answered that stands */
    char owner[OWNER_LENGTH];
};

struct several {
    struct locks *locks;
    struct acquirer acquirer;
    several_done *done; /* NULL: answered or abandoned, and waits for Redis' last answers only */
    struct acquire acquire; /* its texts are in `names` */
    uint64_t deadline;      /* of the wait, by the loop's clock */
    struct names *names;
    size_t held;             /* how many of the names, from the first on */
    size_t asking;           /* scripts under way */
    struct waiter *waiter;   /* for the name after those held */
    const char *unconfirmed; /* why the replicas of a part of the store do not have it; else NULL */
    char why[256];
    const char *failed; /* why all is to be given back as soon as nothing is under way */
    size_t failed_at;
    struct part parts[];
};

static struct slice name_of(const struct several *several, size_t i)
{
    return several->names->each[i];
}

static size_t index_of(const struct part *part)
{
    return (size_t)(part - part->several->parts);
}

static void free_several(struct several *several)
{
    free(several->names);
    free(several);
}

static void stop_keeping(struct several *several)
{
    for (size_t i = 0; i < several->held; i++) {
        if (several->parts[i].renewer)
            renewer_stop(several->parts[i].renewer);
        several->parts[i].renewer = NULL;
    }
}

/* Also what was held before this request came, which others were told: theirs is left to them. */
static void give_back(struct several *several)
{
    stop_keeping(several);
    for (size_t i = 0; i < several->held; i++)
        locks_take_back(several->locks, name_of(several, i), several->acquire.token,
                        &several->parts[i].attempt, 0);
}

static void refuse(struct several *several, size_t refused, const struct locks_reply *reply)
{
    struct several_reply answer = {.result = reply->result,
                                   .error = reply->error,
                                   .count = several->names->count,
                                   .refused = refused,
                                   .view = reply->view};
    for (size_t i = 0; i < answer.count; i++)
        answer.each[i].name = name_of(several, i);
    give_back(several);
    several->done(several->acquirer.context, &answer);
    free_several(several);
}

/* Something that was held is lost. What is under way is waited for, or nobody would know whether
 * it is to be given back. */
static void fail(struct several *several, size_t at, const char *why)
{
    if (!several->failed) {
        several->failed = why;
        several->failed_at = at;
    }
    if (several->waiter)
        locks_abandon(several->waiter);
    several->waiter = NULL;
    if (several->asking == 0)
        refuse(several, several->failed_at,
               &(struct locks_reply){.result = LOCKS_UNAVAILABLE, .error = several->failed});
}

static void note_hold(struct part *part, const struct hold *hold)
{
    part->hold = *hold;
    part->told = uv_now(part->several->locks->loop);
    part->mark = store_mark(part->several->locks->store);
    memcpy(part->owner, hold->owner.bytes, hold->owner.length);
    part->hold.owner.bytes = part->owner;
}

static int64_t remaining_ms(const struct part *part)
{
    int64_t passed = (int64_t)(uv_now(part->several->locks->loop) - part->told);
    return part->hold.ttl_ms > passed ? part->hold.ttl_ms - passed : 0;
}

static void on_renewed(void *context, const struct hold *hold)
{
    note_hold(context, hold);
}

static void on_lost(void *context, const char *why)
{
    struct part *part = context;
    part->renewer = NULL;
    fail(part->several, index_of(part), why);
}

static void answer_held(struct several *several)
{
    struct several_reply answer = {.result = LOCKS_REPEATED, .count = several->names->count};
    for (size_t i = 0; i < answer.count; i++) {
        struct part *part = &several->parts[i];
        if (part->result == LOCKS_DONE)
            answer.result = LOCKS_DONE;
        part->hold.ttl_ms = remaining_ms(part);
        answer.each[i].name = name_of(several, i);
        answer.each[i].result = part->result;
        answer.each[i].attempt = part->attempt;
        answer.each[i].hold = part->hold;
    }
    several->done(several->acquirer.context, &answer);
    free_several(several);
}

static void conclude(struct several *several)
{
    struct locks_reply verdict = {.result = LOCKS_DONE};
    if (several->unconfirmed)
        verdict = (struct locks_reply){.result = LOCKS_UNCONFIRMED, .error = several->unconfirmed};
    for (size_t i = 0; i < several->held; i++)
        if (reply_holds(&verdict) && remaining_ms(&several->parts[i]) == 0)
            verdict = (struct locks_reply){.result = LOCKS_UNCONFIRMED,
                                           .error = "a hold ended before replicas had it"};
    if (reply_holds(&verdict))
        answer_held(several);
    else
        refuse(several, 0, &verdict);
}

static void confirmed(void *context, const struct locks_reply *reply)
{
    struct several *several = context;
    if (!reply_holds(reply) && !several->unconfirmed) {
        several->unconfirmed = several->why;
        snprintf(several->why, sizeof several->why, "%s", reply->error ? reply->error : "");
    }
    if (--several->asking > 0)
        return;
    if (several->done)
        conclude(several);
    else
        free_several(several);
}

/* What a part of the store has told last stands behind what it told before, if all was told by one
 * connection; if not, the mark of none will do. */
static struct store_mark mark_of(const struct several *several, unsigned part)
{
    struct store_mark last = {.part = part};
    bool any = false;
    for (size_t i = 0; i < several->held; i++) {
        struct store_mark mark = several->parts[i].mark;
        if (mark.part != part)
            continue;
        if (any && mark.connection != last.connection)
            return (struct store_mark){.part = part};
        if (!any || mark.sent > last.sent)
            last = mark;
        any = true;
    }
    return last;
}

static bool is_first_of_its_part(const struct several *several, size_t i)
{
    for (size_t before = 0; before < i; before++)
        if (several->parts[before].mark.part == several->parts[i].mark.part)
            return false;
    return true;
}

/* Each part of the store has replicas of its own. */
static void finish(struct several *several)
{
    if (several->acquire.replicas == 0) {
        answer_held(several);
        return;
    }
    for (size_t i = 0; i < several->held; i++) {
        const struct part *part = &several->parts[i];
        if (!is_first_of_its_part(several, i))
            continue;
        several->asking++;
        confirm_reply(
            several->locks, &(struct locks_reply){.result = LOCKS_DONE, .hold = part->hold},
            mark_of(several, part->mark.part), several->acquire.replicas, confirmed, several);
    }
}

static void settled(void *context, const struct locks_reply *reply)
{
    struct part *part = context;
    struct several *several = part->several;
    several->asking--;
    if (!several->done) {
        if (several->asking == 0)
            free_several(several);
        return;
    }
    if (reply->result == LOCKS_DONE)
        note_hold(part, &reply->hold);
    else if (!several->failed) {
        several->failed = reply->error ? reply->error : "a hold ended before all were granted";
        several->failed_at = index_of(part);
    }
    if (several->asking > 0)
        return;
    if (several->failed)
        fail(several, several->failed_at, several->failed);
    else
        finish(several);
}

/* All are held: from here on for the TTL that was asked for. The last one has it already, and of a
 * hold that was there before nothing is taken away. */
static void settle(struct several *several)
{
    const struct acquire *acquire = &several->acquire;
    stop_keeping(several);
    for (size_t i = 0; i < several->held; i++) {
        struct part *part = &several->parts[i];
        bool is_last = i + 1 == several->held;
        if (part->result == LOCKS_DONE ? is_last : remaining_ms(part) >= acquire->ttl_ms)
            continue;
        several->asking++;
        several->locks->engine->renew(several->locks, name_of(several, i), acquire->token,
                                      acquire->ttl_ms, 0, slice_of("server"), settled, part);
    }
    if (several->asking == 0)
        finish(several);
}

static void ask(struct several *several);

static void take(struct several *several, const struct locks_reply *reply)
{
    struct part *part = &several->parts[several->held++];
    part->several = several;
    part->result = reply->result;
    part->attempt = reply->attempt;
    note_hold(part, &reply->hold);
    if (several->acquirer.granted)
        several->acquirer.granted(several->acquirer.context, name_of(several, index_of(part)),
                                  reply);
    if (several->held == several->names->count) {
        settle(several);
        return;
    }
    const struct renewer_events events = {part, on_renewed, on_lost};
    part->renewer = renewer_start(several->locks, name_of(several, index_of(part)),
                                  several->acquire.token, part->hold.ttl_ms, 0, &events);
    ask(several);
}

static void answered(void *context, const struct locks_reply *reply)
{
    struct several *several = context;
    bool is_held = reply->result == LOCKS_DONE || reply->result == LOCKS_REPEATED;
    several->waiter = NULL;
    several->asking = 0;
    if (several->done && !several->failed && is_held) {
        take(several, reply);
        return;
    }
    if (is_held)
        locks_take_back(several->locks, name_of(several, several->held), several->acquire.token,
                        &reply->attempt, 0);
    if (!several->done) {
        free_several(several);
    } else if (several->failed) {
        fail(several, several->failed_at, several->failed);
    } else {
        struct locks_reply refusal = *reply;
        if (reply->result == LOCKS_LOCKED && several->acquire.wait_ms > 0)
            refusal.result = LOCKS_TIMEOUT;
        refuse(several, several->held, &refusal);
    }
}

static bool client_is_connected(void *context)
{
    const struct several *several = context;
    return several->acquirer.is_connected(several->acquirer.context);
}

static void queued(void *context, struct slice name)
{
    const struct several *several = context;
    if (several->acquirer.queued)
        several->acquirer.queued(several->acquirer.context, name);
}

/* Asks for the next name. Should this server die on the way, nothing stays for longer than the
 * claim window, but for the last. */
static void ask(struct several *several)
{
    struct locks *locks = several->locks;
    struct acquire acquire = several->acquire;
    uint64_t now = uv_now(locks->loop);
    acquire.replicas = 0; /* they are asked when all are held */
    acquire.name = name_of(several, several->held);
    if (several->held + 1 < several->names->count)
        acquire.ttl_ms = locks->claim_window_ms;
    acquire.wait_ms = several->deadline > now ? (int64_t)(several->deadline - now) : 0;
    if (acquire.wait_ms > 0) {
        const struct acquirer acquirer = {several, client_is_connected, .queued = queued};
        several->waiter = locks_wait(locks, &acquire, &acquirer, answered);
    } else {
        several->asking = 1;
        locks_acquire(locks, &acquire, answered, several);
    }
}

struct several *locks_acquire_several(struct locks *locks, const struct slice *names, size_t count,
                                      const struct acquire *acquire,
                                      const struct acquirer *acquirer, several_done *done)
{
    struct several *several = calloc(1, sizeof *several + count * sizeof several->parts[0]);
    if (!several)
        abort();
    several->locks = locks;
    several->acquirer = *acquirer;
    several->done = done;
    several->acquire = *acquire;
    several->acquire.keep_ms = 0;
    several->deadline = uv_now(locks->loop) + (uint64_t)acquire->wait_ms;
    struct slice *texts[] = {&several->acquire.token, &several->acquire.owner,
                             &several->acquire.meta};
    several->names = names_sorted(names, count, texts, sizeof texts / sizeof texts[0]);
    ask(several);
    return several;
}

void several_abandon(struct several *several)
{
    several->done = NULL;
    if (several->waiter)
        locks_abandon(several->waiter);
    several->waiter = NULL;
    give_back(several);
    if (several->asking == 0)
        free_several(several);
}
