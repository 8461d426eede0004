/* Looking at a name of a quorum: what a majority knows of it, by a version that never falls. */
#include "locks/quarantine/fence_floor.h"
#include "locks/quorum/majority.h"
#include "locks/quorum/version_agreement.h"
#include "locks/quorum/views.h"
#include "locks/scripts/scripts.h"

#include <stdlib.h>

struct looking {
    struct broadcast broadcast;
    locks_done *done;
    void *context;
    struct views views;
    struct lock_view *kept[TALLY_MEMBERS];
    struct lock_view told; /* once all is decided; its texts are those of `kept` */
    unsigned users;        /* questions under way */
    size_t key_length;
    char key[KEY_LENGTH];
};

static struct slice key_of(const struct looking *looking)
{
    return (struct slice){looking->key, looking->key_length};
}

static void leave(struct looking *looking)
{
    if (--looking->users > 0)
        return;
    for (unsigned i = 0; i < TALLY_MEMBERS; i++)
        free(looking->kept[i]);
    free(looking);
}

static void tell(struct looking *looking)
{
    const struct locks *locks = looking->broadcast.locks;
    struct ticket_owners owners;
    tickets_show(locks->majority->desk.tickets, key_of(looking), uv_now(locks->loop),
                 &looking->told, &owners);
    looking->done(looking->context,
                  &(struct locks_reply){.result = LOCKS_DONE, .view = looking->told});
}

static void fail(struct looking *looking)
{
    looking->done(looking->context,
                  &(struct locks_reply){.result = LOCKS_UNAVAILABLE,
                                        .error = "too few members of the quorum answered (batond's "
                                                 "log says why)"});
}

/* Writing back */

static void written(void *context, bool is_known)
{
    struct looking *looking = context;
    if (is_known)
        tell(looking);
    else
        fail(looking);
    leave(looking);
}

static void write_back(struct looking *looking)
{
    int64_t known[TALLY_MEMBERS] = {0};
    for (unsigned i = 0; i < looking->views.members; i++)
        known[i] = looking->views.of[i] ? looking->views.of[i]->version : 0;
    looking->told.version =
        tally_above(looking->told.version, fence_floor_latest(looking->broadcast.locks->guard));
    looking->users++;
    version_agree(looking->broadcast.locks, key_of(looking), known, looking->told.version, written,
                  looking);
}

/* By a majority; `hopes`: as far as those who are silent may know it. */
static bool is_known(const struct looking *looking, int64_t version, bool hopes)
{
    unsigned count = 0;
    for (unsigned i = 0; i < looking->views.members; i++) {
        const struct lock_view *of = looking->views.of[i];
        count += of ? of->version >= version : hopes;
    }
    return count > looking->views.members / 2;
}

/* Asking */

static bool read_inspected(const struct value *value, struct locks_reply *ret)
{
    return read_view(value, &ret->view);
}

static void hear(struct broadcast *broadcast, unsigned member, const struct store_result *result)
{
    struct looking *looking = (struct looking *)broadcast;
    struct locks_reply reply = {.result = LOCKS_DONE};
    operation_read(result, read_inspected, &reply);
    if (reply.result == LOCKS_DONE)
        looking->kept[member] = view_keep(&reply.view);
    if (!broadcast->is_decided)
        looking->views.of[member] = looking->kept[member];
}

static bool is_answered(const struct looking *looking)
{
    unsigned count = 0;
    for (unsigned i = 0; i < looking->views.members; i++)
        count += looking->views.of[i] != NULL;
    return count > looking->views.members / 2;
}

static bool decide(struct broadcast *broadcast, bool is_last)
{
    struct looking *looking = (struct looking *)broadcast;
    views_merge(&looking->views, &looking->told);
    int64_t version = looking->told.version;
    bool is_known_now = is_known(looking, version, false);
    bool may_be_known = !is_known_now && is_known(looking, version, true);
    if (!is_last && (!views_suffice(&looking->views) || may_be_known))
        return false;
    if (!is_answered(looking))
        fail(looking);
    else if (is_known_now)
        tell(looking);
    else
        write_back(looking);
    return true;
}

static void end(struct broadcast *broadcast)
{
    leave((struct looking *)broadcast);
}

void majority_inspect(struct locks *locks, struct slice name, struct slice token, size_t waiters,
                      locks_done *done, void *context)
{
    (void)waiters; /* as many as ever are shown: see locks_inspect_line */
    static const struct broadcast_kind KIND = {hear, decide, end};
    struct looking *looking = calloc(1, sizeof *looking);
    if (!looking)
        abort();
    looking->users = 1;
    looking->done = done;
    looking->context = context;
    looking->views.members = store_part_count(locks->store);
    looking->key_length = operation_key(locks, name, looking->key).length;
    const struct slice arguments[] = {stamp_room(), token};
    broadcast_begin(&looking->broadcast, locks, &KIND);
    broadcast_send_all(&looking->broadcast, &script_inspect, key_of(looking), arguments, 2);
}
