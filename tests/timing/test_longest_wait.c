/* A wait as long as batond allows is answered by batond, also behind proxies that nobody has made
 * more patient than they are. */
#include "tests/support/fixtures/parked.h"
#include "tests/support/front.h"

enum { FRONTS = 3, LONGEST_MS = 50000, LATE_MS = 5000 };

TEST_ON_SERVICE(longest_wait_is_answered_behind_proxies)
{
    struct front fronts[FRONTS];
    struct parked *waiters[FRONTS];
    answers(service->client, "POST /locks/taken?ttl=10m", NULL, 201, NULL);
    for (int i = 0; i < FRONTS; i++)
        front_start(&fronts[i], (enum front_kind)i,
                    (const int[FRONT_REPLICAS]){service->batond.port, service->batond.port});
    int64_t begun = clock_ms();
    for (int i = 0; i < FRONTS; i++)
        waiters[i] = parked_send(fronts[i].port, NULL, "POST /locks/taken?wait=50s", NULL);
    for (int i = 0; i < FRONTS; i++) {
        assert_int_equal(parked_answer(waiters[i], LONGEST_MS + LATE_MS), 409);
        assert_in_range(clock_ms() - begun, LONGEST_MS, LONGEST_MS + LATE_MS);
        assert_string_equal(http_text(&waiters[i]->client, "code"), "wait_timeout");
        parked_close(waiters[i]);
    }
    answers(service->client, "POST /locks/taken?wait=51s", NULL, 400, "invalid_parameter");
    for (int i = 0; i < FRONTS; i++)
        front_stop(&fronts[i]);
}

RUN_TESTS(service_start, service_stop)
