/* Two of five independent Redis are killed and come back empty, stand still, or are slow, one pair
 * after the other, while clients of two batonds take locks all the time. */
#include "tests/chaos/stage.h"
#include "tests/support/batond_process.h"
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"
#include "tests/support/http.h"
#include "tests/support/quorum.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CLIENTS = 12,
    NAMES = 4,
    TTL_MS = 1500,
    WAIT_MS = 600,
    HOLD_MS = 5,
    FORGETS = 20, /* one hold in so many is not released, and one is renewed */
    ANSWER_MS = WAIT_MS + 1500,
    MARGIN_MS = 100, /* that a reply may take to be heard of here */
    PAUSE_MS = 800,
    STALL_MS = 8000,
    BACK_MS = 20000,
    SHOWN = 5,
};

struct scene {
    struct quorum_servers servers;
    struct batond_process batond[REPLICAS];
    pthread_mutex_t lock;
    atomic_bool stop;
    int64_t fence[NAMES]; /* the greatest that was told so far */
    int holder[NAMES];
    int64_t held_until[NAMES]; /* by the clock of the client that has it; 0: nobody */
    size_t grants, refusals, away, doubles, backward, strange, renewals, lost;
    int64_t last_grant, longest_stall, slowest;
    int shown;
};

struct client {
    struct scene *scene;
    struct http_client *http;
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

/* For as long as the reply says, whoever else is told of the lock has a double. */
static void count_on(struct scene *scene, int name, int client, const struct http_client *http)
{
    scene->held_until[name] = clock_ms() + http_integer(http, "ttl_ms") - MARGIN_MS;
    scene->holder[name] = client;
}

static void note_grant(struct scene *scene, int name, int client, int64_t before,
                       const struct http_client *http)
{
    int64_t now = clock_ms(), fence = http_integer(http, "fence");
    scene->grants++;
    if (scene->held_until[name] > now) {
        scene->doubles++;
        show(scene, "a second grant", http);
    }
    if (fence <= before) {
        scene->backward++;
        show(scene, "a fence that fell", http);
    }
    if (fence > scene->fence[name])
        scene->fence[name] = fence;
    if (scene->last_grant && now - scene->last_grant > scene->longest_stall)
        scene->longest_stall = now - scene->last_grant;
    scene->last_grant = now;
    count_on(scene, name, client, http);
}

static bool note(struct client *client, int name, int64_t before, int64_t took)
{
    struct scene *scene = client->scene;
    const struct http_client *http = client->http;
    long status = http->reply.status;
    pthread_mutex_lock(&scene->lock);
    if (took > scene->slowest)
        scene->slowest = took;
    if (status == 201)
        note_grant(scene, name, client->number, before, http);
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

static long ask(struct client *client, const char *method, const char *path, const char *token)
{
    char header[200];
    snprintf(header, sizeof header, "Lock-Token: %s", token);
    return http_request(client->http,
                        &(struct http_call){.method = method,
                                            .path = path,
                                            .headers = (const char *const[]){header, NULL},
                                            .timeout_ms = 3L * ANSWER_MS});
}

/* A hold that is not to be had any more while its client counts on it was lost, or the fence is
 * another one. */
static void renew(struct client *client, int name, const char *path, const char *token,
                  int64_t fence)
{
    struct scene *scene = client->scene;
    long status = ask(client, "PUT", path, token);
    pthread_mutex_lock(&scene->lock);
    bool counts = scene->holder[name] == client->number && scene->held_until[name] > clock_ms();
    scene->renewals += status == 200;
    if (counts && status == 409) {
        scene->lost++;
        scene->held_until[name] = 0;
        show(scene, "a hold that was lost", client->http);
    }
    if (status == 200 && http_integer(client->http, "fence") < fence) {
        scene->backward++;
        show(scene, "a fence that fell by a renewal", client->http);
    }
    if (counts && status == 200)
        count_on(scene, name, client->number, client->http);
    pthread_mutex_unlock(&scene->lock);
}

/* From now on the client does not count on it. */
static void let_go(struct client *client, int name, const char *path, const char *token)
{
    struct scene *scene = client->scene;
    pthread_mutex_lock(&scene->lock);
    if (scene->holder[name] == client->number)
        scene->held_until[name] = 0;
    pthread_mutex_unlock(&scene->lock);
    ask(client, "DELETE", path, token);
}

static void hold(struct client *client, int name, const char *path, int round)
{
    char token[80];
    const char *told = http_text(client->http, "token");
    int64_t fence = http_integer(client->http, "fence");
    snprintf(token, sizeof token, "%s", told ? told : "");
    clock_sleep_ms(HOLD_MS);
    if (round % FORGETS == 1)
        renew(client, name, path, token, fence);
    if (round % FORGETS != 2)
        let_go(client, name, path, token);
}

static void *play(void *context)
{
    struct client *client = context;
    struct scene *scene = client->scene;
    client->http = http_client_new(scene->batond[client->number % REPLICAS].url);
    for (int round = client->number; !scene->stop; round++) {
        int name = round % NAMES;
        char request[64], path[32];
        snprintf(path, sizeof path, "/locks/quorum-%d", name);
        snprintf(request, sizeof request, "%s?ttl=%dms&wait=%dms", path, TTL_MS,
                 round % 3 ? WAIT_MS : 0);
        int64_t before = fence_so_far(scene, name), begun = clock_ms();
        http_request(
            client->http,
            &(struct http_call){.method = "POST", .path = request, .timeout_ms = 3L * ANSWER_MS});
        if (note(client, name, before, clock_ms() - begun))
            hold(client, name, path, round);
        clock_sleep_ms(10);
    }
    http_client_free(client->http);
    return NULL;
}

static void kill_it(struct redis_process *redis)
{
    redis_process_kill(redis);
}

static const struct trouble {
    const char *name;
    void (*begin)(struct redis_process *redis);
    void (*end)(struct redis_process *redis);
    int lasts_ms;
} TROUBLES[] = {
    {"killed, and back empty", kill_it, redis_process_resume, PAUSE_MS},
    {"stopped for a while", redis_process_freeze, redis_process_thaw, PAUSE_MS},
    {"stopped for longer than a hold lasts", redis_process_freeze, redis_process_thaw,
     TTL_MS + PAUSE_MS},
    {"slow", redis_process_freeze, redis_process_thaw, 200},
};

enum { TROUBLE_COUNT = sizeof TROUBLES / sizeof TROUBLES[0] };

static int64_t take_stall(struct scene *scene)
{
    pthread_mutex_lock(&scene->lock);
    int64_t stall = scene->longest_stall;
    scene->longest_stall = 0;
    pthread_mutex_unlock(&scene->lock);
    return stall;
}

/* Until both know all members again, and these grant; in between, two others may not be away. */
static void await_all(struct scene *scene)
{
    int64_t until = clock_ms() + BACK_MS;
    for (int i = 0; i < REPLICAS; i++) {
        struct http_client *http = http_client_new(scene->batond[i].url);
        while (http_call(http, "GET", "/readyz?verbose", NULL) != 200 ||
               !strstr(http->reply.body, "5 of 5") ||
               strstr(http->reply.body, "new locks are paused")) {
            if (clock_ms() > until)
                fail_msg("not all members are back: %s", http->reply.body);
            clock_sleep_ms(20);
        }
        http_client_free(http);
    }
}

static void trouble(struct scene *scene, const struct trouble *trouble, int first)
{
    struct redis_process *one = &scene->servers.members[first % QUORUM_MEMBERS];
    struct redis_process *other = &scene->servers.members[(first + 1) % QUORUM_MEMBERS];
    take_stall(scene);
    trouble->begin(one);
    clock_sleep_ms(PAUSE_MS / 4);
    trouble->begin(other);
    clock_sleep_ms(trouble->lasts_ms);
    trouble->end(one);
    trouble->end(other);
    await_all(scene);
    clock_sleep_ms(PAUSE_MS);
    int64_t stall = take_stall(scene);
    print_message("members %d and %d %s: no grant for %" PRId64 " ms\n", first % QUORUM_MEMBERS + 1,
                  (first + 1) % QUORUM_MEMBERS + 1, trouble->name, stall);
    assert_in_range(stall, 0, STALL_MS);
}

static void start(struct scene *scene)
{
    static const char *const FLAGS[] = {"--workers=2", "--quarantine=auto", NULL};
    quorum_servers_start(&scene->servers);
    pthread_mutex_init(&scene->lock, NULL);
    for (int i = 0; i < REPLICAS; i++)
        batond_process_start(
            &scene->batond[i],
            &(struct batond_options){.redis_url = scene->servers.url, .arguments = FLAGS});
}

/* No member keeps a hold that nobody knows of for longer than it would last. */
static void await_free(struct scene *scene)
{
    int64_t until = clock_ms() + TTL_MS + 3000;
    for (int name = 0; name < NAMES; name++) {
        char text[32], path[40];
        struct http_client *http = http_client_new(scene->batond[0].url);
        snprintf(text, sizeof text, "quorum-%d", name);
        snprintf(path, sizeof path, "/locks/%s", text);
        while (http_call(http, "GET", path, NULL) != 200 || http_integer(http, "hold_count") != 0 ||
               quorum_servers_held(&scene->servers, text) > 0) {
            if (clock_ms() > until)
                fail_msg("it does not come free: %s", http->reply.body);
            clock_sleep_ms(20);
        }
        http_client_free(http);
    }
}

static void clients_go_on_while_two_are_away(void **state)
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
    for (int i = 0; i < stage_amount(5, 1) * TROUBLE_COUNT; i++)
        trouble(scene, &TROUBLES[i % TROUBLE_COUNT], i);
    scene->stop = true;
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(clients[i].thread, NULL);
    print_message("%zu grants, %zu renewals; double grants %zu, fences that fell %zu, holds lost "
                  "%zu; %zu refusals, %zu times 503; slowest reply %" PRId64 " ms\n",
                  scene->grants, scene->renewals, scene->doubles, scene->backward, scene->lost,
                  scene->refusals, scene->away, scene->slowest);
    await_free(scene);
    assert_true(scene->grants > 100);
    assert_int_equal(scene->doubles, 0);
    assert_int_equal(scene->backward, 0);
    assert_int_equal(scene->strange, 0);
    assert_in_range(scene->slowest, 0, ANSWER_MS);
    for (int i = 0; i < REPLICAS; i++)
        assert_int_equal(batond_process_stop(&scene->batond[i]), 0);
    quorum_servers_stop(&scene->servers);
    free(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(clients_go_on_while_two_are_away)};
    cmocka_set_test_filter(getenv("BATON_TEST"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
