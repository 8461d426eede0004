/* budget.c: runs each operation a number of times in one thread, over a real Redis, for callgrind
 * to count what batond does for it. It is given the Redis' socket, and prints a line for each: its
 * name, how many times it was run, and for all of them together the allocations, the system calls
 * of this program itself, the commands sent to Redis, and what the scripts among them asked of it.
 */
#include "tests/budget/client.h"
#include "tests/budget/counts.h"

#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TIMES = 50, /* each has a connection to wait on, and one room of the server takes them all */
    TOKEN = 128,
    TARGET = 128,
};

/* One lock, its holder and who waits for it. */
struct scene {
    char name[TARGET / 2];
    char token[TOKEN];
    struct client *asks, *elsewhere;
    struct client waits;
};

struct stage {
    redisContext *redis;
    struct host host, other;
    struct client asks, elsewhere; /* at the one and at the other */
    struct scene scenes[TIMES];
};

/* The operations. */

static void ask(struct client *client, const char *method, const struct scene *scene,
                const char *query, const char *token)
{
    char target[TARGET];
    snprintf(target, sizeof target, "/locks/%s%s", scene->name, query);
    client_ask(client, method, target, token);
}

static void take_token(struct client *client, struct scene *scene)
{
    client_take(client, 201);
    const char *begin = strstr(client->answer, "\"token\":\"");
    if (!begin || sscanf(begin, "\"token\":\"%127[^\"]", scene->token) != 1)
        abort();
}

static void acquire(struct scene *scene)
{
    ask(scene->asks, "POST", scene, "?ttl=30s", NULL);
    take_token(scene->asks, scene);
}

static void acquire_elsewhere(struct scene *scene)
{
    ask(scene->elsewhere, "POST", scene, "?ttl=30s", NULL);
    take_token(scene->elsewhere, scene);
}

static void repeat(struct scene *scene)
{
    ask(scene->asks, "POST", scene, "?ttl=30s", scene->token);
    client_take(scene->asks, 200);
}

static void renew(struct scene *scene)
{
    ask(scene->asks, "PUT", scene, "?ttl=30s", scene->token);
    client_take(scene->asks, 200);
}

static void inspect(struct scene *scene)
{
    ask(scene->asks, "GET", scene, "", NULL);
    client_take(scene->asks, 200);
}

static void be_refused(struct scene *scene)
{
    ask(scene->asks, "POST", scene, "?ttl=30s", NULL);
    client_take(scene->asks, 409);
}

static void release(struct scene *scene)
{
    ask(scene->asks, "DELETE", scene, "", scene->token);
    client_take(scene->asks, 200);
}

static void queue(struct scene *scene)
{
    ask(&scene->waits, "POST", scene, "?ttl=30s&wait=60s", NULL);
    client_await(&scene->waits, LOCK_EVENT_QUEUED);
}

/* Where the holder asks the batond that the other waits at, and where it asks another one. */

static void hand_over(struct scene *scene)
{
    release(scene);
    take_token(&scene->waits, scene);
}

static void hand_over_from_elsewhere(struct scene *scene)
{
    ask(scene->elsewhere, "DELETE", scene, "", scene->token);
    client_take(scene->elsewhere, 200);
    take_token(&scene->waits, scene);
}

static const struct operation {
    const char *name;
    void (*before[2])(struct scene *scene); /* what comes first and is not counted */
    void (*run)(struct scene *scene);
    void (*after)(struct scene *scene);
    bool is_logged;
} OPERATIONS[] = {
    {"acquire", {NULL}, acquire, release, false},
    {"acquire-logged", {NULL}, acquire, release, true},
    {"repeat", {acquire}, repeat, release, false},
    {"renew", {acquire}, renew, release, false},
    {"inspect", {acquire}, inspect, release, false},
    {"refused", {acquire}, be_refused, release, false},
    {"release", {acquire}, release, NULL, false},
    {"queue", {acquire}, queue, hand_over, false},
    {"hand-over", {acquire, queue}, hand_over, release, false},
    {"hand-over-across", {acquire_elsewhere, queue}, hand_over_from_elsewhere, release, false},
};

/* What Redis was asked. */

struct asked {
    uint64_t commands; /* sent to it; a function is one */
    uint64_t calls;    /* what functions asked of it */
};

/* Functions do not send these, and batond sends nothing else while it serves. */
static bool is_sent(const char *line)
{
    static const char *const SENT[] = {"cmdstat_fcall:", "cmdstat_function"};
    for (size_t i = 0; i < sizeof SENT / sizeof SENT[0]; i++)
        if (strncmp(line, SENT[i], strlen(SENT[i])) == 0)
            return true;
    return false;
}

static struct asked asked_of(redisContext *redis)
{
    struct asked asked = {0};
    redisReply *reply = redisCommand(redis, "INFO commandstats");
    if (!reply || reply->type != REDIS_REPLY_STRING)
        abort();
    for (const char *line = reply->str; (line = strstr(line, "cmdstat_")); line++) {
        uint64_t count = strtoull(strstr(line, "calls=") + 6, NULL, 10);
        if (is_sent(line))
            asked.commands += count;
        else if (strncmp(line, "cmdstat_info", 12) != 0 && strncmp(line, "cmdstat_config", 14) != 0)
            asked.calls += count;
    }
    freeReplyObject(reply);
    return asked;
}

static void each(struct stage *stage, void (*run)(struct scene *scene))
{
    for (size_t i = 0; run && i < TIMES; i++)
        run(&stage->scenes[i]);
}

static void set_up(struct stage *stage, const struct operation *operation, const char *round)
{
    for (size_t i = 0; i < TIMES; i++)
        snprintf(stage->scenes[i].name, sizeof stage->scenes[i].name, "%s-%s-%zu", operation->name,
                 round, i);
    stage->host.log.level = operation->is_logged ? LOG_INFO : LOG_ERROR;
    stage->host.log.access = stage->host.log.audit = operation->is_logged;
    each(stage, operation->before[0]);
    each(stage, operation->before[1]);
    freeReplyObject(redisCommand(stage->redis, "CONFIG RESETSTAT"));
}

/* For the first time as a warm-up. */
static void run(struct stage *stage, const struct operation *operation)
{
    set_up(stage, operation, "first");
    each(stage, operation->run);
    each(stage, operation->after);
    set_up(stage, operation, "second");
    counts_begin();
    each(stage, operation->run);
    counts_end();
    struct counts counted = counts;
    struct asked asked = asked_of(stage->redis);
    each(stage, operation->after);
    printf("%s %d %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", operation->name, TIMES,
           counted.allocations, counted.system_calls, asked.commands, asked.calls);
}

static void open_stage(struct stage *stage, const char *socket)
{
    char url[TARGET];
    snprintf(url, sizeof url, "unix://%s", socket);
    stage->redis = redisConnectUnix(socket);
    if (!stage->redis || stage->redis->err)
        abort();
    host_open(&stage->host, uv_default_loop(), url);
    host_open(&stage->other, uv_default_loop(), url);
    stage->host.log.fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    client_connect(&stage->asks, &stage->host);
    client_connect(&stage->elsewhere, &stage->other);
    for (size_t i = 0; i < TIMES; i++) {
        stage->scenes[i] = (struct scene){.asks = &stage->asks, .elsewhere = &stage->elsewhere};
        client_connect(&stage->scenes[i].waits, &stage->host);
    }
}

/* Redis is told until when there may be holds, before one that ends later: once here, rather than
 * at some moment while something is counted. */
static void hold_for_long(struct host *host, struct client *client)
{
    struct scene scene = {.name = "long", .asks = client};
    host_expect_time_to_pass(host); /* until Redis answers, which is a measure of its clock */
    client_ask(client, "POST", "/locks/long?ttl=12h", NULL);
    take_token(client, &scene);
    release(&scene);
    host_expect_time_to_pass(host);
}

int main(int argc, char **argv)
{
    static struct stage stage;
    if (argc != 2) {
        fprintf(stderr, "usage: %s SOCKET-OF-REDIS\n", argv[0]);
        return 2;
    }
    open_stage(&stage, argv[1]);
    hold_for_long(&stage.host, &stage.asks);
    hold_for_long(&stage.other, &stage.elsewhere);
    for (size_t i = 0; i < sizeof OPERATIONS / sizeof OPERATIONS[0]; i++)
        run(&stage, &OPERATIONS[i]);
    return 0; /* it all ends with the process */
}
