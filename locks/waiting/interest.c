#include "locks/waiting/interest.h"

#include "locks/calls/operation.h"
#include "locks/scripts/scripts.h"
#include "locks/waiting/waiting.h"
#include "locks/watching/watch.h"

#include <search.h>
#include <stdlib.h>

enum {
    VOUCHES_IN_LEASE = 2,  /* each writes to Redis; after a loss all is checked anyway */
    VOUCHED_AT_ONCE = 200, /* names, or waiters to be checked; some milliseconds of Redis' time */
    VOUCH_PAUSE_MS = 10,   /* between two batches, at least */
    TICK_AGAIN_MS = 1000,  /* after one that failed */
};

static int compare(const void *left, const void *right)
{
    const struct slice *one = left, *other = right;
    if (one->length != other->length)
        return one->length < other->length ? -1 : 1;
    return memcmp(one->bytes, other->bytes, one->length);
}

struct interest *interest_find(const struct locks *locks, struct slice key)
{
    void *const *found = tfind(&key, &locks->interests.by_key, compare);
    return found ? *found : NULL;
}

/* In the order of vouching. */

static void append(struct interests *interests, struct interest *interest)
{
    interest->next = NULL;
    interest->previous = interests->last;
    if (interests->last)
        interests->last->next = interest;
    else
        interests->first = interest;
    interests->last = interest;
}

static void prepend(struct interests *interests, struct interest *interest)
{
    interest->previous = NULL;
    interest->next = interests->first;
    if (interest->next)
        interest->next->previous = interest;
    else
        interests->last = interest;
    interests->first = interest;
}

static void detach(struct interests *interests, struct interest *interest)
{
    if (interest->previous)
        interest->previous->next = interest->next;
    else
        interests->first = interest->next;
    if (interest->next)
        interest->next->previous = interest->previous;
    else
        interests->last = interest->previous;
}

/* Vouching. */

static uint64_t vouching_period(const struct locks *locks)
{
    return (uint64_t)locks->waiter_lease_ms / VOUCHES_IN_LEASE;
}

static void on_vouch(uv_timer_t *timer);

static bool is_due(const struct interest *interest, uint64_t now)
{
    return interest->unsure || interest->vouched + vouching_period(interest->locks) <= now;
}

static void plan_vouching(struct locks *locks)
{
    struct interests *interests = &locks->interests;
    if (!interests->first) {
        uv_timer_stop(&interests->vouch);
        return;
    }
    uint64_t now = uv_now(locks->loop), due = interests->first->vouched + vouching_period(locks);
    bool soon = is_due(interests->first, now + VOUCH_PAUSE_MS);
    uv_timer_start(&interests->vouch, on_vouch, soon ? VOUCH_PAUSE_MS : due - now, 0);
}

/* Returns how much Redis was asked. */
static size_t check(struct interest *interest)
{
    interest->unsure = false;
    interest->registered = uv_now(interest->locks->loop);
    watch_check(interest);
    return 1 + waiting_check(interest);
}

void interest_check(struct interest *interest)
{
    check(interest);
}

static bool can_ask(const struct interest *interest)
{
    const struct store *store = interest->locks->store;
    return store_part_is_up(store, store_part(store, interest->key));
}

/* Those that cannot be asked about now will be when their part is up. */
void interests_check(struct locks *locks)
{
    bool any = false;
    for (struct interest *interest = locks->interests.first; interest; interest = interest->next) {
        interest->unsure |= can_ask(interest);
        any |= interest->unsure;
    }
    if (any)
        uv_timer_start(&locks->interests.vouch, on_vouch, 0, 0);
}

void interests_check_part(struct locks *locks, unsigned part)
{
    bool any = false;
    for (struct interest *interest = locks->interests.first; interest; interest = interest->next) {
        interest->unsure |= store_part(locks->store, interest->key) == part;
        any |= interest->unsure;
    }
    if (any)
        uv_timer_start(&locks->interests.vouch, on_vouch, 0, 0);
}

static bool is_waited_for(const struct interest *interest)
{
    return interest->first_waiter || interest->first_watch;
}

static void stop_minding(struct interest *interest)
{
    if (interest->minded == 0)
        return;
    interest->minded = 0;
    interest_leave(interest);
}

static void tick(struct interest *interest);

/* Until those who wait elsewhere have vouched, and have been told when a tick is due. */
static void go_on_minding(struct interest *interest, int64_t next_ms)
{
    if (next_ms == 0)
        tick(interest);
    else if (next_ms > 0 && uv_now(interest->locks->loop) + (uint64_t)next_ms <= interest->minded)
        interest_plan(interest, next_ms);
    else
        stop_minding(interest);
}

/* What Redis has of a name: three numbers, see vouch.lua. Whoever waits or watches here and should
 * have heard of something looks again. All that was asked before was answered before, and what is
 * asked now has not been, so that a request that waits here and not there has been lost sight of.
 */
static void compare_with(struct interest *interest, const struct value *numbers, size_t at)
{
    int64_t waits, version, next_ms;
    if (!value_integer(value_at(numbers, at), &waits) ||
        !value_integer(value_at(numbers, at + 1), &version) ||
        !value_integer(value_at(numbers, at + 2), &next_ms))
        return;
    if (!is_waited_for(interest)) {
        go_on_minding(interest, next_ms);
        return;
    }
    if (waits < 0 || (uint64_t)waits < waiting_count(interest))
        check(interest);
    else if (version > interest->version)
        watch_check(interest);
    interest_plan(interest, next_ms);
}

/* The names that Redis was told of: some may be gone by the time of its answer. */
struct vouching {
    struct locks *locks;
    size_t count;
    struct slice keys[VOUCHED_AT_ONCE];
    char bytes[];
};

/* Grants that were not claimed: each is the position of a name, an attempt and a token. */
static void hear_grants(struct vouching *vouching, const struct value *grants)
{
    for (size_t i = 0; i + 2 < value_count(grants); i += 3) {
        int64_t position;
        struct slice attempt, token;
        if (value_integer(value_at(grants, i), &position) && position >= 1 &&
            (size_t)position <= vouching->count && value_text(value_at(grants, i + 1), &attempt) &&
            value_text(value_at(grants, i + 2), &token))
            waiting_granted(vouching->locks, vouching->keys[position - 1], attempt, token);
    }
}

static void vouched(void *context, const struct store_result *result)
{
    struct vouching *vouching = context;
    bool replied = result->outcome == STORE_REPLIED;
    for (size_t i = 0; i < vouching->count; i++) {
        struct interest *interest = interest_find(vouching->locks, vouching->keys[i]);
        if (interest && replied)
            compare_with(interest, value_at(result->reply, 0), 3 * i);
        else if (interest && !is_waited_for(interest))
            interest_plan(interest, TICK_AGAIN_MS);
    }
    if (replied)
        hear_grants(vouching, value_at(result->reply, 1));
    free(vouching);
}

/* All at one part of the store. */
static void vouch(struct locks *locks, unsigned part, struct interest *const *interests,
                  size_t count)
{
    size_t length = 0;
    for (size_t i = 0; i < count; i++)
        length += interests[i]->key.length;
    struct vouching *vouching = malloc(sizeof *vouching + length);
    if (!vouching)
        abort();
    vouching->locks = locks;
    vouching->count = count;
    struct slice arguments[3 + VOUCHED_AT_ONCE] = {stamp_room(), slice_of(locks->server),
                                                   slice_of(locks->waiter_lease)};
    char *end = vouching->bytes;
    for (size_t i = 0; i < count; i++) {
        struct slice key = interests[i]->key;
        memcpy(end, key.bytes, key.length);
        vouching->keys[i] = arguments[3 + i] = (struct slice){end, key.length};
        end += key.length;
    }
    ask_redis_at(locks, part, &script_vouch, vouching->keys[0], arguments, 3 + count, vouched,
                 vouching);
}

/* Moves those of the first one's part to the front. Returns how many they are. */
static size_t gather(const struct locks *locks, struct interest **interests, size_t count)
{
    unsigned part = store_part(locks->store, interests[0]->key);
    size_t found = 1;
    for (size_t i = 1; i < count; i++) {
        struct interest *interest = interests[i];
        if (store_part(locks->store, interest->key) != part)
            continue;
        interests[i] = interests[found];
        interests[found++] = interest;
    }
    return found;
}

static void vouch_for_all(struct locks *locks, struct interest **interests, size_t count)
{
    while (count > 0) {
        size_t found = gather(locks, interests, count);
        vouch(locks, store_part(locks->store, interests[0]->key), interests, found);
        interests += found;
        count -= found;
    }
}

/* After a lease without a word of this server, held up or asleep, Redis may have dropped its
 * waiters, and not report it once one of them has asked again. */
static bool needs_check(const struct interest *interest, uint64_t now)
{
    const struct locks *locks = interest->locks;
    return interest->unsure || interest->vouched + (uint64_t)locks->waiter_lease_ms <= now ||
           interest->registered + (uint64_t)locks->retention_ms / 2 <= now;
}

/* Vouches for those that are due, or will be before long: what came at one time goes together. */
static void on_vouch(uv_timer_t *timer)
{
    struct locks *locks = timer->data;
    uint64_t now = uv_now(locks->loop), soon = now + vouching_period(locks) / 8;
    struct interest *batch[VOUCHED_AT_ONCE], *interest;
    size_t count = 0, checked = 0;
    if (store_is_closing(locks->store)) /* it takes no calls any more */
        return;
    while ((interest = locks->interests.first) && is_due(interest, soon) &&
           count + checked < VOUCHED_AT_ONCE) {
        bool checks = is_waited_for(interest) && needs_check(interest, now);
        detach(&locks->interests, interest);
        append(&locks->interests, interest);
        interest->vouched = now;
        interest->unsure = false;
        if (checks)
            checked += check(interest);
        else
            batch[count++] = interest;
    }
    vouch_for_all(locks, batch, count);
    plan_vouching(locks);
}

/* Ticks. */

static void on_tick(uv_timer_t *timer);

void interest_plan(struct interest *interest, int64_t next_ms)
{
    if (next_ms < 0)
        return;
    uint64_t in = (uint64_t)next_ms + 1; /* the loop's clock may be a millisecond behind */
    if (!uv_is_active((uv_handle_t *)&interest->tick) || in < uv_timer_get_due_in(&interest->tick))
        uv_timer_start(&interest->tick, on_tick, in, 0);
}

static void ticked(void *context, const struct store_result *result)
{
    struct interest *interest = context;
    int64_t next_ms = TICK_AGAIN_MS;
    if (result->outcome == STORE_REPLIED)
        value_integer(value_at(result->reply, 0), &next_ms);
    interest_plan(interest, next_ms);
    interest_leave(interest);
}

static void tick(struct interest *interest)
{
    struct locks *locks = interest->locks;
    const struct slice arguments[] = {stamp_room(), slice_of(locks->server)};
    interest->users += interest->minded == 0; /* else it takes that one over */
    interest->minded = 0;
    ask_redis(locks, &script_tick, interest->key, arguments, 2, ticked, interest);
}

/* Of names that nobody waits for here, many at once are looked at first: mostly all is well. */
static void on_tick(uv_timer_t *timer)
{
    struct interest *interest = timer->data;
    struct interests *interests = &interest->locks->interests;
    if (is_waited_for(interest) || !interest->minded) {
        tick(interest);
        return;
    }
    bool is_planned = is_due(interests->first, uv_now(timer->loop) + VOUCH_PAUSE_MS);
    interest->unsure = true;
    detach(interests, interest);
    prepend(interests, interest);
    if (!is_planned)
        plan_vouching(interest->locks);
}

void interest_mind(struct locks *locks, struct slice key, int64_t in_ms)
{
    struct interest *interest = interest_find(locks, key);
    bool minds = (uint64_t)in_ms <= vouching_period(locks) && !locks->draining;
    if (minds && !(interest && interest->minded))
        interest = interest_join(locks, key);
    if (minds)
        interest->minded = uv_now(locks->loop) + vouching_period(locks);
    if (interest)
        interest_plan(interest, in_ms);
}

void interests_drain(struct locks *locks)
{
    struct interest *next;
    for (struct interest *interest = locks->interests.first; interest; interest = next) {
        next = interest->next;
        stop_minding(interest);
    }
}

/* Coming and going. */

static struct interest *interest_new(struct locks *locks, struct slice key)
{
    struct interest *interest = calloc(1, sizeof *interest + key.length);
    if (!interest)
        abort();
    memcpy(interest->key_bytes, key.bytes, key.length);
    interest->key = (struct slice){interest->key_bytes, key.length};
    interest->locks = locks;
    interest->vouched = interest->registered = uv_now(locks->loop);
    uv_timer_init(locks->loop, &interest->tick);
    interest->tick.data = interest;
    return interest;
}

struct interest *interest_join(struct locks *locks, struct slice key)
{
    struct interest *interest = interest_find(locks, key);
    if (!interest) {
        interest = interest_new(locks, key);
        if (!tsearch(interest, &locks->interests.by_key, compare))
            abort();
        append(&locks->interests, interest);
        if (!interest->previous)
            plan_vouching(locks);
    }
    interest->users++;
    return interest;
}

static void on_closed(uv_handle_t *tick)
{
    free(tick->data);
}

void interest_leave(struct interest *interest)
{
    struct locks *locks = interest->locks;
    if (--interest->users > 0)
        return;
    tdelete(interest, &locks->interests.by_key, compare);
    detach(&locks->interests, interest);
    uv_close((uv_handle_t *)&interest->tick, on_closed);
    if (!locks->interests.first)
        plan_vouching(locks);
}

void interests_open(struct locks *locks)
{
    uv_timer_init(locks->loop, &locks->interests.vouch);
    locks->interests.vouch.data = locks;
}

void interests_close(struct locks *locks, uv_close_cb closed)
{
    uv_close((uv_handle_t *)&locks->interests.vouch, closed);
}
