/* A name whose slot is on its way from one node of a Redis Cluster to another, in every state in
 * which its keys can be at two nodes: nothing of it may be changed but what is in one place,
 * nothing lost or doubled. */
#include "locks/scripts/scripts.h"
#include "redis/cluster/slots.h"
#include "tests/scripts/scripts.h"
#include "tests/support/clustered.h"
#include "tests/support/cmocka.h"
#include "tests/support/seed.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS_MOST = 24 };

struct world {
    struct clustered cluster;
    struct scripts scripts;
    redisContext *links[CLUSTERED_PRIMARIES];
    unsigned names; /* made so far */
    char name[TEXT];
    struct slot_move move;
};

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    const struct clustered_options options = {
        .no_replicas = true, .partial = true, .is_patient = true};
    clustered_start(&world->cluster, &options);
    for (int i = 0; i < CLUSTERED_PRIMARIES; i++)
        world->links[i] = redisConnectUnix(world->cluster.nodes[i].socket);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    for (int i = 0; i < CLUSTERED_PRIMARIES; i++)
        redisFree(world->links[i]);
    clustered_stop(&world->cluster);
    free(world);
    return 0;
}

/* A name that was not used before, and where it is to move: always the same way, so that one node
 * alone takes a new epoch, once. */
static void begin(struct world *world)
{
    struct slot_move *move = &world->move;
    *move = (struct slot_move){.from = 0, .to = 1};
    do {
        snprintf(world->name, sizeof world->name, "name %u", world->names++);
        struct name_key key = key_of(world->name, "");
        move->slot = clustered_slot(key.text);
    } while (clustered_view(&world->cluster, move->from, move->slot) != move->from);
    world->scripts = (struct scripts){.retention_ms = 3600 * 1000, .unwatched = true};
    world->scripts.link = world->links[move->from];
    world->scripts.ask = world->links[move->to];
}

/* States that a name can be in. */

static void hold(struct scripts *scripts, const char *name)
{
    assert_status(acquire(scripts, .name = name, .token = "holder", .attempt = "h"), "granted");
}

static void hold_set(struct scripts *scripts, const char *name)
{
    static const char *const TOKENS[] = {"holder", "second", "third"};
    for (size_t i = 0; i < LENGTH(TOKENS); i++)
        assert_status(acquire(scripts, .name = name, .token = TOKENS[i], .mode = "shared",
                              .attempt = TOKENS[i]),
                      "granted");
}

static void wait_at(struct scripts *scripts, const char *name, const char *token,
                    const char *server)
{
    assert_status(acquire(scripts, .name = name, .token = token, .attempt = token, .server = server,
                          .keep_ms = 20000, .claim_ms = 120000, .lease_ms = 600000),
                  "waiting");
}

static void nothing(struct scripts *scripts, const char *name)
{
    (void)scripts, (void)name;
}

static void released(struct scripts *scripts, const char *name)
{
    hold(scripts, name);
    assert_status(release(scripts, name, "holder"), "released");
    for (int i = 0; i < 2; i++) {
        char token[16];
        snprintf(token, sizeof token, "before %d", i);
        assert_status(acquire(scripts, .name = name, .token = token), "granted");
        assert_status(release(scripts, name, token), "released");
    }
}

static void one_waits(struct scripts *scripts, const char *name)
{
    hold(scripts, name);
    wait_at(scripts, name, "waiter", "s1");
}

static void many_wait(struct scripts *scripts, const char *name)
{
    released(scripts, name);
    assert_status(acquire(scripts, .name = name, .token = "again", .attempt = "h"), "granted");
    wait_at(scripts, name, "waiter", "s1");
    wait_at(scripts, name, "other", "s1");
    wait_at(scripts, name, "elsewhere", "s2");
}

static void some_are_away(struct scripts *scripts, const char *name)
{
    many_wait(scripts, name);
    assert_status(leave(scripts, .name = name, .token = "other", .attempt = "other", .why = "gone",
                        .keep_ms = 20000),
                  "left");
}

static void hold_set_and_queue(struct scripts *scripts, const char *name)
{
    hold_set(scripts, name);
    wait_at(scripts, name, "waiter", "s1");
    wait_at(scripts, name, "other", "s2");
}

static void watched(struct scripts *scripts, const char *name)
{
    hold(scripts, name);
    watch(scripts, name, "s1", 0);
}

static void handed_over(struct scripts *scripts, const char *name)
{
    many_wait(scripts, name);
    assert_status(release(scripts, name, "again"), "released");
}

static const struct state {
    const char *name;
    void (*make)(struct scripts *scripts, const char *name);
    bool goes_on; /* by its main key alone */
} STATES[] = {
    {"nothing", nothing, true},      {"a hold", hold, true},
    {"released", released, true},    {"one waits", one_waits, false},
    {"many wait", many_wait, false}, {"some are away", some_are_away, false},
    {"a hold set", hold_set, false}, {"a hold set, and a queue", hold_set_and_queue, false},
    {"a watch", watched, false},     {"handed over, and not claimed", handed_over, false},
};

/* All that can be asked for. */

#define OPERATION(operation, call)                                                                 \
    static struct answer operation(struct scripts *scripts, const char *name)                      \
    {                                                                                              \
        return call;                                                                               \
    }

OPERATION(acquire_new, acquire(scripts, .name = name, .token = "stranger", .token_is_new = true))
OPERATION(acquire_shared, acquire(scripts, .name = name, .token = "stranger", .mode = "shared",
                                  .token_is_new = true))
OPERATION(acquire_as_owner,
          acquire(scripts, .name = name, .token = "stranger", .owner = "holder", .reenters = true))
OPERATION(acquire_again, acquire(scripts, .name = name, .token = "holder", .attempt = "h2"))
OPERATION(wait_here,
          acquire(scripts, .name = name, .token = "stranger", .server = "s1", .token_is_new = true))
OPERATION(look_again, acquire(scripts, .name = name, .token = "waiter", .attempt = "waiter",
                              .server = "s1", .again = true))

static struct answer renew_it(struct scripts *scripts, const char *name)
{
    struct answer answer = renew(scripts, name, "holder", 40000);
    if (strcmp(answer.status, "renewed") == 0) {
        struct answer again = renew(scripts, name, "holder", 0); /* the TTL that it was given */
        assert_in_range(again.ttl_ms, 1, 40000);
        assert_int_equal(again.fence, answer.fence);
        assert_int_equal(again.holds, 1);
    }
    return answer;
}

OPERATION(release_it, release(scripts, name, "holder"))
OPERATION(release_again, release(scripts, name, "again"))
OPERATION(release_at_server, release_at(scripts, name, "holder", "s1"))
OPERATION(cancel, release(scripts, name, "waiter"))
OPERATION(go,
          leave(scripts, .name = name, .token = "waiter", .attempt = "waiter", .why = "timeout"))
OPERATION(give_back, leave(scripts, .name = name, .token = "holder", .attempt = "h", .why = "gone"))
OPERATION(tick_it, tick(scripts, name, "s1"))
OPERATION(watch_it, watch(scripts, name, "s3", 0))
OPERATION(break_it, break_all(scripts, name))
OPERATION(inspect_it, try_inspect(scripts, name, "holder"))

static const struct operation {
    const char *name;
    struct answer (*run)(struct scripts *scripts, const char *name);
} OPERATIONS[] = {
    {"inspect", inspect_it},
    {"acquire", acquire_new},
    {"acquire shared", acquire_shared},
    {"acquire as its owner", acquire_as_owner},
    {"acquire again", acquire_again},
    {"wait", wait_here},
    {"look again", look_again},
    {"renew", renew_it},
    {"release again", release_again},
    {"release at a server", release_at_server},
    {"cancel", cancel},
    {"leave", go},
    {"give back", give_back},
    {"tick", tick_it},
    {"watch", watch_it},
    {"break", break_it},
    {"release", release_it},
};

/* The keys of the slot, with their contents, wherever they are. */
struct content {
    size_t count;
    char keys[KEYS_MOST][TEXT];
    redisReply *dumps[KEYS_MOST];
};

static redisReply *asked(redisContext *link, const char *command, const char *key)
{
    freeReplyObject(redisCommand(link, "ASKING"));
    return redisCommand(link, "%s %s", command, key);
}

static void add_all(struct world *world, int node, struct content *ret)
{
    redisReply *keys = clustered_ask(&world->cluster, node, "CLUSTER GETKEYSINSLOT %d %d",
                                     world->move.slot, KEYS_MOST);
    for (size_t i = 0; i < keys->elements; i++) {
        assert_true(ret->count < KEYS_MOST);
        snprintf(ret->keys[ret->count], TEXT, "%s", keys->element[i]->str);
        redisReply *dump = asked(world->links[node], "DUMP", keys->element[i]->str);
        assert_int_equal(dump->type, REDIS_REPLY_STRING);
        ret->dumps[ret->count++] = dump;
    }
    freeReplyObject(keys);
}

static struct content content_of(struct world *world)
{
    struct content content = {0};
    add_all(world, world->move.from, &content);
    add_all(world, world->move.to, &content);
    return content;
}

static void forget(struct content *content)
{
    for (size_t i = 0; i < content->count; i++)
        freeReplyObject(content->dumps[i]);
}

static const redisReply *dump_of(const struct content *content, const char *key)
{
    for (size_t i = 0; i < content->count; i++)
        if (strcmp(content->keys[i], key) == 0)
            return content->dumps[i];
    return NULL;
}

/* `except`: a key that may differ, or be one more. */
static bool is_same(const struct content *before, const struct content *after, const char *except)
{
    size_t others[2] = {0};
    for (size_t i = 0; i < before->count; i++)
        others[0] += strcmp(before->keys[i], except) != 0;
    for (size_t i = 0; i < after->count; i++) {
        const redisReply *dump = dump_of(before, after->keys[i]);
        if (strcmp(after->keys[i], except) == 0)
            continue;
        others[1]++;
        if (!dump || dump->len != after->dumps[i]->len ||
            memcmp(dump->str, after->dumps[i]->str, dump->len) != 0)
            return false;
    }
    return others[0] == others[1];
}

static void carry(struct world *world, const char *key)
{
    redisReply *reply =
        redisCommand(world->links[world->move.from], "MIGRATE 127.0.0.1 %d %s 0 20000",
                     world->cluster.nodes[world->move.to].port, key);
    if (!reply || strcmp(reply->str, "OK") != 0)
        fail_msg("%s: %s", key, reply ? reply->str : "no answer");
    freeReplyObject(reply);
}

/* The operation waits, and changes nothing, or is one that is done with the main key alone. */
static bool try_one(struct world *world, const struct operation *operation, const char *where)
{
    struct content before = content_of(world);
    struct answer answer = operation->run(&world->scripts, world->name);
    struct content after = content_of(world);
    bool waits = strncmp(answer.status, "TRYAGAIN", 8) == 0;
    const char *main_key = key_of(world->name, "").text;
    if (!is_same(&before, &after, waits ? "" : main_key))
        fail_msg("%s: %s: %s, and something has changed", where, operation->name, answer.status);
    if (!waits && isupper((unsigned char)answer.status[0]))
        fail_msg("%s: %s: %s", where, operation->name, answer.status);
    forget(&before);
    forget(&after);
    return !waits;
}

static void assert_same_view(const struct seen *before, const struct seen *after, const char *where)
{
    if (before->version != after->version || before->holds != after->holds ||
        before->waiters != after->waiters || before->mine != after->mine ||
        before->last_fence != after->last_fence || before->line != after->line)
        fail_msg("%s: it was version %lld, %lld holds, %lld waiters, and is %lld, %lld, %lld",
                 where, (long long)before->version, (long long)before->holds,
                 (long long)before->waiters, (long long)after->version, (long long)after->holds,
                 (long long)after->waiters);
    for (size_t i = 0; i < after->line && i < SHOWN; i++)
        assert_string_equal(before->in_line[i].owner, after->in_line[i].owner);
}

static void load_everywhere(struct world *world)
{
    for (int node = 0; node < CLUSTERED_PRIMARIES; node++)
        freeReplyObject(redisCommand(world->links[node], "FUNCTION LOAD %b", script_library.text,
                                     script_library.length));
}

/* For how long the main key lives, wherever it is. */
static int64_t kept_ms(struct world *world)
{
    int64_t longest = -1;
    for (int i = 0; i < 2; i++) {
        redisContext *link = world->links[i ? world->move.to : world->move.from];
        redisReply *reply = asked(link, "PTTL", key_of(world->name, "").text);
        if (reply->type == REDIS_REPLY_INTEGER && reply->integer > longest)
            longest = reply->integer;
        freeReplyObject(reply);
    }
    return longest;
}

/* One name in that state, of which the keys in `moved` (bits, in the order of their names) are at
 * the other node. Returns how many keys it has. */
static size_t try_all(struct world *world, const struct state *state, unsigned moved)
{
    begin(world);
    struct scripts *scripts = &world->scripts;
    state->make(scripts, world->name);
    struct seen before = inspect(scripts, world->name, "holder");
    struct content all = content_of(world);
    char where[2 * TEXT];
    int length = snprintf(where, sizeof where, "%s; moved:", state->name);
    clustered_begin_move(&world->cluster, &world->move);
    for (size_t i = 0; i < all.count; i++) {
        const char *suffix = strchr(all.keys[i], '}');
        if (!(moved >> i & 1))
            continue;
        carry(world, all.keys[i]);
        length += snprintf(where + length, sizeof where - (size_t)length, " %s", suffix);
    }
    bool any_done = false;
    for (size_t i = 0; i < LENGTH(OPERATIONS); i++) {
        bool is_done = try_one(world, &OPERATIONS[i], where);
        any_done |= is_done;
        if (state->make == hold && OPERATIONS[i].run == renew_it &&
            (!is_done || kept_ms(world) < scripts->retention_ms + 31000))
            fail_msg("%s: a single hold is not renewed", where);
    }
    while (clustered_carry(&world->cluster, &world->move, 1))
        ;
    clustered_end_move(&world->cluster, &world->move);
    scripts->link = world->links[world->move.to];
    struct seen after = inspect(scripts, world->name, "holder");
    if (!any_done)
        assert_same_view(&before, &after, where);
    if (any_done != state->goes_on)
        fail_msg("%s: %s", where, any_done ? "something was done" : "nothing went on");
    assert_true(after.version >= before.version);
    struct answer broken = break_all(scripts, world->name);
    assert_int_equal(broken.count, after.holds);
    size_t count = all.count;
    forget(&all);
    return count;
}

TEST(a_name_is_whole_or_waits)
{
    struct world *world = *state;
    size_t places = 0;
    load_everywhere(world);
    for (size_t i = 0; i < LENGTH(STATES); i++) {
        size_t count = try_all(world, &STATES[i], 0);
        for (size_t key = 0; key < count; key++) { /* one of them, then all but one */
            try_all(world, &STATES[i], 1U << key);
            try_all(world, &STATES[i], ~(1U << key));
            places += 2;
        }
        try_all(world, &STATES[i], ~0U);
        places += 2;
    }
    print_message("%zu states of a move\n", places);
    assert_true(places > 60);
}

/* Whatever a name contains, all its keys are in one slot, and it is the one that Redis says. */
TEST(all_keys_of_a_name_are_in_one_slot)
{
    static const char *const PIECES[] = {"a", "{", "}", "{}", "}{", "%", "%7B", ":", "/", " ", "é"};
    static const char *const SUFFIXES[] = {"",         ":holds", ":servers",   ":waiters",
                                           ":queue:a", ":ends",  ":released:0"};
    struct world *world = *state;
    uint64_t random = 0;
    for (int i = 0; i < 300; i++) {
        char name[TEXT] = "";
        for (int left = 1 + i % 12; left > 0; left--)
            strcat(name, PIECES[seed_draw(&random, LENGTH(PIECES))]);
        unsigned slot = slot_of(slice_of(key_of(name, "").text));
        for (size_t j = 0; j < LENGTH(SUFFIXES); j++) {
            struct name_key key = key_of(name, SUFFIXES[j]);
            redisReply *reply =
                redisCommand(world->links[0], "CLUSTER KEYSLOT %b", key.text, key.length);
            if (reply->integer != slot || slot_of((struct slice){key.text, key.length}) != slot)
                fail_msg("%s is in slot %lld, not in %u", key.text, reply->integer, slot);
            freeReplyObject(reply);
        }
    }
}

RUN_TESTS(set_up, tear_down)
