#include "cli/run/lease.h"

#include "base/memory.h"
#include "base/utf8.h"
#include "cli/problem.h"
#include "cli/run/boottime.h"
#include "cli/run/guard.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    UNWATCHED_MS = 1000, /* for a short command there is no watch */
    WATCH_LEAST_MS = 500,
    WATCH_MS = 25000, /* less than any proxy allows */
};

/* The least of a member of the hold, or of the holds of several names. */
static int64_t lease_least(const json_t *reply, const char *member, int64_t absent_ms)
{
    const json_t *locks = json_object_get(reply, "locks");
    size_t count = json_is_array(locks) ? json_array_size(locks) : 1;
    int64_t least_ms = count > 0 ? INT64_MAX : absent_ms;
    for (size_t i = 0; i < count; i++) {
        const json_t *hold = json_is_array(locks) ? json_array_get(locks, i) : reply;
        bool has_it = json_is_integer(json_object_get(hold, member));
        least_ms = least(least_ms, has_it ? reply_ms(hold, member) : absent_ms);
    }
    return least_ms;
}

static void lease_order(const struct lease *lease, int64_t order)
{
    ssize_t written = write(lease->orders, &order, sizeof order);
    (void)written; /* a guard that is gone has ended the command */
}

int64_t lease_end(const struct lease *lease)
{
    return least(lease->ignores_loss ? GUARD_NEVER : lease->expires_ns, lease->held_until_ns);
}

void lease_order_end(const struct lease *lease)
{
    int64_t end_ns = lease_end(lease);
    lease_order(lease, end_ns);
    waker_set(lease->waker, end_ns - lease->margin_ns);
}

/* 1 % less than the reply says, for clocks that differ. */
bool lease_take(struct lease *lease, const struct reply *reply, int64_t sent_ns)
{
    int64_t ttl_ms = lease_least(reply->json, "ttl_ms", 0);
    int64_t left_ms = lease_least(reply->json, "max_held_ms", INT64_MAX);
    if (reply_status(reply) != STATUS_DONE || ttl_ms == 0)
        return false;
    lease->ttl_ms = ttl_ms;
    lease->renewed_ns = sent_ns;
    lease->expires_ns = sent_ns + ttl_ms * MS_IN_NS / 100 * 99;
    if (left_ms < INT64_MAX && !lease->ignores_loss)
        lease->held_until_ns = sent_ns + left_ms * MS_IN_NS / 100 * 99;
    return true;
}

static void lease_note_trouble(struct lease *lease, const struct reply *reply)
{
    const char *title = json_string_value(json_object_get(reply->json, "title"));
    const char *text = reply->status == 0 ? reply->trouble : title ? title : "";
    const json_t *ended = json_object_get(reply->json, "ended");
    char end[REPLY_SHOWN], name[REPLY_SHOWN];
    reply_show(json_object_get(ended, "name"), "it", name);
    pthread_mutex_lock(&lease->lock);
    if (reply_describe_end(ended, end))
        snprintf(lease->trouble, LEASE_TROUBLE, "%.300s %.700s", name, end);
    else
        utf8_show_all((struct slice){text, strcspn(text, "\n")}, lease->trouble, LEASE_TROUBLE);
    pthread_mutex_unlock(&lease->lock);
}

void lease_trouble(struct lease *lease, char trouble[LEASE_TROUBLE])
{
    pthread_mutex_lock(&lease->lock);
    memcpy(trouble, lease->trouble, LEASE_TROUBLE);
    pthread_mutex_unlock(&lease->lock);
}

static void lease_lose(struct lease *lease)
{
    lease->has_reached_max_held = boottime_ns() >= lease->held_until_ns;
    lease->is_lost = true;
    if (lease->ignores_loss)
        problem_print(STATUS_LOST, "%s: the lock is lost (%s). The command runs on.", lease->name,
                      lease->trouble);
    else
        lease_order(lease, GUARD_END);
}

/* Reports the renewal to the guard first: the output may block on its reader. */
static void lease_move(struct lease *lease)
{
    if (lease->orders >= 0 && !lease->ignores_loss)
        lease_order_end(lease);
    lease->is_overdue_said = false;
    if (lease->is_verbose)
        problem_print(STATUS_DONE, "%s: renewed, %lld s left", lease->name,
                      (long long)(lease->expires_ns - boottime_ns()) / (1000 * MS_IN_NS));
}

/* A renewal failed; the next may come in time. */
static void lease_miss(struct lease *lease)
{
    bool is_over = lease->ignores_loss && boottime_ns() > lease->expires_ns;
    if (lease->is_verbose)
        problem_print(STATUS_DONE, "%s: not renewed: %s", lease->name, lease->trouble);
    if (is_over && !lease->is_overdue_said)
        problem_print(STATUS_LOST,
                      "%s: no batond has renewed the lock in time (%s). The command runs on.",
                      lease->name, lease->trouble);
    lease->is_overdue_said |= is_over;
}

bool lease_renew(struct lease *lease)
{
    int64_t sent_ns = boottime_ns();
    struct reply reply = client_send(lease->client, &(struct request){.method = "PUT",
                                                                      .path = lease->path,
                                                                      .token = lease->token,
                                                                      .body = lease->body,
                                                                      .cancelled = &lease->stops});
    if (!lease->stops)
        lease_note_trouble(lease, &reply);
    if (reply_status(&reply) == STATUS_LOST)
        lease_lose(lease);
    else if (lease_take(lease, &reply, sent_ns))
        lease_move(lease);
    else
        lease_miss(lease);
    reply_free(&reply);
    return !lease->is_lost;
}

/* Waits `ms`, or until batond reports that the hold has ended, which the next renewal confirms.
 * Returns whether it has. */
static bool lease_watch(struct lease *lease, int64_t ms)
{
    int64_t end_ns = boottime_ns() + ms * MS_IN_NS, slack_ms = ms / 10 + 1;
    struct reply reply = {0};
    char rest[64];
    snprintf(rest, sizeof rest, "/events?until=ended&wait_ms=%" PRId64, ms - slack_ms);
    char *path = client_path(lease->name, rest);
    if (lease->is_watched && ms >= WATCH_LEAST_MS)
        reply = client_send(lease->client, &(struct request){.path = path,
                                                             .token = lease->token,
                                                             .wait_ms = ms - slack_ms,
                                                             .slack_ms = slack_ms,
                                                             .cancelled = &lease->stops});
    bool has_ended = json_is_false(json_object_get(reply.json, "mine"));
    reply_free(&reply);
    free(path);
    lease->is_watched &= !has_ended; /* so a wrong batond is not asked for ever */
    if (!has_ended && !lease->stops)
        client_pause(lease->client, (end_ns - boottime_ns()) / MS_IN_NS + 1);
    return has_ended;
}

/* When the next renewal is due: after a third of the TTL, and soon after a failure. */
static int64_t lease_due(const struct lease *lease)
{
    int64_t now_ns = boottime_ns(), ttl_ns = lease->ttl_ms * MS_IN_NS;
    int64_t third_ns = lease->expires_ns - ttl_ns * 2 / 3, soonest_ns = now_ns + ttl_ns / 20;
    return third_ns > soonest_ns ? third_ns : soonest_ns;
}

static void *lease_run(void *context)
{
    struct lease *lease = context;
    int64_t due_ns = lease_due(lease);
    client_pause(lease->client, UNWATCHED_MS);
    while (!lease->stops) {
        int64_t left_ms = (due_ns - boottime_ns()) / MS_IN_NS;
        if (left_ms > 0 && !lease_watch(lease, left_ms < WATCH_MS ? left_ms : WATCH_MS))
            continue;
        if (!lease_renew(lease))
            break;
        due_ns = lease_due(lease);
    }
    return NULL;
}

int lease_start(struct lease *lease)
{
    return -pthread_create(&lease->thread, NULL, lease_run, lease);
}

void lease_stop(struct lease *lease)
{
    lease->stops = true;
    client_wake(lease->client);
    pthread_join(lease->thread, NULL);
}
