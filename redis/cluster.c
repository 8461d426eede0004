#include "redis/cluster.h"

#include "redis/errors.h"
#include "redis/session.h"
#include "redis/sight.h"
#include "redis/store.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One that serves slots, or did. */
struct node {
    char id[SLOT_NODE_ID_LONGEST + 1]; /* "" while it is known by its address alone */
    struct guide guide;
    struct cluster *cluster;
    unsigned slots;
    char host[REDIS_HOST_LONGEST + 1];
    int port;
    bool is_placed; /* it is there, and was not dismissed */
    uint64_t since; /* when its address was last news; loop time */
    uint64_t until; /* by the word of one that was in sight it is so, too; loop time */
    bool is_lost;   /* whoever connected to it has failed, or was disconnected, since */
};

enum { ANSWERS = 2 }; /* of a question: CLUSTER INFO, CLUSTER SLOTS */

struct cluster {
    uv_loop_t *loop;
    const struct redis_url *url;
    struct cluster_events events;
    struct node *nodes[CLUSTER_NODES_MOST];
    unsigned node_count;
    uint16_t owners[SLOT_COUNT];
    uint16_t former[SLOT_COUNT]; /* until it is asked for */
    unsigned uncovered;
    bool is_mapped;
    uint64_t epoch;      /* the greatest that a node has told */
    struct sight *sight; /* NULL: none is required */
    uv_timer_t timer;    /* when the next node will be out of it */
    int open;            /* the scout, the sight and the timer */

    struct session *scout;
    struct guide scout_guide;
    size_t candidate;   /* the one that is asked; see candidate_at */
    size_t passed_over; /* in a row, without an answer that counts */
    bool asking;
    bool ask_again; /* when that is over */
    size_t answered;
    uint64_t asked;
    bool is_cut_off; /* by what it has answered so far: it sees no majority, */
    bool is_behind;  /* or less than others have told */
    bool is_told;    /* that nobody can be asked */
    bool is_turning; /* the scout leaves a node that can be reached */
    bool asks_next;  /* another one is to be asked, for this one may know less */

    bool closing;
    void (*closed)(void *context);
    void *closed_context;
};

/* The map */

unsigned cluster_owner(const struct cluster *cluster, unsigned slot)
{
    return cluster->owners[slot];
}

unsigned cluster_slots_of(const struct cluster *cluster, unsigned node)
{
    return node < cluster->node_count ? cluster->nodes[node]->slots : 0;
}

unsigned cluster_uncovered(const struct cluster *cluster)
{
    return cluster->uncovered;
}

static void give(struct cluster *cluster, unsigned slot, unsigned owner)
{
    unsigned before = cluster->owners[slot];
    if (before == owner)
        return;
    if (before == CLUSTER_NOBODY)
        cluster->uncovered--;
    else
        cluster->nodes[before]->slots--;
    if (owner == CLUSTER_NOBODY)
        cluster->uncovered++;
    else
        cluster->nodes[owner]->slots++;
    cluster->owners[slot] = (uint16_t)owner;
    if (before != CLUSTER_NOBODY && cluster->former[slot] == CLUSTER_NOBODY)
        cluster->former[slot] = (uint16_t)before;
}

unsigned cluster_take_former(struct cluster *cluster, unsigned slot)
{
    unsigned former = cluster->former[slot];
    if (former == CLUSTER_NOBODY || cluster->owners[slot] == CLUSTER_NOBODY)
        return CLUSTER_NOBODY;
    cluster->former[slot] = CLUSTER_NOBODY;
    return former == cluster->owners[slot] ? CLUSTER_NOBODY : former;
}

/* Nodes */

static void on_doubt(void *context)
{
    struct node *node = context;
    node->is_lost = true;
    cluster_doubt(node->cluster);
}

/* Sight */

static uint64_t sight_of(const struct cluster *cluster, unsigned number)
{
    if (!cluster->sight)
        return UINT64_MAX;
    uint64_t end = sight_end(cluster->sight, number), until = cluster->nodes[number]->until;
    return end > until ? end : until;
}

static bool is_out_of_sight(const struct cluster *cluster, unsigned number)
{
    return sight_of(cluster, number) <= uv_now(cluster->loop);
}

static void wake_for_sight(uv_timer_t *timer);

/* The timer is for the earliest of all. */
static void wake_by(struct cluster *cluster, uint64_t due)
{
    uint64_t now = uv_now(cluster->loop), left = uv_timer_get_due_in(&cluster->timer);
    if (due < UINT64_MAX && (left == 0 || due - now < left))
        uv_timer_start(&cluster->timer, wake_for_sight, due - now, 0);
}

/* Where it is new, the others are being asked. */
static void hide(struct cluster *cluster, struct node *node)
{
    struct failure reason;
    uint64_t patience = node->since + SIGHT_ANSWER_MS;
    bool asks = uv_now(cluster->loop) < patience;
    failure_set(&reason, -EAGAIN,
                "cannot tell whether %s:%d is still a primary of the Redis Cluster: most of the "
                "primaries have not said so for %d ms; can batond reach them?",
                node->host, node->port, SIGHT_MS);
    if (!asks) {
        guide_forbid(&node->guide, reason.text);
        return;
    }
    wake_by(cluster, patience);
    guide_withdraw(&node->guide, reason.text);
}

static void gate(struct cluster *cluster, unsigned number)
{
    struct node *node = cluster->nodes[number];
    uint64_t end = sight_of(cluster, number);
    if (!node->is_placed || cluster->closing)
        return;
    if (end <= uv_now(cluster->loop)) {
        hide(cluster, node);
        return;
    }
    wake_by(cluster, end);
    guide_limit(&node->guide, end);
    guide_point(&node->guide, node->host, node->port);
}

static void gate_all(void *context)
{
    struct cluster *cluster = context;
    for (unsigned i = 0; cluster->sight && i < cluster->node_count; i++)
        gate(cluster, i);
}

static void wake_for_sight(uv_timer_t *timer)
{
    gate_all(timer->data);
}

/* Who serves slots is one of the primaries, those of which nothing is heard too. */
static void count_witnesses(struct cluster *cluster)
{
    for (unsigned i = 0; cluster->sight && i < cluster->node_count; i++)
        if (cluster->nodes[i]->slots > 0)
            sight_add(cluster->sight, i, cluster->nodes[i]->host, cluster->nodes[i]->port);
        else
            sight_remove(cluster->sight, i);
    gate_all(cluster);
}

/* `by` has named it; CLUSTER_NOBODY: one that is not known here. */
static void point(struct cluster *cluster, unsigned number, unsigned by, const char *host, int port)
{
    struct node *node = cluster->nodes[number];
    uint64_t now = uv_now(cluster->loop);
    bool is_news = !node->is_placed || node->port != port || strcmp(node->host, host) != 0;
    if (is_news) {
        snprintf(node->host, sizeof node->host, "%s", host);
        node->port = port;
        node->is_placed = true;
        node->since = now;
        node->is_lost = false;
    }
    if (cluster->sight && (is_news || node->slots == 0) && by != number && by != CLUSTER_NOBODY &&
        !is_out_of_sight(cluster, by))
        node->until = now + SIGHT_MS;
    gate(cluster, number);
}

static unsigned add_node(struct cluster *cluster, unsigned by, const char *host, int port)
{
    if (cluster->node_count == CLUSTER_NODES_MOST)
        return CLUSTER_NOBODY;
    struct node *node = calloc(1, sizeof *node);
    if (!node)
        abort();
    unsigned number = cluster->node_count++;
    cluster->nodes[number] = node;
    node->cluster = cluster;
    guide_init(&node->guide, on_doubt, node);
    point(cluster, number, by, host, port);
    cluster->events.joined(cluster->events.context, number, &node->guide);
    return number;
}

static unsigned find_by_id(const struct cluster *cluster, struct slice id)
{
    for (unsigned i = 0; id.length > 0 && i < cluster->node_count; i++)
        if (slice_equals(id, cluster->nodes[i]->id))
            return i;
    return CLUSTER_NOBODY;
}

/* Of those that have been at this address, the last is there. */
static unsigned find_by_address(const struct cluster *cluster, const char *host, int port)
{
    for (unsigned i = cluster->node_count; i-- > 0;) {
        const struct node *node = cluster->nodes[i];
        if (node->port == port && strcmp(node->host, host) == 0)
            return i;
    }
    return CLUSTER_NOBODY;
}

/* False where it cannot be told. */
static bool read_host(const struct slot_node *node, const char *answering,
                      char host[REDIS_HOST_LONGEST + 1])
{
    struct slice name = node->host.length > 0 ? node->host : slice_of(answering);
    if (name.length == 0 || name.length > REDIS_HOST_LONGEST || slice_equals(name, "?") ||
        node->port == 0)
        return false;
    snprintf(host, REDIS_HOST_LONGEST + 1, "%.*s", (int)name.length, name.bytes);
    return true;
}

unsigned cluster_find(struct cluster *cluster, const struct slot_node *to, unsigned by)
{
    char host[REDIS_HOST_LONGEST + 1];
    const char *answering = by < cluster->node_count ? cluster->nodes[by]->host : "";
    if (!read_host(to, answering, host))
        return CLUSTER_NOBODY;
    unsigned number = find_by_address(cluster, host, to->port);
    if (number == CLUSTER_NOBODY)
        return add_node(cluster, by, host, to->port);
    point(cluster, number, by, host, to->port); /* it may have been dismissed */
    return number;
}

/* As cluster_find, for what an answer to CLUSTER SLOTS says: an id is worth more than an address.
 */
static unsigned recognize(struct cluster *cluster, const struct slot_node *named)
{
    char host[REDIS_HOST_LONGEST + 1];
    unsigned by = find_by_address(cluster, cluster->scout_guide.host, cluster->scout_guide.port);
    unsigned number = find_by_id(cluster, named->id);
    if (!read_host(named, cluster->scout_guide.host, host))
        return number;
    if (number == CLUSTER_NOBODY) {
        number = find_by_address(cluster, host, named->port);
        if (number != CLUSTER_NOBODY && cluster->nodes[number]->id[0] && named->id.length > 0)
            number = CLUSTER_NOBODY; /* another node has taken its place */
    }
    if (number == CLUSTER_NOBODY)
        number = add_node(cluster, by, host, named->port);
    if (number == CLUSTER_NOBODY)
        return number;
    struct node *node = cluster->nodes[number];
    if (named->id.length > 0)
        snprintf(node->id, sizeof node->id, "%.*s", (int)named->id.length, named->id.bytes);
    point(cluster, number, by, host, named->port);
    return number;
}

bool cluster_is_fresh(const struct cluster *cluster, unsigned number)
{
    if (number >= cluster->node_count)
        return false;
    const struct node *node = cluster->nodes[number];
    return !node->is_lost && uv_now(cluster->loop) < node->since + STORE_DEADLINE_MS;
}

struct guide *cluster_guide(struct cluster *cluster, unsigned number)
{
    return &cluster->nodes[number]->guide;
}

void cluster_note_up(struct cluster *cluster, unsigned number)
{
    cluster->nodes[number]->is_lost = false;
}

void cluster_dismiss(struct cluster *cluster, unsigned number)
{
    struct node *node = cluster->nodes[number];
    if (node->slots > 0)
        return;
    node->is_placed = false;
    guide_withdraw(&node->guide, "it serves nothing any more");
}

/* Whom to ask: those that serve slots, then those of the URL. */

static const struct node *serving(const struct cluster *cluster, size_t index)
{
    for (unsigned i = 0; i < cluster->node_count; i++)
        if (cluster->nodes[i]->slots > 0 && index-- == 0)
            return cluster->nodes[i];
    return NULL;
}

static size_t count_serving(const struct cluster *cluster)
{
    size_t count = 0;
    for (unsigned i = 0; i < cluster->node_count; i++)
        count += cluster->nodes[i]->slots > 0;
    return count;
}

static size_t count_candidates(const struct cluster *cluster)
{
    return count_serving(cluster) + cluster->url->node_count;
}

static void turn_scout(struct cluster *cluster, const char *host, int port)
{
    cluster->is_turning = true;
    guide_point(&cluster->scout_guide, host, port);
    cluster->is_turning = false;
}

static void point_scout(struct cluster *cluster)
{
    size_t index = cluster->candidate % count_candidates(cluster), nodes = count_serving(cluster);
    if (index < nodes) {
        const struct node *node = serving(cluster, index);
        turn_scout(cluster, node->host, node->port);
    } else {
        const struct redis_node *node = &cluster->url->nodes[index - nodes];
        turn_scout(cluster, node->host, node->port);
    }
}

/* The next one is asked at once; but where all were asked in vain, after the session's pause. */
static void pass_over(struct cluster *cluster)
{
    cluster->asking = false;
    cluster->candidate++;
    if (++cluster->passed_over % count_candidates(cluster) != 0)
        point_scout(cluster);
}

/* The scout has lost its node, or could not reach it. */
static void on_scout_doubt(void *context)
{
    struct cluster *cluster = context;
    if (!cluster->is_turning)
        pass_over(cluster);
}

static void tell_lost(struct cluster *cluster, int code, const char *reason)
{
    bool all_failed = cluster->passed_over + 1 >= count_candidates(cluster);
    if (cluster->closing || (cluster->is_mapped && (cluster->is_told || !all_failed)))
        return;
    if (!cluster->is_mapped && !all_failed && code != -EPROTO)
        return;
    cluster->is_told = true;
    cluster->events.lost(cluster->events.context, code, reason);
}

/* A node that a slot is on its way to goes on naming the one that it comes from, also when that has
 * died and another one has taken its place: as long as somebody is named who cannot be reached,
 * others are asked, too. */
static bool names_lost_ones(const struct cluster *cluster)
{
    for (unsigned i = 0; i < cluster->node_count; i++)
        if (cluster->nodes[i]->slots > 0 && cluster->nodes[i]->is_lost)
            return true;
    return false;
}

/* Asking */

static void ask(struct cluster *cluster)
{
    static const struct slice INFO[] = {{"CLUSTER", 7}, {"INFO", 4}};
    static const struct slice SLOTS[] = {{"CLUSTER", 7}, {"SLOTS", 5}};
    cluster->asking = true;
    cluster->ask_again = cluster->is_cut_off = cluster->is_behind = false;
    cluster->answered = 0;
    cluster->asked = uv_now(cluster->loop);
    session_send_words(cluster->scout, INFO, 2);
    session_send_words(cluster->scout, SLOTS, 2);
    session_wake(cluster->scout, cluster->asked + CLUSTER_ANSWER_MS);
}

void cluster_doubt(struct cluster *cluster)
{
    if (cluster->sight)
        sight_doubt(cluster->sight);
    if (cluster->asking) {
        cluster->ask_again = true;
        return;
    }
    if (cluster->closing || !session_is_ready(cluster->scout))
        return; /* it is asked as soon as somebody can be */
    cluster->ask_again = true;
    session_wake(cluster->scout, cluster->asked + CLUSTER_SPACE_MS);
}

static void scout_ready(void *context, const struct session_peer *peer)
{
    (void)peer;
    ask(context);
}

static void ask_next(struct cluster *cluster)
{
    if (cluster->asks_next) {
        cluster->candidate++;
        point_scout(cluster); /* and asks as soon as it can */
    }
    cluster->asks_next = false;
    if (session_is_ready(cluster->scout))
        ask(cluster);
}

static void scout_woken(void *context)
{
    struct cluster *cluster = context;
    while (cluster->asking && session_read(cluster->scout))
        ;
    if (!session_is_ready(cluster->scout))
        return;
    unsigned space = cluster->asking      ? CLUSTER_ANSWER_MS
                     : cluster->ask_again ? CLUSTER_SPACE_MS
                                          : CLUSTER_ASK_MS;
    if (uv_now(cluster->loop) < cluster->asked + space)
        session_wake(cluster->scout, cluster->asked + space);
    else if (cluster->asking)
        session_lose(cluster->scout, -EAGAIN, "it does not say which node serves what");
    else
        ask_next(cluster);
}

/* A node that is new here may be one that was known by another address; and one that served nothing
 * may have taken the place of another, with all of its slots. */
unsigned cluster_note_moved(struct cluster *cluster, unsigned slot, const struct slot_node *owner,
                            unsigned by)
{
    char host[REDIS_HOST_LONGEST + 1];
    const struct node *teller = cluster->nodes[by];
    unsigned number = CLUSTER_NOBODY;
    if (read_host(owner, teller->host, host))
        number = find_by_address(cluster, host, owner->port);
    bool is_known = number != CLUSTER_NOBODY && cluster->nodes[number]->slots > 0;
    if (is_known)
        give(cluster, slot, number);
    else if (teller->is_placed &&
             !guide_points_to(&cluster->scout_guide, teller->host, teller->port))
        turn_scout(cluster, teller->host, teller->port);
    cluster_doubt(cluster);
    return is_known ? number : CLUSTER_NOBODY;
}

/* Answers */

static bool find_line(const redisReply *reply, const char *name, struct slice *ret)
{
    const char *found = reply->type == REDIS_REPLY_STRING ? strstr(reply->str, name) : NULL;
    if (!found)
        return false;
    found += strlen(name);
    *ret = (struct slice){found, strcspn(found, "\r\n")};
    return true;
}

/* A user that may not ask is believed to be well served: that costs a detour at worst. */
static void info_answered(struct cluster *cluster, const redisReply *reply)
{
    struct slice text;
    if (find_line(reply, "cluster_state:", &text))
        cluster->is_cut_off = !slice_equals(text, "ok");
    if (!find_line(reply, "cluster_current_epoch:", &text))
        return;
    uint64_t epoch = strtoull(text.bytes, NULL, 10);
    cluster->is_behind = epoch < cluster->epoch;
    if (epoch > cluster->epoch)
        cluster->epoch = epoch;
}

/* The slots of an answer, before any of them is given to anybody. */
struct draft {
    struct cluster *cluster;
    uint16_t owners[SLOT_COUNT];
};

static void note_range(void *context, unsigned first, unsigned last,
                       const struct slot_node *primary)
{
    struct draft *draft = context;
    unsigned owner = recognize(draft->cluster, primary);
    for (unsigned slot = first; slot <= last; slot++)
        draft->owners[slot] = (uint16_t)owner;
}

static void take_map(struct cluster *cluster, const redisReply *reply)
{
    struct draft draft = {.cluster = cluster};
    for (unsigned slot = 0; slot < SLOT_COUNT; slot++)
        draft.owners[slot] = CLUSTER_NOBODY;
    if (reply->type != REDIS_REPLY_ARRAY ||
        !slots_read((const struct value *)(const void *)reply, note_range, &draft)) {
        session_lose(cluster->scout, -EAGAIN, "it does not say which node serves what");
        return;
    }
    for (unsigned slot = 0; slot < SLOT_COUNT; slot++)
        give(cluster, slot, draft.owners[slot]);
    cluster->is_mapped = true;
    cluster->is_told = false;
    cluster->passed_over = 0;
    count_witnesses(cluster);
    cluster->asks_next = names_lost_ones(cluster);
    cluster->events.mapped(cluster->events.context);
}

/* Where all say so, they are right: the Cluster is down as a whole, or was set up anew. */
static bool counts(struct cluster *cluster)
{
    bool all = cluster->passed_over + 1 >= count_candidates(cluster);
    if (all && cluster->is_behind)
        cluster->epoch = 0;
    return all || !cluster->is_mapped || !(cluster->is_cut_off || cluster->is_behind);
}

static void slots_refused(struct cluster *cluster, const char *error)
{
    struct failure reason;
    bool forbidden = error_has_code(error, "NOPERM");
    bool disabled = strstr(error, "cluster support disabled") != NULL;
    failure_set(&reason, error_passes(error) ? -EAGAIN : -EPROTO,
                "%s does not say which node serves what: %s%s", session_place(cluster->scout),
                error,
                forbidden  ? ": allow this user `ACL SETUSER … +cluster|slots +cluster|info`"
                : disabled ? ": it is no node of a Redis Cluster, write redis://host:port"
                           : "");
    session_lose(cluster->scout, error_passes(error) ? -EAGAIN : -EPROTO, reason.text);
}

static void slots_answered(struct cluster *cluster, const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_ERROR) {
        slots_refused(cluster, reply->str);
        return;
    }
    cluster->asking = false;
    if (!counts(cluster)) {
        pass_over(cluster);
        return;
    }
    take_map(cluster, reply);
    if (session_is_ready(cluster->scout))
        session_wake(cluster->scout,
                     cluster->asked + (cluster->ask_again ? CLUSTER_SPACE_MS : CLUSTER_ASK_MS));
}

static void scout_replied(void *context, const redisReply *reply)
{
    struct cluster *cluster = context;
    if (!cluster->asking)
        session_lose(cluster->scout, -EAGAIN, "it sent a reply to nothing");
    else if (++cluster->answered < ANSWERS)
        info_answered(cluster, reply);
    else
        slots_answered(cluster, reply);
}

static void scout_lost(void *context, const struct session_loss *loss)
{
    struct cluster *cluster = context;
    if (loss->code != -ECANCELED && !cluster->is_turning)
        tell_lost(cluster, loss->code, loss->reason);
}

/* The beginning and the end */

static void free_all(struct cluster *cluster)
{
    for (unsigned i = 0; i < cluster->node_count; i++)
        free(cluster->nodes[i]);
    free(cluster);
}

/* One of what was open. */
static void has_closed(void *context)
{
    struct cluster *cluster = context;
    if (--cluster->open > 0)
        return;
    void (*closed)(void *context) = cluster->closed;
    void *closed_context = cluster->closed_context;
    free_all(cluster);
    if (closed)
        closed(closed_context);
}

static void timer_closed(uv_handle_t *timer)
{
    has_closed(timer->data);
}

int cluster_open(struct cluster **ret, uv_loop_t *loop, const struct redis_url *url,
                 const struct cluster_events *events, struct failure *failure)
{
    struct cluster *cluster = calloc(1, sizeof *cluster);
    if (!cluster)
        return failure_set(failure, -ENOMEM, "no memory");
    cluster->loop = loop;
    cluster->url = url;
    cluster->events = *events;
    cluster->uncovered = SLOT_COUNT;
    for (unsigned slot = 0; slot < SLOT_COUNT; slot++)
        cluster->owners[slot] = cluster->former[slot] = CLUSTER_NOBODY;
    guide_init(&cluster->scout_guide, on_scout_doubt, cluster);
    cluster->scout_guide.takes_replicas = true;
    point_scout(cluster);
    const struct session_events session_events = {
        .context = cluster,
        .ready = scout_ready,
        .replied = scout_replied,
        .lost = scout_lost,
        .woken = scout_woken,
        .closed = has_closed,
    };
    int result =
        session_open(&cluster->scout, loop, url, &cluster->scout_guide, &session_events, failure);
    if (result < 0) {
        free_all(cluster);
        return result;
    }
    uv_timer_init(loop, &cluster->timer);
    cluster->timer.data = cluster;
    cluster->open = 2;
    *ret = cluster;
    return 0;
}

static unsigned find_named(void *context, const struct slot_node *named, unsigned by)
{
    const struct cluster *cluster = context;
    char host[REDIS_HOST_LONGEST + 1];
    unsigned number = find_by_id(cluster, named->id);
    if (number == CLUSTER_NOBODY && named->id.length == 0 &&
        read_host(named, cluster->nodes[by]->host, host))
        number = find_by_address(cluster, host, named->port);
    return number;
}

void cluster_require_sight(struct cluster *cluster)
{
    const struct sight_events events = {cluster, find_named, gate_all};
    cluster->sight = sight_open(cluster->loop, cluster->url, &events);
    cluster->open++;
}

void cluster_close(struct cluster *cluster, void (*closed)(void *context), void *context)
{
    cluster->closing = true;
    cluster->closed = closed;
    cluster->closed_context = context;
    uv_close((uv_handle_t *)&cluster->timer, timer_closed);
    if (cluster->sight)
        sight_close(cluster->sight, has_closed, cluster);
    session_close(cluster->scout);
}
