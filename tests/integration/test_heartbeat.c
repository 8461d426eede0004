/* The signs of life of a lock that a connection holds: proxies cut a connection that is silent for
 * a minute. (tests/timing holds some for two minutes behind proxies.) */
#include "tests/support/fixtures/parked.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* By a third of their TTLs the first heartbeats would come after 100 s and 20 minutes. */
TEST_ON_SERVICE(long_ttl_heartbeat_comes_within_a_minute)
{
    static const char *const TTL[] = {"300000", "3600000"};
    enum { STREAMS = 2 };
    struct parked *streams[STREAMS];
    char text[120];
    for (int i = 0; i < STREAMS; i++) {
        snprintf(text, sizeof text, "POST /locks/long-%s?hold=connection&ttl=%sms", TTL[i], TTL[i]);
        streams[i] = parked_send(service->batond.port, NULL, text, NULL);
        assert_true(parked_receives(streams[i], "\"event\":\"granted\"", CLOCK_HANG_MS));
    }
    for (int i = 0; i < STREAMS; i++) {
        snprintf(text, sizeof text, "GET /locks/long-%s", TTL[i]);
        answers(service->client, text, NULL, 200, NULL);
        snprintf(text, sizeof text,
                 "\r\n{\"event\":\"heartbeat\",\"fence\":%" PRId64 ",\"ttl_ms\":%s}\n",
                 member_integer(service->client, "version"), TTL[i]);
        assert_true(parked_receives(streams[i], text, CLOCK_HANG_MS));
        assert_null(strstr(streams[i]->text, "\n\n")); /* readers take each line for an event */
        assert_null(strstr(streams[i]->text, "\r\n1\r\n\n"));
        parked_close(streams[i]);
    }
}

RUN_TESTS(service_start, service_stop)
