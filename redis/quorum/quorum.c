#include "redis/quorum/quorum.h"

#include "redis/node/single.h"
#include "redis/quorum/preflight.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUMMARY_SIZE = 192 };

struct member {
    struct single single; /* first: see member_finish */
    struct redis_url url;
    struct quorum *quorum;
    unsigned shard;
    bool is_double; /* when it last came up, the server was that of another member */
};

struct quorum {
    struct store_events events;
    unsigned count;
    unsigned open;    /* members that are not closed yet */
    unsigned telling; /* the member that reports an event now, or did last */
    void (*closed)(void *context);
    void *closed_context;
    char summary[SUMMARY_SIZE];
    struct member members[REDIS_QUORUM_MOST];
};

/* Events of the members */

static const struct store_events *member_begin(const struct member *member)
{
    member->quorum->telling = member->shard;
    return &member->quorum->events;
}

/* Another member that has the same server. NULL if no other member has it, or if the server's run
 * id is unknown. */
static const struct member *member_find_double(const struct member *member)
{
    const struct quorum *quorum = member->quorum;
    const char *run_id = node_peer(single_node(&member->single, 0))->run_id;
    for (unsigned i = 0; run_id[0] && i < quorum->count; i++) {
        const struct member *other = &quorum->members[i];
        if (other != member && single_is_up(&other->single) &&
            strcmp(node_peer(single_node(&other->single, 0))->run_id, run_id) == 0)
            return other;
    }
    return NULL;
}

/* Refuses the connection, because one server would have two votes. The member connects again: its
 * address may lead to another server later. */
static void member_refuse_double(struct member *member, const struct member *other)
{
    const struct store_events *events = member_begin(member);
    struct failure warning;
    failure_set(&warning, 0,
                "%s answers for both members %u and %u of the quorum, and counts once. Name each "
                "server once in redis-url, or find out where these addresses lead.",
                single_place(&member->single), other->shard + 1, member->shard + 1);
    if (!member->is_double && events->warning)
        events->warning(events->context, warning.text);
    member->is_double = true;
    node_retire(single_node(&member->single, 0), warning.text);
}

static void member_up(void *context, unsigned shard)
{
    struct member *member = context;
    const struct member *other = member_find_double(member);
    const struct store_events *events = member_begin(member);
    (void)shard;
    if (other) {
        member_refuse_double(member, other);
        return;
    }
    member->is_double = false;
    if (events->up)
        events->up(events->context, member->shard);
}

/* The store never heard that a refused member was up, so it does not hear that it is down. */
static void member_down(void *context, unsigned shard, const char *reason)
{
    const struct member *member = context;
    const struct store_events *events = member_begin(member);
    (void)shard;
    if (events->down && !member->is_double)
        events->down(events->context, member->shard, reason);
}

static void member_warning(void *context, const char *text)
{
    const struct store_events *events = member_begin(context);
    if (events->warning)
        events->warning(events->context, text);
}

static void member_listening(void *context)
{
    const struct store_events *events = member_begin(context);
    if (events->listening)
        events->listening(events->context);
}

static void member_message(void *context, struct slice text)
{
    const struct store_events *events = member_begin(context);
    if (events->message)
        events->message(events->context, text);
}

static void member_answered(void *context, uint64_t nanoseconds)
{
    const struct store_events *events = member_begin(context);
    if (events->answered)
        events->answered(events->context, nanoseconds);
}

static void member_stamp(void *context, unsigned shard, uint64_t now,
                         char stamp[STORE_STAMP_LENGTH])
{
    const struct member *member = context;
    const struct store_events *events = &member->quorum->events;
    (void)shard;
    events->stamp(events->context, member->shard, now, stamp);
}

/* The beginning and the end */

static void quorum_end(struct quorum *quorum)
{
    void (*closed)(void *context) = quorum->closed;
    void *closed_context = quorum->closed_context;
    free(quorum);
    if (closed)
        closed(closed_context);
}

static void member_finish(struct single *single)
{
    struct member *member = (struct member *)single;
    redis_url_free(&member->url);
    if (--member->quorum->open == 0)
        quorum_end(member->quorum);
}

static int member_open(struct quorum *quorum, uv_loop_t *loop, const struct redis_url *url)
{
    struct member *member = &quorum->members[quorum->count];
    const struct redis_node *node = &url->nodes[quorum->count];
    int result = redis_url_of(url, REDIS_SERVER, node->host, node->port, &member->url);
    if (result < 0)
        return result;
    member->quorum = quorum;
    member->shard = quorum->count;
    member->single =
        (struct single){.loop = loop,
                        .url = &member->url,
                        .events = {.context = member,
                                   .up = member_up,
                                   .down = member_down,
                                   .warning = member_warning,
                                   .listening = member_listening,
                                   .message = member_message,
                                   .answered = member_answered,
                                   .stamp = quorum->events.stamp ? member_stamp : NULL},
                        .finish = member_finish};
    result = single_start(&member->single);
    if (result < 0)
        redis_url_free(&member->url);
    else
        quorum->open = ++quorum->count;
    return result;
}

static void quorum_close(void *state, void (*closed)(void *context), void *context)
{
    struct quorum *quorum = state;
    quorum->closed = closed;
    quorum->closed_context = context;
    if (quorum->count == 0) {
        quorum_end(quorum);
        return;
    }
    for (unsigned i = 0, count = quorum->count; i < count; i++)
        single_close(&quorum->members[i].single, NULL, NULL);
}

static int quorum_open(void **ret, uv_loop_t *loop, const struct redis_url *url,
                       const struct store_events *events)
{
    struct quorum *quorum = calloc(1, sizeof *quorum);
    int result = 0;
    if (!quorum)
        return -ENOMEM;
    quorum->events = *events;
    while (result == 0 && quorum->count < url->node_count)
        result = member_open(quorum, loop, url);
    if (result == 0)
        *ret = quorum;
    else
        quorum_close(quorum, NULL, NULL);
    return result;
}

static struct single *quorum_member(const void *state, unsigned shard)
{
    struct quorum *quorum = (struct quorum *)state; /* only the signature is const */
    return &quorum->members[shard].single;
}

static int quorum_listen(void *state, struct slice channel)
{
    const struct quorum *quorum = state;
    int result = 0;
    for (unsigned i = 0; result == 0 && i < quorum->count; i++)
        result = single_listen(quorum_member(quorum, i), channel);
    return result;
}

static void quorum_eval_at(void *state, unsigned shard, const struct script *script,
                           struct slice key, const struct slice *arguments, size_t argument_count,
                           store_done *done, void *context)
{
    single_eval_at(quorum_member(state, shard), 0, script, key, arguments, argument_count, done,
                   context);
}

static struct node *quorum_node(const void *state, unsigned shard)
{
    return single_node(quorum_member(state, shard), 0);
}

/* State of the members */

static unsigned quorum_shard_count(const void *state)
{
    const struct quorum *quorum = state;
    return quorum->count;
}

static bool quorum_shard_is_up(const void *state, unsigned shard)
{
    const struct quorum *quorum = state;
    return shard < quorum->count && single_is_up(&quorum->members[shard].single);
}

static unsigned quorum_telling(const void *state)
{
    const struct quorum *quorum = state;
    return quorum->telling;
}

static unsigned quorum_count_up(const struct quorum *quorum)
{
    unsigned up = 0;
    for (unsigned i = 0; i < quorum->count; i++)
        up += single_is_up(&quorum->members[i].single);
    return up;
}

/* More than half of the members are up. */
static bool quorum_is_up(const void *state)
{
    const struct quorum *quorum = state;
    return quorum_count_up(quorum) > quorum->count / 2;
}

/* The reason of the first member that is down; one is enough for a reader. */
static const char *quorum_trouble(void *state)
{
    const struct quorum *quorum = state;
    for (unsigned i = 0; !quorum_is_up(quorum) && i < quorum->count; i++)
        if (!quorum_shard_is_up(quorum, i))
            return single_trouble(quorum_member(quorum, i));
    return "";
}

/* The address of the member that reports an event now, or did last. */
static const char *quorum_place(const void *state)
{
    const struct quorum *quorum = state;
    return single_place(&quorum->members[quorum->telling].single);
}

static const char *quorum_primary(void *state)
{
    struct quorum *quorum = state;
    size_t length =
        (size_t)snprintf(quorum->summary, SUMMARY_SIZE, "%u of %u members of the quorum are up",
                         quorum_count_up(quorum), quorum->count);
    for (unsigned i = 0; i < quorum->count; i++)
        if (!quorum_shard_is_up(quorum, i) && length < SUMMARY_SIZE)
            length += (size_t)snprintf(quorum->summary + length, SUMMARY_SIZE - length,
                                       "; member %u is away", i + 1);
    return quorum->summary;
}

static struct store_figures quorum_figures(const void *state)
{
    const struct quorum *quorum = state;
    struct store_figures sum = {0};
    for (unsigned i = 0; i < quorum->count; i++) {
        struct store_figures each = single_figures(&quorum->members[i].single);
        sum.calls += each.calls;
        sum.connects += each.connects;
        sum.switches += each.switches;
    }
    return sum;
}

const struct transport quorum_transport = {
    .open = quorum_open,
    .close = quorum_close,
    .preflight = preflight_quorum,
    .eval_at = quorum_eval_at,
    .listen = quorum_listen,
    .node = quorum_node,
    .shard_count = quorum_shard_count,
    .shard_is_up = quorum_shard_is_up,
    .is_up = quorum_is_up,
    .trouble = quorum_trouble,
    .place = quorum_place,
    .figures = quorum_figures,
    .telling = quorum_telling,
    .primary = quorum_primary,
};
