/* Clients that hang up while they wait, when they have been granted the lock and it is not claimed,
 * and when it is claimed and not answered: whoever comes behind them is granted it within the claim
 * window, and no hold is left that nobody knows of. 10,000 in all, by three ways. */
#include "tests/chaos/crew.h"
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"

enum {
    NAMES = 50, /* at once, each with one that hangs up and a witness behind it */
    LINE_MS = 50,
    EARLY_MS = 10, /* before the release, it still waits */
    /* The release is one pass on the line to Redis at most; then the grant takes one pass to the
     * server, the claim one to Redis, and its reply one more. A proxy on a busy machine takes its
     * time to pass a hang-up on. */
    LATE_MS = 3 * LINE_MS - 30,
    LATE_WITHOUT_LINE_MS = 10,
    TTL_MS = 60000,
    TIMEOUT_MS = 10000,
};

struct round {
    struct member *holders[NAMES];
    struct member *leavers[NAMES];
    struct member *witnesses[NAMES];
};

static struct part part_of(int name, enum way way, int64_t hold_us)
{
    return (struct part){.name = name,
                         .way = way,
                         .ttl_ms = TTL_MS,
                         .wait_ms = 30000,
                         .hold_us = hold_us,
                         .patient = true, /* the machine may stand still */
                         .pause_us = 20000};
}

/* The holder and the witness come straight to the second replica. */
static void set_up(struct crew *crew, struct round *round, enum way way, size_t *granted)
{
    struct part holder = part_of(0, TO_SECOND, FOR_EVER_US);
    struct part leaver = part_of(0, way, 0);
    struct part witness = part_of(0, TO_SECOND, 0);
    for (int i = 0; i < NAMES; i++) {
        holder.name = i;
        round->holders[i] = crew_send(crew, &holder);
    }
    *granted += NAMES;
    assert_true(crew_await_grants(crew, *granted, TIMEOUT_MS));
    for (int i = 0; i < NAMES; i++) {
        leaver.name = i;
        round->leavers[i] = crew_send(crew, &leaver);
    }
    for (int i = 0; i < NAMES; i++)
        crew_await_queued(crew, i, 1);
    for (int i = 0; i < NAMES; i++) {
        witness.name = i;
        round->witnesses[i] = crew_send(crew, &witness);
    }
    for (int i = 0; i < NAMES; i++)
        crew_await_queued(crew, i, 2);
}

/* All releases at about the same time, and each hang-up at its own, from before it to just before
 * an answer can be on its way. */
static size_t hang_up(struct crew *crew, struct round *round, size_t *granted)
{
    size_t left = 0;
    int late_ms = crew->stage->line.wire.ms > 0 ? LATE_MS : LATE_WITHOUT_LINE_MS;
    unsigned span_us = (unsigned)(EARLY_MS + late_ms) * 1000;
    int64_t now = clock_us();
    for (int i = 0; i < NAMES; i++) {
        int64_t after = (int64_t)stage_draw(crew->stage, span_us) + 2000;
        round->leavers[i]->leave = now + after;
        round->holders[i]->part.hold_us = 0;
        round->holders[i]->due = now + EARLY_MS * 1000;
    }
    bool finished = crew_finish(crew, TIMEOUT_MS);
    for (int i = 0, shown = 0; i < NAMES && !finished; i++) {
        if (round->witnesses[i]->act == DONE_WELL || shown++ > 0)
            continue;
        crew_print(round->holders[i]);
        crew_print(round->leavers[i]);
        crew_print(round->witnesses[i]);
        stage_print(crew->stage, i);
    }
    for (int i = 0; i < NAMES; i++) {
        left += round->leavers[i]->act == LEFT;
        *granted += round->leavers[i]->act == DONE_WELL ? 2 : 1;
        assert_int_equal(round->witnesses[i]->act, DONE_WELL);
    }
    return left;
}

/* After a break, the queue has a client that has hung up until its server has told Redis so: the
 * next round would take it for one of its own. */
static void await_calm(struct stage *stage)
{
    clock_sleep_ms(EARLY_MS + LATE_MS); /* the line has broken by now */
    for (int i = 0; i < NAMES; i++)
        stage_await_free(stage, i, 2 * CLAIM_WINDOW_MS);
}

static void hang_ups(enum way way, bool line, bool breaks, int count)
{
    struct stage stage;
    struct crew crew;
    size_t left = 0;
    stage_start(&stage, &(struct stage_options){.fronts = true, .line = true});
    stage.line.wire.ms = line ? LINE_MS : 0;
    while (left < (size_t)count) {
        struct round round;
        size_t granted = 0;
        crew_start(&crew, &stage);
        set_up(&crew, &round, way, &granted);
        if (breaks) {
            crew_disturb(&crew, -1);
            stage.line.wire.break_ms = 1 + (int)stage_draw(&stage, EARLY_MS + LATE_MS);
        }
        left += hang_up(&crew, &round, &granted);
        for (int i = 0; i < NAMES; i++)
            crew_inspect(&crew, i);
        crew_check(&crew);
        crew_free(&crew);
        if (breaks)
            await_calm(&stage);
        stage.seed++; /* other tokens */
    }
    print_message("%zu hung up\n", left);
    for (int i = 0; i < NAMES; i++)
        stage_await_free(&stage, i, 2 * CLAIM_WINDOW_MS);
    stage_assert_no_leak(&stage);
    stage_stop(&stage);
}

TEST(hang_up_leaves_no_phantom)
{
    hang_ups(TO_FIRST, true, false, stage_amount(2000, 100));
}

/* Without the line, all happens within a millisecond. */
TEST(fast_hang_up_leaves_no_phantom)
{
    hang_ups(TO_FIRST, false, false, stage_amount(2000, 100));
}

/* What was granted and in doubt is taken back when Redis can be asked again. */
TEST(hang_up_while_the_line_to_redis_breaks_leaves_no_phantom)
{
    hang_ups(TO_FIRST, true, true, stage_amount(1000, 100));
}

TEST(hang_up_behind_haproxy_leaves_no_phantom)
{
    hang_ups(BY_HAPROXY, true, false, stage_amount(3000, 150));
}

TEST(hang_up_behind_nginx_leaves_no_phantom)
{
    hang_ups(BY_NGINX, true, false, stage_amount(3000, 150));
}
