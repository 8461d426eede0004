/* What a connection holds is confirmed late, and held all the same. */
#include "tests/support/fixtures/parked.h"
#include "tests/support/fixtures/replicated.h"

#include <string.h>

enum { WAY_MS = 1, PATIENCE_MS = CLOCK_HANG_MS };

/* What it took to confirm a hold is no part of the time that is left to renew it. */
TEST(a_stream_that_was_confirmed_late_is_renewed_in_time)
{
    struct replicated all;
    replicated_open(&all, WAY_MS, LIST("--confirm=replicas:2", "--confirm-timeout=10s"));
    answers(all.client, "POST /locks/warm", NULL, 201, NULL);
    redis_process_freeze(&all.replicas[0]);
    struct parked *stream =
        parked_send(all.batond.port, NULL, "POST /locks/late?hold=connection&ttl=10s", NULL);
    while (redis_process_integer(&all.primary, "EXISTS baton:{late}") == 0)
        clock_sleep_ms(1);
    clock_sleep_ms(7000); /* what is left is less than a third of the TTL */
    redis_process_thaw(&all.replicas[0]);
    assert_true(parked_receives(stream, "\"granted\"", PATIENCE_MS));
    assert_true(parked_receives(stream, "\"heartbeat\"", PATIENCE_MS));
    parked_close(stream);
    replicated_close(&all);
}

static bool waits_for_replicas(void *context)
{
    redisReply *clients = redis_process_command(context, "CLIENT LIST");
    bool is_blocked = strstr(clients->str, "flags=b") != NULL;
    freeReplyObject(clients);
    return is_blocked;
}

/* batond renews what the token has already when replicas have confirmed it. */
TEST(request_for_a_stream_learns_that_its_hold_was_broken_meanwhile)
{
    struct replicated all;
    replicated_open(&all, WAY_MS, LIST("--confirm-timeout=10s"));
    answers_token(all.client, "a-token-of-a-broken-hold", "POST /locks/spoilt", NULL, 201, NULL);
    redis_process_freeze(&all.replicas[0]);
    struct parked *stream =
        parked_send_token(all.batond.port, "a-token-of-a-broken-hold",
                          "POST /locks/spoilt?hold=connection&confirm=replicas:2");
    assert_true(clock_wait_until(waits_for_replicas, &all.primary, PATIENCE_MS));
    answers(all.client, "DELETE /locks/spoilt?force=true&reason=moved", NULL, 200, NULL);
    redis_process_thaw(&all.replicas[0]);
    assert_int_equal(parked_answer(stream, PATIENCE_MS), 409);
    assert_string_equal(http_text(&stream->client, "code"), "not_held");
    assert_string_equal(member_text(&stream->client, "ended.broken.reason"), "moved");
    parked_close(stream);
    replicated_close(&all);
}

/* What is confirmed after a while holds from when it was asked for, and not only for the rest of
 * its time from then on, which is over before the next renewal is confirmed. */
TEST(a_stream_goes_on_though_replicas_are_far_away)
{
    enum { FAR_MS = 2100 }; /* there and back: three times as long is longer than the TTL */
    struct replicated all;
    replicated_open(&all, WAY_MS, LIST("--confirm=replicas:2", "--confirm-timeout=10s"));
    struct parked *stream =
        parked_send(all.batond.port, NULL, "POST /locks/far?hold=connection&ttl=12s", NULL);
    assert_true(parked_receives(stream, "\"granted\"", PATIENCE_MS));
    all.wire.ms = FAR_MS;
    assert_true(parked_receives(stream, "\"heartbeat\"", PATIENCE_MS));
    assert_true(parked_receives(stream, "\"heartbeat\"", PATIENCE_MS));
    parked_close(stream);
    replicated_close(&all);
}
