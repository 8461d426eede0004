#include "locks/quorum/write.h"

#include "base/memory.h"
#include "locks/calls/rights.h"
#include "locks/quarantine/horizon.h"
#include "locks/quorum/fence_agreement.h"
#include "locks/quorum/state.h"
#include "locks/quorum/version_agreement.h"
#include "locks/scripts/scripts.h"

/* One of them under way. */
struct quorum_write {
    struct broadcast broadcast;
    locks_done *done;
    void *context;
    unsigned users; /* questions under way */
    struct tally tally;
    struct hold hold;    /* renewing: as a member told of it first, */
    struct tally agreed; /* and those who have it by the fence that is told */
    struct release releases[TALLY_MEMBERS];
    bool was_waiting;       /* releasing: in this process */
    struct attempt attempt; /* of a connection that has ended; "": the hold's owner asks */
    int64_t broken;         /* breaking: the most at any member, */
    int64_t version;        /* and the greatest version of all */
    char owner[OWNER_LENGTH];
    size_t key_length;
    char key[KEY_LENGTH];
    size_t token_length;
    char token[TOKEN_LONGEST];
};

static struct slice quorum_write_key(const struct quorum_write *write)
{
    return (struct slice){write->key, write->key_length};
}

static struct slice quorum_write_token(const struct quorum_write *write)
{
    return (struct slice){write->token, write->token_length};
}

static struct quorum_write *quorum_write_new(struct locks *locks, struct slice name,
                                             struct slice token, const struct broadcast_kind *kind,
                                             locks_done *done, void *context)
{
    struct quorum_write *write = memory_checked(calloc(1, sizeof *write));
    write->users = 1;
    write->done = done;
    write->context = context;
    write->tally.members = store_shard_count(locks->store);
    write->key_length = operation_key(locks, name, write->key).length;
    write->token_length = token.length;
    if (token.length > 0)
        memcpy(write->token, token.bytes, token.length);
    broadcast_begin(&write->broadcast, &locks->quorum->broadcasts, kind);
    return write;
}

static void quorum_write_leave(struct quorum_write *write)
{
    if (--write->users == 0)
        free(write);
}

static void quorum_write_end(struct broadcast *broadcast)
{
    quorum_write_leave((struct quorum_write *)broadcast);
}

static void quorum_write_tell(struct quorum_write *write, const struct locks_reply *reply)
{
    write->done(write->context, reply);
}

static void quorum_write_fail(struct quorum_write *write)
{
    quorum_write_tell(write,
                      &(struct locks_reply){.result = LOCKS_UNAVAILABLE, .error = QUORUM_TOO_FEW});
}

/* Outlives the reply that it stands in. Each member tells the same one. */
static void keep_owner(struct quorum_write *write, struct slice *owner)
{
    if (owner->length > 0)
        memcpy(write->owner, owner->bytes, owner->length);
    owner->bytes = write->owner;
}

/* Renewing */

static void hear_renewed(struct broadcast *broadcast, unsigned member,
                         const struct store_result *result)
{
    struct quorum_write *write = (struct quorum_write *)broadcast;
    struct vote *vote = &write->tally.votes[member];
    struct hold hold;
    if (result->outcome != STORE_REPLIED) {
        vote->kind = broadcast_silence(result);
    } else if (!reply_says(result->reply, "renewed") || !reply_read_hold(result->reply, &hold)) {
        vote->kind = reply_says(result->reply, "not_held") ? VOTE_LOCKED : VOTE_DOUBT;
    } else {
        *vote = (struct vote){.kind = VOTE_HOLDING,
                              .fence = hold.fence,
                              .ttl_ms = hold.ttl_ms,
                              .holds = hold.holds,
                              .version = hold.version};
        horizon_move(broadcast->locks->guard, member,
                     hold.ttl_ms); /* which nobody knew before, if it was 0 */
        if (write->hold.owner.bytes)
            return;
        write->hold = hold;
        keep_owner(write, &write->hold.owner);
    }
}

/* By those who have it so. */
static void tell_renewed(struct quorum_write *write)
{
    struct locks_reply reply = {.result = LOCKS_DONE, .hold = write->hold};
    int64_t elapsed = broadcast_elapsed(&write->broadcast);
    reply.hold.holds = tally_holds(&write->agreed);
    reply.hold.ttl_ms = tally_validity(&write->agreed, elapsed);
    quorum_note_ttl(write->broadcast.locks, reply.hold.ttl_ms + elapsed);
    if (reply.hold.ttl_ms > 0)
        quorum_write_tell(write, &reply);
    else
        quorum_write_fail(write);
}

static void renewed_version_agreed(void *context, bool is_known)
{
    struct quorum_write *write = context;
    if (is_known)
        tell_renewed(write);
    else
        quorum_write_fail(write);
    quorum_write_leave(write);
}

static void renew_as(struct quorum_write *write, int64_t fence, const struct tally *tally)
{
    int64_t version = tally_version(tally);
    write->agreed = *tally;
    write->hold.fence = fence;
    write->hold.version = version > fence ? version : fence;
    if (tally_knows(tally, version)) {
        tell_renewed(write);
        return;
    }
    write->users++;
    version_agree_tally(write->broadcast.locks, quorum_write_key(write), tally, version,
                        renewed_version_agreed, write);
}

static void quorum_write_fence_agreed(void *context, int64_t fence, const struct tally *tally)
{
    struct quorum_write *write = context;
    if (fence)
        renew_as(write, fence, tally);
    else
        quorum_write_fail(write);
    quorum_write_leave(write);
}

static bool decide_renewed(struct broadcast *broadcast, bool is_last)
{
    struct quorum_write *write = (struct quorum_write *)broadcast;
    int64_t fence = 0;
    enum verdict verdict = tally_renew(&write->tally, is_last);
    bool agrees = tally_agrees(&write->tally, &fence);
    if (verdict == VERDICT_OPEN || (verdict == VERDICT_WON && !agrees && !is_last))
        return false;
    if (verdict == VERDICT_LOST) {
        quorum_write_tell(write, &(struct locks_reply){.result = LOCKS_NOT_HELD});
    } else if (verdict == VERDICT_UNANSWERED) {
        quorum_write_fail(write);
    } else if (agrees) {
        renew_as(write, fence, &write->tally);
    } else { /* its members were lost meanwhile: those that are left agree anew */
        write->users++;
        fence_agree(broadcast->locks, quorum_write_key(write), quorum_write_token(write),
                    &write->tally, quorum_write_fence_agreed, write);
    }
    return true;
}

void quorum_renew(struct locks *locks, struct slice name, struct slice token, int64_t ttl_ms,
                  int64_t replicas, struct slice by, locks_done *done, void *context)
{
    (void)replicas; /* a majority of the members confirms */
    static const struct broadcast_kind KIND = {hear_renewed, decide_renewed, quorum_write_end};
    struct quorum_write *write = quorum_write_new(locks, name, token, &KIND, done, context);
    char text[NUMBER_TEXT];
    const struct slice arguments[] = {stamp_placeholder(), token,
                                      ttl_ms ? number_text(ttl_ms, text) : slice_of(""), by};
    if (ttl_ms)
        horizon_move_all(locks->guard, ttl_ms);
    broadcast_send_all(&write->broadcast, &script_renew, quorum_write_key(write), arguments,
                       by.length > 0 ? 4 : 3);
}

/* Releasing */

enum { RELEASE_ARGUMENTS = 5 };

/* The third says that the token is to be remembered even where it holds nothing: see release.lua.
 * Returns how many there are. */
static size_t release_arguments(const struct quorum_write *write,
                                struct slice arguments[RELEASE_ARGUMENTS])
{
    arguments[0] = stamp_placeholder();
    arguments[1] = quorum_write_token(write);
    arguments[2] = slice_of(write->broadcast.locks->server);
    arguments[3] = slice_of(write->attempt.text[0] ? "" : "1");
    arguments[4] = slice_of(write->attempt.text);
    return write->attempt.text[0] ? 5 : 4;
}

static void release_at(const struct quorum_write *write, unsigned member)
{
    struct locks *locks = write->broadcast.locks;
    struct slice arguments[RELEASE_ARGUMENTS];
    const struct script_call call = {
        .script = &script_release,
        .key = quorum_write_key(write),
        .arguments = arguments,
        .argument_count = release_arguments(write, arguments),
    };
    redelivery_add_at(locks, member, &call, locks->quorum->longest_ttl_ms);
}

static void hear_released(struct broadcast *broadcast, unsigned member,
                          const struct store_result *result)
{
    struct quorum_write *write = (struct quorum_write *)broadcast;
    struct vote *vote = &write->tally.votes[member];
    struct release *release = &write->releases[member];
    if (result->outcome != STORE_REPLIED) {
        vote->kind = broadcast_silence(result);
        release_at(write, member);
    } else if (reply_read_release(result->reply, release)) {
        vote->kind = VOTE_HOLDING;
        keep_owner(write, &release->owner);
        release->version = 0; /* see tell_released */
    } else {
        vote->kind = VOTE_LOCKED; /* it has no such hold */
    }
}

/* What is told is what most is known of: the end of a hold before a repetition, by its fence. Each
 * member has given its end another number, so no version of it is known to a majority: none is
 * told. */
static void tell_released(struct quorum_write *write)
{
    struct locks_reply reply = {.result = LOCKS_DONE};
    struct release *best = &reply.release;
    best->repeated = true;
    for (unsigned i = 0; i < write->tally.members; i++) {
        const struct release *release = &write->releases[i];
        if (write->tally.votes[i].kind != VOTE_HOLDING)
            continue;
        if (best->repeated > release->repeated ||
            (best->repeated == release->repeated && best->fence < release->fence))
            *best = *release;
    }
    quorum_write_tell(write, &reply);
}

static bool decide_released(struct broadcast *broadcast, bool is_last)
{
    struct quorum_write *write = (struct quorum_write *)broadcast;
    enum verdict verdict = tally_release(&write->tally, is_last);
    if (verdict == VERDICT_OPEN)
        return false;
    if (verdict == VERDICT_WON)
        tell_released(write);
    else if (write->was_waiting)
        quorum_write_tell(
            write, &(struct locks_reply){.result = LOCKS_DONE, .release = {.cancelled = true}});
    else if (verdict == VERDICT_LOST)
        quorum_write_tell(write, &(struct locks_reply){.result = LOCKS_NOT_HELD});
    else
        quorum_write_fail(write);
    return true;
}

/* Where a request waits with this token in this process, it waits no longer. At the others it hears
 * of it when it asks next. */
void quorum_release(struct locks *locks, struct slice name, struct slice token,
                    const struct attempt *attempt, locks_done *done, void *context)
{
    static const struct broadcast_kind KIND = {hear_released, decide_released, quorum_write_end};
    struct quorum_write *write = quorum_write_new(locks, name, token, &KIND, done, context);
    struct slice arguments[RELEASE_ARGUMENTS];
    if (attempt)
        write->attempt = *attempt;
    broadcast_send_all(&write->broadcast, &script_release, quorum_write_key(write), arguments,
                       release_arguments(write, arguments));
    write->was_waiting =
        !attempt && tickets_cancel(locks->quorum->desk.tickets, quorum_write_key(write),
                                   quorum_write_token(write));
}

/* Breaking: who is away keeps what it has, which is no majority, until it ends. To be told of it
 * later might break what was granted since. */

static void hear_broken(struct broadcast *broadcast, unsigned member,
                        const struct store_result *result)
{
    struct quorum_write *write = (struct quorum_write *)broadcast;
    struct vote *vote = &write->tally.votes[member];
    int64_t count;
    vote->kind = broadcast_silence(result);
    if (result->outcome != STORE_REPLIED || !value_integer(value_at(result->reply, 0), &count) ||
        !value_integer(value_at(result->reply, 1), &vote->version))
        return;
    vote->kind = VOTE_HOLDING;
    if (!broadcast->is_decided && count > write->broken)
        write->broken = count;
}

static void broken_version_agreed(void *context, bool is_known)
{
    struct quorum_write *write = context;
    if (is_known)
        quorum_write_tell(write, &(struct locks_reply){.result = LOCKS_DONE,
                                                       .broken = {.count = write->broken,
                                                                  .version = write->version}});
    else
        quorum_write_fail(write);
    quorum_write_leave(write);
}

/* Each member has given it another number, of which the greatest is told. */
static bool decide_broken(struct broadcast *broadcast, bool is_last)
{
    struct quorum_write *write = (struct quorum_write *)broadcast;
    if (!is_last)
        return false;
    if (tally_renew(&write->tally, true) != VERDICT_WON) {
        quorum_write_fail(write);
        return true;
    }
    write->version = tally_version(&write->tally);
    write->users++;
    version_agree_tally(broadcast->locks, quorum_write_key(write), &write->tally, write->version,
                        broken_version_agreed, write);
    return true;
}

void quorum_break(struct locks *locks, struct slice name, locks_done *done, void *context)
{
    static const struct broadcast_kind KIND = {hear_broken, decide_broken, quorum_write_end};
    struct quorum_write *write =
        quorum_write_new(locks, name, slice_of(NULL), &KIND, done, context);
    const struct slice arguments[] = {stamp_placeholder()};
    broadcast_send_all(&write->broadcast, &script_break, quorum_write_key(write), arguments, 1);
}

/* Whether a majority could store a grant. */

static void hear_ready(struct broadcast *broadcast, unsigned member,
                       const struct store_result *result)
{
    struct quorum_write *write = (struct quorum_write *)broadcast;
    struct locks *locks = broadcast->locks;
    if (result->outcome == STORE_REPLIED || result->error)
        rights_note(locks, result->error);
    write->tally.votes[member].kind = result->outcome == STORE_REPLIED ? VOTE_HOLDING : VOTE_AWAY;
}

static bool decide_ready(struct broadcast *broadcast, bool is_last)
{
    struct quorum_write *write = (struct quorum_write *)broadcast;
    enum verdict verdict = tally_renew(&write->tally, is_last);
    if (verdict == VERDICT_OPEN)
        return false;
    if (verdict == VERDICT_WON)
        quorum_write_tell(write, &(struct locks_reply){.result = LOCKS_DONE});
    else
        quorum_write_tell(
            write, &(struct locks_reply){.result = LOCKS_UNAVAILABLE,
                                         .error = rights_missing(broadcast->locks,
                                                                 "too few members of the quorum "
                                                                 "answer")});
    return true;
}

void quorum_ready(struct locks *locks, int64_t replicas, locks_done *done, void *context)
{
    (void)replicas;
    static const struct broadcast_kind KIND = {hear_ready, decide_ready, quorum_write_end};
    struct quorum_write *write =
        quorum_write_new(locks, slice_of(""), slice_of(NULL), &KIND, done, context);
    const struct slice arguments[] = {stamp_placeholder()};
    broadcast_send_all(&write->broadcast, &script_ready, quorum_write_key(write), arguments, 1);
}

/* Taking back */

void quorum_take_back(struct locks *locks, struct slice name, struct slice token,
                      const struct attempt *attempt, int64_t keep_ms)
{
    (void)keep_ms; /* a place is kept by this process, not by the members */
    char bytes[KEY_LENGTH];
    const struct slice arguments[] = {stamp_placeholder(), token, slice_of(attempt->text),
                                      slice_of("0"), slice_of("gone")};
    const struct script_call call = {
        .script = &script_leave,
        .key = operation_key(locks, name, bytes),
        .arguments = arguments,
        .argument_count = sizeof arguments / sizeof arguments[0],
    };
    for (unsigned i = 0; i < store_shard_count(locks->store); i++)
        redelivery_add_at(locks, i, &call, locks->quorum->longest_ttl_ms);
}
