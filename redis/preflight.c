#include "redis/preflight.h"

#include "base/memory.h"
#include "redis/address/access.h"

#include <errno.h>

/* Runs on a loop of its own until each shard has reported, the kind knows enough, or the time is
 * over. */
struct preflight {
    const struct kind *kind;
    void *state; /* the kind's; NULL without one */
    uv_loop_t loop;
    uv_timer_t timer;
    struct redis_url url;
    struct shards shards;
    struct preflight_report reports[PREFLIGHT_REPORTS_MOST]; /* by shard */
    struct failure *failure;
    int timeout_ms;
    bool is_over;
    int result;
};

/* The end */

static void preflight_ignore_closed(void *context)
{
    (void)context;
}

static void preflight_on_shards_closed(void *context)
{
    struct preflight *preflight = context;
    if (preflight->state)
        preflight->kind->close(preflight->state, preflight_ignore_closed, NULL);
}

static void preflight_close(struct preflight *preflight)
{
    if (preflight->kind->stop && preflight->state)
        preflight->kind->stop(preflight->state);
    uv_close((uv_handle_t *)&preflight->timer, NULL);
    shards_close(&preflight->shards, preflight_on_shards_closed, preflight);
}

static void preflight_note_silence(struct preflight *preflight)
{
    const char *silence = preflight->kind->silence;
    for (unsigned i = 0; i < PREFLIGHT_REPORTS_MOST; i++) {
        struct preflight_report *report = &preflight->reports[i];
        if (!report->is_known)
            report->code =
                failure_set(&report->text, -EAGAIN, "%s within %d ms",
                            silence ? silence : "Redis did not answer", preflight->timeout_ms);
    }
}

static void preflight_on_timer(uv_timer_t *timer)
{
    struct preflight *preflight = timer->data;
    const struct preflight_report *first = &preflight->reports[0];
    preflight->is_over = true;
    preflight_note_silence(preflight);
    if (preflight->kind->judge)
        preflight->result =
            preflight->kind->judge(preflight->state, preflight->reports, preflight->failure);
    else
        preflight->result = failure_set(first->text.text[0] ? preflight->failure : NULL,
                                        first->code, "%s", first->text.text);
    preflight_close(preflight);
}

/* The node that calls this still runs afterwards, so the end waits for the next turn of the
 * loop. */
static void preflight_end(void *context)
{
    struct preflight *preflight = context;
    preflight->is_over = true;
    uv_timer_start(&preflight->timer, preflight_on_timer, 0, 0);
}

/* Events of the nodes: the first report of each counts */

static void preflight_note(struct preflight *preflight, unsigned shard, int code, const char *text)
{
    if (shard >= PREFLIGHT_REPORTS_MOST || preflight->is_over)
        return;
    struct preflight_report *report = &preflight->reports[shard];
    if (report->is_known)
        return;
    report->is_known = true;
    report->code = failure_set(&report->text, code, "%s", text);
    for (unsigned i = 0; i < preflight->shards.count; i++)
        if (i < PREFLIGHT_REPORTS_MOST && !preflight->reports[i].is_known)
            return;
    preflight_end(preflight);
}

static void preflight_on_up(void *context, unsigned shard)
{
    preflight_note(context, shard, 0, "");
}

static void preflight_on_down(void *context, unsigned shard, int code, const char *reason)
{
    preflight_note(context, shard, code, reason);
}

/* A node warns right after it has come up. Others warn again while the store serves. */
static void preflight_on_warning(void *context, const char *text)
{
    struct preflight *preflight = context;
    struct preflight_report *first = &preflight->reports[0];
    if (first->is_known && !first->text.text[0])
        failure_set(&first->text, 0, "%s", text);
}

static void preflight_open(struct preflight *preflight)
{
    struct shards *shards = &preflight->shards;
    *shards = (struct shards){
        .loop = &preflight->loop,
        .url = &preflight->url,
        .store_events = {.observer = {.context = preflight, .warning = preflight_on_warning},
                         .context = preflight,
                         .moved = preflight_end},
        .node_events = {.context = preflight, .up = preflight_on_up, .down = preflight_on_down}};
    uv_timer_init(&preflight->loop, &preflight->timer);
    preflight->timer.data = preflight;
    uv_timer_start(&preflight->timer, preflight_on_timer, (uint64_t)preflight->timeout_ms, 0);
    if (preflight->kind->open)
        preflight->state = preflight->kind->open(shards);
    else
        shards_add(shards, 0, shards->url, NULL);
}

static int preflight_serve(struct preflight *preflight)
{
    int result = uv_loop_init(&preflight->loop);
    if (result < 0)
        return failure_set(preflight->failure, result, "cannot make an event loop: %s",
                           uv_strerror(result));
    preflight_open(preflight);
    uv_run(&preflight->loop, UV_RUN_DEFAULT);
    uv_loop_close(&preflight->loop);
    return preflight->result;
}

int preflight_run(const struct kind *kind, const struct redis_url *url, int timeout_ms,
                  struct failure *failure)
{
    struct preflight *preflight = memory_checked(calloc(1, sizeof *preflight));
    preflight->kind = kind;
    preflight->failure = failure;
    preflight->timeout_ms = timeout_ms;
    redis_url_copy(url, &preflight->url);
    int result = redis_access_read_files(&preflight->url, failure);
    if (result == 0)
        result = preflight_serve(preflight);
    redis_url_free(&preflight->url);
    free(preflight);
    return result;
}
