/* How soon things happen with a quorum. */
#include "tests/support/fixtures/on_quorum.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATONDS = 2, ROUNDS = 9, SOON_MS = 50, SECOND_MS = 1000 };

static const char TOKEN[] = "a-token-of-the-quorum-01";

struct story {
    struct quorum_servers servers;
    struct batond_process batond[BATONDS];
    struct http_client *client[BATONDS];
};

static int begin(void **state)
{
    static const char *const FLAGS[] = {"--workers=1", NULL};
    struct story *story = calloc(1, sizeof *story);
    quorum_servers_start(&story->servers);
    for (int i = 0; i < BATONDS; i++) {
        batond_process_start(
            &story->batond[i],
            &(struct batond_options){.redis_url = story->servers.url, .arguments = FLAGS});
        story->client[i] = http_client_new(story->batond[i].url);
        await_up(story->client[i], "5 of 5");
    }
    *state = story;
    return 0;
}

static int finish(void **state)
{
    struct story *story = *state;
    for (int i = 0; i < BATONDS; i++) {
        http_client_free(story->client[i]);
        assert_int_equal(batond_process_stop(&story->batond[i]), 0);
    }
    quorum_servers_stop(&story->servers);
    free(story);
    return 0;
}

static int by_number(const void *one, const void *other)
{
    int64_t difference = *(const int64_t *)one - *(const int64_t *)other;
    return difference < 0 ? -1 : difference > 0;
}

static int64_t median(int64_t all[ROUNDS])
{
    qsort(all, ROUNDS, sizeof *all, by_number);
    return all[ROUNDS / 2];
}

static void a_release_at_another_batond_wakes_at_once(void **state)
{
    struct story *story = *state;
    int64_t took[ROUNDS];
    char path[80], token[40];
    for (int i = 0; i < ROUNDS; i++) {
        snprintf(token, sizeof token, "a-token-that-is-woken-%d", i);
        snprintf(path, sizeof path, "POST /locks/woken-%d", i);
        answers_token(story->client[0], TOKEN, path, NULL, 201, NULL);
        snprintf(path, sizeof path, "POST /locks/woken-%d?wait=50s", i);
        struct parked *parked = parked_send_token(story->batond[1].port, token, path);
        snprintf(path, sizeof path, "woken-%d", i);
        await_queue(story->client[1], path, 1);
        snprintf(path, sizeof path, "DELETE /locks/woken-%d", i);
        clock_sleep_ms(50); /* its refusals have come */
        int64_t begun = clock_ms();
        answers_token(story->client[0], TOKEN, path, NULL, 200, NULL);
        assert_int_equal(parked_answer(parked, PATIENCE_MS), 201);
        took[i] = clock_ms() - begun;
        parked_close(parked);
    }
    assert_in_range(median(took), 0, SOON_MS);
}

static void three_away_is_503_within_a_second(void **state)
{
    static const char *const REQUESTS[] = {"POST /locks/more", "POST /locks/more?wait=50s",
                                           "PUT /locks/three", "DELETE /locks/nobodys",
                                           "GET /locks/three", "GET /readyz"};
    struct story *story = *state;
    answers_token(story->client[0], TOKEN, "POST /locks/three?ttl=60s", NULL, 201, NULL);
    for (int i = 0; i < 3; i++)
        redis_process_freeze(&story->servers.members[i]);
    for (size_t i = 0; i < sizeof REQUESTS / sizeof REQUESTS[0]; i++) {
        int64_t begun = clock_ms();
        if (strncmp(REQUESTS[i], "PUT", 3) == 0 || strncmp(REQUESTS[i], "DEL", 3) == 0)
            answers_token(story->client[0], TOKEN, REQUESTS[i], NULL, 503, "store_unavailable");
        else
            answers(story->client[0], REQUESTS[i], NULL, 503, "store_unavailable");
        assert_in_range(clock_ms() - begun, 0, SECOND_MS);
    }
    for (int i = 0; i < 3; i++)
        redis_process_thaw(&story->servers.members[i]);
    await_up(story->client[0], "5 of 5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_release_at_another_batond_wakes_at_once),
        cmocka_unit_test(three_away_is_503_within_a_second),
    };
    return cmocka_run_group_tests_name("quorum", tests, begin, finish);
}
