/* Several names at once: all or none, in order, without a trace of what was not granted. */
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"
#include "tests/support/fixtures/locks_fixture.h"

#include <stdio.h>

static const char TOKEN[] = "0123456789012345678901";
static const char OTHER[] = "abcdefghijklmnopqrstuv";
static const char THIRD[] = "ABCDEFGHIJKLMNOPQRSTUV";

#define NAMES(...)                                                                                 \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

/* A hold is for its whole TTL: in the course of it each but the last has the claim window alone. */
enum { WHOLE_LEAST_MS = FIXTURE_CLAIM_MS + 1 };

/* What a request for several names came to. */
struct outcome {
    int count;
    bool gone; /* the client */
    struct several *several;
    int64_t at_ms;
    struct several_reply reply;
    char name[LOCKS_SEVERAL_MOST][16];
    char owner[LOCKS_SEVERAL_MOST][32];
};

static void on_done(void *context, const struct several_reply *reply)
{
    struct outcome *outcome = context;
    outcome->count++;
    outcome->at_ms = clock_ms();
    outcome->reply = *reply;
    outcome->several = NULL;
    for (size_t i = 0; i < reply->count; i++) {
        const struct slice name = reply->each[i].name, owner = reply->each[i].hold.owner;
        snprintf(outcome->name[i], sizeof outcome->name[i], "%.*s", (int)name.length, name.bytes);
        if (owner.length > 0)
            snprintf(outcome->owner[i], sizeof outcome->owner[i], "%.*s", (int)owner.length,
                     owner.bytes);
    }
}

static bool is_connected(void *context)
{
    const struct outcome *outcome = context;
    return !outcome->gone;
}

static size_t slices(const char *const *names, struct slice ret[LOCKS_SEVERAL_MOST])
{
    size_t count = 0;
    for (; names[count]; count++)
        ret[count] = slice_of(names[count]);
    return count;
}

static void begin_as(struct outcome *outcome, struct site *site, const char *const *names,
                     const char *token, struct acquire acquire)
{
    struct slice list[LOCKS_SEVERAL_MOST];
    size_t count = slices(names, list);
    acquire.token = acquire.owner = slice_of(token);
    acquire.ttl_ms = acquire.ttl_ms ? acquire.ttl_ms : FIXTURE_TTL_MS;
    *outcome = (struct outcome){0};
    const struct acquirer acquirer = {outcome, is_connected, .queued = NULL};
    outcome->several =
        locks_acquire_several(site->locks, list, count, &acquire, &acquirer, on_done);
    assert_int_equal(outcome->count, 0);
}

static void begin(struct outcome *outcome, struct site *site, const char *const *names,
                  const char *token, int64_t wait_ms)
{
    begin_as(outcome, site, names, token, (struct acquire){.wait_ms = wait_ms});
}

static void acquire(struct outcome *outcome, struct site *site, const char *const *names,
                    const char *token)
{
    begin(outcome, site, names, token, 0);
    fixture_await(site->fixture, &outcome->count, 1);
}

static void release(struct outcome *outcome, struct site *site, const char *const *names,
                    const char *token)
{
    struct slice list[LOCKS_SEVERAL_MOST];
    size_t count = slices(names, list);
    *outcome = (struct outcome){0};
    locks_release_several(site->locks, list, count, slice_of(token), on_done, outcome);
    fixture_await(site->fixture, &outcome->count, 1);
}

TEST_IN_FIXTURE(all_are_held_in_order_for_their_ttl)
{
    struct outcome outcome;
    acquire(&outcome, &fixture->here, NAMES("b", "a/", "a", "\xc3\xa9", "B"), TOKEN);
    assert_int_equal(outcome.reply.result, LOCKS_DONE);
    assert_int_equal(outcome.reply.count, 5);
    static const char *const SORTED[] = {"B", "a", "a/", "b", "\xc3\xa9"};
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(outcome.name[i], SORTED[i]);
        assert_string_equal(outcome.owner[i], TOKEN);
        assert_int_equal(outcome.reply.each[i].result, LOCKS_DONE);
        assert_in_range(outcome.reply.each[i].hold.ttl_ms, WHOLE_LEAST_MS, FIXTURE_TTL_MS);
        assert_in_range(fixture_remaining(&fixture->there, SORTED[i]), WHOLE_LEAST_MS,
                        FIXTURE_TTL_MS);
        if (i > 0)
            assert_true(outcome.reply.each[i].hold.fence > outcome.reply.each[i - 1].hold.fence);
    }
}

TEST_IN_FIXTURE(a_refusal_leaves_nothing_behind)
{
    struct outcome outcome;
    fixture_lock(&fixture->there, "c", OTHER, FIXTURE_TTL_MS);
    acquire(&outcome, &fixture->here, NAMES("d", "c", "b", "a"), TOKEN);
    assert_int_equal(outcome.reply.result, LOCKS_LOCKED);
    assert_int_equal(outcome.reply.refused, 2);
    assert_string_equal(outcome.name[outcome.reply.refused], "c");
    assert_int_equal(outcome.reply.view.hold_count, 1);
    assert_int_equal(fixture_remaining(&fixture->here, "a"), 0);
    assert_int_equal(fixture_remaining(&fixture->here, "b"), 0);
    assert_int_equal(fixture_remaining(&fixture->here, "d"), 0);

    fixture_release(&fixture->there, "c", OTHER);
    acquire(&outcome, &fixture->here, NAMES("a", "b", "c", "d"), TOKEN); /* the token is as new */
    assert_int_equal(outcome.reply.result, LOCKS_DONE);
}

TEST_IN_FIXTURE(a_repeat_reports_what_is_held)
{
    struct outcome first, again;
    acquire(&first, &fixture->here, NAMES("a", "b"), TOKEN);
    acquire(&again, &fixture->there, NAMES("b", "a"), TOKEN);
    assert_int_equal(again.reply.result, LOCKS_REPEATED);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(again.reply.each[i].result, LOCKS_REPEATED);
        assert_int_equal(again.reply.each[i].hold.fence, first.reply.each[i].hold.fence);
        assert_string_equal(again.owner[i], TOKEN);
    }
}

/* A request that died with its server may have left some for the claim window, and a client may
 * have set another TTL since. */
TEST_IN_FIXTURE(a_repeat_lengthens_but_never_shortens)
{
    struct outcome outcome;
    acquire(&outcome, &fixture->here, NAMES("a", "b", "c"), TOKEN);
    fixture_renew(&fixture->here, "a", TOKEN, 2 * FIXTURE_TTL_MS);
    fixture_renew(&fixture->here, "b", TOKEN, FIXTURE_CLAIM_MS / 2);
    fixture_break(&fixture->here, "c");
    acquire(&outcome, &fixture->there, NAMES("a", "b", "c"), TOKEN);
    assert_int_equal(outcome.reply.result, LOCKS_DONE);
    assert_int_equal(outcome.reply.each[0].result, LOCKS_REPEATED);
    assert_int_equal(outcome.reply.each[2].result, LOCKS_DONE);
    assert_true(fixture_remaining(&fixture->here, "a") > FIXTURE_TTL_MS);
    assert_in_range(fixture_remaining(&fixture->here, "b"), WHOLE_LEAST_MS, FIXTURE_TTL_MS);
    assert_true(outcome.reply.each[0].hold.ttl_ms > FIXTURE_TTL_MS);
    assert_in_range(outcome.reply.each[1].hold.ttl_ms, WHOLE_LEAST_MS, FIXTURE_TTL_MS);
}

TEST_IN_FIXTURE(a_refusal_keeps_what_was_held_before)
{
    struct outcome outcome;
    acquire(&outcome, &fixture->here, NAMES("a", "b", "c"), TOKEN);
    fixture_break(&fixture->here, "b");
    fixture_break(&fixture->here, "c");
    fixture_lock(&fixture->here, "c", OTHER, FIXTURE_TTL_MS);
    acquire(&outcome, &fixture->here, NAMES("a", "b", "c"), TOKEN);
    assert_int_equal(outcome.reply.result, LOCKS_LOCKED);
    assert_true(fixture_remaining(&fixture->here, "a") >= WHOLE_LEAST_MS);
    assert_int_equal(fixture_remaining(&fixture->here, "b"), 0);
}

/* The set of names belongs to the token, too, in any order. */
TEST_IN_FIXTURE(token_of_another_set_of_names_is_in_use)
{
    struct outcome outcome;
    acquire(&outcome, &fixture->here, NAMES("a", "b"), TOKEN);
    acquire(&outcome, &fixture->there, NAMES("c", "a"), TOKEN);
    assert_int_equal(outcome.reply.result, LOCKS_TOKEN_IN_USE);
    assert_string_equal(outcome.name[outcome.reply.refused], "a");
    assert_true(outcome.reply.view.is_other_set);
    acquire(&outcome, &fixture->there, NAMES("a"), TOKEN);
    assert_int_equal(outcome.reply.result, LOCKS_TOKEN_IN_USE);
    acquire(&outcome, &fixture->there, NAMES("b", "a"), TOKEN);
    assert_int_equal(outcome.reply.result, LOCKS_REPEATED);
    acquire(&outcome, &fixture->here, NAMES("d"), OTHER);
    acquire(&outcome, &fixture->there, NAMES("d", "e"), OTHER);
    assert_int_equal(outcome.reply.result, LOCKS_TOKEN_IN_USE);
    acquire(&outcome, &fixture->there, NAMES("d"), OTHER);
    assert_int_equal(outcome.reply.result, LOCKS_REPEATED);
}

/* Where one cannot be read, that is what is said of all. */
TEST_IN_FIXTURE(damage_counts_more_than_not_held)
{
    struct outcome outcome;
    redis_process_integer(&fixture->redis, "RPUSH baton:{a} not-ours");
    release(&outcome, &fixture->here, NAMES("a", "b"), TOKEN);
    assert_int_equal(outcome.reply.result, LOCKS_DAMAGED);
    assert_non_null(outcome.reply.error);
    assert_int_equal(outcome.reply.each[0].result, LOCKS_DAMAGED);
    assert_int_equal(outcome.reply.each[1].result, LOCKS_NOT_HELD);
}

/* Three names: three are asked for, then two renewed. The client goes at every point of that. */
TEST_IN_FIXTURE(a_client_that_goes_leaves_nothing_behind)
{
    for (uint64_t phase = 0; phase < 5; phase++) {
        struct outcome outcome;
        uint64_t calls = store_figures(fixture->here.store).calls;
        begin(&outcome, &fixture->here, NAMES("a", "b", "c"), TOKEN, 0);
        fixture_await_calls(&fixture->here, calls + phase);
        several_abandon(outcome.several);
        fixture_settle(&fixture->here);
        assert_int_equal(outcome.count, 0);
        fixture_await_free(&fixture->there, "a");
        fixture_await_free(&fixture->there, "b");
        fixture_await_free(&fixture->there, "c");
    }
}

/* Whatever is granted when the reply cannot be sent any more can be taken back. */
TEST_IN_FIXTURE(grants_of_several_can_be_taken_back)
{
    struct outcome outcome;
    acquire(&outcome, &fixture->here, NAMES("a", "b", "c"), TOKEN);
    for (size_t i = 0; i < 3; i++)
        locks_take_back(fixture->here.locks, slice_of(outcome.name[i]), slice_of(TOKEN),
                        &outcome.reply.each[i].attempt, 0);
    assert_int_equal(fixture_remaining(&fixture->here, "a"), 0);
    assert_int_equal(fixture_remaining(&fixture->here, "b"), 0);
    assert_int_equal(fixture_remaining(&fixture->here, "c"), 0);
}

/* The connection to Redis is lost with a grant under way: nothing outlives the claim window. */
TEST_IN_FIXTURE(a_lost_connection_leaves_nothing_behind)
{
    fixture_reopen(fixture, 500, FIXTURE_LEASE_MS);
    for (uint64_t phase = 1; phase < 5; phase++) {
        struct outcome outcome;
        uint64_t calls = store_figures(fixture->here.store).calls;
        begin(&outcome, &fixture->here, NAMES("a", "b", "c"), TOKEN, 0);
        fixture_await_calls(&fixture->here, calls + phase);
        int here = fixture->here.ups, there = fixture->there.ups;
        redis_process_integer(&fixture->redis, "CLIENT KILL TYPE normal");
        fixture_await(fixture, &outcome.count, 1);
        fixture_await(fixture, &fixture->here.ups, here + 1);
        fixture_await(fixture, &fixture->there.ups, there + 1);
        if (outcome.reply.result == LOCKS_UNAVAILABLE)
            assert_non_null(outcome.reply.error);
        else
            release(&outcome, &fixture->here, NAMES("a", "b", "c"), TOKEN);
        fixture_await_free(&fixture->there, "a");
        fixture_await_free(&fixture->there, "b");
        fixture_await_free(&fixture->there, "c");
    }
}

/* Waiting. */

static void await_waiting(struct locks_fixture *fixture, const char *name)
{
    fixture_await_queue(&fixture->there, name, 1);
}

/* Nobody waits for the name, and "a" is held no more, though its claim window is long. */
static void assert_nothing_left(struct locks_fixture *fixture, const char *name)
{
    fixture_await_queue(&fixture->there, name, 0);
    fixture_await_free(&fixture->there, "a");
}

/* The claim window is the subject, and yet long enough for a machine that is late. */
TEST_IN_FIXTURE(a_wait_gets_all_and_keeps_what_it_has)
{
    enum { CLAIM_MS = 5000 };
    struct outcome outcome;
    fixture_reopen(fixture, CLAIM_MS, FIXTURE_LEASE_MS);
    fixture_lock(&fixture->there, "b", OTHER, FIXTURE_TTL_MS);
    begin(&outcome, &fixture->here, NAMES("c", "b", "a"), TOKEN, FIXTURE_TTL_MS);
    await_waiting(fixture, "b");
    int64_t before, after = CLAIM_MS;
    do {
        before = after;
        fixture_idle(fixture, 10);
        after = fixture_remaining(&fixture->there, "a");
        assert_in_range(after, 1, CLAIM_MS);
    } while (after <= before); /* until it is renewed */
    assert_int_equal(outcome.count, 0);
    assert_int_equal(fixture_remaining(&fixture->there, "c"), 0);
    fixture_release(&fixture->there, "b", OTHER);
    fixture_await(fixture, &outcome.count, 1);
    assert_int_equal(outcome.reply.result, LOCKS_DONE);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(outcome.reply.each[i].result, LOCKS_DONE);
        assert_in_range(outcome.reply.each[i].hold.ttl_ms, WHOLE_LEAST_MS, FIXTURE_TTL_MS);
        assert_in_range(fixture_remaining(&fixture->there, outcome.name[i]), WHOLE_LEAST_MS,
                        FIXTURE_TTL_MS);
    }
}

/* A server that dies on the way leaves what it has for the claim window alone, and a wait may be
 * longer than max_held. */
TEST_IN_FIXTURE(terms_of_all_begin_when_the_last_is_held)
{
    struct outcome outcome;
    struct answer early;
    fixture_lock(&fixture->there, "b", OTHER, FIXTURE_TTL_MS);
    begin_as(&outcome, &fixture->here, NAMES("a", "b"), TOKEN,
             (struct acquire){.wait_ms = FIXTURE_TTL_MS,
                              .at_least_ms = FIXTURE_TTL_MS,
                              .max_held_ms = 2 * FIXTURE_TTL_MS});
    await_waiting(fixture, "b");
    early = fixture_inspect(&fixture->there, "a");
    assert_in_range(early.reply.view.holders[0].ttl_ms, 1, FIXTURE_CLAIM_MS);
    assert_int_equal(early.reply.view.holders[0].at_least_ms, 0);
    assert_in_range(early.reply.view.holders[0].max_held_ms, 2 * FIXTURE_TTL_MS,
                    3 * FIXTURE_TTL_MS + FIXTURE_CLAIM_MS); /* though its client renews it */
    fixture_release(&fixture->there, "b", OTHER);
    fixture_await(fixture, &outcome.count, 1);
    assert_int_equal(outcome.reply.result, LOCKS_DONE);
    for (size_t i = 0; i < 2; i++) {
        const struct hold *hold = &outcome.reply.each[i].hold;
        assert_in_range(hold->at_least_ms, WHOLE_LEAST_MS, FIXTURE_TTL_MS);
        assert_in_range(hold->max_held_ms, WHOLE_LEAST_MS + FIXTURE_TTL_MS, 2 * FIXTURE_TTL_MS);
    }
    release(&outcome, &fixture->here, NAMES("a", "b"), TOKEN);
    assert_in_range(outcome.reply.each[0].release.free_in_ms, WHOLE_LEAST_MS, FIXTURE_TTL_MS);
}

/* What the first request has got has more time left than the TTL that is asked for. */
TEST_IN_FIXTURE(repeat_begins_the_terms_that_have_not_begun)
{
    struct outcome first, second;
    const struct acquire asked = {
        .ttl_ms = 1, .wait_ms = FIXTURE_TTL_MS, .at_least_ms = FIXTURE_TTL_MS};
    fixture_lock(&fixture->there, "b", OTHER, FIXTURE_TTL_MS);
    begin_as(&first, &fixture->here, NAMES("a", "b"), TOKEN, asked);
    await_waiting(fixture, "b");
    begin_as(&second, &fixture->there, NAMES("a", "b"), TOKEN, asked);
    fixture_await(fixture, &first.count, 1);
    assert_int_equal(first.reply.result, LOCKS_SUPERSEDED);
    fixture_release(&fixture->there, "b", OTHER);
    fixture_await(fixture, &second.count, 1);
    assert_int_equal(second.reply.each[0].result, LOCKS_REPEATED);
    for (size_t i = 0; i < 2; i++)
        assert_in_range(second.reply.each[i].hold.at_least_ms, WHOLE_LEAST_MS, FIXTURE_TTL_MS);
}

TEST_IN_FIXTURE(the_wait_is_one_for_all)
{
    struct outcome outcome;
    fixture_lock(&fixture->there, "a", OTHER, 200);
    int64_t begun = clock_ms(); /* before the loop looks at its clock, from when the wait counts */
    fixture_lock(&fixture->there, "b", THIRD, FIXTURE_TTL_MS);
    begin(&outcome, &fixture->here, NAMES("a", "b"), TOKEN, 3000);
    fixture_await(fixture, &outcome.count, 1);
    assert_true(outcome.at_ms - begun >= 2995);
    assert_int_equal(outcome.reply.result, LOCKS_TIMEOUT);
    assert_int_equal(outcome.reply.refused, 1);
    assert_int_equal(outcome.reply.view.hold_count, 1);
    assert_nothing_left(fixture, "b");
}

TEST_IN_FIXTURE(a_wait_that_ends_between_two_names_is_a_timeout)
{
    struct outcome outcome;
    fixture_lock(&fixture->there, "b", OTHER, FIXTURE_TTL_MS);
    begin(&outcome, &fixture->here, NAMES("a", "b"), TOKEN, 1);
    clock_sleep_ms(20); /* so that it is over when the answer for the first is read */
    fixture_await(fixture, &outcome.count, 1);
    assert_int_equal(outcome.reply.result, LOCKS_TIMEOUT);
    assert_int_equal(outcome.reply.refused, 1);
    assert_int_equal(outcome.reply.view.hold_count, 1);
}

TEST_IN_FIXTURE(a_waiting_client_that_goes_leaves_nothing_behind)
{
    struct outcome outcome;
    fixture_lock(&fixture->there, "b", OTHER, FIXTURE_TTL_MS);
    begin(&outcome, &fixture->here, NAMES("a", "b"), TOKEN, FIXTURE_TTL_MS);
    await_waiting(fixture, "b");
    outcome.gone = true;
    several_abandon(outcome.several);
    assert_nothing_left(fixture, "b");
    assert_int_equal(outcome.count, 0);
}

/* The client has given up on a reply and asks another server; the first request is still parked. */
TEST_IN_FIXTURE(name_is_held_early_no_longer_than_asked)
{
    enum { ASKED_MS = FIXTURE_CLAIM_MS / 2 };
    struct outcome first, again;
    fixture_lock(&fixture->there, "b", OTHER, FIXTURE_TTL_MS);
    begin_as(&first, &fixture->here, NAMES("a", "b"), TOKEN,
             (struct acquire){.ttl_ms = ASKED_MS, .wait_ms = FIXTURE_TTL_MS});
    await_waiting(fixture, "b");
    assert_in_range(fixture_remaining(&fixture->there, "a"), 1, ASKED_MS);
    begin_as(&again, &fixture->there, NAMES("a", "b"), TOKEN,
             (struct acquire){.ttl_ms = ASKED_MS, .wait_ms = FIXTURE_TTL_MS});
    fixture_await(fixture, &first.count, 1); /* as if its server had died */
    fixture_release(&fixture->there, "b", OTHER);
    fixture_await(fixture, &again.count, 1);
    assert_int_equal(again.reply.result, LOCKS_DONE);
    for (size_t i = 0; i < 2; i++)
        assert_in_range(again.reply.each[i].hold.ttl_ms, 1, ASKED_MS);
}

TEST_IN_FIXTURE(a_repeat_takes_over_from_the_first_request)
{
    struct outcome first, again;
    fixture_lock(&fixture->there, "b", OTHER, FIXTURE_TTL_MS);
    begin(&first, &fixture->here, NAMES("a", "b"), TOKEN, FIXTURE_TTL_MS);
    await_waiting(fixture, "b");
    begin(&again, &fixture->there, NAMES("a", "b"), TOKEN, FIXTURE_TTL_MS);
    fixture_await(fixture, &first.count, 1);
    assert_int_not_equal(first.reply.result, LOCKS_DONE);
    fixture_settle(&fixture->here);
    fixture_settle(&fixture->there);
    await_waiting(fixture, "b");
    assert_int_equal(again.count, 0);
    assert_in_range(fixture_remaining(&fixture->here, "a"), 1, FIXTURE_CLAIM_MS);

    fixture_release(&fixture->there, "b", OTHER);
    fixture_await(fixture, &again.count, 1);
    assert_int_equal(again.reply.result, LOCKS_DONE);
    for (size_t i = 0; i < 2; i++)
        assert_in_range(fixture_remaining(&fixture->here, again.name[i]), WHOLE_LEAST_MS,
                        FIXTURE_TTL_MS);
}

TEST_IN_FIXTURE(a_server_that_drains_gives_back_what_it_has)
{
    struct outcome outcome;
    fixture_lock(&fixture->there, "b", OTHER, FIXTURE_TTL_MS);
    begin(&outcome, &fixture->here, NAMES("a", "b"), TOKEN, FIXTURE_TTL_MS);
    await_waiting(fixture, "b");
    locks_drain(fixture->here.locks);
    fixture_await(fixture, &outcome.count, 1);
    assert_int_equal(outcome.reply.result, LOCKS_DRAINING);
    fixture_await_free(&fixture->there, "a");
}

/* Many callers, each with names in an order of its own, on two servers: all get them in turn. */
TEST_IN_FIXTURE(callers_never_wait_for_each_other)
{
    enum { CALLERS = 6 };
    static const char *const ORDERS[CALLERS][4] = {
        {"a", "b", "c"}, {"c", "b", "a"}, {"b", "a"}, {"c", "a"}, {"b", "c"}, {"a", "c", "b"}};
    struct outcome outcomes[CALLERS];
    char tokens[CALLERS][32];
    for (int i = 0; i < CALLERS; i++) {
        snprintf(tokens[i], sizeof tokens[i], "token-number-%09d", i);
        begin(&outcomes[i], i % 2 ? &fixture->there : &fixture->here, ORDERS[i], tokens[i],
              FIXTURE_TTL_MS);
    }
    for (int served = 0; served < CALLERS; served++) {
        int64_t deadline = clock_ms() + CLOCK_HANG_MS;
        struct outcome *answered = NULL;
        while (!answered && clock_ms() < deadline) {
            fixture_idle(fixture, 5);
            for (int i = 0; i < CALLERS; i++)
                if (outcomes[i].count == 1)
                    answered = &outcomes[i];
        }
        assert_non_null(answered);
        assert_int_equal(answered->reply.result, LOCKS_DONE);
        answered->count = 2;
        long who = answered - outcomes;
        struct outcome released;
        release(&released, &fixture->here, ORDERS[who], tokens[who]);
        assert_int_equal(released.reply.result, LOCKS_DONE);
    }
}
