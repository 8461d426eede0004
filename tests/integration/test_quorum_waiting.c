/* How requests wait for a lock of a quorum: in order at each worker, and of the workers by chance.
 */
#include "tests/support/fixtures/on_quorum.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each request comes on a connection of its own, and the kernel chooses its worker: with so many,
 * some are at different ones. */
enum { CROWD = 12, TIMES = 8, ACTORS = 8, BUSY_MS = 2500, ROOMS = 3, WORKERS = 4 };

static const char TOKEN[] = "a-token-of-the-workers-01";

static int begin(void **state)
{
    return on_quorum_start(state, 1, LIST("--workers=1"));
}

static int begin_workers(void **state)
{
    return on_quorum_start(state, 1, LIST("--workers=4"));
}

/* A request on a connection of its own. */
static void answers_anew(struct on_quorum *story, const char *token, const char *request,
                         long status, const char *code)
{
    http_client_free(story->client);
    story->client = http_client_new(story->batond.url);
    answers_token(story->client, token, request, NULL, status, code);
}

static void token_of(int number, char token[40])
{
    snprintf(token, 40, "a-token-that-waits-in-line-%d", number);
}

/* So many requests for the lock, one after the other; each is in the queue before the next. */
static void park_in_line(struct on_quorum *story, const char *name, int count,
                         struct parked *parked[])
{
    char token[40], request[80];
    snprintf(request, sizeof request, "POST /locks/%s?wait=50s", name);
    for (int i = 0; i < count; i++) {
        token_of(i, token);
        parked[i] = parked_send_token(story->batond.port, token, request);
        comes_to_queue(story->client, name, i + 1);
    }
}

/* A crowd of those who do not wait, all the while. */
struct newcomers {
    const char *url;
    atomic_bool is_over;
    atomic_int granted;
    atomic_int asked;
};

static void *come(void *context)
{
    struct newcomers *newcomers = context;
    while (!newcomers->is_over) {
        struct http_client *client = http_client_new(newcomers->url);
        for (int i = 0; i < 10 && !newcomers->is_over; i++) {
            newcomers->granted += http_call(client, "POST", "/locks/passed", NULL) == 201;
            newcomers->asked++;
        }
        http_client_free(client);
    }
    return NULL;
}

/* Who waits at one worker is served in the order of arrival. */
TEST_ON_QUORUM(newcomers_do_not_pass_waiters)
{
    struct parked *parked[CROWD];
    char token[40];
    answers_token(story->client, TOKEN, "POST /locks/passed", NULL, 201, NULL);
    int64_t fence = http_integer(story->client, "fence");
    park_in_line(story, "passed", CROWD, parked);
    struct newcomers newcomers = {.url = story->batond.url};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, come, &newcomers);
    answers_anew(story, TOKEN, "DELETE /locks/passed", 200, NULL);
    for (int i = 0; i < CROWD; i++) {
        if (parked_answer(parked[i], PATIENCE_MS) != 201)
            fail_msg("%d is not granted: %s", i, parked[i]->text);
        assert_true(http_integer(&parked[i]->client, "fence") > fence);
        fence = http_integer(&parked[i]->client, "fence");
        for (int j = i + 1; j < CROWD; j++)
            assert_true(parked_waits(parked[j], 0));
        if (i + 1 == CROWD)
            newcomers.is_over = true;
        else
            clock_sleep_ms(20);
        token_of(i, token);
        if (i + 1 < CROWD)
            answers_anew(story, token, "DELETE /locks/passed", 200, NULL);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < CROWD; i++)
        parked_close(parked[i]);
    assert_true(newcomers.asked > CROWD);
    assert_int_equal(newcomers.granted, 0);
}

TEST_ON_QUORUM(a_place_is_resumed)
{
    char first_token[40], path[80];
    for (int i = 0; i < TIMES; i++) {
        token_of(i, first_token);
        snprintf(path, sizeof path, "POST /locks/kept-%d", i);
        answers_token(story->client, TOKEN, path, NULL, 201, NULL);
        snprintf(path, sizeof path, "POST /locks/kept-%d?wait=1ms&keep=20s&owner=first", i);
        answers_anew(story, first_token, path, 409, "wait_timeout");
        snprintf(path, sizeof path, "POST /locks/kept-%d?wait=50s&owner=second", i);
        struct parked *second = parked_send(story->batond.port, NULL, path, NULL);
        snprintf(path, sizeof path, "kept-%d", i);
        comes_to_queue(story->client, path, 2);
        assert_string_equal(member_text(story->client, "waiters.0.owner"), "second");
        assert_string_equal(member_text(story->client, "waiters.0.client"), "127.0.0.1");
        assert_non_null(member_text(story->client, "waiters.0.since"));
        snprintf(path, sizeof path, "POST /locks/kept-%d?wait=50s&owner=first", i);
        struct parked *first = parked_send_token(story->batond.port, first_token, path);
        snprintf(path, sizeof path, "kept-%d", i);
        await_first(story->client, path, "first");
        comes_to_queue(story->client, path, 2);
        snprintf(path, sizeof path, "DELETE /locks/kept-%d", i);
        answers_anew(story, TOKEN, path, 200, NULL);
        if (parked_answer(first, PATIENCE_MS) != 201)
            fail_msg("not granted: %s", first->text);
        assert_true(parked_waits(second, 20));
        answers_anew(story, first_token, path, 200, NULL);
        assert_int_equal(parked_answer(second, PATIENCE_MS), 201);
        parked_close(first);
        parked_close(second);
    }
}

TEST_ON_QUORUM(a_place_is_kept_for_no_longer)
{
    answers_token(story->client, TOKEN, "POST /locks/brief", NULL, 201, NULL);
    answers_anew(story, "a-token-that-comes-too-late", "POST /locks/brief?wait=1ms&keep=300ms", 409,
                 "wait_timeout");
    comes_to_queue(story->client, "brief", 1);
    comes_to_queue(story->client, "brief", 0);
}

/* Whoever has a hold already stands in front of all. */
TEST_ON_QUORUM(an_upgrade_comes_first)
{
    answers_token(story->client, TOKEN, "POST /locks/upgrade?mode=shared&owner=me", NULL, 201,
                  NULL);
    answers_anew(story, "a-token-of-another-reader", "POST /locks/upgrade?mode=shared", 201, NULL);
    struct parked *parked[TIMES];
    park_in_line(story, "upgrade", TIMES, parked);
    struct parked *upgrade = parked_send_token(story->batond.port, "a-token-that-is-an-upgrade",
                                               "POST /locks/upgrade?wait=50s&owner=me&reentrant");
    comes_to_queue(story->client, "upgrade", TIMES + 1);
    answers_anew(story, "a-token-of-another-reader", "DELETE /locks/upgrade", 200, NULL);
    assert_int_equal(parked_answer(upgrade, PATIENCE_MS), 201);
    for (int i = 0; i < TIMES; i++) {
        assert_true(parked_waits(parked[i], 0));
        parked_close(parked[i]);
    }
    parked_close(upgrade);
    comes_to_queue(story->client, "upgrade", 0);
}

TEST_ON_QUORUM(upgrade_of_a_hold_that_has_ended_goes_back_to_its_place)
{
    const char *other = "a-token-of-another-reader-02", *next = "a-token-that-comes-first";
    answers_token(story->client, TOKEN, "POST /locks/back?mode=shared&owner=me", NULL, 201, NULL);
    answers_token(story->client, other, "POST /locks/back?mode=shared", NULL, 201, NULL);
    struct parked *first =
        parked_send_token(story->batond.port, next, "POST /locks/back?wait=50s&owner=first");
    comes_to_queue(story->client, "back", 1);
    struct parked *upgrade =
        parked_send(story->batond.port, NULL, "POST /locks/back?wait=50s&owner=me&reentrant", NULL);
    await_first(story->client, "back", "me");
    answers_anew(story, TOKEN, "DELETE /locks/back", 200, NULL);
    await_first(story->client, "back", "first");
    answers_anew(story, other, "DELETE /locks/back", 200, NULL);
    assert_int_equal(parked_answer(first, PATIENCE_MS), 201);
    assert_true(parked_waits(upgrade, 0));
    answers_anew(story, next, "DELETE /locks/back", 200, NULL);
    assert_int_equal(parked_answer(upgrade, PATIENCE_MS), 201);
    parked_close(first);
    parked_close(upgrade);
}

/* Everything at once: two never have the lock at a time, and nothing is left behind. */

struct busy {
    struct on_quorum *story;
    int64_t until;
    atomic_int holders[ROOMS];
    atomic_int fences[ROOMS]; /* that were not greater */
    int64_t fence[ROOMS];     /* changed by who holds */
    atomic_int grants;
    atomic_int twice;
};

struct actor {
    struct busy *busy;
    int number;
    pthread_t thread;
};

/* The lock is had: by nobody else. */
static void have(struct busy *busy, int room, struct http_client *client, const char *token)
{
    char path[80];
    busy->twice += busy->holders[room]++ > 0;
    busy->fences[room] += http_integer(client, "fence") <= busy->fence[room];
    busy->fence[room] = http_integer(client, "fence");
    busy->grants++;
    busy->holders[room]--;
    struct http_client *other = http_client_new(busy->story->batond.url);
    snprintf(path, sizeof path, "DELETE /locks/busy-%d", room);
    answers_token(other, token, path, NULL, 200, NULL);
    http_client_free(other);
}

/* Whichever of the two requests with this token gets it first. At two workers, the other one may go
 * on waiting. */
static void have_either(struct busy *busy, int room, struct parked *one, struct parked *other,
                        const char *token)
{
    struct parked *first = one;
    int64_t until = clock_ms() + PATIENCE_MS;
    while (parked_waits(first, 5) && clock_ms() < until)
        first = first == one ? other : one;
    long status = parked_answer(first, PATIENCE_MS);
    if (status == 409) { /* superseded by the other one */
        first = first == one ? other : one;
        status = parked_answer(first, PATIENCE_MS);
    }
    if (status != 200 && status != 201)
        fail_msg("neither: %s; %s", one->text, other->text);
    have(busy, room, &first->client, token);
}

static void act(struct actor *actor, int number, unsigned *seed)
{
    struct busy *busy = actor->busy;
    int port = busy->story->batond.port;
    int room = rand_r(seed) % ROOMS, kind = rand_r(seed) % 6, pause_ms = rand_r(seed) % 10;
    char token[40], path[80], release[80];
    snprintf(token, sizeof token, "a-token-that-is-busy-%d-%d", actor->number, number);
    snprintf(path, sizeof path, "POST /locks/busy-%d?wait=50s&ttl=%s&keep=%dms", room,
             kind == 0 ? "1s" : "1h", rand_r(seed) % 2 * 100);
    snprintf(release, sizeof release, "DELETE /locks/busy-%d", room);
    struct parked *parked = parked_send_token(port, token, path), *other = NULL;
    if (kind == 0) { /* it hangs up; if that crosses the reply, its TTL ends it */
        parked_waits(parked, pause_ms);
    } else if (kind == 1) { /* it is repeated */
        parked_waits(parked, pause_ms);
        other = parked_send_token(port, token, path);
        have_either(busy, room, parked, other, token);
    } else if (kind == 2) { /* it is cancelled, or released */
        parked_waits(parked, pause_ms);
        other = parked_send_token(port, token, release);
        parked_answer(other, PATIENCE_MS);
        assert_true(parked_answer(parked, PATIENCE_MS) > 0);
    } else {
        assert_int_equal(parked_answer(parked, PATIENCE_MS), 201);
        have(busy, room, &parked->client, token);
    }
    if (other)
        parked_close(other);
    parked_close(parked);
}

static void *be_busy(void *context)
{
    struct actor *actor = context;
    unsigned seed = (unsigned)actor->number;
    for (int i = 0; clock_ms() < actor->busy->until || actor->busy->grants <= ACTORS; i++)
        act(actor, i, &seed);
    return NULL;
}

/* What has expired is there until somebody looks. */
static void await_nothing(struct on_quorum *story, const char *name)
{
    int64_t deadline = clock_ms() + PATIENCE_MS;
    do {
        comes_to_queue(story->client, name, 0);
        if (clock_ms() > deadline)
            fail_msg("%s is held at %d members: %s", name,
                     quorum_servers_held(&story->servers, name), story->client->reply.body);
        clock_sleep_ms(20);
    } while (quorum_servers_held(&story->servers, name) > 0);
}

TEST_WITH(all_at_once, begin_workers, on_quorum_stop)
{
    struct busy busy = {.story = *state, .until = clock_ms() + BUSY_MS};
    struct actor actors[ACTORS];
    char name[40];
    for (int i = 0; i < ACTORS; i++) {
        actors[i] = (struct actor){.busy = &busy, .number = i};
        pthread_create(&actors[i].thread, NULL, be_busy, &actors[i]);
    }
    for (int i = 0; i < ACTORS; i++)
        pthread_join(actors[i].thread, NULL);
    assert_int_equal(busy.twice, 0);
    for (int i = 0; i < ROOMS; i++) {
        assert_int_equal(busy.fences[i], 0);
        snprintf(name, sizeof name, "busy-%d", i);
        await_nothing(busy.story, name);
    }
}

/* Who is stopped answers all of its workers' waiters, and ends. */
TEST(a_drain_answers_all)
{
    struct on_quorum story;
    struct parked *parked[CROWD];
    on_quorum_open(&story, 1, LIST("--workers=4"));
    answers_token(story.client, TOKEN, "POST /locks/drained", NULL, 201, NULL);
    for (int i = 0; i < CROWD; i++)
        parked[i] = parked_send(story.batond.port, NULL, "POST /locks/drained?wait=50s", NULL);
    for (int i = 0; i < CROWD; i++)
        assert_true(parked_waits(parked[i], i == 0 ? 50 : 0));
    process_signal(&story.batond.process, SIGTERM);
    for (int i = 0; i < CROWD; i++) {
        assert_int_equal(parked_answer(parked[i], PATIENCE_MS), 503);
        assert_string_equal(http_text(&parked[i]->client, "code"), "draining");
        parked_close(parked[i]);
    }
    on_quorum_close(&story);
}

/* The requests of these names that a member has been asked to grant. */

static redisContext *begin_to_monitor(const struct redis_process *member)
{
    redisContext *monitor = redisConnect("127.0.0.1", member->port);
    assert_int_equal(monitor->err, 0);
    freeReplyObject(redisCommand(monitor, "MONITOR"));
    return monitor;
}

/* How many of the waiters have asked the member, up to now. */
static int asked(redisContext *monitor, struct redis_process *member)
{
    bool has_asked[CROWD] = {false};
    int count = 0;
    redisReply *reply;
    freeReplyObject(redis_process_command(member, "ECHO %s", "that is all"));
    while (redisGetReply(monitor, (void **)&reply) == REDIS_OK &&
           !strstr(reply->str, "that is all")) {
        const char *token = strstr(reply->str, "a-token-that-waits-in-line-");
        if (token && strstr(reply->str, "acquire"))
            has_asked[atoi(strrchr(token, '-') + 1)] = true;
        freeReplyObject(reply);
    }
    freeReplyObject(reply);
    redisFree(monitor);
    for (int i = 0; i < CROWD; i++)
        count += has_asked[i];
    return count;
}

/* Only the first at each worker asks, and those behind the one that is granted do not. */
TEST_ON(struct on_quorum *story, release_makes_one_request_a_worker, begin_workers, on_quorum_stop)
{
    struct redis_process *member = &story->servers.members[0];
    struct parked *parked[CROWD];
    char token[40];
    answers_token(story->client, TOKEN, "POST /locks/herd", NULL, 201, NULL);
    for (int i = 0; i < CROWD; i++) {
        token_of(i, token);
        parked[i] = parked_send_token(story->batond.port, token, "POST /locks/herd?wait=50s");
    }
    for (int i = 0; i < CROWD; i++)
        assert_true(parked_waits(parked[i], i == 0 ? 100 : 0));
    redisContext *monitor = begin_to_monitor(member);
    answers_token(story->client, TOKEN, "DELETE /locks/herd", NULL, 200, NULL);
    int granted = 0;
    while (parked_waits(parked[granted], 1))
        granted = (granted + 1) % CROWD;
    assert_int_equal(parked_answer(parked[granted], PATIENCE_MS), 201);
    assert_in_range(asked(monitor, member), 1, WORKERS);
    for (int i = 0; i < CROWD; i++)
        parked_close(parked[i]);
}

RUN_TESTS(begin, on_quorum_stop)
