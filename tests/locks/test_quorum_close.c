/* The end of the locks of a quorum while one of its members has yet to answer. */
#include "tests/support/cmocka.h"
#include "tests/support/fixtures/locks_fixture.h"
#include "tests/support/quorum.h"

#include <string.h>

/* Two members know the version of the name, two have forgotten it, and the first one would decide.
 * Its call ends when the others are closed already: no other call is begun then. */
TEST_IN_FIXTURE(a_decision_at_the_end_asks_nobody)
{
    struct quorum_servers servers;
    struct site site;
    struct answer answer = {.count = 0};
    quorum_servers_start(&servers);
    assert_true(strlen(servers.url) < sizeof fixture->redis.url);
    strcpy(fixture->redis.url, servers.url);
    site_open(&site, fixture, 3);
    fixture_lock(&site, "n", "token", FIXTURE_TTL_MS);
    for (int i = 0; i < QUORUM_MEMBERS - 2; i++)
        redis_process_forget(&servers.members[i]);
    redis_process_freeze(&servers.members[0]);
    uint64_t calls = store_figures(site.store).calls;
    locks_inspect(site.locks, slice_of("n"), (struct slice){NULL, 0}, 0, fixture_answered, &answer);
    fixture_await_calls(&site, calls + QUORUM_MEMBERS);
    fixture_idle(fixture, 50); /* all but the first one have answered */
    assert_int_equal(answer.count, 0);
    locks_close(site.locks, NULL, NULL);
    fixture_await(fixture, &answer.count, 1);
    assert_int_equal(answer.reply.result, LOCKS_UNAVAILABLE);
    redis_process_thaw(&servers.members[0]);
    quorum_servers_stop(&servers);
}
