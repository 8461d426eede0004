/* What answers is the same run of Redis, or a replica that has followed it, and yet has lost locks.
 */
#include "tests/support/fixtures/pair.h"
#include "tests/support/fixtures/parked.h"
#include "tests/support/fixtures/replicated.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_MS = CLOCK_HANG_MS };

/* A replica is given all without a pause. */
static const struct redis_options AT_ONCE = {.port = true,
                                             .arguments = LIST("--repl-diskless-sync-delay", "0")};

static void follow(struct redis_process *redis, const struct redis_process *primary)
{
    if (primary)
        freeReplyObject(redis_process_command(redis, "REPLICAOF 127.0.0.1 %d", primary->port));
    else
        freeReplyObject(redis_process_command(redis, "REPLICAOF NO ONE"));
}

static bool has_synced(void *context)
{
    redisReply *reply = redis_process_command(context, "INFO replication");
    bool is_up = strstr(reply->str, "master_link_status:up") != NULL;
    freeReplyObject(reply);
    return is_up;
}

static void await_sync(struct redis_process *redis)
{
    assert_true(clock_wait_until(has_synced, redis, PATIENCE_MS));
}

/* It was given the data of one that lacks the lock, and is a primary again, as Sentinel may have it
 * where one failover follows another. */
TEST(redis_that_was_a_replica_for_a_while_grants_nothing)
{
    struct redis_process other;
    struct service service;
    /* Of two workers both may be the first to notice. */
    service_open(&service, &AT_ONCE, LIST("--workers=1", "--quarantine=auto"));
    redis_process_start(&other, &AT_ONCE);
    redis_process_await_looks(&service.redis, 1);
    follow(&other, &service.redis);
    await_sync(&other);
    follow(&other, NULL);
    answers(service.client, "POST /locks/n?ttl=5m", NULL, 201, NULL);
    redis_process_await_looks(&service.redis, 1);
    follow(&service.redis, &other);
    await_sync(&service.redis);
    follow(&service.redis, NULL);
    freeReplyObject(redis_process_command(&service.redis, "CLIENT KILL TYPE normal SKIPME yes"));
    assert_int_equal(redis_process_integer(&service.redis, "EXISTS baton:{n}"), 0);
    assert_true(comes_to_answer(service.client, "/readyz", 200, PATIENCE_MS));
    answers(service.client, "POST /locks/n", NULL, 503, "quarantined");
    assert_string_equal(member_text(service.client, "reason"), "server");
    /* And not anew with every connection. */
    freeReplyObject(redis_process_command(&service.redis, "CLIENT KILL TYPE normal SKIPME yes"));
    assert_true(comes_to_answer(service.client, "/readyz", 200, PATIENCE_MS));
    answers(service.client, "GET /metrics", NULL, 200, NULL);
    assert_non_null(
        strstr(service.client->reply.body, "baton_quarantines_total{reason=\"server\"} 1\n"));
    redis_process_stop(&other);
    service_close(&service);
}

struct history {
    struct redis_process *redis;
    const char *before;
};

static bool has_another_name(void *context)
{
    const struct history *history = context;
    clock_sleep_ms(100);
    redisReply *reply = redis_process_command(history->redis, "INFO replication");
    const char *now = strstr(reply->str, "master_replid:");
    bool is_another = strncmp(history->before, now, strlen("master_replid:") + 40) != 0;
    freeReplyObject(reply);
    return is_another;
}

/* Where a primary has had no replicas for long, it gives its history another name. */
TEST(a_history_that_begins_anew_is_no_loss)
{
    struct redis_process other;
    struct service service;
    service_open(&service,
                 &(struct redis_options){.port = true,
                                         .arguments = LIST("--repl-backlog-ttl", "1",
                                                           "--repl-diskless-sync-delay", "0")},
                 LIST("--workers=2", "--quarantine=auto"));
    redis_process_start(&other, &AT_ONCE);
    follow(&other, &service.redis);
    await_sync(&other);
    answers(service.client, "POST /locks/n?ttl=5m", NULL, 201, NULL);
    redis_process_await_looks(&service.redis, 2);
    redisReply *before = redis_process_command(&service.redis, "INFO replication");
    redis_process_kill(&other);
    struct history history = {&service.redis, strstr(before->str, "master_replid:")};
    assert_true(clock_wait_until(has_another_name, &history, PATIENCE_MS));
    freeReplyObject(before);
    freeReplyObject(redis_process_command(&service.redis, "CLIENT KILL TYPE normal SKIPME yes"));
    assert_true(comes_to_answer(service.client, "/readyz", 200, PATIENCE_MS));
    answers(service.client, "POST /locks/m", NULL, 201, NULL);
    redis_process_stop(&other);
    service_close(&service);
}

/* Who gives the address of the primary to another server is a proxy, or DNS; here a link. */
static void lead_to(const struct replicated *all, const struct redis_process *server)
{
    char path[200];
    snprintf(path, sizeof path, "%s/current", all->primary.dir.path);
    unlink(path);
    assert_int_equal(symlink(server->socket, path), 0);
}

static void open_behind(struct replicated *all, const char *const *flags)
{
    char url[220];
    lead_to(all, &all->primary);
    snprintf(url, sizeof url, "unix://%s/current", all->primary.dir.path);
    all->client = batond_open(&all->batond, url, flags);
}

static void assert_quarantined_at(struct http_client *client, const char *path)
{
    struct asking asking = {client, path};
    if (!clock_wait_until(comes_to_quarantine, &asking, PATIENCE_MS))
        fail_msg("no quarantine: %s", client->reply.body);
}

/* The one that is promoted was not asked to confirm: it came, or went, while batond was connected.
 */
TEST(a_replica_that_confirmed_nothing_is_counted)
{
    for (int comes_late = 0; comes_late < 2; comes_late++) {
        struct replicated all;
        replicated_start(&all, 1);
        assert_true(replicated_are(&all, REPLICAS, PATIENCE_MS));
        if (comes_late) {
            follow(&all.replicas[1], NULL);
            assert_true(replicated_are(&all, 1, PATIENCE_MS));
        }
        open_behind(&all, LIST("--workers=2", "--quarantine=auto", "--confirm=replicas:1"));
        if (comes_late) {
            follow(&all.replicas[1], &all.primary);
            assert_true(replicated_are(&all, REPLICAS, PATIENCE_MS));
            await_sync(&all.replicas[1]);
        }
        redis_process_await_looks(&all.primary, 2);
        redis_process_freeze(&all.replicas[1]);
        answers(all.client, "POST /locks/n?ttl=5m", NULL, 201, NULL);
        redis_process_await_looks(&all.primary, 2);
        redis_process_kill(&all.primary);
        redis_process_kill(&all.replicas[0]);
        redis_process_thaw(&all.replicas[1]);
        follow(&all.replicas[1], NULL);
        lead_to(&all, &all.replicas[1]);
        assert_quarantined_at(all.client, "/locks/other");
        replicated_close(&all);
    }
}

/* A replica that is some milliseconds behind takes the place of its primary. */
TEST(a_promoted_replica_grants_nothing_unless_it_has_all)
{
    static const char *const FLAGS[] = {"--confirm=none", "--redis-keeps=all",
                                        "--confirm=replicas:2"};
    for (int i = 0; i < 3; i++) {
        bool confirmed = i == 2;
        struct replicated all;
        replicated_start(&all, 3);
        assert_true(replicated_are(&all, REPLICAS, PATIENCE_MS));
        open_behind(&all, LIST("--workers=1", "--quarantine=auto", FLAGS[i]));
        answers(all.client, "POST /locks/n?ttl=5m", NULL, 201, NULL);
        /* A look, so that the end of the old one is known; and the replicas have been there for
         * longer than that, also by the whole seconds that they tell. */
        clock_sleep_ms(2500);
        redis_process_await_looks(&all.primary, 1);
        redis_process_kill(&all.primary);
        redis_process_halt(&all.replicas[1]);
        follow(&all.replicas[0], NULL);
        lead_to(&all, &all.replicas[0]);
        if (confirmed) {
            assert_true(comes_to_answer(all.client, "/locks/n", 200, PATIENCE_MS));
            assert_string_equal(member_text(all.client, "state"), "held");
            answers(all.client, "GET /readyz?verbose", NULL, 503, "unconfirmed");
            assert_null(strstr(all.client->reply.body, "\"quarantine\""));
        } else {
            assert_quarantined_at(all.client, "/locks/other");
        }
        replicated_close(&all);
    }
}

/* Older than the last grant: who was there remembers, and who was not goes by what it says of its
 * own time. */
TEST(an_old_file_is_noticed)
{
    for (int is_new = 0; is_new < 2; is_new++) {
        struct service service;
        service_open(&service, NULL, LIST("--quarantine=auto"));
        answers(service.client, "POST /locks/kept?ttl=5m", NULL, 201, NULL);
        redis_process_save(&service.redis);
        answers(service.client, "POST /locks/lost?ttl=5m", NULL, 201, NULL);
        redis_process_kill(&service.redis);
        if (is_new)
            assert_int_equal(batond_process_stop(&service.batond), 0);
        redis_process_resume(&service.redis);
        assert_int_equal(redis_process_integer(&service.redis, "EXISTS baton:{kept}"), 1);
        assert_int_equal(redis_process_integer(&service.redis, "EXISTS baton:{lost}"), 0);
        if (is_new) {
            http_client_free(service.client);
            batond_process_start(&service.batond,
                                 &(struct batond_options){.redis_url = service.redis.url,
                                                          .arguments = LIST("--quarantine=auto")});
            service.client = http_client_new(service.batond.url);
        }
        assert_true(comes_to_answer(service.client, "/readyz", 200, PATIENCE_MS));
        answers(service.client, "POST /locks/lost", NULL, 503, "quarantined");
        answers(service.client, "POST /locks/kept", NULL, 409, "locked");
        service_close(&service);
    }
}

/* As after a failover to a replica that lacks the last data: the place is that of a request which
 * is over. */
TEST(waiter_keeps_its_place_though_an_old_file_has_an_earlier_request_there)
{
    static const char TOKEN[] = "a-token-of-the-old-file-1";
    struct service service;
    char holder[TOKEN_TEXT];
    service_open(&service, NULL, LIST("--workers=1", "--quarantine=off"));
    acquire_lock(service.client, "aged?ttl=5m", holder);
    struct parked *earlier =
        parked_send_token(service.batond.port, TOKEN, "POST /locks/aged?wait=50s&keep=5s");
    comes_to_queue(service.client, "aged", 1);
    redis_process_save(&service.redis);
    struct parked *later =
        parked_send_token(service.batond.port, TOKEN, "POST /locks/aged?wait=50s&keep=5s");
    assert_int_equal(parked_answer(earlier, PATIENCE_MS), 409);
    assert_string_equal(http_text(&earlier->client, "code"), "superseded");
    redis_process_kill(&service.redis);
    redis_process_resume(&service.redis);
    assert_true(comes_to_answer(service.client, "/readyz", 200, PATIENCE_MS));
    release_lock(service.client, holder, "aged");
    long status = parked_answer(later, PATIENCE_MS); /* 200: granted before it could ask again */
    assert_true(status == 201 || status == 200);
    parked_close(earlier);
    parked_close(later);
    service_close(&service);
}

/* Until the clock is at this part of a second. */
static void await_part(int ms)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    clock_sleep_ms((1000 + ms - now.tv_nsec / 1000000) % 1000);
}

/* Redis tells since how many times the second has changed it has been there: that may be one more
 * than have passed, and the last word with the run before was a short time ago. */
TEST(one_that_was_started_anew_soon_is_none_that_was_promoted)
{
    struct replicated all;
    replicated_start(&all, 1);
    await_part(500);
    open_behind(&all, LIST("--workers=1", "--quarantine=auto", "--confirm=replicas:2"));
    redis_process_save(&all.primary);
    redis_process_await_looks(&all.primary, 1);
    answers(all.client, "POST /locks/n?ttl=5m", NULL, 201, NULL);
    await_part(750);
    process_signal(&all.batond.process, SIGSTOP);
    redis_process_kill(&all.primary);
    redis_process_resume(&all.primary);
    await_part(100);
    process_signal(&all.batond.process, SIGCONT);
    assert_quarantined_at(all.client, "/locks/n");
    replicated_close(&all);
}

/* The server has run for longer than batond, and has followed nobody. All replicas of the primary
 * have confirmed the grant: only a promoted replica would have it. */
TEST(server_of_another_history_begins_quarantine)
{
    struct replicated all;
    struct redis_process stranger;
    replicated_start(&all, 1);
    redis_process_start(&stranger, &AT_ONCE);
    clock_sleep_ms(2500); /* Redis tells in whole seconds for how long it has run */
    open_behind(&all, LIST("--workers=1", "--quarantine=auto", "--confirm=replicas:2"));
    answers(all.client, "POST /locks/n?ttl=5m", NULL, 201, NULL);
    redis_process_await_looks(&all.primary, 1);
    redis_process_kill(&all.primary);
    lead_to(&all, &stranger);
    assert_quarantined_at(all.client, "/locks/n");
    redis_process_stop(&stranger);
    replicated_close(&all);
}
