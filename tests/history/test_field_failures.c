/* The failures that articles about locks describe, by name, over HTTP at two servers.
 *
 *   BATON_MILLION=1   a million names used once instead of 20,000 (some minutes)
 */
#include "tests/history/site.h"
#include "tests/history/wrong_clock.h"
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"
#include "tests/support/raw.h"

#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct http_client *client_of(const struct site *site, int number)
{
    return http_client_new(site->batond[number % SITE_SERVERS].url);
}

/* A client that dies between taking and expiring. */

static void every_lock_has_a_ttl_whatever_is_asked_for(void **state)
{
    struct site *site = *state;
    static const char *const QUERIES[] = {"",
                                          "?ttl=1h",
                                          "?ttl=100ms",
                                          "?mode=shared",
                                          "?mode=shared&limit=3",
                                          "?owner=me",
                                          "?owner=me&mode=shared&ttl=1s"};
    static const char *const TWICE[] = {"?owner=me", "?owner=me&mode=shared"};
    enum { COUNT = sizeof QUERIES / sizeof QUERIES[0] };
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(ask(site->http[0], "POST", "/locks/kind-%d%s", i, QUERIES[i]), 201);
        assert_in_range(http_integer(site->http[0], "ttl_ms"), 100, 86400000);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ask(site->http[0], "POST", "/locks/twice%s", TWICE[i]), 201);
        char *token = token_of(site->http[0]);
        assert_int_equal(ask_with(site->http[0], token, "PUT", "/locks/twice"), 200);
        assert_in_range(http_integer(site->http[0], "ttl_ms"), 100, 86400000);
        free(token);
        assert_true(assert_all_expire(site) >= COUNT + 1);
    }
}

static void nobody_can_ask_for_a_lock_without_a_ttl(void **state)
{
    struct site *site = *state;
    static const char *const QUERIES[] = {"?ttl=0", "?ttl=-1",  "?ttl=never",
                                          "?ttl=",  "?ttl=25h", "?ttl=99ms"};
    static const char *const BODIES[] = {"{\"ttl_ms\":0}",        "{\"ttl_ms\":-1}",
                                         "{\"ttl_ms\":null}",     "{\"ttl_ms\":\"\"}",
                                         "{\"ttl_ms\":86400001}", "{\"ttl_ms\":1e300}"};
    struct http_client *http = site->http[0];
    for (size_t i = 0; i < sizeof QUERIES / sizeof QUERIES[0]; i++)
        assert_int_equal(ask(http, "POST", "/locks/n%s", QUERIES[i]), 400);
    for (size_t i = 0; i < sizeof BODIES / sizeof BODIES[0]; i++)
        assert_int_equal(http_call(http, "POST", "/locks/n", BODIES[i]), 400);
    assert_int_equal(site_keys(site), 0);

    assert_int_equal(ask(http, "POST", "/locks/n?ttl=1s"), 201);
    char *token = token_of(http);
    for (size_t i = 0; i < sizeof QUERIES / sizeof QUERIES[0]; i++)
        assert_int_equal(ask_with(http, token, "PUT", "/locks/n%s", QUERIES[i]), 400);
    assert_int_equal(ask(http, "GET", "/locks/n"), 200);
    assert_in_range(holder_integer(http, "ttl_ms"), 0, 1000);
    free(token);
}

static bool can_acquire(void *context)
{
    return ask(context, "POST", "/locks/n?ttl=30s") == 201;
}

static void
a_client_that_dies_while_it_takes_the_lock_leaves_it_locked_no_longer_than_its_ttl(void **state)
{
    struct site *site = *state;
    static const char request[] =
        "POST /locks/n?ttl=300ms HTTP/1.1\r\nHost: baton\r\nContent-Length: 0\r\n\r\n";
    for (int i = 0; i < 4; i++) {
        site_clean(state);
        int fd = raw_connect(site->batond[0].port);
        assert_true(raw_send(fd, request, sizeof request - 1));
        char reply[1024];
        if (i % 2)
            raw_receive(fd, reply, sizeof reply, "\r\n\r\n", CLOCK_HANG_MS, NULL);
        close(fd);
        assert_true(clock_wait_until(can_acquire, site->http[1], CLOCK_HANG_MS));
    }
}

static void a_server_that_dies_leaves_what_it_granted_locked_no_longer_than_its_ttl(void **state)
{
    struct site *site = *state;
    struct batond_process mortal;
    batond_process_start(&mortal, &(struct batond_options){.redis_url = site->redis.url});
    struct http_client *http = http_client_new(mortal.url);
    int64_t asked = clock_us();
    assert_int_equal(ask(http, "POST", "/locks/n?ttl=500ms"), 201);
    process_kill(&mortal.process);
    http_client_free(http);
    batond_process_stop(&mortal);
    assert_all_expire(site);
    assert_true(clock_wait_until(can_acquire, site->http[0], CLOCK_HANG_MS));
    assert_true(clock_us() - asked >= 500000 - 2000);
}

/* A release after the own TTL. */

static void a_release_after_the_own_ttl_does_not_free_the_next_holders_lock(void **state)
{
    struct site *site = *state;
    struct http_client *slow = site->http[0], *next = site->http[1];
    assert_int_equal(ask(slow, "POST", "/locks/n?ttl=100ms"), 201);
    char *old = token_of(slow);
    clock_sleep_ms(105);
    assert_int_equal(ask(next, "POST", "/locks/n?ttl=30s"), 201);
    char *new = token_of(next);
    int64_t fence = http_integer(next, "fence");

    for (int i = 0; i < SITE_SERVERS; i++) {
        assert_int_equal(ask_with(site->http[i], old, "DELETE", "/locks/n"), 409);
        assert_string_equal(http_text(site->http[i], "code"), "not_held");
    }
    assert_int_equal(ask(slow, "POST", "/locks/n"), 409);
    assert_int_equal(ask_with(next, new, "GET", "/locks/n"), 200);
    assert_true(json_is_true(json_object_get(next->reply.json, "mine")));
    assert_int_equal(holder_integer(next, "fence"), fence);
    assert_int_equal(ask_with(next, new, "DELETE", "/locks/n"), 200);
    free(old);
    free(new);
}

/* Check and delete is one step. */

struct duel {
    const struct site *site;
    const char *name;
    const char *old; /* token of the hold that ends */
    _Atomic(bool) *over;
    int64_t begin_us;
    int number;
    int releases, freed, strange;
};

static void release_all_the_time(void *item)
{
    struct duel *duel = item;
    struct http_client *http = client_of(duel->site, duel->number);
    while (clock_us() < duel->begin_us)
        usleep(500);
    while (!atomic_load(duel->over)) {
        long status = ask_with(http, duel->old, "DELETE", "/locks/%s", duel->name);
        duel->releases++;
        duel->freed += status == 200;
        duel->strange += status != 200 && status != 409;
    }
    http_client_free(http);
}

/* Takes the lock as soon as that goes, and then must not lose it, whatever the old holder does. */
static void take_and_keep(void *item)
{
    struct duel *duel = item;
    struct http_client *http = client_of(duel->site, duel->number);
    static const char token[] = "the-token-of-the-next-holder";
    while (ask_with(http, token, "POST", "/locks/%s?ttl=30s", duel->name) == 409)
        usleep(200);
    for (int i = 0; i < 60; i++)
        duel->strange += ask_with(http, token, "PUT", "/locks/%s", duel->name) != 200;
    atomic_store(duel->over, true);
    http_client_free(http);
}

static void fight(void *item)
{
    struct duel *duel = item;
    if (duel->number == 0)
        take_and_keep(duel);
    else
        release_all_the_time(duel);
}

/* The releases begin a little before or after the old holder's TTL ends. */
static int run_duel(const struct site *site, int round)
{
    enum { FIGHTERS = 5, TTL_US = 100000 };
    char name[32], old[64];
    _Atomic(bool) over = false;
    struct duel duels[FIGHTERS];
    int releases = 0;
    snprintf(name, sizeof name, "duel-%d", round);
    snprintf(old, sizeof old, "the-token-of-the-late-holder-%d", round);
    assert_int_equal(ask_with(site->http[0], old, "POST", "/locks/%s?ttl=100ms", name), 201);
    int64_t begin = clock_us() + TTL_US - 2000 + 500 * round;
    for (int i = 0; i < FIGHTERS; i++)
        duels[i] = (struct duel){site, name, old, &over, begin, i, 0, 0, 0};
    side_by_side(FIGHTERS, fight, duels, sizeof *duels);
    for (int i = 0; i < FIGHTERS; i++) {
        releases += duels[i].releases;
        assert_int_equal(duels[i].strange, 0);
    }
    return releases;
}

static void check_and_delete_is_one_step(void **state)
{
    const struct site *site = *state;
    int releases = 0;
    for (int round = 0; round < 12; round++)
        releases += run_duel(site, round);
    print_message("%d releases by late holders\n", releases);
    assert_true(releases > 0);
}

/* Re-entry. */

static void the_same_owner_and_only_it_enters_again(void **state)
{
    struct site *site = *state;
    static const char *const OTHERS[] = {"?owner=Me", "?owner=me2", "?owner=m", "?owner=me%20", ""};
    struct http_client *one = site->http[0], *two = site->http[1];
    assert_int_equal(ask(one, "POST", "/locks/n?owner=me"), 201);
    char *first = token_of(one);
    int64_t fence = http_integer(one, "fence");
    assert_int_equal(ask(two, "POST", "/locks/n?owner=me"), 201);
    char *second = token_of(two);
    assert_int_equal(http_integer(two, "holds"), 2);
    assert_true(http_integer(two, "fence") > fence);
    assert_string_not_equal(first, second);

    for (size_t i = 0; i < sizeof OTHERS / sizeof OTHERS[0]; i++)
        assert_int_equal(ask(two, "POST", "/locks/n%s", OTHERS[i]), 409);
    assert_int_equal(ask_with(two, first, "DELETE", "/locks/n"), 200);
    assert_int_equal(http_integer(two, "holds"), 1);
    assert_int_equal(ask(one, "POST", "/locks/n?owner=other"), 409);
    assert_int_equal(ask_with(one, second, "DELETE", "/locks/n"), 200);
    assert_int_equal(http_integer(one, "holds"), 0);
    assert_int_equal(ask(one, "POST", "/locks/n?owner=other"), 201);
    free(first);
    free(second);
}

static void who_gives_no_owner_is_somebody_else_each_time(void **state)
{
    struct site *site = *state;
    assert_int_equal(ask(site->http[0], "POST", "/locks/n"), 201);
    assert_int_equal(ask(site->http[0], "POST", "/locks/n"), 409);
    assert_int_equal(ask(site->http[1], "POST", "/locks/n"), 409);
}

/* Takeover. */

struct contender {
    const struct site *site;
    int number, round;
    int won, strange;
    int64_t fence;
};

/* Tries until it has the lock, or another contender has. */
static void contend(void *item)
{
    struct contender *contender = item;
    struct http_client *http = client_of(contender->site, contender->number);
    for (bool over = false; !over;) {
        long status = ask(http, "POST", "/locks/takeover-%d?ttl=60s&owner=contender-%d",
                          contender->round, contender->number);
        contender->won += status == 201;
        contender->strange += status != 201 && status != 409;
        contender->fence = status == 201 ? http_integer(http, "fence") : 0;
        json_t *holder = json_array_get(json_object_get(http->reply.json, "holders"), 0);
        const char *owner = json_string_value(json_object_get(holder, "owner"));
        over = status != 409 || (owner && strcmp(owner, "late") != 0);
        if (!over)
            usleep(5000);
    }
    http_client_free(http);
}

static void an_expired_lock_is_taken_over_by_exactly_one_of_many(void **state)
{
    enum { CONTENDERS = 64, ROUNDS = 6 };
    struct site *site = *state;
    for (int round = 0; round < ROUNDS; round++) {
        struct contender contenders[CONTENDERS];
        int won = 0;
        long status = ask(site->http[0], "POST", "/locks/takeover-%d?ttl=200ms&owner=late", round);
        assert_int_equal(status, 201);
        int64_t fence = http_integer(site->http[0], "fence");
        for (int i = 0; i < CONTENDERS; i++)
            contenders[i] = (struct contender){.site = site, .number = i, .round = round};
        side_by_side(CONTENDERS, contend, contenders, sizeof *contenders);
        for (int i = 0; i < CONTENDERS; i++) {
            won += contenders[i].won;
            assert_int_equal(contenders[i].strange, 0);
            assert_true(!contenders[i].won || contenders[i].fence > fence);
        }
        assert_int_equal(won, 1);
    }
}

/* Clocks. */

/* Fences grow from server to server, and each says of the others' holds what is true. */
static void assert_clocks_agree(struct http_client **http, int count)
{
    int64_t fence = 0;
    for (int i = 0; i < 10 * count; i++) {
        struct http_client *taker = http[i % count], *other = http[(i + 1) % count];
        assert_int_equal(ask(taker, "POST", "/locks/n?ttl=30s"), 201);
        assert_true(http_integer(taker, "fence") > fence);
        fence = http_integer(taker, "fence");
        char *token = token_of(taker);
        assert_int_equal(ask(other, "POST", "/locks/n"), 409);
        assert_in_range(holder_integer(other, "ttl_ms"), 1, 30000);
        assert_in_range(holder_integer(other, "held_ms"), 0, CLOCK_HANG_MS);
        assert_int_equal(ask_with(other, token, "PUT", "/locks/n?ttl=20s"), 200);
        assert_int_equal(ask_with(other, token, "DELETE", "/locks/n"), 200);
        assert_in_range(http_integer(other, "held_ms"), 0, CLOCK_HANG_MS);
        free(token);
    }
}

/* A hold that one server granted ends in time for another. */
static void assert_clocks_agree_on_the_end(struct http_client *taker, struct http_client *other)
{
    int64_t asked = clock_us();
    assert_int_equal(ask(taker, "POST", "/locks/n?ttl=200ms"), 201);
    int64_t granted = clock_us();
    while (ask(other, "POST", "/locks/n?ttl=100ms") == 409) {
        assert_true(clock_us() - granted < CLOCK_HANG_MS * INT64_C(1000));
        clock_sleep_ms(1);
    }
    assert_int_equal(other->reply.status, 201);
    assert_true(clock_us() - asked >= 200000 - 2000);
    clock_sleep_ms(105);
}

static void clocks_of_clients_and_servers_play_no_role(void **state)
{
    enum { SERVERS = 3 };
    static const long SHIFTS[SERVERS] = {0, 3600, -3600};
    struct site *site = *state;
    struct batond_process batond[SERVERS];
    struct http_client *http[SERVERS];
    struct jumping_clock clock[SERVERS];
    for (int i = 0; i < SERVERS; i++) {
        jumping_clock_open(&clock[i]);
        jumping_clock_set(&clock[i], (double)SHIFTS[i]);
        wrong_clock_start(&batond[i], site->redis.url, &clock[i]);
        http[i] = http_client_new(batond[i].url);
        wrong_clock_assert(http[i], SHIFTS[i]);
    }
    assert_clocks_agree(http, SERVERS);
    for (int i = 0; i < SERVERS; i++)
        assert_clocks_agree_on_the_end(http[i], http[(i + 1) % SERVERS]);
    for (int i = 0; i < SERVERS; i++) {
        http_client_free(http[i]);
        assert_int_equal(batond_process_stop(&batond[i]), 0);
        jumping_clock_close(&clock[i]);
    }
}

/* Prizes. */

struct player {
    const struct site *site;
    int number, round;
    int won, kept, lost, strange;
    int64_t fence;
};

/* Asks for a prize, and once more with the same token, since the first reply might have been lost.
 */
static void play(void *item)
{
    struct player *player = item;
    struct http_client *http = client_of(player->site, player->number);
    char token[64];
    snprintf(token, sizeof token, "the-token-of-player-number-%d", player->number);
    for (int i = 0; i < 3; i++) {
        long status = ask_with(http, token, "POST", "/locks/prizes-%d?mode=shared&limit=10&ttl=60s",
                               player->round);
        int64_t fence = http_integer(http, "fence");
        player->won += status == 201;
        player->kept += status == 200 && fence == player->fence;
        player->lost += status == 409;
        player->strange += status != 201 && status != 200 && status != 409;
        player->fence = fence;
    }
    http_client_free(http);
}

static void a_hundred_clients_for_ten_prizes_make_exactly_ten_winners(void **state)
{
    enum { PLAYERS = 100, PRIZES = 10, ROUNDS = 5 };
    struct site *site = *state;
    for (int round = 0; round < ROUNDS; round++) {
        struct player players[PLAYERS];
        int winners = 0;
        for (int i = 0; i < PLAYERS; i++)
            players[i] = (struct player){.site = site, .number = i, .round = round};
        side_by_side(PLAYERS, play, players, sizeof *players);
        for (int i = 0; i < PLAYERS; i++) {
            const struct player *player = &players[i];
            winners += player->won;
            assert_int_equal(player->strange, 0);
            assert_true((player->won == 1 && player->kept == 2) || player->lost == 3);
        }
        assert_int_equal(winners, PRIZES);
        assert_int_equal(ask(site->http[0], "GET", "/locks/prizes-%d", round), 200);
        assert_int_equal(http_integer(site->http[0], "hold_count"), PRIZES);
    }
}

/* One lock per user and order. */

struct shopper {
    const struct site *site;
    int number, count;
    int strange;
};

enum { SHOPPERS = 8 };

/* Counts a reply that is not as expected, and tells of the first. */
static void expect(struct shopper *shopper, const struct http_client *http, long status)
{
    if (http->reply.status != status && shopper->strange++ == 0)
        fprintf(stderr, "%ld instead of %ld: %s%s\n", http->reply.status, status, http->reply.body,
                http->reply.trouble);
}

/* Uses a name once: most are released, some are left to expire, some have two holds. */
static void buy(struct shopper *shopper, struct http_client *http, int order, int turn)
{
    const char *query = turn % 8 ? "ttl=30s" : "ttl=100ms&mode=shared";
    char token[64];
    snprintf(token, sizeof token, "the-token-for-order-%08d", order);
    if (turn % 2)
        ask(http, "POST", "/locks/order-%d?%s", order, query);
    else
        ask_with(http, token, "POST", "/locks/order-%d?%s", order, query);
    expect(shopper, http, 201);
    if (turn % 8) {
        const char *given = http_text(http, "token");
        snprintf(token, sizeof token, "%s", given ? given : "");
        ask_with(http, token, "DELETE", "/locks/order-%d", order);
        expect(shopper, http, 200);
    } else if (turn % 16) {
        ask(http, "POST", "/locks/order-%d?%s", order, query);
        expect(shopper, http, 201);
    }
}

static void shop(void *item)
{
    struct shopper *shopper = item;
    struct http_client *http = client_of(shopper->site, shopper->number);
    for (int i = shopper->number; i < shopper->count; i += SHOPPERS)
        buy(shopper, http, i, i / SHOPPERS);
    http_client_free(http);
}

static int64_t used_memory(struct site *site)
{
    redisReply *reply = redis_process_command(&site->redis, "INFO memory");
    const char *found = strstr(reply->str, "used_memory:");
    int64_t bytes = found ? strtoll(found + strlen("used_memory:"), NULL, 10) : -1;
    freeReplyObject(reply);
    return bytes;
}

static bool is_empty(void *context)
{
    struct site *site = context;
    return site_keys(site) == 0;
}

struct memory {
    struct site *site;
    int64_t enough;
};

static bool memory_is_back(void *context)
{
    struct memory *memory = context;
    return used_memory(memory->site) <= memory->enough;
}

static void names_used_once_leave_nothing_behind(void **state)
{
    (void)state;
    enum { SLACK = 1 << 20 };
    const char *million = getenv("BATON_MILLION");
    int count = million && strcmp(million, "1") == 0 ? 1000000 : 20000;
    static const char *const FLAGS[] = {"--retention=1s", NULL};
    struct site site;
    struct shopper shoppers[SHOPPERS];
    site_start(&site, FLAGS);
    for (int i = 0; i < SITE_SERVERS; i++) /* what stays: scripts, connections */
        assert_int_equal(ask(site.http[i], "POST", "/locks/warm-up-%d?ttl=100ms", i), 201);
    int64_t before = used_memory(&site);

    for (int i = 0; i < SHOPPERS; i++)
        shoppers[i] = (struct shopper){&site, i, count, 0};
    side_by_side(SHOPPERS, shop, shoppers, sizeof *shoppers);
    for (int i = 0; i < SHOPPERS; i++)
        assert_int_equal(shoppers[i].strange, 0);
    assert_true(clock_wait_until(is_empty, &site, CLOCK_HANG_MS));
    struct memory memory = {&site, before + SLACK};
    bool back = clock_wait_until(memory_is_back, &memory, CLOCK_HANG_MS);
    print_message("%d names used; memory of Redis: %" PRId64 " bytes before, %" PRId64 " after\n",
                  count, before, used_memory(&site));
    assert_true(back);
    assert_int_equal(site_stop(&site), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_lock_has_a_ttl_whatever_is_asked_for, site_clean),
        cmocka_unit_test_setup(nobody_can_ask_for_a_lock_without_a_ttl, site_clean),
        cmocka_unit_test_setup(
            a_client_that_dies_while_it_takes_the_lock_leaves_it_locked_no_longer_than_its_ttl,
            site_clean),
        cmocka_unit_test_setup(
            a_server_that_dies_leaves_what_it_granted_locked_no_longer_than_its_ttl, site_clean),
        cmocka_unit_test_setup(a_release_after_the_own_ttl_does_not_free_the_next_holders_lock,
                               site_clean),
        cmocka_unit_test_setup(check_and_delete_is_one_step, site_clean),
        cmocka_unit_test_setup(the_same_owner_and_only_it_enters_again, site_clean),
        cmocka_unit_test_setup(who_gives_no_owner_is_somebody_else_each_time, site_clean),
        cmocka_unit_test_setup(an_expired_lock_is_taken_over_by_exactly_one_of_many, site_clean),
        cmocka_unit_test_setup(clocks_of_clients_and_servers_play_no_role, site_clean),
        cmocka_unit_test_setup(a_hundred_clients_for_ten_prizes_make_exactly_ten_winners,
                               site_clean),
        cmocka_unit_test(names_used_once_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, site_set_up, site_tear_down);
}
