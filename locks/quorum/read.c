#include "locks/quorum/read.h"

#include "base/memory.h"
#include "locks/calls/view_copy.h"
#include "locks/quarantine/guard.h"
#include "locks/quorum/awaited_name.h"
#include "locks/quorum/member_views.h"
#include "locks/quorum/state.h"
#include "locks/quorum/version_agreement.h"
#include "locks/scripts/scripts.h"

struct quorum_read {
    struct broadcast broadcast;
    locks_done *done;
    void *context;
    struct member_views views;
    struct lock_view *kept[TALLY_MEMBERS];
    struct lock_view view; /* set once all is decided; uses the texts of `kept` */
    unsigned users;        /* questions under way */
    size_t token_length;
    char token[TOKEN_LONGEST];
};

static void quorum_read_leave(struct quorum_read *read)
{
    if (--read->users > 0)
        return;
    for (unsigned i = 0; i < TALLY_MEMBERS; i++)
        free(read->kept[i]);
    free(read);
}

static void quorum_read_report(struct quorum_read *read)
{
    const struct locks *locks = read->broadcast.locks;
    struct awaited_name *awaited = awaited_name_find(locks, broadcast_key(&read->broadcast));
    local_queue_show(awaited ? &awaited->queue : NULL,
                     (struct slice){read->token, read->token_length}, uv_now(locks->loop),
                     &read->view);
    read->done(read->context, &(struct locks_reply){.result = LOCKS_DONE, .view = read->view});
}

static void quorum_read_fail(struct quorum_read *read)
{
    read->done(read->context,
               &(struct locks_reply){
                   .result = LOCKS_UNAVAILABLE,
                   .error = "too few members of the quorum answered (the log of batond says why)"});
}

/* Writing back */

static void written(void *context, bool is_known)
{
    struct quorum_read *read = context;
    if (is_known)
        quorum_read_report(read);
    else
        quorum_read_fail(read);
    quorum_read_leave(read);
}

static void write_back(struct quorum_read *read)
{
    int64_t known[TALLY_MEMBERS] = {0};
    for (unsigned i = 0; i < read->views.members; i++)
        known[i] = read->views.of[i] ? read->views.of[i]->version : 0;
    read->view.version =
        tally_above(read->view.version, guard_latest_number(read->broadcast.locks->guard));
    read->users++;
    version_agree(read->broadcast.locks, broadcast_key(&read->broadcast), known, read->view.version,
                  written, read);
}

/* Whether a majority knows the version; with `hopes`, silent members count as if they knew it. */
static bool is_known(const struct quorum_read *read, int64_t version, bool hopes)
{
    unsigned count = 0;
    for (unsigned i = 0; i < read->views.members; i++) {
        const struct lock_view *of = read->views.of[i];
        count += of ? of->version >= version : hopes;
    }
    return count > read->views.members / 2;
}

/* Asking */

static bool read_inspected(const struct value *value, struct locks_reply *ret)
{
    return reply_read_view(value, &ret->view);
}

static void quorum_read_observe(struct broadcast *broadcast, unsigned member,
                                const struct store_result *result)
{
    struct quorum_read *read = (struct quorum_read *)broadcast;
    struct locks_reply reply = {.result = LOCKS_DONE};
    operation_read(result, read_inspected, &reply);
    if (reply.result == LOCKS_DONE)
        read->kept[member] = view_copy(&reply.view);
    if (!broadcast->is_decided)
        read->views.of[member] = read->kept[member];
}

static bool is_answered(const struct quorum_read *read)
{
    unsigned count = 0;
    for (unsigned i = 0; i < read->views.members; i++)
        count += read->views.of[i] != NULL;
    return count > read->views.members / 2;
}

static bool quorum_read_decide(struct broadcast *broadcast, bool is_last)
{
    struct quorum_read *read = (struct quorum_read *)broadcast;
    member_views_merge(&read->views, &read->view);
    int64_t version = read->view.version;
    bool is_known_now = is_known(read, version, false);
    bool may_be_known = !is_known_now && is_known(read, version, true);
    if (!is_last && (!member_views_suffice(&read->views) || may_be_known))
        return false;
    if (!is_answered(read))
        quorum_read_fail(read);
    else if (is_known_now)
        quorum_read_report(read);
    else
        write_back(read);
    return true;
}

static void quorum_read_end(struct broadcast *broadcast)
{
    quorum_read_leave((struct quorum_read *)broadcast);
}

void quorum_inspect(struct locks *locks, struct slice name, struct slice token, size_t waiters,
                    locks_done *done, void *context)
{
    (void)waiters; /* a quorum shows no more than usual: see locks_inspect in locks/locks.h */
    static const struct broadcast_kind KIND = {quorum_read_observe, quorum_read_decide,
                                               quorum_read_end};
    char key[KEY_LENGTH];
    struct quorum_read *read = memory_checked(calloc(1, sizeof *read));
    read->users = 1;
    read->done = done;
    read->context = context;
    read->views.members = store_shard_count(locks->store);
    read->token_length = token.length;
    if (token.length > 0)
        memcpy(read->token, token.bytes, token.length);
    const struct slice arguments[] = {stamp_placeholder(), token};
    broadcast_begin(&read->broadcast, &locks->quorum->broadcasts, operation_key(locks, name, key),
                    &KIND);
    broadcast_send_all(&read->broadcast, &script_inspect, arguments, 2);
}
