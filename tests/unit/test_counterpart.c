#include "redis/wire/counterpart.h"
#include "redis/wire/facts.h"
#include "tests/support/cmocka.h"

#include <stdio.h>

static struct counterpart counterpart;

static int64_t note(const char *run_id, const char *history, int64_t client_id, const char *place)
{
    struct facts facts = {.up_s = 7, .replicas = 2};
    snprintf(facts.run_id, sizeof facts.run_id, "%s", run_id);
    snprintf(facts.history, sizeof facts.history, "%s", history);
    const struct session_peer peer = {
        .run_id = facts.run_id, .client_id = client_id, .facts = &facts};
    return counterpart_note(&counterpart, &peer, place);
}

static int set_up(void **state)
{
    (void)state;
    counterpart = (struct counterpart){0};
    return 0;
}

static void the_same_run_knows_the_connection_before(void **state)
{
    (void)state;
    assert_int_equal(note("run", "", 11, "a"), 0);
    assert_int_equal(note("run", "", 12, "a"), 11);
    assert_int_equal(note("run", "", 0, "a"), 12);
    assert_int_equal(note("run", "", 13, "a"), 0);
}

static void another_run_does_not(void **state)
{
    (void)state;
    note("run", "", 11, "a");
    assert_int_equal(note("restarted", "", 11, "a"), 0);
    assert_int_equal(note("", "", 12, "a"), 0); /* it does not say which it is */
    assert_int_equal(note("", "", 13, "a"), 0);
}

static void switches_are_counted(void **state)
{
    (void)state;
    note("run", "", 1, "a");
    note("run", "", 2, "a");
    assert_int_equal(counterpart.switches, 0);
    note("other", "", 1, "b");
    note("run", "", 3, "a");
    assert_int_equal(counterpart.switches, 2);
    assert_int_equal(counterpart.connects, 4);
}

static void the_peer_is_the_last(void **state)
{
    (void)state;
    note("run", "old", 1, "a");
    note("other", "new", 2, "b");
    assert_string_equal(counterpart.peer.run_id, "other");
    assert_string_equal(counterpart.peer.history, "new");
    assert_int_equal(counterpart.peer.up_s, 7);
    assert_int_equal(counterpart.peer.replicas, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_same_run_knows_the_connection_before, set_up),
        cmocka_unit_test_setup(another_run_does_not, set_up),
        cmocka_unit_test_setup(switches_are_counted, set_up),
        cmocka_unit_test_setup(the_peer_is_the_last, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
