#include "api/stats/contention.h"

#include "base/memory.h"
#include "base/monotonic.h"
#include "base/random.h"
#include "base/siphash.h"
#include "base/table.h"

#include <pthread.h>
#include <stdlib.h>

enum {
    BUCKETS = 1024, /* of names with waiters */
    AT_ONCE = 256,  /* names to visit at once, while their worker may wait */
};

/* A name with waiters at this worker. */
struct waited {
    struct waited *next;
    uint64_t hash;
    uint64_t waiters;
    uint64_t since; /* ms of the monotonic clock */
    size_t length;
    char name[];
};

/* The figures since it began. */
struct window {
    uint64_t begun; /* ms of the monotonic clock; 0: never */
    struct heavy_hitters waits;
    struct heavy_hitters expirations;
    struct peaks most_waiters;
    struct peaks longest_waits;
    struct peaks longest_holds;
};

struct contention_part {
    pthread_mutex_t mutex; /* protects all below */
    struct siphash_key key;
    size_t waited_count;
    struct waited *waited[BUCKETS];
    struct window windows[2]; /* this one, and the one before */
};

void contention_open(struct contention *contention, size_t count)
{
    contention->count = count;
    for (size_t i = 0; i < count; i++) {
        struct contention_part *part = memory_checked(calloc(1, sizeof *part));
        pthread_mutex_init(&part->mutex, NULL);
        random_bytes(&part->key, sizeof part->key);
        part->windows[0].begun = (uint64_t)monotonic_ms();
        contention->parts[i] = part;
    }
}

static void contention_remove(struct contention_part *part, struct waited **place)
{
    struct waited *waited = *place;
    *place = waited->next;
    part->waited_count--;
    free(waited);
}

void contention_close(struct contention *contention)
{
    for (size_t i = 0; i < contention->count; i++) {
        struct contention_part *part = contention->parts[i];
        for (size_t j = 0; j < BUCKETS; j++)
            while (part->waited[j])
                contention_remove(part, &part->waited[j]);
        pthread_mutex_destroy(&part->mutex);
        free(part);
    }
    contention->count = 0;
}

/* Recording */

static struct waited **contention_find(struct contention_part *part, uint64_t hash,
                                       struct slice name)
{
    struct waited **place = &part->waited[hash % BUCKETS];
    while (*place && ((*place)->hash != hash || (*place)->length != name.length ||
                      memcmp((*place)->name, name.bytes, name.length) != 0))
        place = &(*place)->next;
    return place;
}

static void contention_queue(struct contention_part *part, struct window *window, uint64_t hash,
                             struct slice name)
{
    struct waited **place = contention_find(part, hash, name), *waited = *place;
    if (!waited) {
        waited = memory_checked(calloc(1, sizeof *waited + name.length));
        waited->hash = hash;
        waited->since = (uint64_t)monotonic_ms();
        waited->length = name.length;
        memcpy(waited->name, name.bytes, name.length);
        *place = waited;
        part->waited_count++;
    }
    waited->waiters++;
    heavy_hitters_add(&window->waits, hash, name, 1);
    peaks_note(&window->most_waiters, hash, name, waited->waiters);
}

static void contention_end_wait(struct contention_part *part, struct window *window, uint64_t hash,
                                const struct lock_event *event)
{
    struct waited **place = contention_find(part, hash, event->name);
    if (*place && --(*place)->waiters == 0)
        contention_remove(part, place);
    peaks_note(&window->longest_waits, hash, event->name, (uint64_t)event->waited_us / 1000);
}

/* Returns the current window; figures older than two windows are dropped. */
static struct window *contention_window(struct contention_part *part)
{
    uint64_t now = (uint64_t)monotonic_ms();
    struct window *window = &part->windows[0];
    uint64_t age_ms = now - window->begun;
    if (age_ms >= CONTENTION_WINDOW_MS) {
        part->windows[1] = *window;
        *window = (struct window){.begun = now};
    }
    if (age_ms >= 2 * CONTENTION_WINDOW_MS) /* no view and no event for long */
        part->windows[1].begun = 0;
    return window;
}

void contention_add(struct contention_part *part, const struct lock_event *event)
{
    bool queued = event->kind == LOCK_EVENT_QUEUED, waited = event->waited_us >= 0;
    bool expired = event->kind == LOCK_EVENT_EXPIRED, held = event->held_ms >= 0;
    if (!queued && !waited && !expired && !held)
        return;
    pthread_mutex_lock(&part->mutex);
    struct window *window = contention_window(part);
    uint64_t hash = siphash(&part->key, event->name);
    if (queued)
        contention_queue(part, window, hash, event->name);
    if (waited)
        contention_end_wait(part, window, hash, event);
    if (expired)
        heavy_hitters_add(&window->expirations, hash, event->name, (uint64_t)event->count);
    if (held)
        peaks_note(&window->longest_holds, hash, event->name, (uint64_t)event->held_ms);
    pthread_mutex_unlock(&part->mutex);
}

/* Views */

struct gathering {
    struct contention_view view;
    bool (*wants)(void *context, struct slice name);
    void *context;
    struct window *windows;
    size_t count; /* of them */
    size_t room;  /* for names that are waited for */
};

static void contention_grow(struct gathering *gathering, size_t room)
{
    struct contention_view *view = &gathering->view;
    gathering->room = room;
    view->waiting = memory_checked(realloc(view->waiting, room * sizeof *view->waiting));
}

static void contention_gather_one(struct gathering *gathering, const struct waited *waited,
                                  uint64_t now)
{
    struct contention_view *view = &gathering->view;
    struct slice name = {waited->name, waited->length};
    if (!gathering->wants(gathering->context, name))
        return;
    if (view->waiting_count == gathering->room)
        contention_grow(gathering, 2 * gathering->room + AT_ONCE);
    struct contention_waiting *waiting = &view->waiting[view->waiting_count++];
    waiting->waiters = waited->waiters;
    waiting->since_ms = now - waited->since;
    waiting->length = waited->length;
    memcpy(waiting->name, waited->name, waited->length);
}

/* Visits buckets from this one on, until AT_ONCE names. Returns the next bucket. */
static size_t contention_gather_some(struct gathering *gathering, struct contention_part *part,
                                     size_t bucket)
{
    size_t seen = 0;
    pthread_mutex_lock(&part->mutex);
    uint64_t now = (uint64_t)monotonic_ms(); /* no wait begins after this */
    for (; bucket < BUCKETS && seen < AT_ONCE; bucket++)
        for (const struct waited *waited = part->waited[bucket]; waited; waited = waited->next) {
            contention_gather_one(gathering, waited, now);
            seen++;
        }
    pthread_mutex_unlock(&part->mutex);
    return bucket;
}

/* Copies the names in portions, so that a worker that records one does not wait for thousands. */
static void contention_gather(struct gathering *gathering, struct contention_part *part)
{
    pthread_mutex_lock(&part->mutex);
    contention_window(part);
    for (size_t i = 0; i < 2; i++)
        if (part->windows[i].begun)
            gathering->windows[gathering->count++] = part->windows[i];
    size_t names = part->waited_count;
    pthread_mutex_unlock(&part->mutex);
    contention_grow(gathering, gathering->view.waiting_count + names + AT_ONCE);
    for (size_t bucket = 0; bucket < BUCKETS;)
        bucket = contention_gather_some(gathering, part, bucket);
}

static int contention_by_name(const void *left, const void *right)
{
    const struct contention_waiting *one = left, *other = right;
    if (one->length != other->length)
        return one->length < other->length ? -1 : 1;
    return memcmp(one->name, other->name, one->length);
}

static int contention_by_waiters(const void *left, const void *right)
{
    const struct contention_waiting *one = left, *other = right;
    if (one->waiters != other->waiters)
        return one->waiters > other->waiters ? -1 : 1;
    return one->since_ms == other->since_ms ? 0 : one->since_ms > other->since_ms ? -1 : 1;
}

/* Joins entries of one name, which may have waiters at several workers. */
static void contention_fold(struct contention_view *view)
{
    size_t used = 0;
    if (view->waiting_count == 0)
        return;
    qsort(view->waiting, view->waiting_count, sizeof *view->waiting, contention_by_name);
    for (size_t i = 0; i < view->waiting_count; i++) {
        const struct contention_waiting *next = &view->waiting[i];
        if (used == 0 || contention_by_name(&view->waiting[used - 1], next) != 0) {
            view->waiting[used++] = *next;
            continue;
        }
        struct contention_waiting *last = &view->waiting[used - 1];
        last->waiters += next->waiters;
        if (last->since_ms < next->since_ms)
            last->since_ms = next->since_ms;
    }
    view->waiting_count = used;
    qsort(view->waiting, used, sizeof *view->waiting, contention_by_waiters);
}

/* The place of each list in a window; the last two are heavy hitters. */
#define LISTS(X)                                                                                   \
    X(CONTENTION_MOST_WAITERS, offsetof(struct window, most_waiters))                              \
    X(CONTENTION_LONGEST_WAITS, offsetof(struct window, longest_waits))                            \
    X(CONTENTION_LONGEST_HOLDS, offsetof(struct window, longest_holds))                            \
    X(CONTENTION_MOST_WAITS, offsetof(struct window, waits))                                       \
    X(CONTENTION_MOST_EXPIRATIONS, offsetof(struct window, expirations))

static const size_t PLACES[] = {LISTS(TABLE_ROW)};
TABLE_IS_COMPLETE(LISTS, CONTENTION_LISTS);

static void contention_merge(struct gathering *gathering, enum contention_list list)
{
    const void *all[2 * CONTENTION_PARTS];
    size_t *count = &gathering->view.lists[list].count;
    for (size_t i = 0; i < gathering->count; i++)
        all[i] = (const char *)&gathering->windows[i] + PLACES[list];
    gathering->view.lists[list].all =
        list < CONTENTION_MOST_WAITS
            ? peaks_merge((const struct peaks *const *)all, gathering->count, count)
            : heavy_hitters_merge((const struct heavy_hitters *const *)all, gathering->count,
                                  count);
}

struct contention_view contention_view(const struct contention *contention,
                                       bool (*wants)(void *context, struct slice name),
                                       void *context)
{
    struct gathering gathering = {.wants = wants, .context = context};
    struct contention_view *view = &gathering.view;
    size_t parts = contention ? contention->count : 0;
    gathering.windows = memory_checked(malloc((2 * parts + 1) * sizeof *gathering.windows));
    /* Touches the pages before any lock is taken. */
    memset(gathering.windows, 0, 2 * parts * sizeof *gathering.windows);
    for (size_t i = 0; i < parts; i++)
        contention_gather(&gathering, contention->parts[i]);
    uint64_t now = (uint64_t)monotonic_ms(); /* no window begins after this */
    for (size_t i = 0; i < gathering.count; i++)
        if (now - gathering.windows[i].begun > view->window_ms)
            view->window_ms = now - gathering.windows[i].begun;
    contention_fold(view);
    for (enum contention_list list = 0; list < CONTENTION_LISTS; list++)
        contention_merge(&gathering, list);
    free(gathering.windows);
    return *view;
}

void contention_view_free(struct contention_view *view)
{
    free(view->waiting);
    for (size_t i = 0; i < CONTENTION_LISTS; i++)
        free(view->lists[i].all);
}
