/* How soon things happen with a quorum. */
#include "tests/support/fixtures/on_quorum.h"
#include "tests/support/quantile.h"

#include <stdio.h>
#include <string.h>

enum { ROUNDS = 9, SOON_MS = 50, SECOND_MS = 1000 };

static const char TOKEN[] = "a-token-of-the-quorum-01";

static int begin(void **state)
{
    return on_quorum_start(state, 2, LIST("--workers=1"));
}

TEST_ON_QUORUM(a_release_at_another_batond_wakes_at_once)
{
    int64_t took[ROUNDS];
    char path[80], token[40];
    for (int i = 0; i < ROUNDS; i++) {
        snprintf(token, sizeof token, "a-token-that-is-woken-%d", i);
        snprintf(path, sizeof path, "POST /locks/woken-%d", i);
        answers_token(story->client, TOKEN, path, NULL, 201, NULL);
        snprintf(path, sizeof path, "POST /locks/woken-%d?wait=50s", i);
        struct parked *parked = parked_send_token(story->other_batond.port, token, path);
        snprintf(path, sizeof path, "woken-%d", i);
        comes_to_queue(story->other, path, 1);
        snprintf(path, sizeof path, "DELETE /locks/woken-%d", i);
        clock_sleep_ms(50); /* its refusals have come */
        int64_t begun = clock_ms();
        answers_token(story->client, TOKEN, path, NULL, 200, NULL);
        assert_int_equal(parked_answer(parked, PATIENCE_MS), 201);
        took[i] = clock_ms() - begun;
        parked_close(parked);
    }
    assert_in_range(quantile(took, ROUNDS, 50), 0, SOON_MS);
}

TEST_ON_QUORUM(broken_hold_of_connection_is_reported_at_once)
{
    int64_t took[ROUNDS];
    char path[80];
    for (int i = 0; i < ROUNDS; i++) {
        snprintf(path, sizeof path, "POST /locks/broken-%d?hold=connection&ttl=1h", i);
        struct parked *stream = parked_send(story->other_batond.port, NULL, path, NULL);
        assert_true(parked_receives(stream, "\"granted\"", PATIENCE_MS));
        snprintf(path, sizeof path, "DELETE /locks/broken-%d?force=true", i);
        int64_t begun = clock_ms();
        answers(story->client, path, NULL, 200, NULL);
        assert_true(parked_receives(stream, "{\"event\":\"lost\"", PATIENCE_MS));
        took[i] = clock_ms() - begun;
        parked_close(stream);
    }
    assert_in_range(quantile(took, ROUNDS, 50), 0, SOON_MS);
}

TEST_ON_QUORUM(three_away_is_503_within_a_second)
{
    static const char *const REQUESTS[] = {"POST /locks/more", "POST /locks/more?wait=50s",
                                           "PUT /locks/three", "DELETE /locks/nobodys",
                                           "GET /locks/three", "GET /readyz"};
    answers_token(story->client, TOKEN, "POST /locks/three?ttl=60s", NULL, 201, NULL);
    for (int i = 0; i < 3; i++)
        redis_process_freeze(&story->servers.members[i]);
    for (size_t i = 0; i < sizeof REQUESTS / sizeof REQUESTS[0]; i++) {
        int64_t begun = clock_ms();
        if (strncmp(REQUESTS[i], "PUT", 3) == 0 || strncmp(REQUESTS[i], "DEL", 3) == 0)
            answers_token(story->client, TOKEN, REQUESTS[i], NULL, 503, "store_unavailable");
        else
            answers(story->client, REQUESTS[i], NULL, 503, "store_unavailable");
        assert_in_range(clock_ms() - begun, 0, SECOND_MS);
    }
    for (int i = 0; i < 3; i++)
        redis_process_thaw(&story->servers.members[i]);
    await_up(story->client, "5 of 5");
}

RUN_TESTS(begin, on_quorum_stop)
