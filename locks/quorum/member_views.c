#include "locks/quorum/member_views.h"

static bool views_is_alike(const struct holder *one, const struct holder *other)
{
    return one->mode == other->mode && slice_same(one->owner, other->owner);
}

static bool views_is_same(const struct holder *one, const struct holder *other)
{
    return one->fence == other->fence && views_is_alike(one, other);
}

static const struct holder *views_find(const struct lock_view *view, const struct holder *holder)
{
    for (size_t i = 0; view && i < view->holder_count; i++)
        if (views_is_same(&view->holders[i], holder))
            return &view->holders[i];
    return NULL;
}

static unsigned silent(const struct member_views *views)
{
    unsigned count = 0;
    for (unsigned i = 0; i < views->members; i++)
        count += !views->of[i];
    return count;
}

static unsigned majority(const struct member_views *views)
{
    return views->members / 2 + 1;
}

static unsigned known_to(const struct member_views *views, const struct holder *holder)
{
    unsigned count = 0;
    for (unsigned i = 0; i < views->members; i++)
        count += views_find(views->of[i], holder) != NULL;
    return count;
}

static unsigned mine_at(const struct member_views *views)
{
    unsigned count = 0;
    for (unsigned i = 0; i < views->members; i++)
        count += views->of[i] && views->of[i]->mine;
    return count;
}

static bool is_clear(const struct member_views *views, unsigned count)
{
    return count >= majority(views) || count + silent(views) < majority(views);
}

/* Members may know one hold by different fences: until all have the agreed one, or if those that
 * had it were lost. So what counts is how many holds of the same owner and mode a majority has, or
 * may have. */

static size_t alike_in(const struct lock_view *view, const struct holder *holder)
{
    size_t count = 0;
    for (size_t i = 0; view && i < view->holder_count; i++)
        count += views_is_alike(&view->holders[i], holder);
    return count;
}

/* How many holds like this a majority has, if `unknown` silent members have them all. */
static size_t alike(const struct member_views *views, const struct holder *holder, unsigned unknown)
{
    size_t most = 0;
    for (unsigned i = 0; i < views->members; i++) {
        size_t here = alike_in(views->of[i], holder);
        unsigned count = unknown;
        for (unsigned j = 0; j < views->members; j++)
            count += views->of[j] && alike_in(views->of[j], holder) >= here;
        if (views->of[i] && here > most && count >= majority(views))
            most = here;
    }
    return most;
}

bool member_views_suffice(const struct member_views *views)
{
    unsigned unknown = silent(views);
    if (unknown == 0)
        return true;
    if (unknown >= majority(views) || !is_clear(views, mine_at(views)))
        return false;
    for (unsigned i = 0; i < views->members; i++)
        for (size_t j = 0; views->of[i] && j < views->of[i]->holder_count; j++) {
            const struct holder *holder = &views->of[i]->holders[j];
            if (alike(views, holder, unknown) != alike(views, holder, 0))
                return false;
        }
    return true;
}

/* Whether most members that know the hold report that it was released. */
static bool is_released(const struct member_views *views, const struct holder *holder)
{
    unsigned released = 0;
    for (unsigned i = 0; i < views->members; i++) {
        const struct holder *one = views_find(views->of[i], holder);
        released += one && one->released;
    }
    return 2 * released > known_to(views, holder);
}

/* The hold as the majority guarantees it: with the longest TTL that a majority still gives it. */
static struct holder views_together(const struct member_views *views, const struct holder *holder)
{
    struct holder merged = *holder;
    merged.released = is_released(views, holder);
    if (known_to(views, holder) + silent(views) >= majority(views))
        merged.ttl_ms = 0;
    for (unsigned i = 0; i < views->members; i++) {
        const struct holder *one = views_find(views->of[i], holder);
        unsigned count = silent(views);
        for (unsigned j = 0; one && j < views->members; j++) {
            const struct holder *other = views_find(views->of[j], holder);
            count += other && other->ttl_ms >= one->ttl_ms;
        }
        if (one && count >= majority(views) && one->ttl_ms > merged.ttl_ms)
            merged.ttl_ms = one->ttl_ms;
        if (one && one->held_ms > merged.held_ms) {
            merged.held_ms = one->held_ms;
            merged.since_us = one->since_us;
        }
    }
    return merged;
}

static void views_put(struct lock_view *ret, struct holder holder)
{
    size_t at = ret->holder_count;
    while (at > 0 && ret->holders[at - 1].ttl_ms > holder.ttl_ms) {
        ret->holders[at] = ret->holders[at - 1];
        at--;
    }
    ret->holders[at] = holder;
    ret->holder_count++;
}

/* How many holds a majority knows, including those that a view does not show. */
static int64_t holds_in_all(const struct member_views *views)
{
    int64_t best = 0;
    for (unsigned i = 0; i < views->members; i++) {
        unsigned count = silent(views);
        for (unsigned j = 0; views->of[i] && j < views->members; j++)
            count += views->of[j] && views->of[j]->hold_count >= views->of[i]->hold_count;
        if (views->of[i] && count >= majority(views) && views->of[i]->hold_count > best)
            best = views->of[i]->hold_count;
    }
    return best;
}

/* Whether the view can show this hold, too. An exclusive hold and a hold of another owner never
 * both have a majority. But if members are silent, a grant that is being taken back may look so. */
static bool views_fits(const struct lock_view *view, const struct holder *holder)
{
    for (size_t i = 0; i < view->holder_count; i++) {
        const struct holder *shown = &view->holders[i];
        bool is_exclusive = shown->mode == LOCK_EXCLUSIVE || holder->mode == LOCK_EXCLUSIVE;
        if (is_exclusive && !slice_same(shown->owner, holder->owner))
            return false;
    }
    return true;
}

/* Of the holds that exactly `count` members know by the same fence, the oldest to be added to
 * `view`; NULL: none. */
static const struct holder *views_next(const struct member_views *views, unsigned count,
                                       const struct lock_view *view)
{
    const struct holder *next = NULL;
    for (unsigned i = 0; i < views->members; i++) {
        const struct lock_view *of = views->of[i];
        for (size_t j = 0; of && j < of->holder_count; j++) {
            const struct holder *holder = &of->holders[j];
            if ((!next || holder->fence < next->fence) && known_to(views, holder) == count &&
                !views_find(view, holder) && views_fits(view, holder) &&
                alike_in(view, holder) < alike(views, holder, silent(views)))
                next = holder;
        }
    }
    return next;
}

void member_views_merge(const struct member_views *views, struct lock_view *ret)
{
    *ret = (struct lock_view){0};
    for (unsigned i = 0; i < views->members; i++) {
        const struct lock_view *view = views->of[i];
        if (!view)
            continue;
        if (view->version > ret->version)
            ret->version = view->version;
        if (view->last_release.fence > ret->last_release.fence)
            ret->last_release = view->last_release;
    }
    for (unsigned count = views->members; count > 0; count--) {
        const struct holder *holder;
        while (ret->holder_count < LOCK_HOLDERS_SHOWN &&
               (holder = views_next(views, count, ret)) != NULL)
            views_put(ret, views_together(views, holder));
    }
    int64_t all = holds_in_all(views);
    ret->hold_count = all > LOCK_HOLDERS_SHOWN ? all : (int64_t)ret->holder_count;
    ret->mine = mine_at(views) + silent(views) >= majority(views) && mine_at(views) > 0;
}
