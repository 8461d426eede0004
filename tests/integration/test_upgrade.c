/* Two releases whose formats differ, side by side on one Redis: this one, and one that the build
 * has made of it (tests/upgrade/next_format.sh). Each may find what the other has written. The next
 * one reads what this one has written; this one refuses what the next one has written, and leaves
 * it alone. Nothing is granted twice, no fence falls, and no hold is lost: neither on the way to
 * the next release nor back. */
#include "tests/support/fixtures/service.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CLIENTS = 6, NAMES = 4, PHASE_GRANTS = 100, TARGET = 120, PATH_LONGEST = 512 };

struct site {
    struct redis_process redis;
    struct batond_process old, next;
    struct http_client *to_old, *to_next;
};

/* The release before: NULL, and the one that the build has made comes after this one. */
static const char *release_before(void)
{
    return getenv("BATON_TEST_RELEASE_BEFORE");
}

static const char *this_release(void)
{
    const char *usual = getenv("BATON_TEST_BATOND");
    return usual ? usual : "build/batond";
}

static struct http_client *start_release(struct site *site, struct batond_process *batond,
                                         const char *program)
{
    char usual[PATH_LONGEST];
    snprintf(usual, sizeof usual, "%s", this_release());
    setenv("BATON_TEST_BATOND", program, 1);
    batond_process_start(batond, &(struct batond_options){.redis_url = site->redis.url});
    setenv("BATON_TEST_BATOND", usual, 1);
    return http_client_new(batond->url);
}

static void start_next(struct site *site)
{
    char next[PATH_LONGEST];
    const char *build = this_release(), *slash = strrchr(build, '/');
    snprintf(next, sizeof next, "%.*s/next/batond", (int)(slash - build), build);
    site->to_next = start_release(site, &site->next, release_before() ? build : next);
}

static void start_old(struct site *site)
{
    site->to_old =
        start_release(site, &site->old, release_before() ? release_before() : this_release());
}

static int set_up(void **state)
{
    struct site *site = calloc(1, sizeof *site);
    redis_process_start(&site->redis, NULL);
    start_old(site);
    start_next(site);
    *state = site;
    return 0;
}

static int tear_down(void **state)
{
    struct site *site = *state;
    batond_close(&site->old, site->to_old);
    batond_close(&site->next, site->to_next);
    redis_process_stop(&site->redis);
    free(site);
    return 0;
}

/* The request is refused, and the answer names both versions. */
static void refuses(struct http_client *client, const char *token, const char *request)
{
    answers_token(client, token, request, NULL, 503, "store_unavailable");
    const char *detail = member_text(client, "detail");
    if (!strstr(detail, "has format ") || !strstr(detail, "knows format "))
        fail_msg("%s: %s", request, detail);
}

TEST_WITH(the_next_release_reads_a_hold, set_up, tear_down)
{
    struct site *site = *state;
    char token[TOKEN_TEXT];
    acquire_lock(site->to_old, "hold?ttl=60s", token);
    int64_t fence = member_integer(site->to_old, "fence");
    answers_token(site->to_next, token, "GET /locks/hold", NULL, 200, NULL);
    assert_int_equal(member_integer(site->to_next, "holders.0.fence"), fence);
    answers_token(site->to_next, token, "PUT /locks/hold?ttl=50s", NULL, 200, NULL);
    answers(site->to_next, "POST /locks/hold", NULL, 409, "locked");
    release_lock(site->to_next, token, "hold");
    release_lock(site->to_next, token, "hold");
    answers(site->to_next, "POST /locks/hold", NULL, 201, NULL);
    assert_true(member_integer(site->to_next, "fence") > fence);
}

/* A crowd in keys of its own, and what was released a while before. */
TEST_WITH(the_next_release_reads_shared_holds, set_up, tear_down)
{
    struct site *site = *state;
    char tokens[3][TOKEN_TEXT], released[TOKEN_TEXT];
    acquire_lock(site->to_old, "crowd", released);
    release_lock(site->to_old, released, "crowd");
    for (int i = 0; i < 3; i++) {
        answers(site->to_old, "POST /locks/crowd?mode=shared&ttl=60s", NULL, 201, NULL);
        keep_token(site->to_old, tokens[i]);
    }
    release_lock(site->to_next, tokens[0], "crowd");
    answers(site->to_next, "POST /locks/crowd?mode=shared", NULL, 201, NULL);
    answers(site->to_next, "GET /locks/crowd", NULL, 200, NULL);
    assert_int_equal(json_array_size(member(site->to_next, "holders")), 3);
    refuses(site->to_old, tokens[1], "PUT /locks/crowd");
    answers_token(site->to_next, tokens[1], "PUT /locks/crowd?ttl=50s", NULL, 200, NULL);
    release_lock(site->to_next, tokens[2], "crowd");
}

/* One request that waits. */
struct asker {
    struct http_client *client;
    char target[TARGET], token[TOKEN_TEXT];
    long status;
    pthread_t thread;
};

static void *ask(void *context)
{
    struct asker *asker = context;
    char header[TOKEN_TEXT + 20];
    snprintf(header, sizeof header, "Lock-Token: %s", asker->token);
    const char *const headers[] = {header, NULL};
    asker->status = http_request(
        asker->client,
        &(struct http_call){.method = "POST", .path = asker->target, .headers = headers});
    return NULL;
}

static void begin(struct asker *asker, const char *url, const char *name, const char *token)
{
    asker->client = http_client_new(url);
    snprintf(asker->target, sizeof asker->target, "/locks/%s?wait=10s&keep=10s&ttl=20s", name);
    snprintf(asker->token, sizeof asker->token, "%s", token);
    assert_int_equal(pthread_create(&asker->thread, NULL, ask, asker), 0);
}

static void end(struct asker *asker)
{
    pthread_join(asker->thread, NULL);
    http_client_free(asker->client);
}

static void await_waiters(struct http_client *client, const char *name, int64_t count)
{
    char request[TARGET];
    snprintf(request, sizeof request, "GET /locks/%s", name);
    for (int64_t until = clock_ms() + CLOCK_HANG_MS; clock_ms() < until; usleep(5000)) {
        answers(client, request, NULL, 200, NULL);
        if (member_integer(client, "queue_length") == count)
            return;
    }
    fail_msg("%s should have %d waiters", name, (int)count);
}

/* The first of them is in the main key, in front. The next release hands over to a request that is
 * parked at this one, which cannot claim it any more: its client asks again at the next one, and is
 * the first. */
TEST_WITH(waiter_at_this_release_is_granted_by_the_next, set_up, tear_down)
{
    struct site *site = *state;
    for (int others = 0; others < 3; others++) {
        char name[24], request[TARGET], token[TOKEN_TEXT];
        static struct asker first, other[2];
        snprintf(name, sizeof name, "queue%d", others);
        snprintf(request, sizeof request, "POST /locks/%s?ttl=60s", name);
        answers(site->to_old, request, NULL, 201, NULL);
        keep_token(site->to_old, token);
        begin(&first, site->old.url, name, "the-first-of-the-queue");
        await_waiters(site->to_old, name, 1);
        for (int i = 0; i < others; i++) {
            begin(&other[i], site->old.url, name,
                  i ? "the-third-of-the-queue" : "the-second-of-the-queue");
            await_waiters(site->to_old, name, 2 + i);
        }
        snprintf(request, sizeof request, "DELETE /locks/%s", name);
        answers_token(site->to_next, token, request, NULL, 200, NULL);
        end(&first);
        if (first.status != 201) {
            assert_int_equal(first.status, 503);
            snprintf(request, sizeof request, "POST /locks/%s?wait=10s&ttl=20s", name);
            answers_token(site->to_next, "the-first-of-the-queue", request, NULL, 201, NULL);
        }
        snprintf(request, sizeof request, "DELETE /locks/%s?force=true", name);
        for (int i = 0; i < others; i++) {
            answers(site->to_next, request, NULL, 200, NULL);
            end(&other[i]);
            if (other[i].status != 201) {
                char again[TARGET];
                snprintf(again, sizeof again, "POST /locks/%s?wait=10s&ttl=20s", name);
                answers_token(site->to_next, other[i].token, again, NULL, 201, NULL);
            }
        }
        answers(site->to_next, request, NULL, 200, NULL);
    }
}

TEST_WITH(a_watcher_learns_of_the_next_release, set_up, tear_down)
{
    struct site *site = *state;
    char token[TOKEN_TEXT];
    acquire_lock(site->to_old, "watched?ttl=60s", token);
    answers(site->to_old, "GET /locks/watched", NULL, 200, NULL);
    int64_t version = member_integer(site->to_old, "version");
    char request[TARGET];
    release_lock(site->to_next, token, "watched");
    snprintf(request, sizeof request, "GET /locks/watched/events?after=%lld&wait=15s",
             (long long)version);
    answers(site->to_next, request, NULL, 200, NULL);
    assert_true(member_integer(site->to_next, "version") > version);
}

/* Load. What is seen of each lock: nobody else holds it, and the fence is above all before. */
struct name {
    atomic_int holders;
    _Atomic int64_t fence;
};

struct load {
    struct site *site;
    struct name names[NAMES];
    const char *prefix;
    atomic_bool uses_old, uses_next, is_over;
    atomic_int doubles, fallen, lost, refused, granted, odd;
};

struct client {
    struct load *load;
    struct http_client *to_old, *to_next;
    unsigned number, draws;
    pthread_t thread;
};

static struct http_client *one_of(struct client *client)
{
    struct load *load = client->load;
    client->draws = client->draws * 1103515245U + 12345U;
    bool to_next = load->uses_next && (!load->uses_old || client->draws >> 20 & 1);
    return to_next ? client->to_next : client->to_old;
}

static long ask_with(struct http_client *to, const char *method, const char *target,
                     const char *token)
{
    char header[TOKEN_TEXT + 20];
    snprintf(header, sizeof header, "Lock-Token: %s", token);
    const char *const headers[] = {header, NULL};
    return http_request(to,
                        &(struct http_call){.method = method, .path = target, .headers = headers});
}

/* Repeats a request that is refused for a format with its token, where it may be answered. */
static long ask_until_answered(struct client *client, const char *method, const char *target,
                               const char *token, struct http_client **ret)
{
    long status = 503;
    for (int64_t until = clock_ms() + CLOCK_HANG_MS; status == 503 && clock_ms() < until;) {
        *ret = one_of(client);
        status = ask_with(*ret, method, target, token);
        const char *detail = status == 503 ? http_text(*ret, "detail") : NULL;
        if (detail && strstr(detail, "has format "))
            client->load->refused++;
    }
    return status;
}

static void hold_once(struct client *client, unsigned turn)
{
    struct load *load = client->load;
    struct name *name = &load->names[turn % NAMES];
    char target[TARGET], token[TOKEN_TEXT];
    struct http_client *by = NULL;
    snprintf(target, sizeof target, "/locks/%s-%u?wait=2s&keep=2s&ttl=20s", load->prefix,
             turn % NAMES);
    snprintf(token, sizeof token, "load-%s-%u-%u-and-so-on", load->prefix, client->number, turn);
    long status = ask_until_answered(client, "POST", target, token, &by);
    if (status != 201 && status != 200) {
        load->odd += status != 409;
        return;
    }
    int64_t fence = http_integer(by, "fence");
    load->granted++;
    load->doubles += atomic_fetch_add(&name->holders, 1) != 0;
    load->fallen += fence <= name->fence;
    name->fence = fence;
    usleep(1000);
    atomic_fetch_sub(&name->holders, 1);
    *strchr(target, '?') = '\0';
    load->lost += ask_until_answered(client, "DELETE", target, token, &by) != 200;
}

static void *work(void *context)
{
    struct client *client = context;
    for (unsigned turn = client->number; !client->load->is_over; turn++)
        hold_once(client, turn);
    return NULL;
}

static void start_load(struct load *load, struct client clients[CLIENTS])
{
    for (unsigned i = 0; i < CLIENTS; i++) {
        clients[i] = (struct client){.load = load,
                                     .number = i,
                                     .draws = i,
                                     .to_old = http_client_new(load->site->old.url),
                                     .to_next = http_client_new(load->site->next.url)};
        assert_int_equal(pthread_create(&clients[i].thread, NULL, work, &clients[i]), 0);
    }
}

static void stop_load(struct load *load, struct client clients[CLIENTS])
{
    load->is_over = true;
    for (int i = 0; i < CLIENTS; i++) {
        pthread_join(clients[i].thread, NULL);
        http_client_free(clients[i].to_old);
        http_client_free(clients[i].to_next);
    }
    print_message("%s: %d grants, %d requests refused for a format and repeated\n", load->prefix,
                  load->granted, load->refused);
    assert_int_equal(load->doubles, 0);
    assert_int_equal(load->fallen, 0);
    assert_int_equal(load->lost, 0);
    assert_int_equal(load->odd, 0);
    assert_true(load->granted >= PHASE_GRANTS);
}

struct goal {
    struct load *load;
    int granted;
    bool refused;
};

static bool is_over(void *context)
{
    const struct goal *goal = context;
    return goal->load->granted >= goal->granted && (goal->load->refused > 0 || !goal->refused);
}

/* Until some have been granted, and, where both releases are used, one has been refused. */
static void phase(struct load *load, bool uses_old, bool uses_next)
{
    struct goal goal = {load, load->granted + PHASE_GRANTS,
                        uses_old && uses_next && !release_before()};
    load->uses_next = uses_next || load->uses_next; /* at no time neither */
    load->uses_old = uses_old;
    load->uses_next = uses_next;
    assert_true(clock_wait_until(is_over, &goal, CLOCK_HANG_MS));
}

TEST_WITH(an_upgrade_under_load_loses_nothing, set_up, tear_down)
{
    static struct client clients[CLIENTS];
    struct load load = {.site = *state, .prefix = "forward", .uses_old = true};
    start_load(&load, clients);
    phase(&load, true, false);
    phase(&load, true, true);
    phase(&load, false, true);
    stop_load(&load, clients);
}

/* The names that the next release has used wait for it; the others go on with this one. */
TEST_WITH(the_way_back_under_load_loses_nothing, set_up, tear_down)
{
    static struct client clients[CLIENTS];
    struct load load = {.site = *state, .prefix = "back", .uses_next = true};
    start_load(&load, clients);
    phase(&load, false, true);
    phase(&load, true, true);
    stop_load(&load, clients);
    refuses(((struct site *)*state)->to_old, "a-token-of-nobody-at-all", "GET /locks/back-0");
    struct load other = {.site = *state, .prefix = "unused", .uses_old = true};
    start_load(&other, clients);
    phase(&other, true, false);
    stop_load(&other, clients);
    assert_int_equal(other.refused, 0);
}
