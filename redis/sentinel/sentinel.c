#include "redis/sentinel/sentinel.h"

#include "base/memory.h"
#include "redis/kind.h"
#include "redis/sentinel/sentinel_set.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sentinel {
    struct shards *shards;
    struct endpoint endpoint; /* the node follows it */
    struct sentinel_client_events sentinel_client_events;
    struct sentinel_client *clients;
    uv_timer_t timer; /* runs until the primary lease ends */
    bool requires_primary_lease;
    int open; /* how many clients are open, plus 1 for the timer */
    bool has_current;
    struct vote current; /* the vote that won last */
    bool closing;
    void (*closed)(void *context);
    void *closed_context;
};

/* Judging the answers */

static void sentinel_give_up(struct sentinel *sentinel, const struct sentinel_tally *tally)
{
    struct failure reason;
    const char *name = sentinel->shards->url->master;
    const char *trouble = tally->worst ? tally->worst->trouble.text : "";
    int code = -EAGAIN;
    if (tally->count > 0)
        failure_set(&reason, code,
                    "the few sentinels that answer know only a former primary \"%s\"; waiting for "
                    "the others",
                    name);
    else if (tally->strangers == tally->sentinels)
        code = failure_set(&reason, -EPROTO,
                           "no sentinel knows a primary called \"%s\". Correct the name in "
                           "redis-url (`SENTINEL MASTERS` lists the names).",
                           name);
    else if (tally->strangers > 0)
        failure_set(
            &reason, code,
            "no sentinel that answers knows a primary called \"%s\", and some do not answer: %s",
            name, trouble);
    else
        code = failure_set(&reason, tally->all_need_mending ? -EPROTO : -EAGAIN,
                           "no sentinel tells where the primary \"%s\" is: %s", name, trouble);
    endpoint_set_unknown(&sentinel->endpoint, code, reason.text);
}

/* When the lease of the current primary ends, on the loop's clock, in ms; 0: most sentinels do not
 * name this primary. */
static uint64_t sentinel_lease_end(const struct sentinel *sentinel)
{
    uint64_t named = sentinel_set_named(sentinel->clients, &sentinel->current);
    return named > 0 ? named + SENTINEL_PRIMARY_LEASE_MS : 0;
}

static void sentinel_timer(uv_timer_t *timer);

static void sentinel_point(struct sentinel *sentinel)
{
    const struct vote *current = &sentinel->current;
    uint64_t now = uv_now(sentinel->shards->loop);
    uint64_t end = sentinel->requires_primary_lease ? sentinel_lease_end(sentinel) : UINT64_MAX;
    struct failure reason;
    if (end > now) {
        if (end < UINT64_MAX)
            uv_timer_start(&sentinel->timer, sentinel_timer, end - now, 0);
        endpoint_limit(&sentinel->endpoint, end);
        endpoint_set(&sentinel->endpoint, current->host, current->port);
        return;
    }
    if (end > 0)
        failure_set(&reason, -EAGAIN,
                    "cannot tell whether %s:%d is still the primary \"%s\": most of the sentinels "
                    "have not said so for %d ms. Can batond reach them?",
                    current->host, current->port, sentinel->shards->url->master,
                    SENTINEL_PRIMARY_LEASE_MS);
    else
        failure_set(&reason, -EAGAIN,
                    "waiting until most of the sentinels call %s:%d the primary \"%s\"",
                    current->host, current->port, sentinel->shards->url->master);
    endpoint_forbid(&sentinel->endpoint, reason.text);
}

static void sentinel_timer(uv_timer_t *timer)
{
    struct sentinel *sentinel = timer->data;
    if (!sentinel->closing)
        sentinel_point(sentinel);
}

/* Closes learnt sentinels only. A sentinel of the URL may come back, so batond keeps asking it. */
static void leave_out_replaced(struct sentinel *sentinel)
{
    sentinel_set_renew(sentinel->clients, uv_now(sentinel->shards->loop));
    for (struct sentinel_client *client = sentinel->clients; client; client = client->next)
        if (client->is_left_out && client->is_learnt)
            sentinel_client_close(client);
}

static void sentinel_judge(struct sentinel *sentinel)
{
    if (sentinel->closing)
        return;
    leave_out_replaced(sentinel);
    struct sentinel_tally tally = sentinel_set_tally(sentinel->clients);
    const struct vote *winner =
        votes_winner(tally.votes, tally.count, tally.sentinels, tally.all_settled,
                     sentinel->has_current ? &sentinel->current : NULL);
    if (winner) {
        sentinel->has_current = true;
        sentinel->current = *winner;
        sentinel_point(sentinel);
    } else if (tally.all_settled && (tally.count == 0 || !sentinel->endpoint.knows)) {
        sentinel_give_up(sentinel, &tally);
    }
}

/* The clients */

/* Another address with the same id belongs to this client as long as the sentinel answers at the
 * known address. Otherwise the sentinel may have moved, and the new address gets a client of its
 * own. The set forgets a learnt sentinel that is gone after SENTINEL_SET_FORGET_MS. */
static bool is_same_sentinel(const struct sentinel_client *client, const struct vote *address,
                             const char *id)
{
    return vote_names(address, client->host, client->port) ||
           (id[0] && sentinel_client_answers(client) && strcmp(id, client->id) == 0);
}

/* `learnt_id` is NULL for a sentinel of the URL. */
static void sentinel_add(struct sentinel *sentinel, const char *host, int port,
                         const char *learnt_id)
{
    if (sentinel->open > SENTINELS_MOST)
        return;
    struct sentinel_client *client =
        sentinel_client_open(sentinel->shards->loop, sentinel->shards->url, host, port,
                             &sentinel->sentinel_client_events);
    client->is_learnt = learnt_id != NULL;
    snprintf(client->id, sizeof client->id, "%s", learnt_id ? learnt_id : "");
    client->mentioned = uv_now(sentinel->shards->loop);
    struct sentinel_client **last = &sentinel->clients; /* sentinels of the URL stay in front */
    while (*last)
        last = &(*last)->next;
    *last = client;
    sentinel->open++;
}

static void sentinel_on_client_named(void *context, const struct vote *address, const char *id)
{
    struct sentinel *sentinel = context;
    for (struct sentinel_client *client = sentinel->clients; client; client = client->next) {
        if (client->is_dropped || !is_same_sentinel(client, address, id))
            continue;
        client->mentioned = uv_now(sentinel->shards->loop);
        client->is_left_out = false;
        return;
    }
    sentinel_add(sentinel, address->host, address->port, id);
}

static void sentinel_on_client_answered(void *context, struct sentinel_client *client)
{
    struct sentinel *sentinel = context;
    client->is_left_out = false;
    if (client->is_learnt && sentinel_set_is_twin(sentinel->clients, client))
        sentinel_client_close(client);
    sentinel_judge(sentinel);
}

static void sentinel_on_client_lost(void *context, struct sentinel_client *client,
                                    const struct session_loss *loss)
{
    struct sentinel *sentinel = context;
    (void)client;
    if (loss->is_news)
        shards_warn(sentinel->shards, loss->reason);
    sentinel_judge(sentinel);
}

/* The beginning and the end */

static void sentinel_free(struct sentinel *sentinel)
{
    void (*closed)(void *context) = sentinel->closed;
    void *closed_context = sentinel->closed_context;
    free(sentinel);
    closed(closed_context);
}

static void sentinel_on_one_closed(struct sentinel *sentinel)
{
    if (--sentinel->open == 0)
        sentinel_free(sentinel);
}

static void sentinel_on_client_closed(void *context, struct sentinel_client *client)
{
    struct sentinel *sentinel = context;
    struct sentinel_client **place = &sentinel->clients;
    while (*place != client)
        place = &(*place)->next;
    *place = client->next;
    sentinel_on_one_closed(sentinel);
}

static void sentinel_timer_closed(uv_handle_t *timer)
{
    sentinel_on_one_closed(timer->data);
}

static void sentinel_on_endpoint_failed(void *context)
{
    struct sentinel *sentinel = context;
    for (struct sentinel_client *client = sentinel->clients; client && !sentinel->closing;
         client = client->next)
        if (!client->is_dropped)
            sentinel_client_ask_soon(client);
}

static void *sentinel_open(struct shards *shards)
{
    const struct redis_url *url = shards->url;
    struct sentinel *sentinel = memory_checked(calloc(1, sizeof *sentinel));
    sentinel->shards = shards;
    sentinel->sentinel_client_events = (struct sentinel_client_events){
        .context = sentinel,
        .answered = sentinel_on_client_answered,
        .named = sentinel_on_client_named,
        .lost = sentinel_on_client_lost,
        .closed = sentinel_on_client_closed,
    };
    endpoint_init(&sentinel->endpoint, sentinel_on_endpoint_failed, sentinel);
    uv_timer_init(shards->loop, &sentinel->timer);
    sentinel->timer.data = sentinel;
    sentinel->open = 1;
    for (size_t i = 0; i < url->node_count; i++)
        sentinel_add(sentinel, url->nodes[i].host, url->nodes[i].port, NULL);
    shards_add(shards, 0, url, &sentinel->endpoint);
    return sentinel;
}

static void sentinel_close(void *state, void (*closed)(void *context), void *context)
{
    struct sentinel *sentinel = state;
    sentinel->closing = true;
    sentinel->closed = closed;
    sentinel->closed_context = context;
    uv_close((uv_handle_t *)&sentinel->timer, sentinel_timer_closed);
    for (struct sentinel_client *client = sentinel->clients; client; client = client->next)
        sentinel_client_close(client);
}

static const char *sentinel_primary(void *state, struct shards_tally tally)
{
    const struct sentinel *sentinel = state;
    (void)tally;
    return node_place(sentinel->shards->nodes[0]);
}

static void sentinel_require_primary_lease(void *state)
{
    struct sentinel *sentinel = state;
    sentinel->requires_primary_lease = true;
}

const struct kind sentinel_kind = {
    .open = sentinel_open,
    .close = sentinel_close,
    .primary = sentinel_primary,
    .require_primary_lease = sentinel_require_primary_lease,
    .primary_lease_ms = SENTINEL_PRIMARY_LEASE_MS,
};
