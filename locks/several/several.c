/* Acquires several names one after the other, in the same order for all clients, even if no client
 * waits. So if two clients want the same names, the client that gets the first name gets all. If
 * batond asked for all names at once, the two clients could refuse each other for ever. */
#include "base/memory.h"
#include "locks/calls/confirm.h"
#include "locks/calls/engine.h"
#include "locks/calls/request.h"
#include "locks/calls/view_copy.h"
#include "locks/several/names.h"

#include <stdio.h>

/* A name that the token holds. */
struct several_entry {
    struct several *several;
    struct renewer *renewer;
    enum locks_result result; /* DONE: granted to this request; REPEATED: held before */
    struct attempt attempt;
    struct hold hold;
    uint64_t reported_at;   /* when Redis reported `hold`; loop time, ms */
    struct store_mark mark; /* the place of this hold's reply among Redis' replies */
    char owner[OWNER_LENGTH];
};

struct several {
    struct locks *locks;
    struct acquirer acquirer;
    /* NULL: abandoned, and only the last replies of Redis are still to come */
    several_done *done;
    struct acquire acquire; /* its texts are in `names` */
    uint64_t deadline;      /* when the wait ends; loop time, ms */
    struct names *names;
    size_t held;             /* how many names are held: the first ones */
    size_t asking;           /* scripts under way */
    struct waiter *waiter;   /* for the name after the held names; NULL: none waits */
    const char *unconfirmed; /* why a shard's replicas did not confirm; else NULL */
    char why[256];
    /* The result for a lost hold: gives all names back once no script is under way. LOCKS_DONE:
     * none was lost. */
    enum locks_result failed;
    size_t failed_at;
    struct lock_view *ended; /* how that hold ended; NULL: unknown */
    struct several_entry entries[];
};

static struct slice several_name(const struct several *several, size_t i)
{
    return several->names->each[i];
}

static size_t several_index(const struct several_entry *entry)
{
    return (size_t)(entry - entry->several->entries);
}

static void several_free(struct several *several)
{
    free(several->ended);
    free(several->names);
    free(several);
}

static void several_stop_renewing(struct several *several)
{
    for (size_t i = 0; i < several->held; i++) {
        if (several->entries[i].renewer)
            renewer_stop(several->entries[i].renewer);
        several->entries[i].renewer = NULL;
    }
}

/* Also gives back what the token held before this request. Redis keeps such a hold for the other
 * requests that have got it. */
static void several_give_back(struct several *several)
{
    several_stop_renewing(several);
    for (size_t i = 0; i < several->held; i++)
        locks_take_back(several->locks, several_name(several, i), several->acquire.token,
                        &several->entries[i].attempt, 0);
}

static void several_refuse(struct several *several, size_t refused, const struct locks_reply *reply)
{
    struct several_reply answer = {.result = reply->result,
                                   .error = reply->error,
                                   .count = several->names->count,
                                   .refused = refused,
                                   .view = reply->view};
    for (size_t i = 0; i < answer.count; i++)
        answer.each[i].name = several_name(several, i);
    several_give_back(several);
    several->done(several->acquirer.context, &answer);
    several_free(several);
}

/* Notes that a hold is lost, with the texts of the reply: the request ends only when the scripts
 * under way have replied. */
static void several_note_loss(struct several *several, size_t at, const struct locks_reply *reply)
{
    if (several->failed)
        return;
    several->failed = reply->result;
    several->failed_at = at;
    snprintf(several->why, sizeof several->why, "%s", reply->error ? reply->error : "");
    if (reply->view.last_release.fence > 0)
        several->ended = view_copy(&reply->view);
}

/* Ends a request that has lost a hold, unless a script is under way: it may still get a hold, which
 * batond must give back. */
static void several_fail(struct several *several)
{
    struct locks_reply reply = {.result = several->failed, .error = several->why};
    if (several->waiter)
        locks_abandon(several->waiter);
    several->waiter = NULL;
    if (several->asking > 0)
        return;
    if (several->ended)
        reply.view = *several->ended;
    several_refuse(several, several->failed_at, &reply);
}

static void several_note_hold(struct several_entry *entry, const struct hold *hold)
{
    entry->hold = *hold;
    entry->reported_at = uv_now(entry->several->locks->loop);
    entry->mark = store_mark(entry->several->locks->store);
    owner_keep(&entry->hold.owner, entry->owner);
}

static int64_t several_remaining_ms(const struct several_entry *entry)
{
    int64_t passed = (int64_t)(uv_now(entry->several->locks->loop) - entry->reported_at);
    return entry->hold.ttl_ms > passed ? entry->hold.ttl_ms - passed : 0;
}

static void several_on_renewed(void *context, const struct hold *hold)
{
    several_note_hold(context, hold);
}

static void several_on_lost(void *context, const char *why, const struct hold_end *end)
{
    struct several_entry *entry = context;
    struct locks_reply reply = {.result = end ? LOCKS_NOT_HELD : LOCKS_UNAVAILABLE, .error = why};
    if (end)
        reply.view.last_release = *end;
    entry->renewer = NULL;
    several_note_loss(entry->several, several_index(entry), &reply);
    several_fail(entry->several);
}

static void several_answer_held(struct several *several)
{
    struct several_reply answer = {.result = LOCKS_REPEATED, .count = several->names->count};
    for (size_t i = 0; i < answer.count; i++) {
        struct several_entry *entry = &several->entries[i];
        if (entry->result == LOCKS_DONE)
            answer.result = LOCKS_DONE;
        hold_pass(&entry->hold, (int64_t)(uv_now(several->locks->loop) - entry->reported_at));
        answer.each[i].name = several_name(several, i);
        answer.each[i].result = entry->result;
        answer.each[i].attempt = entry->attempt;
        answer.each[i].hold = entry->hold;
    }
    several->done(several->acquirer.context, &answer);
    several_free(several);
}

static void several_conclude(struct several *several)
{
    struct locks_reply verdict = {.result = LOCKS_DONE};
    if (several->unconfirmed)
        verdict = (struct locks_reply){.result = LOCKS_UNCONFIRMED, .error = several->unconfirmed};
    for (size_t i = 0; i < several->held; i++)
        if (reply_holds(&verdict) && several_remaining_ms(&several->entries[i]) == 0)
            verdict = (struct locks_reply){.result = LOCKS_UNCONFIRMED,
                                           .error = "a hold ended before replicas had it"};
    if (reply_holds(&verdict))
        several_answer_held(several);
    else
        several_refuse(several, 0, &verdict);
}

static void several_on_confirmed(void *context, const struct locks_reply *reply)
{
    struct several *several = context;
    if (!reply_holds(reply) && !several->unconfirmed) {
        several->unconfirmed = several->why;
        snprintf(several->why, sizeof several->why, "%s", reply->error ? reply->error : "");
    }
    if (--several->asking > 0)
        return;
    if (several->done)
        several_conclude(several);
    else
        several_free(several);
}

/* The mark of a shard's last reply. It covers the shard's earlier replies if all came on one
 * connection. If not, no mark covers them, and the result has no connection. */
static struct store_mark several_last_mark(const struct several *several, unsigned shard)
{
    struct store_mark last = {.shard = shard};
    bool any = false;
    for (size_t i = 0; i < several->held; i++) {
        struct store_mark mark = several->entries[i].mark;
        if (mark.shard != shard)
            continue;
        if (any && mark.connection != last.connection)
            return (struct store_mark){.shard = shard};
        if (!any || mark.sent > last.sent)
            last = mark;
        any = true;
    }
    return last;
}

static bool several_is_first_of_shard(const struct several *several, size_t i)
{
    for (size_t before = 0; before < i; before++)
        if (several->entries[before].mark.shard == several->entries[i].mark.shard)
            return false;
    return true;
}

/* Asks the replicas of each shard to confirm the holds of this shard. */
static void several_confirm(struct several *several)
{
    if (several->acquire.replicas == 0) {
        several_answer_held(several);
        return;
    }
    for (size_t i = 0; i < several->held; i++) {
        const struct several_entry *entry = &several->entries[i];
        if (!several_is_first_of_shard(several, i))
            continue;
        several->asking++;
        confirm_reply(several->locks,
                      &(struct locks_reply){.result = LOCKS_DONE, .hold = entry->hold},
                      several_last_mark(several, entry->mark.shard), several->acquire.replicas,
                      several_on_confirmed, several);
    }
}

static void several_on_extended(void *context, const struct locks_reply *reply)
{
    struct several_entry *entry = context;
    struct several *several = entry->several;
    several->asking--;
    if (!several->done) {
        if (several->asking == 0)
            several_free(several);
        return;
    }
    if (reply->result == LOCKS_DONE || reply->result == LOCKS_MAX_HELD)
        several_note_hold(entry, &reply->hold);
    else
        several_note_loss(several, several_index(entry), reply);
    if (several->asking > 0)
        return;
    if (several->failed)
        several_fail(several);
    else
        several_confirm(several);
}

/* For a hold that the token had before: whether its at_least or max_held may not have begun, since
 * the earlier request was cut off before it had all names. */
static bool several_lacks_terms(const struct several_entry *entry)
{
    const struct acquire *acquire = &entry->several->acquire;
    int64_t left_ms = entry->hold.max_held_ms;
    return (acquire->at_least_ms > 0 && entry->hold.at_least_ms == 0) ||
           (acquire->max_held_ms > 0 && (left_ms == 0 || left_ms > acquire->max_held_ms));
}

static bool several_is_as_asked(const struct several_entry *entry)
{
    const struct several *several = entry->several;
    if (entry->result == LOCKS_DONE)
        return several_index(entry) + 1 == several->held;
    return several_remaining_ms(entry) >= several->acquire.ttl_ms && !several_lacks_terms(entry);
}

/* at_least and max_held count from when all names are held. A hold that the token had before keeps
 * its own, and its TTL if that has more time left. */
static struct renewal several_extension(const struct several_entry *entry)
{
    const struct acquire *acquire = &entry->several->acquire;
    int64_t left_ms = entry->result == LOCKS_DONE ? 0 : several_remaining_ms(entry);
    return (struct renewal){
        .name = several_name(entry->several, several_index(entry)),
        .token = acquire->token,
        .ttl_ms = left_ms > acquire->ttl_ms ? left_ms : acquire->ttl_ms,
        .is_of_worker = true,
        .at_least_ms = acquire->at_least_ms,
        .max_held_ms = acquire->max_held_ms,
    };
}

/* All names are held: gives them the TTL that the client asked for. The last hold has it already.
 */
static void several_extend(struct several *several)
{
    several_stop_renewing(several);
    for (size_t i = 0; i < several->held; i++) {
        struct several_entry *entry = &several->entries[i];
        if (several_is_as_asked(entry))
            continue;
        const struct renewal renewal = several_extension(entry);
        several->asking++;
        several->locks->engine->renew(several->locks, &renewal, several_on_extended, entry);
    }
    if (several->asking == 0)
        several_confirm(several);
}

static void several_ask(struct several *several);

static void several_take(struct several *several, const struct locks_reply *reply)
{
    struct several_entry *entry = &several->entries[several->held++];
    entry->several = several;
    entry->result = reply->result;
    entry->attempt = reply->attempt;
    several_note_hold(entry, &reply->hold);
    if (several->acquirer.granted)
        several->acquirer.granted(several->acquirer.context,
                                  several_name(several, several_index(entry)), reply);
    if (several->held == several->names->count) {
        several_extend(several);
        return;
    }
    const struct renewer_events events = {entry, several_on_renewed, several_on_lost};
    entry->renewer = renewer_start(several->locks, several_name(several, several_index(entry)),
                                   several->acquire.token, entry->hold.ttl_ms, 0, &events);
    several_ask(several);
}

static void several_answered(void *context, const struct locks_reply *reply)
{
    struct several *several = context;
    bool is_held = reply->result == LOCKS_DONE || reply->result == LOCKS_REPEATED;
    several->waiter = NULL;
    several->asking = 0;
    if (several->done && !several->failed && is_held) {
        several_take(several, reply);
        return;
    }
    if (is_held)
        locks_take_back(several->locks, several_name(several, several->held),
                        several->acquire.token, &reply->attempt, 0);
    if (!several->done) {
        several_free(several);
    } else if (several->failed) {
        several_fail(several);
    } else {
        struct locks_reply refusal = *reply;
        if (reply->result == LOCKS_LOCKED && several->acquire.wait_ms > 0)
            refusal.result = LOCKS_TIMEOUT;
        several_refuse(several, several->held, &refusal);
    }
}

static bool several_client_is_connected(void *context)
{
    const struct several *several = context;
    return several->acquirer.is_connected(several->acquirer.context);
}

static void several_queued(void *context, struct slice name)
{
    const struct several *several = context;
    if (several->acquirer.queued)
        several->acquirer.queued(several->acquirer.context, name);
}

/* The terms of every hold except the last. Its TTL is the claim window, or less if the client asked
 * for less, and it has no at_least, so it ends soon if this worker dies meanwhile. Because the
 * client may renew it meanwhile, it has a max_held, which lasts at least until all names are held
 * and the final one begins. */
static void several_ask_early(const struct locks *locks, struct acquire *acquire)
{
    int64_t asked_ms = request_lease_ms(acquire), window_ms = locks->options.claim_window_ms;
    acquire->ttl_ms = asked_ms < window_ms ? asked_ms : window_ms;
    acquire->at_least_ms = 0;
    if (acquire->max_held_ms > 0)
        acquire->max_held_ms += acquire->wait_ms + window_ms;
}

/* Asks for the next name. */
static void several_ask(struct several *several)
{
    struct locks *locks = several->locks;
    struct acquire acquire = several->acquire;
    uint64_t now = uv_now(locks->loop);
    acquire.replicas = 0; /* replicas confirm once, when all names are held */
    acquire.name = several_name(several, several->held);
    acquire.wait_ms = several->deadline > now ? (int64_t)(several->deadline - now) : 0;
    if (several->held + 1 < several->names->count)
        several_ask_early(locks, &acquire);
    if (acquire.wait_ms > 0) {
        const struct acquirer acquirer = {several, several_client_is_connected,
                                          .queued = several_queued};
        several->waiter = locks_wait(locks, &acquire, &acquirer, several_answered);
    } else {
        several->asking = 1;
        locks_acquire(locks, &acquire, several_answered, several);
    }
}

struct several *locks_acquire_several(struct locks *locks, const struct slice *names, size_t count,
                                      const struct acquire *acquire,
                                      const struct acquirer *acquirer, several_done *done)
{
    struct several *several =
        memory_checked(calloc(1, sizeof *several + count * sizeof several->entries[0]));
    several->locks = locks;
    several->acquirer = *acquirer;
    several->done = done;
    several->acquire = *acquire;
    several->acquire.keep_ms = 0;
    several->deadline = uv_now(locks->loop) + (uint64_t)acquire->wait_ms;
    struct slice *texts[] = {&several->acquire.token, &several->acquire.owner,
                             &several->acquire.client, &several->acquire.meta};
    several->names = names_sorted(names, count, texts, sizeof texts / sizeof texts[0]);
    several->acquire.set = names_number(several->names);
    several_ask(several);
    return several;
}

void several_abandon(struct several *several)
{
    several->done = NULL;
    if (several->waiter)
        locks_abandon(several->waiter);
    several->waiter = NULL;
    several_give_back(several);
    if (several->asking == 0)
        several_free(several);
}
