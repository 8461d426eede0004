/* The library of functions that batond has in Redis: who may not load or call it is told so, nobody
 * notices when it is gone, replicas have it, and those of old releases are removed. */
#include "tests/support/fixtures/on_cluster.h"
#include "tests/support/fixtures/on_quorum.h"
#include "tests/support/watched.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LOADERS = 4,
    FLUSHES = 50,
    LIBRARY_TEXT = 200,
};

#define HOUR_US 3600000000LL
#define OLD     "baton_0000000000000000"
#define YOUNG   "baton_1111111111111111"
#define UNKNOWN "baton_2222222222222222"
#define FOREIGN "somebody_elses"
#define ENTRIES "baton:epoch:libraries"

/* How many libraries of this name are there; with a star, whose names begin so. */
static size_t libraries(struct redis_process *redis, const char *name)
{
    redisReply *reply = redis_process_command(redis, "FUNCTION LIST LIBRARYNAME %s", name);
    size_t count = reply->elements;
    freeReplyObject(reply);
    return count;
}

static void load_library(struct redis_process *redis, const char *name)
{
    char text[LIBRARY_TEXT];
    snprintf(text, sizeof text,
             "#!lua name=%s\nredis.register_function('%s_f', function() return 1 end)", name, name);
    freeReplyObject(redis_process_command(redis, "FUNCTION LOAD %s", text));
}

/* Writes the name of the only library that is there. */
static void name_of_library(struct redis_process *redis, char name[64])
{
    redisReply *reply = redis_process_command(redis, "FUNCTION LIST");
    assert_int_equal(reply->elements, 1);
    snprintf(name, 64, "%s", reply->element[0]->element[1]->str);
    freeReplyObject(reply);
}

static bool is_asked(void *redis)
{
    return libraries(redis, OLD) == 0;
}

/* The first look at the libraries comes 5 to 15 s after the start of batond. So this one is started
 * before all other tests, and is asked behind them. */
struct early {
    struct service service;
    char own[64];
};

static int begin(void **state)
{
    struct early *early = calloc(1, sizeof *early);
    char *own = early->own;
    *state = early;
    service_open(&early->service, NULL, NULL);
    struct redis_process *redis = &early->service.redis;
    answers(early->service.client, "POST /locks/a?ttl=10m", NULL, 201, NULL);
    name_of_library(redis, own);
    load_library(redis, OLD);
    load_library(redis, YOUNG);
    load_library(redis, UNKNOWN);
    load_library(redis, FOREIGN);
    redisReply *now = redis_process_command(redis, "TIME");
    int64_t now_us = strtoll(now->element[0]->str, NULL, 10) * 1000000;
    freeReplyObject(now);
    freeReplyObject(redis_process_command(
        redis, "HSET " ENTRIES " " OLD " %lld " YOUNG " %lld " FOREIGN " 1 %s 1",
        (long long)(now_us - 25 * HOUR_US), (long long)(now_us - 23 * HOUR_US), own));
    return 0;
}

static int end(void **state)
{
    free(*state);
    return 0;
}

/* Clients that acquire and release all the time. */
struct load {
    const char *url;
    int number;
    _Atomic(bool) stop;
    _Atomic(long) rounds;
    long served, failures;
    pthread_t thread;
};

/* A Redis that a busy machine has kept from answering for too long is another matter. */
static bool is_lost(const struct http_client *client)
{
    const char *detail = http_text(client, "detail");
    return detail &&
           (strstr(detail, "no connection to Redis now") || strstr(detail, "outcome is unknown"));
}

static void load_note(struct load *load, const struct http_client *client, long status, long wanted)
{
    load->served += status == wanted;
    if (status == wanted || (status == 503 && is_lost(client)))
        return;
    load->failures++;
    print_error("%ld %s\n", status, client->reply.body);
}

static void *load_run(void *context)
{
    struct load *load = context;
    struct http_client *client = http_client_new(load->url);
    char path[64], header[TOKEN_TEXT + 16];
    while (!load->stop) {
        snprintf(path, sizeof path, "/locks/load%d-%ld", load->number, load->rounds++);
        long status = http_call(client, "POST", path, NULL);
        load_note(load, client, status, 201);
        if (status != 201)
            continue;
        snprintf(header, sizeof header, "Lock-Token: %s", http_text(client, "token"));
        struct http_call release = {.method = "DELETE", .path = path, .headers = LIST(header)};
        load_note(load, client, http_request(client, &release), 200);
    }
    http_client_free(client);
    return NULL;
}

static void loads_start(struct load loads[LOADERS], const char *url)
{
    for (int i = 0; i < LOADERS; i++) {
        loads[i] = (struct load){.url = url, .number = i};
        pthread_create(&loads[i].thread, NULL, load_run, &loads[i]);
    }
}

struct goal {
    const struct load *loads;
    long rounds[LOADERS];
};

static bool have_gone_on(void *context)
{
    const struct goal *goal = context;
    for (int i = 0; i < LOADERS; i++)
        if (goal->loads[i].rounds < goal->rounds[i])
            return false;
    return true;
}

/* Until each of them has been served since: a function that is forgotten again and again is not
 * loaded for ever. */
static void await_rounds(const struct load loads[LOADERS])
{
    struct goal goal = {.loads = loads};
    for (int i = 0; i < LOADERS; i++)
        goal.rounds[i] = loads[i].rounds + 2;
    assert_true(clock_wait_until(have_gone_on, &goal, CLOCK_HANG_MS));
}

static void loads_end(struct load loads[LOADERS])
{
    for (int i = 0; i < LOADERS; i++)
        loads[i].stop = true;
    for (int i = 0; i < LOADERS; i++) {
        pthread_join(loads[i].thread, NULL);
        assert_int_equal(loads[i].failures, 0);
        assert_true(loads[i].served > 0);
    }
}

TEST(clients_do_not_notice_that_a_primary_of_a_cluster_forgets_the_library)
{
    struct on_cluster all;
    struct load loads[LOADERS];
    on_cluster_open(&all, NULL, NULL);
    loads_start(loads, all.batond[0].url);
    for (int i = 0; i < FLUSHES; i++) {
        freeReplyObject(clustered_ask(&all.clustered, i % CLUSTERED_PRIMARIES, "FUNCTION FLUSH"));
        await_rounds(loads);
    }
    loads_end(loads);
    on_cluster_close(&all);
}

TEST(clients_do_not_notice_that_a_member_of_a_quorum_forgets_the_library)
{
    struct quorum_servers servers;
    struct batond_process batond;
    struct load loads[LOADERS];
    quorum_servers_start(&servers);
    struct http_client *client = batond_open(&batond, servers.url, NULL);
    await_up(client, "5 of 5");
    loads_start(loads, batond.url);
    for (int i = 0; i < FLUSHES; i++) {
        freeReplyObject(
            redis_process_command(&servers.members[i % QUORUM_MEMBERS], "FUNCTION FLUSH"));
        await_rounds(loads);
    }
    loads_end(loads);
    for (int i = 0; i < QUORUM_MEMBERS; i++)
        assert_int_equal(libraries(&servers.members[i], "baton_*"), 1);
    batond_close(&batond, client);
    quorum_servers_stop(&servers);
}

/* How often FUNCTION LOAD has run there, as a client's command or as the primary's. */
static unsigned long loads_at(const struct watched *watched, int server)
{
    static const char LOADS[] = "cmdstat_function|load:calls=";
    redisReply *reply = watched_ask(watched->servers[server].port, "INFO commandstats");
    const char *found = strstr(reply->str, LOADS);
    unsigned long loads = found ? strtoul(found + strlen(LOADS), NULL, 10) : 0;
    freeReplyObject(reply);
    return loads;
}

static bool has_library(void *server)
{
    redisReply *reply = watched_ask(((struct redis_process *)server)->port, "FUNCTION LIST");
    size_t count = reply->elements;
    freeReplyObject(reply);
    return count == 1;
}

TEST(a_promoted_replica_has_it)
{
    struct watched watched = {0};
    struct batond_process batond;
    unsigned long loads[WATCHED_SERVERS];
    watched_start(&watched, NULL);
    struct http_client *client = batond_open(&batond, watched.url, NULL);
    answers(client, "POST /locks/before?ttl=1m", NULL, 201, NULL);
    int old = watched_primary(&watched, 0);
    for (int i = 0; i < WATCHED_SERVERS; i++) {
        assert_true(clock_wait_until(has_library, &watched.servers[i], CLOCK_HANG_MS));
        loads[i] = loads_at(&watched, i);
    }
    assert_int_equal(loads[old], 1);
    redis_process_kill(&watched.servers[old]);
    int promoted = watched_await_other(&watched, old);
    assert_true(comes_to_answer(client, "/locks/before", 200, CLOCK_HANG_MS));
    assert_int_equal(loads_at(&watched, promoted), loads[promoted]);
    batond_close(&batond, client);
    watched_stop(&watched);
}

TEST(unused_library_is_deleted)
{
    struct early *early = *state;
    const char *own = early->own;
    struct redis_process *redis = &early->service.redis;
    assert_true(clock_wait_until(is_asked, redis, CLOCK_HANG_MS));
    assert_int_equal(libraries(redis, YOUNG), 1);
    assert_int_equal(libraries(redis, UNKNOWN), 1);
    assert_int_equal(libraries(redis, FOREIGN), 1);
    assert_int_equal(libraries(redis, own), 1);
    assert_int_equal(redis_process_integer(redis, "HEXISTS " ENTRIES " " OLD), 0);
    assert_int_equal(redis_process_integer(redis, "HEXISTS " ENTRIES " " YOUNG), 1);
    assert_int_equal(redis_process_integer(redis, "HSTRLEN " ENTRIES " %s", own), 16);
    answers(early->service.client, "GET /locks/a", NULL, 200, NULL);
    assert_string_equal(http_text(early->service.client, "state"), "held");
    service_close(&early->service);
}

RUN_TESTS(begin, end)
