/* Waiters of two servers on one queue: granted in order, claimed, sent away, lost and found. */
#include "locks/calls/state.h"
#include "locks/store_events.h"
#include "locks/waiting/subscription.h"
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"
#include "tests/support/fixtures/locks_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char HOLDER[] = "holder-0123456789012345";

enum {
    TOKEN_TEXT = 32,
    PATIENCE_MS = FIXTURE_TTL_MS,
    GUEST_TTL_MS = FIXTURE_TTL_MS / 2,
    SHORT_CLAIM_MS = 500,
    SHORT_LEASE_MS = 400,
};

/* A waiter of the test's. */
struct guest {
    struct site *site;
    struct waiter *waiter;
    struct answer answer;
    char token[TOKEN_TEXT];
    struct acquire request;
};

/* HOLDER has the lock "n" already, for long. */
static int start_held(void **state)
{
    fixture_start(state);
    struct locks_fixture *fixture = *state;
    fixture_lock(&fixture->here, "n", HOLDER, FIXTURE_TTL_MS);
    return 0;
}

static void request_lock(struct guest *guest)
{
    guest->answer = (struct answer){.gone = guest->answer.gone};
    const struct acquirer acquirer = {&guest->answer, fixture_is_connected,
                                      .queued = fixture_queued};
    guest->waiter = locks_wait(guest->site->locks, &guest->request, &acquirer, fixture_answered);
    assert_int_equal(guest->answer.count, 0);
}

/* Sends a request that waits, each with a token and owner of its own. */
static void wait_as(struct guest *guest, struct site *site, int number, int64_t wait_ms,
                    int64_t keep_ms)
{
    *guest = (struct guest){.site = site};
    snprintf(guest->token, sizeof guest->token, "guest-%017d", number);
    guest->request = fixture_request("n", guest->token, GUEST_TTL_MS);
    guest->request.owner = slice_of(guest->token);
    guest->request.wait_ms = wait_ms;
    guest->request.keep_ms = keep_ms;
    request_lock(guest);
}

static void await_queue(struct locks_fixture *fixture, int64_t length)
{
    fixture_await_queue(&fixture->here, "n", length);
}

/* Sends one that waits for long, and sees it in the queue, as the so-many-th; its server knows. */
static void queue_up(struct guest *guest, struct site *site, int number, int64_t place)
{
    wait_as(guest, site, number, PATIENCE_MS, 0);
    fixture_await(site->fixture, &guest->answer.queued, 1);
    await_queue(site->fixture, place);
}

static void assert_granted(struct locks_fixture *fixture, struct guest *guest)
{
    fixture_await(fixture, &guest->answer.count, 1);
    assert_int_equal(guest->answer.reply.result, LOCKS_DONE);
    assert_true(guest->answer.reply.hold.ttl_ms > fixture->claim_ms); /* all of its TTL */
}

static void assert_result(struct locks_fixture *fixture, struct guest *guest,
                          enum locks_result result)
{
    fixture_await(fixture, &guest->answer.count, 1);
    assert_int_equal(guest->answer.reply.result, result);
}

static void assert_free(struct locks_fixture *fixture)
{
    assert_int_equal(fixture_remaining(&fixture->here, "n"), 0);
    assert_int_equal(fixture_inspect(&fixture->here, "n").reply.view.queue_length, 0);
}

static uint64_t calls_of(struct locks_fixture *fixture)
{
    return store_figures(fixture->here.store).calls + store_figures(fixture->there.store).calls;
}

TEST_ON_FIXTURE(waiters_of_two_servers_are_granted_in_order_of_arrival, start_held, fixture_stop)
{
    enum { COUNT = 5 };
    struct guest guests[COUNT];
    for (int i = 0; i < COUNT; i++) {
        queue_up(&guests[i], i % 2 ? &fixture->here : &fixture->there, i, i + 1);
    }
    const char *holder = HOLDER;
    uint64_t calls = calls_of(fixture);
    for (int i = 0; i < COUNT; i++) {
        fixture_release(i % 3 ? &fixture->here : &fixture->there, "n", holder);
        assert_granted(fixture, &guests[i]);
        for (int later = i + 1; later < COUNT; later++)
            assert_int_equal(guests[later].answer.count, 0);
        holder = guests[i].token;
    }
    /* No "herd on every release" (Consul 7523): a claim is all that is added to a release, and not
     * even that for the first two, who are told by its reply. */
    assert_true(calls_of(fixture) - calls <= COUNT + COUNT - 2);
    fixture_release(&fixture->here, "n", holder);
    assert_free(fixture);
}

/* Where the release and the next waiter are at one server, its answer is all it takes. */
TEST_ON_FIXTURE(a_hand_over_within_a_server_is_one_command, start_held, fixture_stop)
{
    struct guest first, second;
    queue_up(&first, &fixture->here, 1, 1);
    queue_up(&second, &fixture->there, 2, 2);
    uint64_t calls = store_figures(fixture->here.store).calls;
    struct answer release = fixture_release(&fixture->here, "n", HOLDER);
    assert_int_equal(first.answer.count, 1); /* told before the one who releases */
    assert_int_equal(first.answer.reply.result, LOCKS_DONE);
    assert_true(first.answer.reply.hold.fence > 0);
    assert_int_equal(first.answer.reply.hold.fence, release.reply.release.version);
    assert_int_equal(first.answer.reply.hold.ttl_ms, GUEST_TTL_MS);
    assert_int_equal(store_figures(fixture->here.store).calls, calls + 1);
    assert_in_range(fixture_remaining(&fixture->here, "n"), FIXTURE_CLAIM_MS, GUEST_TTL_MS);
    assert_int_equal(second.answer.count, 0);
    fixture_release(&fixture->here, "n", first.token);
    assert_granted(fixture, &second);
    fixture_release(&fixture->there, "n", second.token);
    assert_free(fixture);
}

/* The hold lasts as long as its token's last request said, be that one that does not wait. */
TEST_IN_FIXTURE(a_hand_over_within_a_server_reports_the_ttl_that_redis_has)
{
    for (int others = 0; others < 2; others++) {
        struct guest guest, other;
        fixture_lock(&fixture->here, "n", HOLDER, FIXTURE_TTL_MS);
        queue_up(&guest, &fixture->here, 1, 1);
        if (others)
            queue_up(&other, &fixture->here, 2, 1 + others);
        struct acquire again = guest.request;
        again.wait_ms = 0;
        again.ttl_ms = GUEST_TTL_MS / 2 + 1000;
        assert_int_equal(fixture_acquire(&fixture->here, &again).reply.result, LOCKS_LOCKED);
        fixture_release(&fixture->here, "n", HOLDER);
        assert_result(fixture, &guest, LOCKS_DONE);
        assert_int_equal(guest.answer.reply.hold.ttl_ms, again.ttl_ms);
        fixture_release(&fixture->here, "n", guest.token);
        if (others) /* whose turn it is then, as the reply to the release tells */
            assert_granted(fixture, &other);
        redis_process_flush(&fixture->redis);
    }
}

/* The server that hears of the loss of its own waiter's client does not keep the lock for it. */
TEST_ON_FIXTURE(a_hand_over_within_a_server_looks_for_the_client, start_held, fixture_stop)
{
    struct guest gone, next;
    queue_up(&gone, &fixture->here, 1, 1);
    queue_up(&next, &fixture->here, 2, 2);
    gone.answer.gone = true;
    fixture_release(&fixture->here, "n", HOLDER);
    assert_granted(fixture, &next);
    assert_int_equal(gone.answer.count, 0);
    locks_abandon(gone.waiter);
    fixture_release(&fixture->here, "n", next.token);
    assert_free(fixture);
}

/* The server has a tick planned for the end of the hold before, which was long. */
TEST_ON_FIXTURE(the_expiry_of_what_was_handed_over_is_noticed, start_held, fixture_stop)
{
    enum { TTL_MS = 300 };
    struct guest first = {.site = &fixture->there}, next;
    first.request = fixture_request("n", "guest-00000000000000001", TTL_MS);
    first.request.owner = slice_of("first");
    first.request.wait_ms = PATIENCE_MS;
    request_lock(&first);
    await_queue(fixture, 1);
    queue_up(&next, &fixture->there, 2, 2);
    int64_t begun = clock_ms();
    fixture_release(&fixture->here, "n", HOLDER);
    assert_result(fixture, &first, LOCKS_DONE);
    assert_granted(fixture, &next);
    assert_true(clock_ms() - begun >= TTL_MS - 5);
}

/* The server that has renewed would look after the end for a while. */
TEST_ON_FIXTURE(renewal_to_less_is_noticed_though_its_server_stops, start_held, fixture_stop)
{
    struct guest guest;
    struct site renewer;
    queue_up(&guest, &fixture->there, 1, 1);
    site_open(&renewer, fixture, 3);
    fixture_renew(&renewer, "n", HOLDER, 1500);
    site_close(&renewer);
    assert_granted(fixture, &guest);
}

/* In every phase: before Redis has seen it, and with its answer on the way. */
TEST_IN_FIXTURE(a_waiter_may_be_abandoned_while_redis_is_asked)
{
    struct guest gone;
    wait_as(&gone, &fixture->here, 1, PATIENCE_MS, 0); /* will be granted */
    locks_abandon(gone.waiter);
    fixture_settle(&fixture->here);
    assert_int_equal(gone.answer.count, 0);
    assert_free(fixture);

    fixture_lock(&fixture->here, "n", HOLDER, FIXTURE_TTL_MS);
    wait_as(&gone, &fixture->here, 2, PATIENCE_MS, 0); /* will be queued */
    locks_abandon(gone.waiter);
    fixture_await_settled(&fixture->here);
    await_queue(fixture, 0);
}

/* Where even the hang-up is not told, the claim window ends it. Another server of its process is
 * suspected as well, and shows that it is there: at once, not with its next heartbeat. */
TEST_IN_FIXTURE(a_grant_that_nobody_claims_costs_a_sibling_no_time)
{
    struct guest gone, next;
    fixture_reopen(fixture, SHORT_CLAIM_MS, FIXTURE_LEASE_MS);
    site_close(&fixture->there);
    site_open(&fixture->there, fixture, 1);
    fixture_lock(&fixture->here, "n", HOLDER, FIXTURE_TTL_MS);
    queue_up(&gone, &fixture->here, 1, 1);
    queue_up(&next, &fixture->there, 2, 2);
    gone.answer.gone = true;
    int64_t begun = clock_ms();
    fixture_release(&fixture->there, "n", HOLDER);
    assert_granted(fixture, &next);
    assert_true(clock_ms() - begun >= SHORT_CLAIM_MS - 5);
    assert_int_equal(gone.answer.count, 0);
    locks_abandon(gone.waiter);
}

/* A request read late, of a client that has gone, must not take the place of the one it sent since.
 */
TEST_ON_FIXTURE(a_client_that_has_gone_is_not_even_queued, start_held, fixture_stop)
{
    struct guest live, late;
    queue_up(&live, &fixture->there, 1, 1);
    late = (struct guest){.site = &fixture->here, .answer = {.gone = true}};
    late.request = live.request;
    request_lock(&late);
    fixture_settle(&fixture->here);
    locks_abandon(late.waiter);
    fixture_settle(&fixture->here);
    fixture_release(&fixture->here, "n", HOLDER);
    assert_granted(fixture, &live);
}

/* "Wake-ups dropped while pub/sub reconnects": Redis documentation. */
TEST_ON_FIXTURE(a_grant_made_while_the_inbox_was_cut_is_found, start_held, fixture_stop)
{
    struct guest guest;
    queue_up(&guest, &fixture->there, 1, 1);
    redis_process_integer(&fixture->redis, "CLIENT KILL TYPE pubsub");
    redis_process_integer(&fixture->redis, "CLIENT KILL TYPE pubsub");
    fixture_release(&fixture->here, "n", HOLDER);
    assert_granted(fixture, &guest);
}

static void notify(struct locks *locks, const char *message)
{
    struct store_events events = store_events_of(locks);
    events.message(events.context, 0, slice_of(message));
}

/* Shorter than the lease, which goes on meanwhile, and longer than a call of either server waits.
 */
TEST_IN_FIXTURE(waiters_outlast_a_pause_of_redis)
{
    struct guest first, second;
    fixture_lock(&fixture->here, "n", HOLDER, 5000);
    queue_up(&first, &fixture->here, 1, 1);
    queue_up(&second, &fixture->there, 2, 2);
    redis_process_freeze(&fixture->redis);
    notify(fixture->here.locks, "s baton:{n}");      /* the first asks again, in vain */
    fixture_await(fixture, &fixture->here.downs, 1); /* each by its tick when the hold has ended */
    fixture_await(fixture, &fixture->there.downs, 1);
    redis_process_thaw(&fixture->redis);
    assert_granted(fixture, &first);
    assert_int_equal(second.answer.count, 0);
    fixture_release(&fixture->here, "n", first.token);
    assert_granted(fixture, &second);
}

/* A Redis that has lost its data gets all of them again. */
TEST_ON_FIXTURE(waiters_are_queued_anew_where_redis_has_lost_them, start_held, fixture_stop)
{
    struct guest first, second;
    fixture_reopen(fixture, FIXTURE_CLAIM_MS, SHORT_LEASE_MS);
    queue_up(&first, &fixture->here, 1, 1);
    queue_up(&second, &fixture->here, 2, 2);
    freeReplyObject(redis_process_command(&fixture->redis, "FLUSHALL"));
    assert_granted(fixture, &first); /* at the next heartbeat */
    fixture_release(&fixture->here, "n", first.token);
    assert_granted(fixture, &second);
}

TEST_ON_FIXTURE(a_wait_that_ends_without_redis_says_so, start_held, fixture_stop)
{
    struct guest guest;
    wait_as(&guest, &fixture->here, 1, 4000, 0);
    await_queue(fixture, 1);
    freeReplyObject(redis_process_command(&fixture->redis, "CONFIG SET maxclients 1"));
    redis_process_integer(&fixture->redis, "CLIENT KILL TYPE normal");
    assert_result(fixture, &guest, LOCKS_UNAVAILABLE);
    freeReplyObject(redis_process_command(&fixture->redis, "CONFIG SET maxclients 100"));
    fixture_await(fixture, &fixture->here.ups, 2);
    await_queue(fixture, 0); /* and what it left behind is taken back */
}

/* Heartbeats keep a waiter alive for longer than the lease... */
TEST_ON_FIXTURE(a_waiter_outlives_the_lease_while_its_server_lives, start_held, fixture_stop)
{
    struct guest guest;
    fixture_reopen(fixture, FIXTURE_CLAIM_MS, SHORT_LEASE_MS);
    queue_up(&guest, &fixture->there, 1, 1);
    fixture_await_calls(&fixture->there, store_figures(fixture->there.store).calls + 5);
    await_queue(fixture, 1);
    fixture_release(&fixture->here, "n", HOLDER);
    assert_granted(fixture, &guest);
}

/* ... but after a pause that was too long Redis has dropped it, and is asked again. That a newer
 * request of the same server is known there must not hide it. */
TEST_ON_FIXTURE(a_server_that_slept_too_long_queues_all_its_waiters_again, start_held, fixture_stop)
{
    struct guest first, late;
    fixture_reopen(fixture, FIXTURE_CLAIM_MS, SHORT_LEASE_MS);
    queue_up(&first, &fixture->there, 1, 1);
    clock_sleep_ms(SHORT_LEASE_MS + SHORT_LEASE_MS / 5);
    uv_update_time(&fixture->loop);
    queue_up(&late, &fixture->there, 2, 2);
    locks_abandon(late.waiter);
    fixture_release(&fixture->here, "n", HOLDER);
    assert_granted(fixture, &first);
}

/* As if half a lease had passed: then all of them are due for a heartbeat. */
static void make_heartbeats_due(struct site *site)
{
    struct subscriptions *subscriptions = site->locks->subscriptions;
    struct subscription *subscription;
    uv_update_time(&site->fixture->loop);
    TAILQ_FOREACH (subscription, &subscriptions->list, others)
        subscription->heartbeat_at = uv_now(&site->fixture->loop) - FIXTURE_LEASE_MS / 2;
    uv_timer_start(&subscriptions->heartbeat, subscriptions->heartbeat.timer_cb, 0, 0);
}

static bool all_leases_are_renewed(struct site *site)
{
    struct subscription *subscription;
    TAILQ_FOREACH (subscription, &site->locks->subscriptions->list, others)
        if (subscription->heartbeat_at + FIXTURE_LEASE_MS / 4 < uv_now(&site->fixture->loop))
            return false;
    return true;
}

TEST_IN_FIXTURE(names_are_renewed_in_batches_by_heartbeats)
{
    enum { NAMES = 150 };
    struct guest *guests = calloc(NAMES, sizeof *guests);
    char names[NAMES][24];
    for (int i = 0; i < NAMES; i++) {
        snprintf(names[i], sizeof names[i], "name-%d", i);
        fixture_lock(&fixture->there, names[i], HOLDER, FIXTURE_TTL_MS);
        guests[i].site = &fixture->here;
        guests[i].request = fixture_request(names[i], "guest-0123456789012345", GUEST_TTL_MS);
        guests[i].request.owner = slice_of("another");
        guests[i].request.wait_ms = PATIENCE_MS;
        request_lock(&guests[i]);
    }
    fixture_settle(&fixture->here);
    uint64_t before = store_figures(fixture->here.store).calls;
    make_heartbeats_due(&fixture->here);
    while (!all_leases_are_renewed(&fixture->here))
        fixture_idle(fixture, 5);
    assert_in_range(store_figures(fixture->here.store).calls - before, 1, NAMES / 4);
    for (int i = 0; i < NAMES; i++)
        locks_abandon(guests[i].waiter);
    fixture_await_settled(&fixture->here);
    free(guests);
}

/* What was granted while it was told of the drain, it cannot know of: that is to be claimed. */
TEST_IN_FIXTURE(a_server_that_drains_gives_back_what_it_is_just_granted)
{
    struct guest guest;
    wait_as(&guest, &fixture->there, 1, PATIENCE_MS, 0);
    locks_drain(fixture->there.locks);
    assert_result(fixture, &guest, LOCKS_DRAINING);
    fixture_await_settled(&fixture->there);
    assert_in_range(fixture_remaining(&fixture->here, "n"), 1, FIXTURE_CLAIM_MS);
}

/* Until Redis tells this server of a grant; `link` is subscribed to its inbox. */
static void read_grant(redisContext *link, char *ret_message, size_t size)
{
    redisReply *reply;
    do {
        assert_int_equal(redisGetReply(link, (void **)&reply), REDIS_OK);
        snprintf(ret_message, size, "%s", reply->element[2]->str);
        freeReplyObject(reply);
    } while (strncmp(ret_message, "g ", 2) != 0);
}

/* A server hears of a grant for an attempt that it does not have. The server that has it does
 * nothing, since its client has gone. */
TEST_ON_FIXTURE(grant_to_unknown_attempt_goes_to_next, start_held, fixture_stop)
{
    struct guest gone, next;
    char message[120];
    redisContext *link = redisConnectUnix(fixture->redis.socket);
    freeReplyObject(
        redisCommand(link, "SUBSCRIBE baton:inbox:%s", fixture->there.locks->texts.worker));
    wait_as(&gone, &fixture->there, 1, PATIENCE_MS, 0);
    await_queue(fixture, 1);
    wait_as(&next, &fixture->here, 2, PATIENCE_MS, 0);
    await_queue(fixture, 2);
    gone.answer.gone = true;
    int looks = gone.answer.looks;
    fixture_release(&fixture->here, "n", HOLDER);
    fixture_await(fixture, &gone.answer.looks, looks + 1);
    assert_int_equal(next.answer.count, 0);
    read_grant(link, message, sizeof message);
    redisFree(link);
    notify(fixture->here.locks, message);
    assert_granted(fixture, &next);
    locks_abandon(gone.waiter);
}

TEST_ON_FIXTURE(grant_to_older_attempt_leaves_later_one, start_held, fixture_stop)
{
    struct guest guest;
    wait_as(&guest, &fixture->here, 1, PATIENCE_MS, 0);
    assert_int_equal(guest.answer.count, 0);
    await_queue(fixture, 1);
    notify(fixture->here.locks, "g 00000000000000ff guest-00000000000000001 baton:{n}");
    fixture_settle(&fixture->here);
    await_queue(fixture, 1); /* the attempt that is there keeps its place */
    assert_int_equal(guest.answer.count, 0);
    locks_abandon(guest.waiter);
    await_queue(fixture, 0);
}

/* The reply that is on its way may be older than the message. */
TEST_ON_FIXTURE(message_before_reply_asks_again, start_held, fixture_stop)
{
    struct guest guest;
    uint64_t calls = store_figures(fixture->here.store).calls;
    wait_as(&guest, &fixture->here, 1, PATIENCE_MS, 0);
    notify(fixture->here.locks, "s baton:{n}");
    fixture_await_calls(&fixture->here, calls + 2);
    assert_int_equal(guest.answer.count, 0);
    locks_abandon(guest.waiter);
}

TEST_ON_FIXTURE(odd_messages_do_nothing, start_held, fixture_stop)
{
    static const char *const MESSAGES[] = {"",
                                           "g",
                                           "g ",
                                           "g x",
                                           "g x y",
                                           "x",
                                           "x 1",
                                           "n",
                                           "n x",
                                           "n -5 baton:{n}",
                                           "c",
                                           "c 1",
                                           "? 1 2 3",
                                           "n 10 baton:{m}",
                                           "x 1 baton:{n}",
                                           "c 7 baton:{n}",
                                           "s",
                                           "s baton:{m}"};
    struct guest guest;
    queue_up(&guest, &fixture->here, 1, 1);
    for (size_t i = 0; i < sizeof MESSAGES / sizeof MESSAGES[0]; i++)
        notify(fixture->here.locks, MESSAGES[i]);
    fixture_settle(&fixture->here);
    assert_int_equal(guest.answer.count, 0);
    fixture_release(&fixture->here, "n", HOLDER);
    assert_granted(fixture, &guest);
}
