/* store_preflight: a link on a loop of its own, for as long as it takes to hear from Redis once. */
#include "redis/preflight.h"
#include "redis/sentinel/sentinel.h"
#include "redis/store.h"
#include "redis/wire/link.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct preflight {
    uv_loop_t *loop;
    uv_timer_t timer;
    struct sentinel *sentinel; /* NULL where the URL names the server itself */
    struct link *link;
    int timeout_ms;
    bool is_up;
    bool is_over;
    int result;
    char run_id[64];
    struct failure *failure;
};

/* It goes last, for the link follows its guide. */
static void preflight_link_closed(void *context)
{
    struct preflight *preflight = context;
    if (preflight->sentinel)
        sentinel_close(preflight->sentinel, NULL, NULL);
}

static void preflight_end(struct preflight *preflight, int result)
{
    if (preflight->is_over)
        return;
    preflight->is_over = true;
    snprintf(preflight->run_id, sizeof preflight->run_id, "%s", link_peer(preflight->link)->run_id);
    preflight->result = result;
    uv_close((uv_handle_t *)&preflight->timer, NULL);
    link_close(preflight->link, preflight_link_closed, preflight);
}

static void preflight_timer(uv_timer_t *timer)
{
    struct preflight *preflight = timer->data;
    if (preflight->is_up)
        preflight_end(preflight, 0);
    else
        preflight_end(preflight,
                      failure_set(preflight->failure, -EAGAIN, "Redis did not answer within %d ms",
                                  preflight->timeout_ms));
}

/* The link that calls goes on, so the end waits for the next turn. */
static void preflight_up(void *context)
{
    struct preflight *preflight = context;
    preflight->is_up = true;
    uv_timer_start(&preflight->timer, preflight_timer, 0, 0);
}

static void preflight_down(void *context, int code, const char *reason)
{
    struct preflight *preflight = context;
    preflight_end(preflight, failure_set(preflight->failure, code, "%s", reason));
}

static void preflight_tracked(void *context, const char *error)
{
    (void)context, (void)error; /* it asks for nothing of the kind */
}

static void preflight_warning(void *context, const char *text)
{
    (void)context, (void)text; /* who serves later is told the same, and says it */
}

static int preflight_open(struct preflight *preflight, const struct redis_url *url)
{
    const struct link_events events = {.context = preflight,
                                       .up = preflight_up,
                                       .down = preflight_down,
                                       .warning = preflight_warning,
                                       .tracked = preflight_tracked};
    int result = 0;
    if (url->kind == REDIS_WATCHED)
        result = sentinel_open(&preflight->sentinel, preflight->loop, url, preflight_warning,
                               preflight, preflight->failure);
    if (result < 0)
        return result;
    struct guide *guide = preflight->sentinel ? sentinel_guide(preflight->sentinel) : NULL;
    result = link_open(&preflight->link, preflight->loop, url, guide, &events, preflight->failure);
    if (result < 0)
        preflight_link_closed(preflight);
    return result;
}

static void preflight_begin(struct preflight *preflight, const struct redis_url *url)
{
    preflight->result = preflight_open(preflight, url);
    if (preflight->result < 0)
        return;
    uv_timer_init(preflight->loop, &preflight->timer);
    preflight->timer.data = preflight;
    uv_timer_start(&preflight->timer, preflight_timer, (uint64_t)preflight->timeout_ms, 0);
}

static int preflight_one(uv_loop_t *loop, const struct redis_url *url, int timeout_ms,
                         struct failure *failure)
{
    struct preflight preflight = {.loop = loop, .timeout_ms = timeout_ms, .failure = failure};
    preflight_begin(&preflight, url);
    uv_run(loop, UV_RUN_DEFAULT);
    return preflight.result;
}

/* The members of a quorum */

struct member {
    struct preflight preflight;
    struct failure failure;
};

/* One server behind two addresses would have two votes. */
static int check_apart(const struct member *members, size_t count, struct failure *failure)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (members[i].preflight.run_id[0] &&
                strcmp(members[i].preflight.run_id, members[j].preflight.run_id) == 0)
                return failure_set(failure, -EPROTO,
                                   "redis-url names one server of the quorum twice: members "
                                   "%zu and %zu are the same Redis; name each server once",
                                   j + 1, i + 1);
    return 0;
}

/* A majority has to answer; what would never do by itself is not left to later. */
static int judge(const struct member *members, size_t count, struct failure *failure)
{
    size_t up = 0;
    const struct member *away = NULL;
    for (size_t i = 0; i < count; i++) {
        int result = members[i].preflight.result;
        if (result < 0 && result != -EAGAIN)
            return failure_set(failure, result, "member %zu of the quorum: %s", i + 1,
                               members[i].failure.text);
        if (result < 0)
            away = &members[i];
        else
            up++;
    }
    int result = check_apart(members, count, failure);
    if (result < 0 || up > count / 2)
        return result;
    return failure_set(failure, -EAGAIN, "only %zu of %zu members of the quorum answer: %s", up,
                       count, away->failure.text);
}

static int preflight_members(uv_loop_t *loop, const struct redis_url *url, int timeout_ms,
                             struct failure *failure)
{
    struct member members[REDIS_QUORUM_MOST] = {0};
    for (size_t i = 0; i < url->node_count; i++) {
        struct member *member = &members[i];
        struct redis_url own;
        member->preflight =
            (struct preflight){.loop = loop, .timeout_ms = timeout_ms, .failure = &member->failure};
        int result = redis_url_of(url, REDIS_SERVER, url->nodes[i].host, url->nodes[i].port, &own);
        if (result < 0)
            return failure_set(failure, result, "no memory");
        preflight_begin(&member->preflight, &own);
        redis_url_free(&own);
    }
    uv_run(loop, UV_RUN_DEFAULT);
    return judge(members, url->node_count, failure);
}

int store_preflight(const struct redis_url *url, int timeout_ms, struct failure *failure)
{
    uv_loop_t loop;
    if (url->kind == REDIS_CLUSTER)
        return preflight_cluster(url, timeout_ms, failure);
    int result = uv_loop_init(&loop);
    if (result < 0)
        return failure_set(failure, result, "cannot make an event loop: %s", uv_strerror(result));
    if (url->kind == REDIS_QUORUM)
        result = preflight_members(&loop, url, timeout_ms, failure);
    else
        result = preflight_one(&loop, url, timeout_ms, failure);
    uv_loop_close(&loop);
    return result;
}
