/* Much contention at two replicas, straight and through haproxy and nginx: everybody is served, in
 * order, and what all of them saw fits together. */
#include "tests/chaos/crew.h"
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"

#include <inttypes.h>

enum { NAMES = 6, AT_ONCE = 120, TIMEOUT_MS = 60000 };

/* Names differ in how they are used: alone, together, at most three together. */
static struct part draw_part(struct stage *stage, enum way way)
{
    struct part part = {.name = (int)stage_draw(stage, NAMES),
                        .way = way < WAYS ? way : (enum way)stage_draw(stage, WAYS),
                        .ttl_ms = 20000,
                        .wait_ms = 30000,
                        .hold_us = stage_draw(stage, 3000),
                        .patient = true,
                        .pause_us = 20000};
    if (part.name % 3 == 1)
        part.shared = stage_draw(stage, 3) > 0;
    if (part.name % 3 == 2)
        part.shared = true, part.limit = 3;
    if (stage_draw(stage, 3) == 0) {
        part.foothold = true;
        part.keep_ms = 20000;
    }
    if (stage_draw(stage, 10) == 0)
        part.wait_ms = 0, part.foothold = false, part.keep_ms = 0, part.patient = false;
    return part;
}

static size_t busy(const struct crew *crew)
{
    return crew->count - crew_count(crew, DONE_WELL) - crew_count(crew, FAILED);
}

/* All that were to wait have been served. Those that were not may have been refused. */
static void assert_served(const struct crew *crew)
{
    size_t refused = 0;
    for (size_t i = 0; i < crew->count; i++) {
        const struct member *member = crew->members[i];
        if (member->act == DONE_WELL)
            continue;
        refused++;
        if (member->part.wait_ms > 0)
            crew_print(member);
        assert_true(member->part.wait_ms == 0);
    }
    print_message("%zu served, %zu refused since they would not wait\n", crew->grants, refused);
}

static void load(enum way way, int members)
{
    struct stage stage;
    struct crew crew;
    stage_start(&stage, &(struct stage_options){.fronts = true});
    crew_start(&crew, &stage);
    int64_t begun = clock_ms();
    for (int i = 0; i < members; i++) {
        struct part part = draw_part(&stage, way);
        crew_send(&crew, &part);
        if (i % 50 == 0)
            crew_inspect(&crew, part.name);
        while (busy(&crew) >= AT_ONCE && clock_ms() < begun + TIMEOUT_MS)
            crew_play(&crew, 1);
    }
    assert_true(crew_finish(&crew, TIMEOUT_MS));
    print_message("%d clients in %" PRId64 " ms\n", members, clock_ms() - begun);
    assert_served(&crew);
    crew_check(&crew);
    for (int i = 0; i < NAMES; i++)
        stage_await_free(&stage, i, 2 * CLAIM_WINDOW_MS);
    stage_assert_no_leak(&stage);
    crew_free(&crew);
    stage_stop(&stage);
}

TEST(everybody_is_served_through_haproxy)
{
    load(BY_HAPROXY, stage_amount(6000, 500));
}

TEST(everybody_is_served_through_nginx)
{
    load(BY_NGINX, stage_amount(6000, 500));
}

TEST(everybody_is_served_whatever_way_they_come)
{
    load(WAYS, stage_amount(12000, 1000));
}
