/* Sentinel promotes one replica after the other - asked to, or since the primary was killed or
 * stands still - while clients of two batonds take locks all the time. */
#include "tests/chaos/stage.h"
#include "tests/support/batond_process.h"
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"
#include "tests/support/http.h"
#include "tests/support/watched.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CLIENTS = 12,
    NAMES = 5,
    TTL_MS = 1500,
    WAIT_MS = 400,
    HOLD_MS = 5,
    ANSWER_MS = WAIT_MS + 1500, /* a wait, and a Redis that does not answer */
    PAUSE_MS = 1500,            /* between failovers */
    STALL_MS = 15000,
    SHOWN = 5,
};

struct scene {
    struct watched watched;
    struct batond_process batond[REPLICAS];
    pthread_mutex_t lock;
    atomic_bool stop;
    int64_t fence[NAMES]; /* the greatest that was told so far */
    int holder[NAMES];
    int64_t held_until[NAMES]; /* by the clock of the client that has it; 0: nobody */
    size_t grants, refusals, away, doubles, backward, strange;
    int64_t last_grant, longest_stall, slowest;
    int shown;
};

struct client {
    struct scene *scene;
    int number;
    pthread_t thread;
};

/* Under the lock. */
static void show(struct scene *scene, const char *what, const struct http_client *http)
{
    if (scene->shown++ < SHOWN)
        print_error("%s: %ld %s%s\n", what, http->reply.status, http->reply.body,
                    http->reply.trouble);
}

static void note_grant(struct scene *scene, int name, int client, int64_t before,
                       const struct http_client *http)
{
    int64_t now = clock_ms(), fence = http_integer(http, "fence");
    scene->grants++;
    scene->doubles += scene->held_until[name] > now;
    scene->held_until[name] = now + TTL_MS;
    scene->holder[name] = client;
    if (fence <= before) {
        scene->backward++;
        show(scene, "a fence that fell", http);
    }
    if (fence > scene->fence[name])
        scene->fence[name] = fence;
    if (scene->last_grant && now - scene->last_grant > scene->longest_stall)
        scene->longest_stall = now - scene->last_grant;
    scene->last_grant = now;
}

static bool note(struct scene *scene, int name, int client, int64_t before, int64_t took,
                 const struct http_client *http)
{
    long status = http->reply.status;
    pthread_mutex_lock(&scene->lock);
    if (took > scene->slowest)
        scene->slowest = took;
    if (status == 201)
        note_grant(scene, name, client, before, http);
    else if (status == 409)
        scene->refusals++;
    else if (status == 503)
        scene->away++;
    else {
        scene->strange++;
        show(scene, "a strange reply", http);
    }
    pthread_mutex_unlock(&scene->lock);
    return status == 201;
}

static int64_t fence_so_far(struct scene *scene, int name)
{
    pthread_mutex_lock(&scene->lock);
    int64_t fence = scene->fence[name];
    pthread_mutex_unlock(&scene->lock);
    return fence;
}

/* From now on the client does not count on it. */
static void let_go(struct scene *scene, struct http_client *http, int name, int client,
                   const char *path)
{
    char header[200];
    const char *token = http_text(http, "token");
    snprintf(header, sizeof header, "Lock-Token: %s", token ? token : "");
    clock_sleep_ms(HOLD_MS);
    pthread_mutex_lock(&scene->lock);
    if (scene->holder[name] == client)
        scene->held_until[name] = 0;
    pthread_mutex_unlock(&scene->lock);
    http_request(http, &(struct http_call){.method = "DELETE",
                                           .path = path,
                                           .headers = (const char *const[]){header, NULL},
                                           .timeout_ms = ANSWER_MS});
}

static void *play(void *context)
{
    struct client *client = context;
    struct scene *scene = client->scene;
    struct http_client *http = http_client_new(scene->batond[client->number % REPLICAS].url);
    for (int round = client->number; !scene->stop; round++) {
        int name = round % NAMES;
        char ask[64], path[32];
        snprintf(path, sizeof path, "/locks/failover-%d", name);
        snprintf(ask, sizeof ask, "%s?ttl=%dms&wait=%dms", path, TTL_MS, WAIT_MS);
        int64_t before = fence_so_far(scene, name), begun = clock_ms();
        http_request(
            http, &(struct http_call){.method = "POST", .path = ask, .timeout_ms = 3L * ANSWER_MS});
        if (note(scene, name, client->number, before, clock_ms() - begun, http))
            let_go(scene, http, name, client->number, path);
        clock_sleep_ms(10);
    }
    http_client_free(http);
    return NULL;
}

static void ask_for_it(struct watched *watched, int primary)
{
    (void)primary;
    watched_fail_over(watched);
}

static void kill_it(struct watched *watched, int primary)
{
    redis_process_kill(&watched->servers[primary]);
}

static void freeze_it(struct watched *watched, int primary)
{
    redis_process_freeze(&watched->servers[primary]);
}

static void nothing(struct watched *watched, int primary)
{
    (void)watched, (void)primary;
}

static void thaw_it(struct watched *watched, int primary)
{
    redis_process_thaw(&watched->servers[primary]);
}

static const struct way_out {
    const char *name;
    void (*go)(struct watched *watched, int primary);
    void (*come_back)(struct watched *watched, int primary);
} WAYS_OUT[] = {
    {"SENTINEL FAILOVER", ask_for_it, nothing},
    {"SIGKILL", kill_it, watched_resume},
    {"SIGSTOP", freeze_it, thaw_it},
};

enum { WAYS_OUT_COUNT = sizeof WAYS_OUT / sizeof WAYS_OUT[0] };

static int64_t take_stall(struct scene *scene)
{
    pthread_mutex_lock(&scene->lock);
    int64_t stall = scene->longest_stall;
    scene->longest_stall = 0;
    pthread_mutex_unlock(&scene->lock);
    return stall;
}

static void fail_over(struct scene *scene, const struct way_out *way)
{
    struct watched *watched = &scene->watched;
    int old = watched_primary(watched, 0);
    take_stall(scene);
    way->go(watched, old);
    watched_await_other(watched, old);
    clock_sleep_ms(PAUSE_MS); /* with an old one that does not know of it */
    way->come_back(watched, old);
    watched_await_replica(watched, old);
    clock_sleep_ms(PAUSE_MS);
    int64_t stall = take_stall(scene);
    print_message("%s: no grant for %" PRId64 " ms\n", way->name, stall);
    assert_in_range(stall, 0, STALL_MS);
}

static void start(struct scene *scene)
{
    static const char *const FLAGS[] = {"--workers=2", "--claim-window=1s", "--waiter-lease=5s",
                                        NULL};
    watched_start(&scene->watched, NULL);
    pthread_mutex_init(&scene->lock, NULL);
    for (int i = 0; i < REPLICAS; i++)
        batond_process_start(
            &scene->batond[i],
            &(struct batond_options){.redis_url = scene->watched.url, .arguments = FLAGS});
}

static void await_free(struct scene *scene)
{
    struct http_client *http = http_client_new(scene->batond[0].url);
    int64_t until = clock_ms() + TTL_MS + 8000;
    for (int name = 0; name < NAMES; name++) {
        char path[32];
        snprintf(path, sizeof path, "/locks/failover-%d", name);
        while (http_call(http, "GET", path, NULL) != 200 || http_integer(http, "hold_count") != 0 ||
               http_integer(http, "queue_length") != 0) {
            if (clock_ms() > until)
                fail_msg("it does not come free: %s", http->reply.body);
            clock_sleep_ms(20);
        }
    }
    http_client_free(http);
}

static void clients_go_on_through_failovers(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    struct client clients[CLIENTS];
    (void)state;
    start(scene);
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = (struct client){.scene = scene, .number = i};
        if (pthread_create(&clients[i].thread, NULL, play, &clients[i]))
            abort();
    }
    clock_sleep_ms(PAUSE_MS);
    for (int i = 0; i < stage_amount(16, 1) * WAYS_OUT_COUNT; i++)
        fail_over(scene, &WAYS_OUT[i % WAYS_OUT_COUNT]);
    scene->stop = true;
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(clients[i].thread, NULL);
    await_free(scene);
    print_message("%zu grants, of which %zu while another client counted on the lock (replication "
                  "is asynchronous); %zu refusals, %zu times 503; slowest reply %" PRId64 " ms\n",
                  scene->grants, scene->doubles, scene->refusals, scene->away, scene->slowest);
    assert_true(scene->grants > 100);
    assert_int_equal(scene->backward, 0);
    assert_int_equal(scene->strange, 0);
    assert_in_range(scene->slowest, 0, ANSWER_MS);
    for (int i = 0; i < REPLICAS; i++)
        assert_int_equal(batond_process_stop(&scene->batond[i]), 0);
    watched_stop(&scene->watched);
    free(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(clients_go_on_through_failovers)};
    cmocka_set_test_filter(getenv("BATON_TEST"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
