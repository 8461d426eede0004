/* Two replicas hand locks over to one another, and of the messages that tell the first one of a
 * turn some are lost, while all connections stay up: each waiter gets its lock within the claim
 * window, in its order, and nobody is passed. */
#include "tests/chaos/crew.h"
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"

enum {
    NAMES = 20,
    EACH = 12, /* who come to each name, by both replicas in turn */
    ONE_IN = 4,
    HOLD_US = 2000,
    TTL_MS = 60000,
    TIMEOUT_MS = 60000,
};

static int play(struct stage *stage)
{
    struct crew crew;
    struct part part = {.ttl_ms = TTL_MS, .wait_ms = 40000, .hold_us = HOLD_US, .pause_us = 20000};
    crew_start(&crew, stage);
    for (int i = 0; i < EACH; i++)
        for (part.name = 0; part.name < NAMES; part.name++) {
            part.way = i % 2 == 0 ? TO_SECOND : TO_FIRST;
            crew_send(&crew, &part);
        }
    assert_true(crew_finish(&crew, TIMEOUT_MS));
    assert_int_equal(crew_count(&crew, DONE_WELL), NAMES * EACH);
    for (int i = 0; i < NAMES; i++)
        crew_inspect(&crew, i);
    crew_check(&crew);
    crew_free(&crew);
    stage->seed++; /* other tokens */
    return NAMES * EACH;
}

TEST(lost_messages_cost_nobody_a_turn)
{
    struct stage stage;
    int wanted = stage_amount(500, 50), granted = 0;
    stage_start(&stage, &(struct stage_options){.line = true});
    stage.line.loses = ONE_IN;
    while (stage.line.lost < wanted)
        granted += play(&stage);
    print_message("%d messages lost among %d grants\n", stage.line.lost, granted);
    stage_stop(&stage);
}
