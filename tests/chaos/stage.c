#include "tests/chaos/stage.h"

#include "tests/support/clock.h"
#include "tests/support/cmocka.h"
#include "tests/support/seed.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { START_MS = 30000, LEAK_SLACK_MS = 90000 };

unsigned stage_draw(struct stage *stage, unsigned below)
{
    return seed_draw(&stage->random, below);
}

static void add_flag(struct stage *stage, const char *name, int64_t value, const char *unit)
{
    int i = 0;
    while (stage->flags[i])
        i++;
    assert_true(i < STAGE_FLAGS);
    snprintf(stage->flags_text[i], sizeof stage->flags_text[i], "--%s=%" PRId64 "%s", name, value,
             unit);
    stage->flags[i] = stage->flags_text[i];
}

void stage_launch(struct stage *stage, int replica)
{
    stage->options[replica].port = stage->ports[replica];
    batond_process_launch(&stage->batond[replica], &stage->options[replica]);
}

bool stage_listens(struct stage *stage, int replica, int timeout_ms)
{
    return batond_process_listening(&stage->batond[replica], timeout_ms);
}

static void begin(struct stage *stage, int replica)
{
    stage_launch(stage, replica);
    if (!stage_listens(stage, replica, START_MS))
        fail_msg("replica %d does not start", replica);
    stage->ports[replica] = stage->batond[replica].port;
    if (!stage->http[replica])
        stage->http[replica] = http_client_new(stage->batond[replica].url);
}

void stage_start(struct stage *stage, const struct stage_options *options)
{
    static const struct stage_options NONE;
    options = options ? options : &NONE;
    memset(stage, 0, sizeof *stage);
    stage->seed = stage->random = seed_choose();
    redis_process_start(&stage->redis,
                        &(struct redis_options){.durable = options->durable,
                                                .port = options->redis_port || options->line});
    add_flag(stage, "workers", options->workers ? options->workers : 2, "");
    stage->claim_ms = options->claim_ms ? options->claim_ms : CLAIM_WINDOW_MS;
    add_flag(stage, "claim-window", stage->claim_ms, "ms");
    add_flag(stage, "drain", options->drain_ms, "ms");
    add_flag(stage, "waiter-lease", WAITER_LEASE_MS, "ms");
    add_flag(stage, "retention", RETENTION_MS, "ms");
    if (options->line)
        line_start(&stage->line, stage->redis.port);
    const char *url = options->redis_port ? stage->redis.port_url : stage->redis.url;
    for (int i = 0; i < REPLICAS; i++) {
        stage->options[i] =
            (struct batond_options){.redis_url = options->line && i == 0 ? stage->line.url : url,
                                    .arguments = stage->flags};
        begin(stage, i);
    }
    int second = stage->ports[options->line ? TO_FIRST : TO_SECOND];
    for (int i = 0; i < 2 && options->fronts; i++) {
        front_start(&stage->front[i], (enum front_kind)i,
                    (const int[FRONT_REPLICAS]){stage->ports[TO_FIRST], second});
        stage->ports[BY_HAPROXY + i] = stage->front[i].port;
    }
}

void stage_end(struct stage *stage, int replica)
{
    assert_int_equal(batond_process_stop(&stage->batond[replica]), 0);
}

void stage_kill(struct stage *stage, int replica)
{
    process_kill(&stage->batond[replica].process);
    batond_process_stop(&stage->batond[replica]);
}

void stage_stop(struct stage *stage)
{
    int code = 0;
    for (int i = 0; i < 2; i++)
        front_stop(&stage->front[i]);
    for (int i = 0; i < REPLICAS; i++) {
        http_client_free(stage->http[i]);
        code |= batond_process_stop(&stage->batond[i]);
    }
    wire_delay_stop(&stage->line.wire);
    redis_process_stop(&stage->redis);
    assert_int_equal(code, 0);
}

struct http_client *stage_inspect(struct stage *stage, int name)
{
    char path[64];
    snprintf(path, sizeof path, "/locks/chaos-%d", name);
    for (int i = 0; i < 20; i++) {
        int replica = (i + 1) % REPLICAS; /* the second one first: it has no long line */
        struct http_client *http = stage->http[replica];
        struct http_call call = {.path = path, .timeout_ms = 1000};
        if (stage->batond[replica].process.pid && http_request(http, &call) == 200)
            return http;
        clock_sleep_ms(i < 4 ? 1 : 100);
    }
    return NULL;
}

int64_t stage_ask(struct stage *stage, int name, const char *member)
{
    struct http_client *http = stage_inspect(stage, name);
    return http ? http_integer(http, member) : -1;
}

void stage_print(struct stage *stage, int name)
{
    struct http_client *http = stage_inspect(stage, name);
    print_error("%s\n", http ? http->reply.body : "no replica answers");
    for (int i = 0; i < REPLICAS; i++) {
        char *output = process_output(&stage->batond[i].process);
        size_t length = strlen(output), most = 3000;
        print_error("replica %d:\n%s\n", i, output + (length > most ? length - most : 0));
        free(output);
    }
}

void stage_await_free(struct stage *stage, int name, int64_t timeout_ms)
{
    int64_t until = clock_ms() + timeout_ms;
    for (;;) {
        struct http_client *http = stage_inspect(stage, name);
        if (http && http_integer(http, "hold_count") == 0 &&
            http_integer(http, "queue_length") == 0)
            return;
        if (clock_ms() > until)
            fail_msg("name %d does not come free: %s", name, http ? http->reply.body : "?");
        clock_sleep_ms(5);
    }
}

/* Of a name nobody uses only what free names remember is left: its main key, and those of recently
 * released tokens. */
static void assert_forgettable(struct stage *stage, const char *key)
{
    static const char *const WAITING[] = {":queue:", ":waiters", ":holds", ":expiries", ":owners"};
    if (strncmp(key, "baton:epoch", 11) ==
        0) /* what is of no name: the record, and the libraries */
        return;
    int64_t left = redis_process_integer(&stage->redis, "PTTL %s", key);
    if (left == -1 || left > RETENTION_MS + LEAK_SLACK_MS)
        fail_msg("%s goes away in %" PRId64 " ms only", key, left);
    for (size_t i = 0; i < sizeof WAITING / sizeof WAITING[0]; i++)
        if (left != -2 && strstr(key, WAITING[i]))
            fail_msg("%s is left", key);
}

void stage_assert_no_leak(struct stage *stage)
{
    redisReply *keys = redis_process_command(&stage->redis, "KEYS *");
    for (size_t i = 0; i < keys->elements; i++)
        assert_forgettable(stage, keys->element[i]->str);
    print_message("%zu keys left, all of which go away\n", keys->elements);
    freeReplyObject(keys);
}

int stage_amount(int normal, int quick)
{
    const char *given = getenv("QUICK");
    return given && !strcmp(given, "1") ? quick : normal;
}
