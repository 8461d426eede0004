/* meta is shown as it was sent, numbers of any size included: ids of traces and hashes are more
 * than 64 bits can hold. */
#include "api/http/target.h"
#include "tests/support/fixtures/parked.h"

#include <string.h>

#define META                                                                                       \
    "{\"trace_id\":10014255632117358197,\"hash\":-99999999999999999999999999999999,"               \
    "\"huge\":1e999,\"list\":[1.10,{\"low\":-1E+4000}],\"text\":\"1e999\",\"next\":"               \
    "18446744073709551616}"

static void shows_meta(struct http_client *client, const char *request)
{
    answers(client, request, NULL, 200, NULL);
    if (!strstr(client->reply.body, "\"meta\":" META))
        fail_msg("%s: %s", request, client->reply.body);
}

TEST_OF_CLIENT(numbers_of_any_size_in_meta_stay_as_they_are)
{
    answers(client, "POST /locks/traced", "{\"ttl_ms\": 3e5, \"meta\": " META "}", 201, NULL);
    shows_meta(client, "GET /locks/traced");
    shows_meta(client, "GET /locks?prefix=traced");
    shows_meta(client, "GET /locks/traced/events?wait=0");
    shows_meta(client, "GET /events?prefix=traced&wait=0");
    answers(client, "POST /locks", "{\"names\":[\"traced-1\"],\"meta\":" META "}", 201, NULL);
    shows_meta(client, "GET /locks/traced-1");
}

TEST_OF_CLIENT(meta_in_query_stays_as_it_is)
{
    char request[600], *end = stpcpy(request, "POST /locks/queried?meta=");
    percent_encode(slice_of(META), end);
    answers(client, request, NULL, 201, NULL);
    shows_meta(client, "GET /locks/queried");
}

TEST_ON_SERVICE(meta_is_passed_on_to_the_hold_of_a_waiter)
{
    answers(service->client, "POST /locks/waited?ttl=1m", NULL, 201, NULL);
    char token[TOKEN_TEXT];
    keep_token(service->client, token);
    struct parked *waiter = parked_send(service->batond.port, NULL, "POST /locks/waited?wait=30s",
                                        "{\"meta\":" META "}");
    while (http_call(service->client, "GET", "/locks/waited", NULL) == 200 &&
           http_integer(service->client, "queue_length") == 0)
        clock_sleep_ms(5);
    release_lock(service->client, token, "waited");
    assert_int_equal(parked_answer(waiter, CLOCK_HANG_MS), 201);
    parked_close(waiter);
    shows_meta(service->client, "GET /locks/waited");
}

RUN_TESTS(service_start, service_stop)
