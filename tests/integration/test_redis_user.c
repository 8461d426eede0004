/* The user of Redis that docs/redis.md shows may do what batond does, and nothing else: without any
 * of its rules something is refused. */
#include "tests/support/fixtures/parked.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RULES_MOST = 64,
    PAGE_LONGEST = 1 << 20,
    REFUSED_MS = 3000, /* for what may never come, where something is refused */
    PING_EVERY_MS = 1000,
    LIBRARIES_MS = 20000 + CLOCK_HANG_MS, /* batond looks at them 5 to 15 s after its start */
    PARTS = 6,
    PARTS_MS = 250000,
};

#define PART "BATON_TEST_PART" /* which part of the rules this program is to try */

struct world {
    struct redis_process redis;
    struct batond_process batond;
    struct http_client *client;
    char page[PAGE_LONGEST];
    char *rules[RULES_MOST]; /* in `page` */
    size_t count;
    char token[TOKEN_TEXT];
    int patience_ms; /* with an answer that is to come */
    bool is_trying;  /* a rule is left out, and something is to be refused */
};

/* What follows ACL SETUSER in docs/redis.md, up to the end of that command. */
static void read_rules(struct world *world)
{
    FILE *file = fopen("docs/redis.md", "r");
    assert_non_null(file);
    world->page[fread(world->page, 1, PAGE_LONGEST - 1, file)] = '\0';
    fclose(file);
    char *command = strstr(world->page, "ACL SETUSER baton ");
    assert_non_null(command);
    *strstr(command, "\necho") = '\0';
    char *rest;
    for (char *rule = strtok_r(command, " \n\\'", &rest); rule;
         rule = strtok_r(NULL, " \n\\'", &rest))
        if (world->count < RULES_MOST)
            world->rules[world->count++] = rule;
    assert_true(world->count > 20 && world->count < RULES_MOST);
}

/* A library of a release that nobody runs any more, which batond deletes. */
static void leave_old_library(struct world *world)
{
    static const char OLD[] = "#!lua name=baton_0000000000000000\n"
                              "redis.register_function('baton_0', function() return 0 end)";
    freeReplyObject(redis_process_command(&world->redis, "FUNCTION LOAD %s", OLD));
    freeReplyObject(redis_process_command(&world->redis,
                                          "HSET baton:epoch:libraries baton_0000000000000000 1"));
}

/* The user with all rules but one (NULL: with all), and nothing on record against it. */
static void make_user(struct world *world, const char *left_out)
{
    const char *words[RULES_MOST] = {"ACL", "SETUSER", "baton", "reset"};
    int count = 4;
    for (size_t i = 3; i < world->count; i++)
        if (world->rules[i] != left_out)
            words[count++] = world->rules[i];
    redisReply *reply = redisCommandArgv(world->redis.link, count, words, NULL);
    assert_non_null(reply);
    if (reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s", reply->str);
    freeReplyObject(reply);
    freeReplyObject(redis_process_command(&world->redis, "ACL LOG RESET"));
    freeReplyObject(redis_process_command(&world->redis, "FUNCTION FLUSH"));
    redis_process_flush(&world->redis);
    leave_old_library(world);
}

/* Whether Redis has refused anything. */
static bool is_refused(void *context)
{
    struct world *world = context;
    redisReply *reply = redis_process_command(&world->redis, "ACL LOG");
    size_t count = reply->elements;
    freeReplyObject(reply);
    return count > 0;
}

/* One request; false where it is not answered so. */
static bool gets(struct world *world, const char *method, const char *path, const char *body,
                 long status)
{
    const char *headers[2] = {world->token[0] ? world->token : NULL, NULL};
    long got = http_request(
        world->client,
        &(struct http_call){.method = method, .path = path, .body = body, .headers = headers});
    world->token[0] = '\0';
    return got == status;
}

/* The next request brings the token of the latest reply. */
static void bring_token(struct world *world)
{
    const char *token = http_text(world->client, "token");
    snprintf(world->token, sizeof world->token, "Lock-Token: %.100s", token ? token : "");
}

/* What is looked for has been found: nothing else need come. */
static bool gives_up(struct world *world)
{
    return world->is_trying && is_refused(world);
}

static bool is_answered(struct world *world, struct parked *parked, long status)
{
    long got = 0;
    int64_t until = clock_ms() + world->patience_ms;
    while (got == 0 && clock_ms() < until && !gives_up(world))
        got = parked_answer(parked, 50);
    parked_close(parked);
    return got == status;
}

static bool waits_and_gets(struct world *world, const char *path)
{
    char request[80];
    snprintf(request, sizeof request, "POST %s?wait=50s", path);
    return is_answered(world, parked_send(world->batond.port, NULL, request, NULL), 201);
}

static bool holds_are_made_and_ended(struct world *world)
{
    bool good = gets(world, "POST", "/locks/one?ttl=5s", NULL, 201);
    bring_token(world);
    good = good && gets(world, "PUT", "/locks/one", NULL, 200);
    good = good && gets(world, "POST", "/locks/one", NULL, 409);
    good = good && gets(world, "GET", "/locks/one", NULL, 200);
    good = good && gets(world, "DELETE", "/locks/one?force=true", NULL, 200);
    good = good && gets(world, "POST", "/locks/one", NULL, 201);
    bring_token(world);
    good = good && gets(world, "DELETE", "/locks/one", NULL, 200);
    good = good && gets(world, "POST", "/locks/short?ttl=100ms", NULL, 201);
    return good && waits_and_gets(world, "/locks/short");
}

/* Enough for all the kinds of keys that a name can have. */
static bool many_hold_one_name(struct world *world)
{
    bool good = true;
    for (int i = 0; good && i < 20; i++)
        good = gets(world, "POST", "/locks/many?mode=shared&owner=me", NULL, 201);
    bring_token(world);
    good = good && gets(world, "PUT", "/locks/many", NULL, 200);
    bring_token(world);
    good = good && gets(world, "DELETE", "/locks/many", NULL, 200);
    good = good && gets(world, "GET", "/locks?prefix=ma&limit=10", NULL, 200);
    good = good && gets(world, "GET", "/locks", NULL, 200);
    good = good && gets(world, "GET", "/metrics", NULL, 200);
    return good && gets(world, "DELETE", "/locks/many?force=true", NULL, 200);
}

/* Many that end by themselves, and are found to have ended. */
static bool many_holds_expire(struct world *world)
{
    bool good = true;
    for (int i = 0; good && i < 20; i++)
        good = gets(world, "POST", "/locks/ending?mode=shared&ttl=500ms", NULL, 201);
    return good && waits_and_gets(world, "/locks/ending");
}

/* Until all are held, those that are held already last as long as a lease of a waiter: if the
 * machine stands still for that, 1 s here, the request has to be repeated. */
static bool several_are_taken(struct world *world)
{
    static const char NAMES[] = "{\"names\": [\"a\", \"b\"]}";
    bool good = false;
    int64_t until = clock_ms() + world->patience_ms;
    do {
        good = gets(world, "POST", "/locks", NAMES, 200) || world->client->reply.status == 201;
        bring_token(world);
    } while (world->client->reply.status == 503 && clock_ms() < until && !gives_up(world));
    good = good && gets(world, "PUT", "/locks", NAMES, 200);
    bring_token(world);
    return good && gets(world, "DELETE", "/locks", NAMES, 200);
}

/* Whether as many wait for the lock at this path, in the end. */
static bool comes_to_wait(struct world *world, const char *path, int64_t count)
{
    for (int64_t until = clock_ms() + world->patience_ms; clock_ms() < until && !gives_up(world);
         clock_sleep_ms(5))
        if (gets(world, "GET", path, NULL, 200) &&
            http_integer(world->client, "queue_length") == count)
            return true;
    return false;
}

static bool who_waits_is_granted(struct world *world)
{
    bool good = gets(world, "POST", "/locks/wait", NULL, 201);
    bring_token(world);
    char release[sizeof world->token];
    strcpy(release, world->token);
    world->token[0] = '\0';
    struct parked *waiter =
        parked_send(world->batond.port, NULL, "POST /locks/wait?wait=50s&ttl=60s", NULL);
    good = good && comes_to_wait(world, "/locks/wait", 1);
    struct parked *gone = parked_send(world->batond.port, NULL, "POST /locks/wait?wait=50s", NULL);
    good = good && comes_to_wait(world, "/locks/wait", 2);
    parked_close(gone);
    strcpy(world->token, release);
    good = good && gets(world, "DELETE", "/locks/wait", NULL, 200);
    good = is_answered(world, waiter, 201) && good;
    good = good && gets(world, "POST", "/locks/wait?wait=50ms&keep=30s", NULL, 409);
    bring_token(world);
    good = good && gets(world, "DELETE", "/locks/wait", NULL, 200);
    return good && gets(world, "DELETE", "/locks/wait?force=true", NULL, 200);
}

/* For longer than half a lease. */
static bool waiters_are_renewed_by_heartbeats(struct world *world)
{
    bool good = gets(world, "POST", "/locks/alone", NULL, 201);
    bring_token(world);
    struct parked *waiter =
        parked_send(world->batond.port, NULL, "POST /locks/alone?wait=50s", NULL);
    good = good && parked_waits(waiter, 800);
    good = good && gets(world, "DELETE", "/locks/alone", NULL, 200);
    return is_answered(world, waiter, 201) && good;
}

/* The lock passes one who keeps its place and does not come. */
static bool who_is_absent_is_passed(struct world *world)
{
    bool good = gets(world, "POST", "/locks/absent?ttl=60s", NULL, 201);
    good = good && gets(world, "POST", "/locks/absent?wait=50ms&keep=30s", NULL, 409);
    good = good && gets(world, "DELETE", "/locks/absent?force=true", NULL, 200);
    return good && waits_and_gets(world, "/locks/absent");
}

static bool changes_are_reported(struct world *world)
{
    char request[100], all[100];
    bool good = gets(world, "GET", "/events?prefix=tell", NULL, 200);
    snprintf(all, sizeof all, "GET /events?prefix=tell&wait=50s&after=%" PRId64,
             http_integer(world->client, "version"));
    good = good && gets(world, "POST", "/locks/tell", NULL, 201);
    snprintf(request, sizeof request, "GET /locks/tell/events?wait=50s&after=%" PRId64,
             http_integer(world->client, "fence"));
    bring_token(world);
    struct parked *watcher = parked_send(world->batond.port, NULL, request, NULL);
    struct parked *prefix = parked_send(world->batond.port, NULL, all, NULL);
    good = is_answered(world, prefix, 200) && good;
    good = good && parked_waits(watcher, 50);
    good = good && gets(world, "DELETE", "/locks/tell", NULL, 200);
    return is_answered(world, watcher, 200) && good;
}

/* A change that comes while somebody watches the prefix is heard through the tracking of keys. */
static bool changes_of_a_prefix_are_reported(struct world *world)
{
    char all[100];
    bool good = gets(world, "GET", "/events?prefix=late", NULL, 200);
    snprintf(all, sizeof all, "GET /events?prefix=late&wait=50s&after=%" PRId64,
             http_integer(world->client, "version"));
    struct parked *prefix = parked_send(world->batond.port, NULL, all, NULL);
    good = good && parked_waits(prefix, 300);
    good = good && gets(world, "POST", "/locks/later", NULL, 201);
    return is_answered(world, prefix, 200) && good;
}

/* The connection that was lost is ended for Redis, too. */
static bool a_lost_connection_is_made_again(struct world *world)
{
    bool good = gets(world, "POST", "/locks/before?ttl=1m", NULL, 201);
    freeReplyObject(redis_process_command(&world->redis, "CLIENT KILL USER baton SKIPME yes"));
    good = comes_to_answer(world->client, "/readyz", 200, world->patience_ms) && good;
    return gets(world, "GET", "/locks/before", NULL, 200) && good;
}

static const struct step {
    const char *name;
    bool (*run)(struct world *world);
} STEPS[] = {
#define STEP(name)                                                                                 \
    {                                                                                              \
#name, name                                                                                \
    }
    STEP(holds_are_made_and_ended),
    STEP(many_hold_one_name),
    STEP(many_holds_expire),
    STEP(several_are_taken),
    STEP(who_waits_is_granted),
    STEP(who_is_absent_is_passed),
    STEP(changes_are_reported),
    STEP(changes_of_a_prefix_are_reported),
    STEP(a_lost_connection_is_made_again),
    STEP(who_waits_is_granted),
    STEP(waiters_are_renewed_by_heartbeats),
#undef STEP
};

enum { STEP_COUNT = sizeof STEPS / sizeof STEPS[0] };

static void start(struct world *world)
{
    char password[100];
    snprintf(password, sizeof password, "BATON_REDIS_PASSWORD=%s", world->rules[4] + 1);
    const char *const environment[] = {password, NULL};
    const char *const arguments[] = {"--redis-user=baton", "--claim-window=100ms",
                                     "--waiter-lease=1s", NULL};
    assert_int_equal(world->rules[4][0], '>');
    batond_process_start(&world->batond,
                         &(struct batond_options){.redis_url = world->redis.port_url,
                                                  .arguments = arguments,
                                                  .environment = environment});
    world->client = http_client_new(world->batond.url);
}

static void stop(struct world *world)
{
    http_client_free(world->client);
    batond_process_stop(&world->batond);
}

static int begin(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    read_rules(world);
    redis_process_start(&world->redis, &(struct redis_options){.port = true});
    *state = world;
    return 0;
}

static int end(void **state)
{
    struct world *world = *state;
    redis_process_stop(&world->redis);
    free(world);
    return 0;
}

TEST(its_rules_are_enough)
{
    struct world *world = *state;
    make_user(world, NULL);
    world->patience_ms = CLOCK_HANG_MS;
    start(world);
    for (size_t i = 0; i < STEP_COUNT; i++) {
        if (!STEPS[i].run(world))
            fail_msg("%s: %ld %s", STEPS[i].name, world->client->reply.status,
                     world->client->reply.body);
        if (is_refused(world))
            fail_msg("something is refused while %s", STEPS[i].name);
    }
    clock_wait_until(is_refused, world, PING_EVERY_MS + 500);
    assert_false(is_refused(world));
    stop(world);
}

static bool is_needed(struct world *world, const char *rule)
{
    bool refused = false;
    make_user(world, rule);
    world->patience_ms = REFUSED_MS;
    world->is_trying = true;
    start(world);
    for (size_t i = 0; !refused && i < STEP_COUNT; i++) {
        STEPS[i].run(world);
        refused = is_refused(world);
    }
    refused = refused || clock_wait_until(is_refused, world, LIBRARIES_MS);
    stop(world);
    return refused;
}

/* ACL SETUSER, the name, `on`, the password and `-@all` come first. */
static void those_of_a_part_are_needed(void **state)
{
    struct world *world = *state;
    const char *part = getenv(PART);
    size_t tried = 0;
    assert_non_null(part);
    for (size_t i = strtoul(part, NULL, 10); i < world->count; i += PARTS) {
        const char *rule = world->rules[i];
        if (!strchr("~&+", rule[0]))
            continue;
        tried++;
        if (!is_needed(world, rule))
            fail_msg("nothing is refused without %s", rule);
    }
    assert_true(tried > 20 / PARTS);
}

/* This program once more for each part of them, all at a time. */
TEST(every_right_is_needed)
{
    struct temp_dir dir;
    struct process parts[PARTS];
    bool good = true;
    temp_dir_make(&dir);
    for (int i = 0; i < PARTS; i++) {
        char part[sizeof PART + 4], log[sizeof dir.path + 4];
        snprintf(part, sizeof part, PART "=%d", i);
        snprintf(log, sizeof log, "%s/%d", dir.path, i);
        process_start(&parts[i], LIST("/proc/self/exe"), LIST(part), log);
    }
    for (int i = 0; i < PARTS; i++) {
        bool ended = process_wait(&parts[i], PARTS_MS);
        char *output = process_output(&parts[i]);
        if (!ended || process_exit_code(&parts[i]) != 0)
            print_error("%s", output);
        good &= ended && process_exit_code(&parts[i]) == 0;
        free(output);
        process_stop(&parts[i]);
    }
    temp_dir_remove(&dir);
    assert_true(good);
}

int main(void)
{
    const struct CMUnitTest part[] = {
        cmocka_unit_test(those_of_a_part_are_needed),
    };
    if (getenv(PART))
        return cmocka_run_group_tests_name("redis_user_part", part, begin, end);
    return tests_run(begin, end);
}
