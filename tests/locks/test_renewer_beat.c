/* Holds of clients whose connection must not be silent, however long the TTL is. */
#include "locks/calls/engine.h"
#include "locks/calls/state.h"
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"
#include "tests/support/fixtures/locks_fixture.h"

static const char TOKEN[] = "0123456789012345678901";

enum { TTL_MS = 3600000, SILENCE_MS = 300 };

struct kept {
    struct renewer *renewer;
    int renewed;
    int lost;
    int silent;
    int64_t left_ms; /* as it was told last */
    int64_t ends_ms; /* by that; on the loop's clock */
    const uv_loop_t *loop;
};

static void kept_on_renewed(void *context, const struct hold *hold)
{
    struct kept *kept = context;
    assert_int_equal(hold->ttl_ms, TTL_MS);
    kept->renewed++;
}

static void kept_on_lost(void *context, const char *why, const struct hold_end *end)
{
    struct kept *kept = context;
    (void)why, (void)end;
    kept->lost++;
    kept->renewer = NULL;
}

static void kept_on_silent(void *context, int64_t left_ms)
{
    struct kept *kept = context;
    assert_true(left_ms > 0);
    assert_true(left_ms < (kept->silent ? kept->left_ms : TTL_MS));
    kept->left_ms = left_ms;
    kept->ends_ms = (int64_t)uv_now(kept->loop) + left_ms;
    kept->silent++;
}

static void keep(struct kept *kept, struct locks_fixture *fixture)
{
    const struct renewer_events events = {kept, kept_on_renewed, kept_on_lost};
    fixture_lock(&fixture->here, "n", TOKEN, TTL_MS);
    kept->loop = &fixture->loop;
    kept->renewer =
        renewer_start(fixture->here.locks, slice_of("n"), slice_of(TOKEN), TTL_MS, 0, &events);
    renewer_beat(kept->renewer, SILENCE_MS, kept_on_silent);
}

/* By its TTL alone the first renewal would come after twenty minutes. */
TEST_IN_FIXTURE(hold_with_long_ttl_is_renewed_before_silence)
{
    struct kept kept = {0};
    int64_t begun = clock_ms();
    keep(&kept, fixture);
    fixture_await(fixture, &kept.renewed, 4);
    assert_true(clock_ms() - begun >= 4 * SILENCE_MS * 2 / 3 - 20); /* and not more often */
    renewer_stop(kept.renewer);
}

TEST_IN_FIXTURE(broken_hold_with_long_ttl_is_lost_soon)
{
    struct kept kept = {0};
    keep(&kept, fixture);
    fixture_await(fixture, &kept.renewed, 1);
    fixture_break(&fixture->there, "n");
    fixture_await(fixture, &kept.lost, 1);
}

TEST_IN_FIXTURE(silence_is_reported_while_redis_does_not_answer)
{
    struct kept kept = {0};
    keep(&kept, fixture);
    fixture_await(fixture, &kept.renewed, 1);
    redis_process_freeze(&fixture->redis);
    fixture_await(fixture, &kept.silent, 3);
    redis_process_thaw(&fixture->redis);
    fixture_await(fixture, &kept.renewed, 2);
    assert_int_equal(kept.lost, 0);
    renewer_stop(kept.renewer);
}

/* Renewals that are answered when the test says so. */
static struct {
    int sent;
    int64_t sent_ms; /* the last one; on the loop's clock */
    locks_done *done;
    void *context;
} late;

static void late_renew(struct locks *locks, const struct renewal *renewal, locks_done *done,
                       void *context)
{
    (void)renewal;
    late.sent++;
    late.sent_ms = (int64_t)uv_now(locks->loop);
    late.done = done;
    late.context = context;
}

static void late_answer(void)
{
    late.done(late.context, &(struct locks_reply){.hold = {.ttl_ms = TTL_MS}});
}

/* Redis may have renewed it right after it was asked. */
TEST_IN_FIXTURE(renewed_hold_ends_its_ttl_after_the_renewal_was_sent)
{
    struct locks *locks = fixture->here.locks;
    struct kept kept = {0};
    const struct engine *engine = locks->engine;
    struct engine slow = *engine;
    slow.renew = late_renew;
    locks->engine = &slow;
    keep(&kept, fixture);
    fixture_await(fixture, &late.sent, 1);
    int64_t sent_ms = late.sent_ms;
    fixture_idle(fixture, 50);
    late_answer();
    kept.silent = 0;
    fixture_await(fixture, &kept.silent, 1); /* the next renewal has no answer */
    assert_int_equal(kept.ends_ms, sent_ms + TTL_MS);

    renewer_stop(kept.renewer);
    late_answer();
    locks->engine = engine;
}
