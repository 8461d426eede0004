/* A Redis whose clock jumps while it runs (tests/support/faults/jumping_clock.h). */
#include "tests/scripts/scripts.h"
#include "tests/support/cmocka.h"
#include "tests/support/faults/jumping_clock.h"

enum { SECOND_US = 1000000, SLACK_US = 5 * SECOND_US };

TEST(redis_takes_its_time_from_the_clock_that_jumps)
{
    static const int SHIFTS[] = {60, -60, 3600, 0};
    struct jumping_clock clock;
    struct scripts scripts = {.retention_ms = 1000};
    jumping_clock_open(&clock);
    redis_process_start(&scripts.redis, &(struct redis_options){.environment = clock.environment});
    int64_t before = redis_now(&scripts);
    for (size_t i = 0; i < sizeof SHIFTS / sizeof SHIFTS[0]; i++) {
        jumping_clock_set(&clock, SHIFTS[i]);
        int64_t off = redis_now(&scripts) - before - SHIFTS[i] * (int64_t)SECOND_US;
        assert_in_range(off, 0, SLACK_US);
    }
    redis_process_stop(&scripts.redis);
    jumping_clock_close(&clock);
}
