#include "redis/node/confirmer.h"

#include "base/memory.h"
#include "redis/node/node.h"
#include "redis/node/pending.h"
#include "redis/types/result.h"
#include "redis/wire/errors.h"
#include "redis/wire/server_info.h"
#include "redis/wire/session.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    WAIT_LATENESS_MS = 125,     /* Redis may end a WAIT up to a tenth of a second late */
    COMPLAINT_PAUSE_MS = 10000, /* between two warnings: one cause may fail every confirmation */
    MARKER_TTL_MS = 1000,
    MARKER_PAUSE_MS = 10, /* before the next round, if the node does not serve the marker's key */
    TEXT_SIZE = 256,
};

struct confirmer {
    struct node *node;
    uv_loop_t *loop;
    struct session *session;
    uv_timer_t timer; /* for the next pending confirmation that is due */
    int replicas;
    bool warns;
    bool closing;
    struct pending_list pending;
    int64_t reached; /* how many replicas the last round reached; -1: no round has ended yet */
    struct store_peer peer; /* the server that answers */
    uint64_t not_before;    /* the next round may begin then; on the loop's clock, in ms */
    uint64_t complaint_due; /* the next warning may come then; on the loop's clock, in ms */
    int parts_open;
    void (*closed)(void *context);
    void *closed_context;
};

/* Time */

static void confirmer_timer(uv_timer_t *timer);

static void confirmer_plan(struct confirmer *confirmer)
{
    uint64_t now = uv_now(confirmer->loop), due = pending_due(&confirmer->pending, PENDING_ANY);
    if (confirmer->closing)
        return;
    if (due != UINT64_MAX && now < confirmer->not_before && confirmer->not_before < due)
        due = confirmer->not_before;
    if (due == UINT64_MAX)
        uv_timer_stop(&confirmer->timer);
    else
        uv_timer_start(&confirmer->timer, confirmer_timer, due > now ? due - now : 0, 0);
}

/* Warns the operator of the cause: clients only learn that their grant is not confirmed. */
static void confirmer_complain(struct confirmer *confirmer, const char *why)
{
    uint64_t now = uv_now(confirmer->loop);
    if (confirmer->closing || now < confirmer->complaint_due)
        return;
    confirmer->complaint_due = now + COMPLAINT_PAUSE_MS;
    struct failure warning;
    failure_set(&warning, 0, "batond takes grants back, because replicas do not confirm them: %s",
                why);
    node_warn(confirmer->node, warning.text);
}

static void confirmer_answer_short(struct confirmer *confirmer)
{
    char text[TEXT_SIZE];
    uint64_t now = uv_now(confirmer->loop);
    if (pending_due(&confirmer->pending, PENDING_ANY) > now)
        return;
    if (confirmer->reached == 0)
        snprintf(text, sizeof text,
                 "no replica had it in time, and confirm wants %d. See in INFO replication whether "
                 "this Redis has any.",
                 confirmer->replicas);
    else if (confirmer->reached > 0 && confirmer->reached < confirmer->replicas)
        snprintf(text, sizeof text, "only %" PRId64 " of %d replicas had it in time",
                 confirmer->reached, confirmer->replicas);
    else
        snprintf(text, sizeof text, "Redis did not say in time whether %d replicas have it",
                 confirmer->replicas);
    confirmer_complain(confirmer, text);
    pending_answer(&confirmer->pending, PENDING_ANY, now, text);
}

/* Answers */

static void confirmer_refused(struct confirmer *confirmer, const char *error)
{
    char text[TEXT_SIZE];
    if (error_has_code(error, "NOPERM"))
        snprintf(text, sizeof text,
                 "this user of Redis may not ask for it. Allow it with `ACL SETUSER … +wait`.");
    else
        snprintf(text, sizeof text, "Redis answered with an error: %s", error);
    confirmer_complain(confirmer, text);
    pending_answer(&confirmer->pending, PENDING_COVERED, UINT64_MAX,
                   "Redis did not say whether replicas have it");
}

/* Redis has not written the marker, so the reply to this WAIT confirms no grant; or the node has no
 * marker, because it serves no slot yet. The next round uses another key and covers what is
 * pending. */
static void confirmer_marker_moved(struct confirmer *confirmer)
{
    pending_uncover(&confirmer->pending);
    confirmer->not_before = uv_now(confirmer->loop) + MARKER_PAUSE_MS;
    node_marker_moved(confirmer->node);
}

/* The server has become a replica, or ends a WAIT because it will: its answers count no more. */
static bool confirmer_is_demoted(const char *error)
{
    return error_kind(error) == ERROR_WRONG_SERVER || error_has_code(error, "UNBLOCKED");
}

static void confirmer_failed(struct confirmer *confirmer, const char *error)
{
    if (confirmer_is_demoted(error))
        session_lose(confirmer->session, -EAGAIN, error);
    else if (error_kind(error) == ERROR_ELSEWHERE)
        confirmer_marker_moved(confirmer);
    else
        confirmer_refused(confirmer, error);
}

static void confirmer_marked(void *context, const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_ERROR)
        confirmer_failed(context, reply->str);
}

static void confirmer_reached(struct confirmer *confirmer, int64_t replicas)
{
    confirmer->reached = replicas;
    uv_update_time(confirmer->loop); /* a yes that is read too late does not count */
    confirmer_answer_short(confirmer);
    if (replicas >= confirmer->replicas)
        pending_answer(&confirmer->pending, PENDING_COVERED, UINT64_MAX, NULL);
}

static void confirmer_waited(void *context, const redisReply *reply)
{
    struct confirmer *confirmer = context;
    if (reply->type == REDIS_REPLY_ERROR)
        confirmer_failed(confirmer, reply->str);
    else if (reply->type == REDIS_REPLY_INTEGER)
        confirmer_reached(confirmer, reply->integer);
    pending_uncover(&confirmer->pending);
    session_request_turn(confirmer->session);
}

/* Rounds */

static void confirmer_send_round(struct confirmer *confirmer, uint64_t timeout_ms)
{
    char ttl[16], replicas[16], timeout[24];
    unsigned answer_ms = (unsigned)timeout_ms + session_timeout_ms(confirmer->session);
    snprintf(ttl, sizeof ttl, "%d", MARKER_TTL_MS);
    snprintf(replicas, sizeof replicas, "%d", confirmer->replicas);
    snprintf(timeout, sizeof timeout, "%" PRIu64, timeout_ms);
    const struct slice set[] = {slice_of("SET"), node_marker(confirmer->node), slice_of("1"),
                                slice_of("PX"), slice_of(ttl)};
    const struct slice wait[] = {slice_of("WAIT"), slice_of(replicas), slice_of(timeout)};
    session_ask(confirmer->session, set, 5, answer_ms, confirmer_marked);
    session_ask(confirmer->session, wait, 3, answer_ms, confirmer_waited);
    session_push(confirmer->session);
}

static void confirmer_begin_round(struct confirmer *confirmer)
{
    uv_update_time(confirmer->loop); /* this process may have been stopped meanwhile */
    confirmer_answer_short(confirmer);
    if (TAILQ_EMPTY(&confirmer->pending.all))
        return;
    uint64_t now = uv_now(confirmer->loop);
    if (!confirmer->peer.run_id[0]) {
        confirmer_complain(confirmer, "this user of Redis may not ask which server it is. Allow it "
                                      "with `ACL SETUSER … +info`.");
        pending_answer(&confirmer->pending, PENDING_ANY, UINT64_MAX,
                       "Redis does not say which server it is");
        return;
    }
    if (!node_marker(confirmer->node).bytes) {
        confirmer_marker_moved(confirmer);
        return;
    }
    if (!pending_cover(&confirmer->pending, confirmer->peer.run_id, confirmer->peer.history)) {
        session_lose(confirmer->session, -EAGAIN, "it is not the server that ran the scripts");
        return;
    }
    uint64_t due = pending_due(&confirmer->pending, PENDING_COVERED);
    uint64_t timeout = due - now;
    if (timeout > 2 * WAIT_LATENESS_MS) /* so that the reply, which says how many, comes in time */
        timeout -= WAIT_LATENESS_MS;
    confirmer_send_round(confirmer, timeout);
}

/* One round covers all that was asked for in this turn of the loop. */
static void confirmer_turn_ends(void *context)
{
    struct confirmer *confirmer = context;
    if (!TAILQ_EMPTY(&confirmer->pending.all) && session_is_idle(confirmer->session) &&
        session_is_ready(confirmer->session) && uv_now(confirmer->loop) >= confirmer->not_before)
        confirmer_begin_round(confirmer);
    confirmer_plan(confirmer);
}

static void confirmer_timer(uv_timer_t *timer)
{
    struct confirmer *confirmer = timer->data;
    struct session *session = confirmer->session;
    while (session_is_ready(session) && session_read(session))
        ;
    confirmer_answer_short(confirmer);
    confirmer_turn_ends(confirmer);
}

/* The connection */

/* The confirmer has connected later than the node, so its history is the newer one. */
static void confirmer_compare_history(const struct confirmer *confirmer)
{
    const struct store_peer *peer = node_peer(confirmer->node);
    struct failure reason;
    if (strcmp(peer->run_id, confirmer->peer.run_id) != 0 ||
        strcmp(peer->history, confirmer->peer.history) == 0)
        return;
    failure_set(
        &reason, -EAGAIN,
        "%s has become a replica since batond connected to it, or has got its first replica",
        node_place(confirmer->node));
    node_retire(confirmer->node, reason.text);
}

/* Warns of each setting that makes confirmed grants impossible, or less safe. */
static void confirmer_check_setup(const struct confirmer *confirmer, const struct server_info *info)
{
    struct failure found;
    if (info->version[0] == '\0') /* this user may not run INFO; the node has warned of that */
        return;
    if (info->peer.replicas < confirmer->replicas) {
        failure_set(&found, 0,
                    "confirm is replicas:%d, but Redis has %d replicas, so no lock is granted. "
                    "Start more with replicaof, or set confirm to fewer.",
                    confirmer->replicas, info->peer.replicas);
        node_warn(confirmer->node, found.text);
    }
    if (!info->needs_replicas) {
        failure_set(&found, 0,
                    "a primary that is cut off still accepts writes, which are lost when a replica "
                    "is promoted. Set min-replicas-to-write to %d (and min-replicas-max-lag to a "
                    "few seconds).",
                    confirmer->replicas);
        node_warn(confirmer->node, found.text);
    }
    if (info->has_no_file)
        node_warn(confirmer->node,
                  "Redis keeps no append-only file, so a primary that restarts comes back empty, "
                  "and its replicas copy that. Set appendonly to yes.");
}

static void confirmer_ready(void *context, const struct session_peer *peer)
{
    struct confirmer *confirmer = context;
    confirmer->peer = peer->info->peer;
    confirmer_compare_history(confirmer);
    if (confirmer->warns)
        confirmer_check_setup(confirmer, peer->info);
    session_request_turn(confirmer->session);
}

/* Pending confirmations stay: there may be time for another try. The node reports that Redis is
 * away. */
static void confirmer_lost(void *context, const struct session_loss *loss)
{
    struct confirmer *confirmer = context;
    pending_uncover(&confirmer->pending);
    if (loss->code == -ECANCELED)
        pending_answer(&confirmer->pending, PENDING_ANY, UINT64_MAX, "batond is stopping");
}

static void confirmer_part_closed(void *context)
{
    struct confirmer *confirmer = context;
    if (--confirmer->parts_open > 0)
        return;
    /* Some may have been added during the close. */
    pending_answer(&confirmer->pending, PENDING_ANY, UINT64_MAX, "batond is stopping");
    void (*closed)(void *context) = confirmer->closed;
    void *closed_context = confirmer->closed_context;
    free(confirmer);
    closed(closed_context);
}

static void confirmer_timer_closed(uv_handle_t *timer)
{
    confirmer_part_closed(timer->data);
}

struct confirmer *confirmer_open(const struct confirmer_options *options)
{
    struct confirmer *confirmer = memory_checked(calloc(1, sizeof *confirmer));
    confirmer->node = options->node;
    confirmer->loop = options->loop;
    confirmer->replicas = options->replicas;
    confirmer->warns = options->warns;
    confirmer->reached = -1;
    pending_init(&confirmer->pending);
    uv_timer_init(options->loop, &confirmer->timer);
    confirmer->timer.data = confirmer;
    const struct session_events events = {
        .context = confirmer,
        .pace = {.late = "no answer to WAIT"},
        .ready = confirmer_ready,
        .lost = confirmer_lost,
        .turn_ends = confirmer_turn_ends,
        .closed = confirmer_part_closed,
    };
    confirmer->parts_open = 2;
    confirmer->session = session_open(options->loop, options->url, options->endpoint, &events);
    return confirmer;
}

void confirmer_close(struct confirmer *confirmer, void (*closed)(void *context), void *context)
{
    confirmer->closing = true;
    confirmer->closed = closed;
    confirmer->closed_context = context;
    session_close(confirmer->session);
    uv_close((uv_handle_t *)&confirmer->timer, confirmer_timer_closed);
}

void confirmer_ask(struct confirmer *confirmer, const struct store_peer *peer, uint64_t due,
                   store_confirmed *done, void *context)
{
    pending_add(&confirmer->pending, peer, due, done, context);
    session_request_turn(confirmer->session);
}
