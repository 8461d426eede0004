#include "tests/support/redis_process.h"

#include "tests/support/clock.h"
#include "tests/support/cmocka.h"
#include "tests/support/free_port.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { START_MS = 20000, SAVE_PATIENCE_MS = 10000, PATIENCE_MS = 6000, MAX_ARGUMENTS = 64 };

static bool answers(void *context)
{
    struct redis_process *redis = context;
    if (redis->process.pid && process_wait(&redis->process, 0))
        return true; /* it never will: the caller looks */
    redis->link = redisConnectUnix(redis->socket);
    redisReply *reply = redis->link->err ? NULL : redisCommand(redis->link, "PING");
    bool pong = reply && reply->type == REDIS_REPLY_STATUS;
    bool login = reply && reply->type == REDIS_REPLY_ERROR && !strncmp(reply->str, "NOAUTH", 6);
    if (reply)
        freeReplyObject(reply);
    if (pong || login)
        return true;
    redisFree(redis->link);
    redis->link = NULL;
    return false;
}

int redis_patience_ms(void)
{
    const char *wanted = getenv("BATON_TEST_REDIS_TIMEOUT");
    return wanted ? (int)strtol(wanted, NULL, 10) : PATIENCE_MS;
}

const char *redis_process_program(void)
{
    const char *program = getenv("BATON_TEST_REDIS_SERVER");
    return program && *program ? program : "redis-server";
}

static void launch(struct redis_process *redis)
{
    char port[12], log[100];
    snprintf(port, sizeof port, "%d", redis->port);
    snprintf(log, sizeof log, "%s/log", redis->dir.path);
    const char *arguments[MAX_ARGUMENTS + 1] = {redis_process_program(),
                                                "--port",
                                                port,
                                                "--bind",
                                                "127.0.0.1",
                                                "--unixsocket",
                                                redis->socket,
                                                "--dir",
                                                redis->dir.path,
                                                "--save",
                                                "",
                                                "--appendonly",
                                                redis->durable ? "yes" : "no",
                                                "--appendfsync",
                                                "always",
                                                "--cluster-enabled",
                                                redis->cluster ? "yes" : "no"};
    size_t count = 0;
    while (arguments[count])
        count++;
    for (size_t i = 0; redis->arguments && redis->arguments[i] && count < MAX_ARGUMENTS; i++)
        arguments[count++] = redis->arguments[i];
    process_start(&redis->process, arguments, redis->environment, log);
    if (clock_wait_until(answers, redis, START_MS) && redis->process.pid)
        return;
    char *output = process_output(&redis->process);
    print_error("%s", output);
    free(output);
    fail_msg("redis-server does not start");
}

void redis_process_start(struct redis_process *redis, const struct redis_options *options)
{
    struct redis_options none = {0};
    if (!options)
        options = &none;
    *redis = (struct redis_process){.arguments = options->arguments,
                                    .environment = options->environment,
                                    .durable = options->durable,
                                    .cluster = options->cluster};
    temp_dir_make(&redis->dir);
    snprintf(redis->socket, sizeof redis->socket, "%s/redis.sock", redis->dir.path);
    snprintf(redis->url, sizeof redis->url, "unix://%s", redis->socket);
    if (options->port || options->cluster) {
        redis->port = options->cluster ? free_port_pair(REDIS_BUS) : free_port();
        snprintf(redis->port_url, sizeof redis->port_url, "redis://127.0.0.1:%d", redis->port);
    }
    launch(redis);
}

void redis_process_resume(struct redis_process *redis)
{
    launch(redis);
}

static void unlink_redis(struct redis_process *redis)
{
    if (redis->link)
        redisFree(redis->link);
    redis->link = NULL;
}

void redis_process_halt(struct redis_process *redis)
{
    unlink_redis(redis);
    process_signal(&redis->process, SIGCONT);
    process_stop(&redis->process);
}

void redis_process_kill(struct redis_process *redis)
{
    unlink_redis(redis);
    process_kill(&redis->process);
}

void redis_process_freeze(struct redis_process *redis)
{
    process_signal(&redis->process, SIGSTOP);
}

void redis_process_thaw(struct redis_process *redis)
{
    process_signal(&redis->process, SIGCONT);
}

void redis_process_stop(struct redis_process *redis)
{
    redis_process_kill(redis);
    temp_dir_remove(&redis->dir);
}

static redisReply *run(struct redis_process *redis, const char *format, va_list arguments)
{
    redisReply *reply = redisvCommand(redis->link, format, arguments);
    if (!reply)
        fail_msg("redis: %s: %s", format, redis->link->errstr);
    if (reply->type == REDIS_REPLY_ERROR)
        fail_msg("redis: %s: %s", format, reply->str);
    return reply;
}

redisReply *redis_process_command(struct redis_process *redis, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    redisReply *reply = run(redis, format, arguments);
    va_end(arguments);
    return reply;
}

int64_t redis_process_integer(struct redis_process *redis, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    redisReply *reply = run(redis, format, arguments);
    va_end(arguments);
    assert_int_equal(reply->type, REDIS_REPLY_INTEGER);
    int64_t integer = reply->integer;
    freeReplyObject(reply);
    return integer;
}

int64_t redis_calls_in(const char *commandstats, const char *command)
{
    char pattern[80];
    snprintf(pattern, sizeof pattern, "cmdstat_%s:calls=", command);
    const char *found = strstr(commandstats, pattern);
    return found ? strtoll(found + strlen(pattern), NULL, 10) : 0;
}

int64_t redis_process_calls(struct redis_process *redis, const char *command)
{
    redisReply *reply = redis_process_command(redis, "INFO commandstats");
    int64_t calls = redis_calls_in(reply->str, command);
    freeReplyObject(reply);
    return calls;
}

/* The first look of each may have been on its way, so two of each are awaited. Only the script that
 * looks calls HMGET while nobody waits. */
void redis_process_await_looks(struct redis_process *redis, int workers)
{
    int64_t goal = redis_process_calls(redis, "hmget") + 2 * workers;
    int64_t until = clock_ms() + CLOCK_HANG_MS;
    while (redis_process_calls(redis, "hmget") < goal) {
        if (clock_ms() > until)
            fail_msg("nobody looks at the epoch in Redis");
        clock_sleep_ms(20);
    }
}

static bool saves_nothing(void *context)
{
    redisReply *info = redis_process_command(context, "INFO persistence");
    bool is_idle = strstr(info->str, "rdb_bgsave_in_progress:0") != NULL;
    freeReplyObject(info);
    return is_idle;
}

void redis_process_save(struct redis_process *redis)
{
    if (!clock_wait_until(saves_nothing, redis, SAVE_PATIENCE_MS))
        fail_msg("redis: it goes on saving in the background");
    freeReplyObject(redis_process_command(redis, "SAVE"));
}

void redis_process_flush(struct redis_process *redis)
{
    freeReplyObject(redis_process_command(redis, "FLUSHALL"));
}

void redis_process_forget(struct redis_process *redis)
{
    freeReplyObject(redis_process_command(
        redis, "EVAL %s 0",
        "for _, key in ipairs(redis.call('keys', '*')) do "
        "if not string.find(key, 'epoch', 1, true) then redis.call('unlink', key) end end"));
}
