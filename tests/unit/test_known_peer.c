#include "redis/node/known_peer.h"
#include "redis/wire/server_info.h"
#include "tests/support/cmocka.h"

#include <stdio.h>

static struct known_peer server;

static int64_t note(const char *run_id, const char *history, int64_t client_id, const char *place)
{
    struct server_info info = {.peer = {.up_s = 7, .replicas = 2}};
    snprintf(info.peer.run_id, sizeof info.peer.run_id, "%s", run_id);
    snprintf(info.peer.history, sizeof info.peer.history, "%s", history);
    const struct session_peer peer = {.client_id = client_id, .info = &info};
    return known_peer_note(&server, &peer, place);
}

static int set_up(void **state)
{
    (void)state;
    server = (struct known_peer){0};
    return 0;
}

TEST_WITH(the_same_run_knows_the_connection_before, set_up, NULL)
{
    assert_int_equal(note("run", "", 11, "a"), 0);
    assert_int_equal(note("run", "", 12, "a"), 11);
    assert_int_equal(note("run", "", 0, "a"), 12);
    assert_int_equal(note("run", "", 13, "a"), 0);
}

TEST_WITH(another_run_does_not, set_up, NULL)
{
    note("run", "", 11, "a");
    assert_int_equal(note("restarted", "", 11, "a"), 0);
    assert_int_equal(note("", "", 12, "a"), 0); /* it does not say which it is */
    assert_int_equal(note("", "", 13, "a"), 0);
}

TEST_WITH(switches_are_counted, set_up, NULL)
{
    note("run", "", 1, "a");
    note("run", "", 2, "a");
    assert_int_equal(server.switches, 0);
    note("other", "", 1, "b");
    note("run", "", 3, "a");
    assert_int_equal(server.switches, 2);
    assert_int_equal(server.connects, 4);
}

TEST_WITH(the_peer_is_the_last, set_up, NULL)
{
    note("run", "old", 1, "a");
    note("other", "new", 2, "b");
    assert_string_equal(server.peer.run_id, "other");
    assert_string_equal(server.peer.history, "new");
    assert_int_equal(server.peer.up_s, 7);
    assert_int_equal(server.peer.replicas, 2);
}
