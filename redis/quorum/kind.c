/* Independent nodes, the members; locks/quorum combines their answers. Here each has as its number
 * its position in the URL. */
#include "redis/kind.h"

#include "base/memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { SUMMARY_SIZE = 192 };

struct member {
    struct redis_url url;
    bool is_double; /* when it last came up, the server was that of another member */
};

struct quorum {
    struct shards *shards;
    char summary[SUMMARY_SIZE];
    struct member members[REDIS_QUORUM_MOST];
};

/* One server with two votes */

/* Another member that has the same server; `count` if none has, or if the server's run id is
 * unknown. */
static unsigned quorum_find_double(const struct quorum *quorum, unsigned member)
{
    const struct shards *shards = quorum->shards;
    const char *run_id = node_peer(shards->nodes[member])->run_id;
    for (unsigned i = 0; run_id[0] && i < shards->count; i++)
        if (i != member && node_is_up(shards->nodes[i]) &&
            strcmp(node_peer(shards->nodes[i])->run_id, run_id) == 0)
            return i;
    return shards->count;
}

/* Refuses the connection. The member connects again: its address may lead to another server
 * later. */
static void quorum_refuse_double(struct quorum *quorum, unsigned member, unsigned other)
{
    struct node *node = quorum->shards->nodes[member];
    struct failure warning;
    failure_set(&warning, 0,
                "%s answers for both members %u and %u of the quorum, and counts once. Name each "
                "server once in redis-url, or find out where these addresses lead.",
                node_place(node), other + 1, member + 1);
    if (!quorum->members[member].is_double)
        shards_warn(quorum->shards, warning.text);
    quorum->members[member].is_double = true;
    node_retire(node, warning.text);
}

static bool quorum_member_up(void *state, unsigned shard)
{
    struct quorum *quorum = state;
    unsigned other = quorum_find_double(quorum, shard);
    if (other < quorum->shards->count)
        quorum_refuse_double(quorum, shard, other);
    else
        quorum->members[shard].is_double = false;
    return !quorum->members[shard].is_double;
}

/* The owner got no `up` of a refused member, so it gets no `down`. */
static bool quorum_member_down(void *state, unsigned shard)
{
    const struct quorum *quorum = state;
    return !quorum->members[shard].is_double;
}

/* The beginning and the end */

static void quorum_add(struct quorum *quorum, unsigned member)
{
    const struct redis_url *url = quorum->shards->url;
    const struct redis_node *at = &url->nodes[member];
    struct redis_url *own = &quorum->members[member].url;
    redis_url_of(url, REDIS_SERVER, at->host, at->port, own);
    shards_add(quorum->shards, member, own, NULL);
}

static void *quorum_open(struct shards *shards)
{
    struct quorum *quorum = memory_checked(calloc(1, sizeof *quorum));
    quorum->shards = shards;
    for (unsigned i = 0; i < shards->url->node_count; i++)
        quorum_add(quorum, i);
    return quorum;
}

static void quorum_close(void *state, void (*closed)(void *context), void *context)
{
    struct quorum *quorum = state;
    for (unsigned i = 0; i < REDIS_QUORUM_MOST; i++)
        redis_url_free(&quorum->members[i].url);
    free(quorum);
    closed(context);
}

/* Preflight */

/* One server behind two addresses would have two votes. */
static int quorum_check_apart(const struct quorum *quorum, struct failure *failure)
{
    const struct shards *shards = quorum->shards;
    for (unsigned i = 0; i < shards->count; i++)
        for (unsigned j = 0; j < i; j++)
            if (node_peer(shards->nodes[i])->run_id[0] &&
                strcmp(node_peer(shards->nodes[i])->run_id, node_peer(shards->nodes[j])->run_id) ==
                    0)
                return failure_set(failure, -EPROTO,
                                   "redis-url names one server of the quorum twice: members %u "
                                   "and %u are the same Redis. Name each server once.",
                                   j + 1, i + 1);
    return 0;
}

/* A majority must be up. Else members that waiting cannot mend stop the start, unless another
 * member is up and a majority may still come. */
static int quorum_judge(const void *state, const struct preflight_report *reports,
                        struct failure *failure)
{
    const struct quorum *quorum = state;
    unsigned up = 0, count = quorum->shards->count, unusable = 0, worst = count;
    for (unsigned i = 0; i < count; i++) {
        bool is_unusable = reports[i].code == -EPROTO;
        up += reports[i].code == 0;
        if ((is_unusable && unusable == 0) || (reports[i].code != 0 && worst == count))
            worst = i;
        unusable += is_unusable;
    }
    int result = quorum_check_apart(quorum, failure);
    if (result < 0 || up > count / 2)
        return result;
    bool is_final = unusable > 0 && (up == 0 || count - unusable <= count / 2);
    return failure_set(failure, is_final ? -EPROTO : -EAGAIN,
                       "only %u of %u members of the quorum are up. Member %u: %s", up, count,
                       worst + 1, reports[worst].text.text);
}

/* Its condition */

static bool quorum_is_up(const void *state, struct shards_tally tally)
{
    (void)state;
    return tally.up > tally.serving / 2;
}

static const char *quorum_primary(void *state, struct shards_tally tally)
{
    struct quorum *quorum = state;
    size_t length =
        (size_t)snprintf(quorum->summary, SUMMARY_SIZE, "%u of %u members of the quorum are up",
                         tally.up, tally.serving);
    for (unsigned i = 0; i < quorum->shards->count; i++)
        if (!shards_is_up(quorum->shards, i) && length < SUMMARY_SIZE)
            length += (size_t)snprintf(quorum->summary + length, SUMMARY_SIZE - length,
                                       "; member %u is away", i + 1);
    return quorum->summary;
}

const struct kind quorum_kind = {
    .open = quorum_open,
    .judge = quorum_judge,
    .close = quorum_close,
    .up = quorum_member_up,
    .down = quorum_member_down,
    .is_up = quorum_is_up,
    .primary = quorum_primary,
    .votes = true,
};
