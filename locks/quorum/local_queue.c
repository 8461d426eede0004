#include "locks/quorum/local_queue.h"

#include "base/tree.h"

void local_queue_open(struct local_queue *queue)
{
    *queue = (struct local_queue){.count = 0};
    TAILQ_INIT(&queue->places);
}

static void local_queue_find_first(struct local_queue *queue)
{
    struct local_place *place = TAILQ_FIRST(&queue->places);
    while (place && !place->is_present)
        place = TAILQ_NEXT(place, others);
    queue->first = place;
}

void local_queue_join(struct local_queue *queue, struct local_place *place,
                      struct local_place *earlier)
{
    place->queue = queue;
    place->is_present = true;
    place->arrival = earlier ? earlier->arrival : ++queue->arrivals;
    if (earlier)
        TAILQ_INSERT_BEFORE(earlier, place, others);
    else
        TAILQ_INSERT_TAIL(&queue->places, place, others);
    queue->count++;
    if (earlier)
        local_queue_leave(earlier);
    tree_add(&queue->tokens, place);
    if (earlier || !queue->first)
        local_queue_find_first(queue);
}

void local_queue_leave(struct local_place *place)
{
    struct local_queue *queue = place->queue;
    if (!queue)
        return;
    TAILQ_REMOVE(&queue->places, place, others);
    tree_remove(&queue->tokens, place);
    queue->count--;
    place->queue = NULL;
    if (queue->first == place)
        local_queue_find_first(queue);
}

void local_queue_step_aside(struct local_place *place)
{
    place->is_present = false;
    local_queue_find_first(place->queue);
}

void local_queue_come_first(struct local_place *place)
{
    struct local_queue *queue = place->queue;
    TAILQ_REMOVE(&queue->places, place, others);
    TAILQ_INSERT_HEAD(&queue->places, place, others);
    local_queue_find_first(queue);
}

void local_queue_go_back(struct local_place *place)
{
    struct local_queue *queue = place->queue;
    struct local_place *next = TAILQ_NEXT(place, others),
                       *before = TAILQ_LAST(&queue->places, local_places);
    if (!next || next->arrival > place->arrival)
        return;
    while (before->arrival > place->arrival)
        before = TAILQ_PREV(before, local_places, others);
    TAILQ_REMOVE(&queue->places, place, others);
    TAILQ_INSERT_AFTER(&queue->places, before, place, others);
    local_queue_find_first(queue);
}

static bool local_place_enters(const struct local_place *place, const struct hold *hold)
{
    return place->acquire->is_reentrant && slice_same(place->acquire->owner, hold->owner);
}

bool local_place_is_excluded(const struct local_place *place, const struct hold *hold)
{
    return !local_place_enters(place, hold) &&
           (hold->mode == LOCK_EXCLUSIVE || place->acquire->mode == LOCK_EXCLUSIVE);
}

void local_queue_let_enter(struct local_queue *queue, const struct hold *hold)
{
    struct local_place *place = TAILQ_FIRST(&queue->places);
    while (place && !(place->is_present && local_place_enters(place, hold)))
        place = TAILQ_NEXT(place, others);
    if (place)
        local_queue_come_first(place);
}

struct local_place *local_queue_find(struct local_queue *queue, struct slice token)
{
    return tree_find(&queue->tokens, token);
}

bool local_place_is_first(const struct local_place *place)
{
    return place->queue && place->queue->first == place;
}

/* Adds the present waiters, or the others, as far as the view has space. */
static void local_queue_show_some(const struct local_queue *queue, bool is_present, uint64_t now,
                                  struct lock_view *view)
{
    const struct local_place *place;
    TAILQ_FOREACH (place, &queue->places, others) {
        if (view->waiter_count == LOCK_WAITERS_SHOWN)
            return;
        if (place->is_present == is_present)
            view->waiters[view->waiter_count++] = (struct waiter_view){
                .owner = place->acquire->owner,
                .mode = place->acquire->mode,
                .waited_ms = now > place->since ? (int64_t)(now - place->since) : 0,
                .since_us = place->since_us,
                .client = place->acquire->client,
            };
    }
}

/* Behind those before it; if it is not present, behind all that are. */
static int64_t local_place_position(const struct local_place *sought)
{
    int64_t before = 0;
    bool is_passed = false;
    const struct local_place *each;
    TAILQ_FOREACH (each, &sought->queue->places, others) {
        is_passed |= each == sought;
        before += is_passed ? each->is_present && !sought->is_present
                            : each->is_present || !sought->is_present;
    }
    return before + 1;
}

void local_queue_show(struct local_queue *queue, struct slice token, uint64_t now,
                      struct lock_view *view)
{
    view->queue_length = queue ? queue->count : 0;
    view->waiter_count = 0;
    view->position = 0;
    if (!queue)
        return;
    const struct local_place *place = local_queue_find(queue, token);
    if (place)
        view->position = local_place_position(place);
    local_queue_show_some(queue, true, now, view);
    local_queue_show_some(queue, false, now, view);
}
