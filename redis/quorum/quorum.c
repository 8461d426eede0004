#include "redis/quorum/quorum.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUMMARY_SIZE = 192 };

struct member {
    struct quorum *quorum;
    unsigned part;
    struct store *store;
    bool is_double; /* at last another member's server has answered in its place */
};

struct quorum {
    struct store_events events;
    unsigned count;
    unsigned open;    /* members that are not closed yet */
    unsigned telling; /* the member whose event is being told */
    void (*closed)(void *context);
    void *closed_context;
    char summary[SUMMARY_SIZE];
    struct member members[REDIS_QUORUM_MOST];
};

/* Events: each says of which member it is. */

static const struct store_events *begin(const struct member *member)
{
    member->quorum->telling = member->part;
    return &member->quorum->events;
}

/* The member that the same server answers for; NULL where there is none, or nobody may know. */
static const struct member *find_double(const struct member *member)
{
    const struct quorum *quorum = member->quorum;
    const char *run_id = store_peer(member->store, 0)->run_id;
    for (unsigned i = 0; run_id[0] && i < quorum->count; i++) {
        const struct member *other = &quorum->members[i];
        if (other != member && store_is_up(other->store) &&
            strcmp(store_peer(other->store, 0)->run_id, run_id) == 0)
            return other;
    }
    return NULL;
}

/* One server would have two votes: it counts once, and here it is tried again, since an address may
 * lead elsewhere later. */
static void refuse_double(struct member *member, const struct member *other)
{
    const struct store_events *events = begin(member);
    struct failure warning;
    failure_set(&warning, 0,
                "%s answers for the members %u and %u of the quorum and counts once: name each "
                "server once in redis-url, or see where these addresses lead",
                store_place(member->store), other->part + 1, member->part + 1);
    if (!member->is_double && events->warning)
        events->warning(events->context, warning.text);
    member->is_double = true;
    store_retire(member->store, warning.text);
}

static void member_up(void *context, unsigned part)
{
    struct member *member = context;
    const struct member *other = find_double(member);
    const struct store_events *events = begin(member);
    (void)part;
    if (other) {
        refuse_double(member, other);
        return;
    }
    member->is_double = false;
    if (events->up)
        events->up(events->context, member->part);
}

/* Of one that is refused nobody was told that it is up. */
static void member_down(void *context, unsigned part, const char *reason)
{
    const struct member *member = context;
    const struct store_events *events = begin(member);
    (void)part;
    if (events->down && !member->is_double)
        events->down(events->context, member->part, reason);
}

static void member_warning(void *context, const char *text)
{
    const struct store_events *events = begin(context);
    if (events->warning)
        events->warning(events->context, text);
}

static void member_listening(void *context)
{
    const struct store_events *events = begin(context);
    if (events->listening)
        events->listening(events->context);
}

static void member_message(void *context, struct slice text)
{
    const struct store_events *events = begin(context);
    if (events->message)
        events->message(events->context, text);
}

static void member_answered(void *context, uint64_t nanoseconds)
{
    const struct store_events *events = begin(context);
    if (events->answered)
        events->answered(events->context, nanoseconds);
}

static void member_stamp(void *context, unsigned part, uint64_t now, char stamp[STORE_STAMP_LENGTH])
{
    const struct member *member = context;
    const struct store_events *events = &member->quorum->events;
    (void)part;
    events->stamp(events->context, member->part, now, stamp);
}

/* The beginning and the end */

static void end(struct quorum *quorum)
{
    void (*closed)(void *context) = quorum->closed;
    void *closed_context = quorum->closed_context;
    free(quorum);
    if (closed)
        closed(closed_context);
}

static void member_closed(void *context)
{
    const struct member *member = context;
    if (--member->quorum->open == 0)
        end(member->quorum);
}

static int open_member(struct quorum *quorum, uv_loop_t *loop, const struct redis_url *url)
{
    struct member *member = &quorum->members[quorum->count];
    const struct redis_node *node = &url->nodes[quorum->count];
    const struct store_events events = {.context = member,
                                        .up = member_up,
                                        .down = member_down,
                                        .warning = member_warning,
                                        .listening = member_listening,
                                        .message = member_message,
                                        .answered = member_answered,
                                        .stamp = quorum->events.stamp ? member_stamp : NULL};
    struct redis_url own;
    int result = redis_url_of(url, REDIS_SERVER, node->host, node->port, &own);
    if (result < 0)
        return result;
    member->quorum = quorum;
    member->part = quorum->count;
    result = store_open(&member->store, loop, &own, &events);
    redis_url_free(&own);
    if (result == 0)
        quorum->open = ++quorum->count;
    return result;
}

int quorum_open(struct quorum **ret, uv_loop_t *loop, const struct redis_url *url,
                const struct store_events *events)
{
    struct quorum *quorum = calloc(1, sizeof *quorum);
    int result = 0;
    if (!quorum)
        return -ENOMEM;
    quorum->events = *events;
    while (result == 0 && quorum->count < url->node_count)
        result = open_member(quorum, loop, url);
    if (result == 0)
        *ret = quorum;
    else
        quorum_close(quorum, NULL, NULL);
    return result;
}

void quorum_close(struct quorum *quorum, void (*closed)(void *context), void *context)
{
    quorum->closed = closed;
    quorum->closed_context = context;
    if (quorum->count == 0) {
        end(quorum);
        return;
    }
    for (unsigned i = 0; i < quorum->count; i++)
        store_close(quorum->members[i].store, member_closed, &quorum->members[i]);
}

int quorum_listen(struct quorum *quorum, struct slice channel)
{
    int result = 0;
    for (unsigned i = 0; result == 0 && i < quorum->count; i++)
        result = store_listen(quorum->members[i].store, channel);
    return result;
}

/* What is known of them */

unsigned quorum_count(const struct quorum *quorum)
{
    return quorum->count;
}

struct store *quorum_member(const struct quorum *quorum, unsigned part)
{
    return quorum->members[part].store;
}

unsigned quorum_telling(const struct quorum *quorum)
{
    return quorum->telling;
}

static unsigned count_up(const struct quorum *quorum)
{
    unsigned up = 0;
    for (unsigned i = 0; i < quorum->count; i++)
        up += store_is_up(quorum->members[i].store);
    return up;
}

bool quorum_is_up(const struct quorum *quorum)
{
    return count_up(quorum) > quorum->count / 2;
}

/* That of the first member that is down, since one will do for people. */
const char *quorum_trouble(const struct quorum *quorum)
{
    for (unsigned i = 0; !quorum_is_up(quorum) && i < quorum->count; i++)
        if (!store_is_up(quorum->members[i].store))
            return store_trouble(quorum->members[i].store);
    return "";
}

const char *quorum_place(const struct quorum *quorum)
{
    return store_place(quorum->members[quorum->telling].store);
}

const char *quorum_summary(struct quorum *quorum)
{
    unsigned up = count_up(quorum);
    size_t length = (size_t)snprintf(quorum->summary, SUMMARY_SIZE,
                                     "%u of %u members of the quorum are up", up, quorum->count);
    for (unsigned i = 0; i < quorum->count; i++)
        if (!store_is_up(quorum->members[i].store) && length < SUMMARY_SIZE)
            length += (size_t)snprintf(quorum->summary + length, SUMMARY_SIZE - length,
                                       "; member %u is away", i + 1);
    return quorum->summary;
}

struct store_figures quorum_figures(const struct quorum *quorum)
{
    struct store_figures sum = {0};
    for (unsigned i = 0; i < quorum->count; i++) {
        struct store_figures each = store_figures(quorum->members[i].store);
        sum.calls += each.calls;
        sum.connects += each.connects;
        sum.switches += each.switches;
    }
    return sum;
}
