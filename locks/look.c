/* Looking at a name of a quorum: what a majority knows of it, by a version that never falls. */
#include "locks/majority.h"
#include "locks/scripts.h"
#include "locks/views.h"

#include <stdlib.h>

struct looking {
    struct fan fan;
    locks_done *done;
    void *context;
    struct views views;
    struct lock_view *kept[BALLOT_MEMBERS];
    unsigned users; /* questions under way */
    size_t key_length;
    char key[KEY_LENGTH];
};

/* The version is written back to those who do not know it yet, before anybody is told of it. */
struct writing {
    struct fan fan;
    struct looking *looking; /* its parts; */
    struct lock_view view;
    int64_t heard[BALLOT_MEMBERS];
};

static struct slice key_of(const struct looking *looking)
{
    return (struct slice){looking->key, looking->key_length};
}

static void leave(struct looking *looking)
{
    if (--looking->users > 0)
        return;
    for (unsigned i = 0; i < BALLOT_MEMBERS; i++)
        free(looking->kept[i]);
    free(looking);
}

static void tell(struct looking *looking, struct lock_view *view)
{
    const struct locks *locks = looking->fan.locks;
    struct ticket_owners owners;
    tickets_show(locks->majority->desk.tickets, key_of(looking), uv_now(locks->loop), view,
                 &owners);
    looking->done(looking->context, &(struct locks_reply){.result = LOCKS_DONE, .view = *view});
}

static void fail(struct looking *looking)
{
    looking->done(looking->context,
                  &(struct locks_reply){.result = LOCKS_UNAVAILABLE,
                                        .error = "too few members of the quorum answered (batond's "
                                                 "log says why)"});
}

/* Writing back */

static void hear_written(struct fan *fan, unsigned member, const struct store_result *result)
{
    struct writing *writing = (struct writing *)fan;
    if (result->outcome == STORE_REPLIED)
        value_integer(value_at(result->reply, 1), &writing->heard[member]);
}

static bool decide_written(struct fan *fan, bool is_last)
{
    struct writing *writing = (struct writing *)fan;
    struct looking *looking = writing->looking;
    unsigned count = 0;
    for (unsigned i = 0; i < looking->views.members; i++)
        count += writing->heard[i] >= writing->view.version;
    bool is_written = count > looking->views.members / 2;
    if (!is_written && !is_last)
        return false;
    if (is_written)
        tell(looking, &writing->view);
    else
        fail(looking);
    return true;
}

static void end_written(struct fan *fan)
{
    struct writing *writing = (struct writing *)fan;
    leave(writing->looking);
    free(writing);
}

static void write_back(struct looking *looking, const struct lock_view *view)
{
    static const struct fan_kind KIND = {hear_written, decide_written, end_written};
    char number[NUMBER_TEXT];
    struct locks *locks = looking->fan.locks;
    struct writing *writing = calloc(1, sizeof *writing);
    if (!writing)
        abort();
    const struct slice arguments[] = {stamp_room(), slice_of(""),
                                      number_text(view->version + BALLOT_AHEAD, number)};
    looking->users++;
    writing->looking = looking;
    writing->view = *view;
    writing->view.version += BALLOT_AHEAD; /* what the others have meanwhile is not above it */
    fan_begin(&writing->fan, locks, &KIND);
    for (unsigned i = 0; i < looking->views.members; i++) {
        const struct lock_view *of = looking->views.of[i];
        writing->heard[i] = of ? of->version : 0;
        fan_send(&writing->fan, i, &script_raise, key_of(looking), arguments,
                 sizeof arguments / sizeof arguments[0]);
    }
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

static void hear(struct fan *fan, unsigned member, const struct store_result *result)
{
    struct looking *looking = (struct looking *)fan;
    struct locks_reply reply = {.result = LOCKS_DONE};
    operation_read(result, read_inspected, &reply);
    if (reply.result == LOCKS_DONE)
        looking->kept[member] = view_keep(&reply.view);
    if (!fan->is_decided)
        looking->views.of[member] = looking->kept[member];
}

static bool is_answered(const struct looking *looking)
{
    unsigned count = 0;
    for (unsigned i = 0; i < looking->views.members; i++)
        count += looking->views.of[i] != NULL;
    return count > looking->views.members / 2;
}

static bool decide(struct fan *fan, bool is_last)
{
    struct looking *looking = (struct looking *)fan;
    struct lock_view view;
    views_merge(&looking->views, &view);
    bool is_known_now = is_known(looking, view.version, false);
    bool may_be_known = !is_known_now && is_known(looking, view.version, true);
    if (!is_last && (!views_suffice(&looking->views) || may_be_known))
        return false;
    if (!is_answered(looking))
        fail(looking);
    else if (is_known_now)
        tell(looking, &view);
    else
        write_back(looking, &view);
    return true;
}

static void end(struct fan *fan)
{
    leave((struct looking *)fan);
}

void majority_inspect(struct locks *locks, struct slice name, struct slice token, locks_done *done,
                      void *context)
{
    static const struct fan_kind KIND = {hear, decide, end};
    struct looking *looking = calloc(1, sizeof *looking);
    if (!looking)
        abort();
    looking->users = 1;
    looking->done = done;
    looking->context = context;
    looking->views.members = store_part_count(locks->store);
    looking->key_length = operation_key(locks, name, looking->key).length;
    const struct slice arguments[] = {stamp_room(), token};
    fan_begin(&looking->fan, locks, &KIND);
    fan_send_all(&looking->fan, &script_inspect, key_of(looking), arguments, 2);
}
