/* Two replicas that drain when they are restarted, one after the other, again and again, under
 * mixed load: no request fails, although nobody repeats one. Only those who wait are told to come
 * again, to find their place kept. (Not through nginx: without checks of its own, it goes on to
 * connect until the port is closed, and in one of a hundred restarts at that very instant.) */
#include "tests/bench/caller.h"
#include "tests/chaos/stage.h"
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Longer than haproxy takes to see that a replica is not ready, even here. */
enum { DRAIN_MS = 2000, SETTLED_MS = 500, TIMEOUT_MS = 60000 };

/* With six in line, some wait for longer than the time to drain. */
enum { PACE_MS = 10, HOLD_MS = 500, NAMES = 4, TARGET = 96, CREW_MOST = 64, SHOWN = 5 };

struct load {
    struct stage *stage;
    atomic_bool stop;
    atomic_int requests, reported, failed;
    _Atomic int64_t longest_us; /* of the requests that do not wait */
};

/* A client as most are: it keeps its connection, sends one request after the other, and repeats
 * none. */
struct player {
    struct load *load;
    int number;
    enum way way;
    bool is_connected;
    struct caller caller;
    int64_t took_us; /* the latest request */
    pthread_t thread;
};

static void hang_up(struct player *player)
{
    if (player->is_connected)
        caller_close(&player->caller);
    player->is_connected = false;
}

static bool has_code(const struct player *player, const char *code)
{
    char member[40];
    snprintf(member, sizeof member, "\"code\":\"%s\"", code);
    return strstr(player->caller.reply, member) != NULL;
}

static void note_failure(struct player *player, const char *method, const char *target, int status)
{
    if (player->load->failed++ < SHOWN)
        print_error("by way %d, %s %s: %d after %" PRId64 " ms: %.600s\n", (int)player->way, method,
                    target, status, player->took_us / 1000, player->caller.reply);
    hang_up(player);
}

/* Returns the status; 0 where no whole reply came. After the last reply on a connection, who talks
 * to a replica itself goes to the other one. */
static int send_one(struct player *player, const char *method, const char *target,
                    const char *token)
{
    const struct sockaddr_in server = {.sin_family = AF_INET,
                                       .sin_port =
                                           htons((uint16_t)player->load->stage->ports[player->way]),
                                       .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int64_t begun = clock_us();
    player->load->requests++;
    player->caller.reply[0] = '\0';
    int status = player->is_connected ? 0 : caller_open(&player->caller, &server);
    player->is_connected = status == 0;
    if (status == 0)
        status = caller_call(&player->caller, method, target, token);
    player->took_us = clock_us() - begun;
    if (status < 0 || strcasestr(player->caller.reply, "\r\nConnection: close")) {
        hang_up(player);
        if (player->way <= TO_SECOND)
            player->way = player->way == TO_FIRST ? TO_SECOND : TO_FIRST;
    }
    return status > 0 ? status : 0;
}

/* One that has to be answered so. */
static bool expect(struct player *player, const char *method, const char *target, const char *token,
                   int expected)
{
    int status = send_one(player, method, target, token);
    struct load *load = player->load;
    if (status != expected)
        note_failure(player, method, target, status);
    if (player->took_us > load->longest_us)
        load->longest_us = player->took_us;
    clock_sleep_ms(PACE_MS);
    return status == expected;
}

/* Takes a lock of its own, looks at it, keeps it, gives it back. */
static void *play_alone(void *context)
{
    struct player *player = context;
    for (int round = 0; !player->load->stop; round++) {
        char target[TARGET], token[64];
        snprintf(target, sizeof target, "/locks/alone-%d-%d", player->number, round);
        snprintf(token, sizeof token, "alone-%010d-%010d", player->number, round);
        if (expect(player, "POST", target, token, 201) &&
            expect(player, "GET", target, NULL, 200) && expect(player, "PUT", target, token, 200) &&
            expect(player, "DELETE", target, token, 200))
            expect(player, "GET", "/locks?limit=5", NULL, 200);
        if (player->number % 2) /* others keep their connections */
            hang_up(player);
    }
    return NULL;
}

/* Waits for its turn, and comes again with its token when it is told to. */
static bool wait_for_it(struct player *player, const char *target, const char *token)
{
    char waiting[TARGET + 64];
    snprintf(waiting, sizeof waiting, "%s?wait=10s&keep=20s&ttl=20s", target);
    for (;;) {
        int status = send_one(player, "POST", waiting, token);
        if (status == 201 || status == 200)
            return true;
        bool is_reported = (status == 503 && has_code(player, "draining")) ||
                           (status == 409 && has_code(player, "wait_timeout"));
        if (!is_reported) {
            note_failure(player, "POST", waiting, status);
            return false;
        }
        player->load->reported += status == 503;
    }
}

static void *play_in_line(void *context)
{
    struct player *player = context;
    for (int round = 0; !player->load->stop; round++) {
        char target[TARGET], token[64];
        snprintf(target, sizeof target, "/locks/chaos-%d", player->number % NAMES);
        snprintf(token, sizeof token, "line-%010d-%010d", player->number, round);
        bool has_it = wait_for_it(player, target, token);
        clock_sleep_ms(HOLD_MS);
        if (has_it)
            expect(player, "DELETE", target, token, 200);
    }
    return NULL;
}

static const struct {
    int count;
    enum way way; /* a proxy; or the first replica, and then always the one that stays */
    void *(*play)(void *context);
} PARTS[] = {
    {12, BY_HAPROXY, play_alone},
    {4, TO_FIRST, play_alone},
    {32, BY_HAPROXY, play_in_line},
};

static size_t begin(struct load *load, struct player players[CREW_MOST])
{
    size_t count = 0;
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++)
        for (int j = 0; j < PARTS[i].count; j++, count++) {
            struct player *player = &players[count];
            *player = (struct player){.load = load, .number = (int)count, .way = PARTS[i].way};
            if (pthread_create(&player->thread, NULL, PARTS[i].play, player))
                abort();
        }
    return count;
}

static void end(struct load *load, struct player *players, size_t count)
{
    load->stop = true;
    for (size_t i = 0; i < count; i++) {
        pthread_join(players[i].thread, NULL);
        hang_up(&players[i]);
    }
}

/* The next one waits until haproxy has seen this one come back. */
static void restart(struct stage *stage, int replica)
{
    static const char *const SEEN[REPLICAS] = {"replicas/one is UP", "replicas/two is UP"};
    const struct process *haproxy = &stage->front[FRONT_HAPROXY].process;
    char *said = process_output(haproxy);
    size_t offset = strlen(said);
    free(said);
    process_signal(&stage->batond[replica].process, SIGTERM);
    assert_true(process_wait(&stage->batond[replica].process, TIMEOUT_MS));
    stage_end(stage, replica);
    stage_launch(stage, replica);
    assert_true(process_wait_line(haproxy, SEEN[replica], &offset, NULL, 0, TIMEOUT_MS));
    assert_true(stage_listens(stage, replica, TIMEOUT_MS));
    clock_sleep_ms(SETTLED_MS);
}

static void print_front(const struct front *front)
{
    enum { MOST = 3000 };
    char *log = process_output(&front->process);
    size_t length = strlen(log);
    print_error("haproxy: %s\n", log + (length > MOST ? length - MOST : 0));
    free(log);
}

TEST(restarts_fail_no_request)
{
    static struct player players[CREW_MOST];
    static struct load load;
    struct stage stage;
    int count = stage_amount(100, 6);
    load.stage = &stage;
    unsetenv("BATON_TEST_REDIS_TIMEOUT"); /* this is not about a Redis that stands still */
    stage_start(&stage, &(struct stage_options){.fronts = true, .drain_ms = DRAIN_MS});
    size_t crew = begin(&load, players);
    clock_sleep_ms(SETTLED_MS);
    for (int i = 0; i < count; i++)
        restart(&stage, i % REPLICAS);
    end(&load, players, crew);
    print_message("%d restarts, %d requests of %zu clients, %d failed; who waited was told to come "
                  "again %d times; the longest of the others took %" PRId64 " ms\n",
                  count, load.requests, crew, load.failed, load.reported, load.longest_us / 1000);
    if (load.failed > 0)
        print_front(&stage.front[FRONT_HAPROXY]);
    assert_int_equal(load.failed, 0);
    assert_true(load.reported > 0);
    for (int i = 0; i < NAMES; i++)
        stage_await_free(&stage, i, WAITER_LEASE_MS + 2 * CLAIM_WINDOW_MS);
    stage_assert_no_leak(&stage);
    stage_stop(&stage);
}
