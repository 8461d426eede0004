/* When an idle connection ends, as replies tell: clients do not send a request just then. */
#include "tests/support/fixtures/parked.h"
#include "tests/support/front.h"

#include <stdio.h>
#include <string.h>

static bool says(struct http_client *client, const char *value)
{
    const char *said = http_header(client, "Keep-Alive");
    return value ? said && strcmp(said, value) == 0 : !said;
}

TEST_OF_CLIENT(reply_says_when_its_connection_ends)
{
    static const char *const REQUESTS[] = {"POST /locks/a", "GET /locks/a", "HEAD /locks/a",
                                           "GET /livez", "GET /metrics"};
    for (size_t i = 0; i < sizeof REQUESTS / sizeof *REQUESTS; i++) {
        answers(client, REQUESTS[i], NULL, i == 0 ? 201 : 200, NULL);
        assert_true(says(client, "timeout=75"));
    }
    answers(client, "POST /locks/a", NULL, 409, "locked");
    assert_true(says(client, "timeout=75"));
}

TEST_ON_SERVICE(reply_that_ends_its_connection_says_nothing)
{
    struct http_client *client = service->client;
    answers_with(client, "Connection: close", "GET /livez", NULL, 200, NULL);
    assert_true(says(client, NULL));
    answers_with(client, "Connection: foo, Close", "GET /livez", NULL, 200, NULL);
    assert_true(says(client, NULL));
    struct parked *old = parked_send(service->batond.port, NULL, "GET /locks/x", NULL);
    assert_true(parked_ends(old, CLOCK_HANG_MS));
    assert_null(strstr(old->text, "Keep-Alive"));
    parked_close(old);
}

TEST(setting_is_what_the_reply_says)
{
    static const struct {
        const char *setting;
        const char *value;
    } ALL[] = {{"--idle-timeout=1999ms", "timeout=1"}, {"--idle-timeout=999ms", NULL}};
    for (size_t i = 0; i < sizeof ALL / sizeof *ALL; i++) {
        struct service service;
        service_open(&service, NULL, LIST(ALL[i].setting));
        answers(service.client, "GET /livez", NULL, 200, NULL);
        assert_true(says(service.client, ALL[i].value));
        service_close(&service);
    }
}

static bool comes_to_say(void *client)
{
    answers(client, "GET /livez", NULL, 200, NULL);
    return says(client, "timeout=75");
}

/* Then idle connections end sooner, to make room. */
TEST(nearly_all_connections_taken_says_nothing)
{
    enum { MOST = 20, NEARLY = 18, HALF = MOST / 2 };
    struct http_client *others[NEARLY - 1];
    struct service service;
    service_open(&service, NULL, LIST("--max-connections=20", "--max-connections-per-address=20"));
    answers(service.client, "GET /livez", NULL, 200, NULL);
    for (int i = 0; i < NEARLY - 1; i++) {
        if (i < HALF)
            assert_true(comes_to_say(service.client));
        others[i] = http_client_new(service.batond.url);
        answers(others[i], "GET /livez", NULL, 200, NULL);
    }
    answers(service.client, "GET /livez", NULL, 200, NULL);
    int64_t until = clock_ms() + CLOCK_HANG_MS;
    while (!says(service.client, NULL) || !says(others[NEARLY - 2], NULL)) {
        assert_true(clock_ms() < until); /* some have been idle for so long that they were ended */
        for (int i = 0; i < NEARLY - 1; i++)
            answers(others[i], "GET /livez", NULL, 200, NULL);
        answers(service.client, "GET /livez", NULL, 200, NULL);
    }
    for (int i = 0; i < NEARLY - 1; i++)
        http_client_free(others[i]);
    assert_true(clock_wait_until(comes_to_say, service.client, CLOCK_HANG_MS));
    service_close(&service);
}

/* What a proxy keeps open to its clients is another connection. */
TEST_ON_SERVICE(proxies_do_not_pass_it_on)
{
    for (int i = FRONT_HAPROXY; i <= FRONT_NGINX; i++) {
        struct front front;
        char url[40];
        front_start(&front, (enum front_kind)i,
                    (const int[FRONT_REPLICAS]){service->batond.port, service->batond.port});
        snprintf(url, sizeof url, "http://127.0.0.1:%d", front.port);
        struct http_client *client = http_client_new(url);
        assert_true(comes_to_answer(client, "/livez", 200, CLOCK_HANG_MS));
        const char *said = http_header(client, "Keep-Alive");
        if (said)
            fail_msg("Keep-Alive: %s", said);
        http_client_free(client);
        front_stop(&front);
    }
}

RUN_TESTS(service_start, service_stop)
