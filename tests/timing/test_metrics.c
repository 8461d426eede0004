/* How soon a scrape is answered while Redis does not answer. */
#include "redis/address/url.h"
#include "tests/support/fixtures/service.h"

enum { COUNTS_AGAIN_MS = 1100, SLACK_MS = 200 };

static int64_t scrape(struct http_client *client)
{
    int64_t begun = clock_ms();
    answers(client, "GET /metrics", NULL, 200, NULL);
    return clock_ms() - begun;
}

TEST_ON(struct service *service, a_scrape_waits_for_redis_as_long_as_any_call, service_start,
        service_stop)
{
    answers(service->client, "POST /locks/a", NULL, 201, NULL);
    scrape(service->client);
    clock_sleep_ms(COUNTS_AGAIN_MS);
    redis_process_freeze(&service->redis);
    assert_in_range(scrape(service->client), 0, REDIS_TIMEOUT_MS + SLACK_MS);
    redis_process_thaw(&service->redis);
    redis_process_halt(&service->redis);
    assert_true(comes_to_answer(service->client, "/readyz", 503, CLOCK_HANG_MS));
    clock_sleep_ms(COUNTS_AGAIN_MS);
    assert_in_range(scrape(service->client), 0, SLACK_MS);
    redis_process_resume(&service->redis);
}
