#include "tests/fuzz/fake_store.h"

#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <sys/queue.h>

/* The arguments are looked at once, as the real one does to copy them. */
struct call {
    STAILQ_ENTRY(call) next;
    struct script_call asked;   /* of a script; of the other kind, its context alone */
    bool is_first;              /* as in redis/wire/call.h */
    store_confirmed *confirmed; /* of store_confirm; NULL: it is a script */
};

struct store {
    struct store_events events;
    STAILQ_HEAD(calls, call) calls;
    size_t waiting;
};

int store_open(struct store **ret, uv_loop_t *loop, const struct redis_url *url,
               const struct store_events *events)
{
    struct store *store = calloc(1, sizeof *store);
    (void)loop, (void)url;
    if (!store)
        abort();
    store->events = *events;
    STAILQ_INIT(&store->calls);
    *ret = store;
    return 0;
}

void store_close(struct store *store, void (*closed)(void *context), void *context)
{
    CLAIM(store->waiting == 0);
    free(store);
    if (closed)
        closed(context);
}

static size_t read_through(struct slice text)
{
    size_t zeros = 0;
    for (size_t i = 0; i < text.length; i++)
        zeros += text.bytes[i] == '\0';
    return zeros;
}

static void take(struct store *store, const struct script_call *asked, bool is_first)
{
    const struct slice key = asked->key;
    struct call *call = malloc(sizeof *call);
    if (!call)
        abort();
    CLAIM(asked->script->library->length > 0 && key.length >= 6 &&
          memcmp(key.bytes, "baton:", 6) == 0);
    size_t zeros = read_through(key);
    for (size_t i = 0; i < asked->argument_count; i++)
        zeros += read_through(asked->arguments[i]);
    CLAIM(zeros < SIZE_MAX);
    *call = (struct call){.asked = *asked, .is_first = is_first};
    STAILQ_INSERT_TAIL(&store->calls, call, next);
    store->waiting++;
}

void store_eval(struct store *store, const struct script_call *call)
{
    take(store, call, false);
}

void store_eval_at(struct store *store, unsigned shard, const struct script_call *call)
{
    CLAIM(shard == 0);
    store_eval(store, call);
}

void store_eval_first(struct store *store, unsigned shard, const struct script_call *call)
{
    CLAIM(shard == 0);
    take(store, call, true);
}

void store_delete_library(struct store *store, unsigned shard, struct slice name)
{
    (void)store, (void)shard;
    read_through(name);
}

struct store_mark store_mark_at(const struct store *store, unsigned shard)
{
    (void)shard;
    return store_mark(store);
}

void store_first_tag(const struct store *store, unsigned shard, char tag[STORE_TAG_SIZE])
{
    (void)store, (void)shard;
    tag[0] = '\0';
}

void store_close_gate(struct store *store, unsigned shard)
{
    (void)store, (void)shard;
}

void store_open_gate(struct store *store, unsigned shard)
{
    (void)store, (void)shard;
}

const struct store_peer *store_peer(const struct store *store, unsigned shard)
{
    static const struct store_peer PEER = {.run_id = "0123", .replicas = 1};
    (void)store, (void)shard;
    return &PEER;
}

unsigned store_shard_count(const struct store *store)
{
    (void)store;
    return 1;
}

unsigned store_shard(const struct store *store, struct slice key)
{
    (void)store, (void)key;
    return 0;
}

bool store_is_closing(const struct store *store)
{
    (void)store;
    return false;
}

bool store_shard_serves(const struct store *store, unsigned shard)
{
    (void)store;
    return shard == 0;
}

unsigned store_timeout_ms(const struct store *store)
{
    (void)store;
    return 800;
}

bool store_seek_shard(const struct store *store, unsigned *position, unsigned *ret_shard)
{
    (void)store;
    *ret_shard = 0;
    return *position == 0;
}

void store_tag(struct store *store, unsigned shard, char tag[STORE_TAG_SIZE])
{
    (void)store;
    CLAIM(shard == 0);
    tag[0] = '\0';
}

bool store_shard_is_up(const struct store *store, unsigned shard)
{
    (void)store;
    return shard == 0;
}

size_t fake_store_waiting(const struct store *store)
{
    return store->waiting;
}

/* As node_goes_again of redis/node/node.c. */
static bool goes_again(const struct store *store, const struct call *call,
                       struct store_result *result)
{
    const struct script_call *asked = &call->asked;
    bool is_late = result->outcome == STORE_LATE && !asked->is_once;
    if (call->is_first || (!store->events.result(store->events.context, 0, result) && !is_late))
        return false;
    return !asked->is_wanted || asked->is_wanted(asked->context);
}

void fake_store_answer(struct store *store, const struct store_result *result)
{
    struct call *call = STAILQ_FIRST(&store->calls);
    if (!call)
        return;
    STAILQ_REMOVE_HEAD(&store->calls, next);
    const struct script_call *asked = &call->asked;
    struct store_result reported = *result;
    if (!call->confirmed && goes_again(store, call, &reported)) {
        STAILQ_INSERT_TAIL(&store->calls, call, next);
        return;
    }
    store->waiting--;
    if (call->confirmed)
        call->confirmed(asked->context, result->outcome == STORE_REPLIED ? NULL : "not confirmed");
    else if (asked->done)
        asked->done(asked->context, &reported);
    free(call);
}

const struct store_events *fake_store_events(const struct store *store)
{
    return &store->events;
}

void store_listen(struct store *store, struct slice channel)
{
    (void)store, (void)channel;
}

void store_track(struct store *store, struct slice prefix)
{
    (void)store, (void)prefix;
}

void store_untrack(struct store *store)
{
    (void)store;
}

bool store_is_up(const struct store *store)
{
    (void)store;
    return true;
}

const char *store_trouble(const struct store *store)
{
    (void)store;
    return "";
}

const char *store_place(const struct store *store)
{
    (void)store;
    return "Redis";
}

const char *store_shard_place(const struct store *store, unsigned shard)
{
    (void)shard;
    return store_place(store);
}

const char *store_primary(const struct store *store)
{
    (void)store;
    return "";
}

struct store_figures store_figures(const struct store *store)
{
    (void)store;
    return (struct store_figures){0};
}

void store_expect_replicas(struct store *store, struct slice key, int replicas)
{
    (void)store, (void)key, (void)replicas;
}

struct store_mark store_mark(const struct store *store)
{
    (void)store;
    return (struct store_mark){0};
}

/* In its turn among the calls: yes where that one would have been answered. */
void store_confirm(struct store *store, struct store_mark mark, int replicas, int64_t timeout_ms,
                   store_confirmed *done, void *context)
{
    (void)mark;
    CLAIM(replicas >= 1 && replicas <= STORE_REPLICAS_MOST && timeout_ms >= 0);
    struct call *call = malloc(sizeof *call);
    if (!call)
        abort();
    *call = (struct call){.confirmed = done, .asked.context = context};
    STAILQ_INSERT_TAIL(&store->calls, call, next);
    store->waiting++;
}

int64_t store_primary_lease_ms(const struct store *store)
{
    (void)store;
    return 0;
}

void store_require_primary_lease(struct store *store)
{
    (void)store;
}
