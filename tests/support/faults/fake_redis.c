#include "tests/support/faults/fake_redis.h"

#include "tests/support/cmocka.h"

#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { READ_SIZE = 16384, ANSWER_SIZE = 4096 };

struct client {
    uv_pipe_t pipe;
    struct fake_redis *fake;
    redisReader *reader;
    char input[READ_SIZE];
};

static void on_closed(uv_handle_t *handle)
{
    struct client *client = handle->data;
    redisReaderFree(client->reader);
    free(client);
}

static void client_close(struct client *client)
{
    if (!uv_is_closing((uv_handle_t *)&client->pipe))
        uv_close((uv_handle_t *)&client->pipe, on_closed);
}

/* Answers are small: the socket's buffer takes them. */
static void send_text(struct client *client, const char *text)
{
    if (!text)
        return;
    uv_buf_t buffer = uv_buf_init((char *)text, (unsigned)strlen(text));
    uv_try_write((uv_stream_t *)&client->pipe, &buffer, 1);
}

static void send_info(struct client *client, const struct fake_answers *answers)
{
    char frame[ANSWER_SIZE];
    if (answers->info)
        snprintf(frame, sizeof frame, "$%zu\r\n%s\r\n", strlen(answers->info), answers->info);
    send_text(client, answers->info ? frame : answers->info_raw);
}

static void send_eval(struct client *client, const struct fake_answers *answers, const char *key)
{
    char text[ANSWER_SIZE];
    const char *mark = answers->eval ? strstr(answers->eval, "%s") : NULL;
    if (client->fake->forgotten < answers->forgets) {
        client->fake->forgotten++;
        send_text(client, "-ERR Function not found\r\n");
        return;
    }
    if (mark)
        snprintf(text, sizeof text, "%.*s%s%s", (int)(mark - answers->eval), answers->eval, key,
                 mark + 2);
    send_text(client, mark ? text : answers->eval);
}

static void send_load(struct client *client, const struct fake_answers *answers)
{
    atomic_fetch_add(&client->fake->loads, 1);
    send_text(client, answers->load);
}

static void on_command(struct client *client, const redisReply *command)
{
    const struct fake_answers *answers = atomic_load(&client->fake->answers);
    const char *name = command->elements > 0 ? command->element[0]->str : "";
    atomic_fetch_add(&client->fake->commands, 1);
    if (strcasecmp(name, "INFO") == 0)
        send_info(client, answers);
    else if (strcasecmp(name, "FUNCTION") == 0)
        send_load(client, answers);
    else if (strcasecmp(name, "FCALL") == 0)
        send_eval(client, answers, command->element[3]->str);
    else if (strcasecmp(name, "SUBSCRIBE") == 0)
        send_text(client, answers->subscribe);
    else if (strcasecmp(name, "PING") == 0)
        send_text(client, answers->ping);
    else if (strcasecmp(name, "SET") == 0 && answers->set)
        send_text(client, answers->set);
    else
        send_text(client, "+OK\r\n");
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer)
{
    struct client *client = stream->data;
    if (count < 0) {
        client_close(client);
        return;
    }
    redisReaderFeed(client->reader, buffer->base, (size_t)count);
    void *command = NULL;
    while (redisReaderGetReply(client->reader, &command) == REDIS_OK && command) {
        on_command(client, command);
        freeReplyObject(command);
    }
}

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *ret)
{
    struct client *client = handle->data;
    (void)size;
    *ret = uv_buf_init(client->input, sizeof client->input);
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct fake_redis *fake = listener->data;
    struct client *client = calloc(1, sizeof *client);
    assert_int_equal(status, 0);
    client->fake = fake;
    client->reader = redisReaderCreate();
    client->pipe.data = client;
    uv_pipe_init(listener->loop, &client->pipe, 0);
    uv_accept(listener, (uv_stream_t *)&client->pipe);
    atomic_fetch_add(&fake->connections, 1);
    const struct fake_answers *answers = atomic_load(&fake->answers);
    send_text(client, answers->welcome);
    if (answers->hang_up)
        client_close(client);
    else
        uv_read_start((uv_stream_t *)&client->pipe, on_alloc, on_read);
}

static void close_one(uv_handle_t *handle, void *context)
{
    struct fake_redis *fake = context;
    if (handle == (uv_handle_t *)&fake->stop || handle == (uv_handle_t *)&fake->listener)
        uv_close(handle, NULL);
    else
        client_close(handle->data);
}

static void on_stop(uv_async_t *async)
{
    uv_walk(async->loop, close_one, async->data);
}

static void run(void *context)
{
    struct fake_redis *fake = context;
    uv_run(&fake->loop, UV_RUN_DEFAULT);
}

void fake_redis_start(struct fake_redis *fake, const struct fake_answers *answers)
{
    signal(SIGPIPE, SIG_IGN); /* who is refused hangs up while we still answer */
    char socket[100];
    memset(fake, 0, sizeof *fake);
    atomic_store(&fake->answers, answers);
    temp_dir_make(&fake->dir);
    snprintf(socket, sizeof socket, "%s/fake.sock", fake->dir.path);
    snprintf(fake->url, sizeof fake->url, "unix://%s", socket);
    assert_int_equal(uv_loop_init(&fake->loop), 0);
    uv_async_init(&fake->loop, &fake->stop, on_stop);
    uv_pipe_init(&fake->loop, &fake->listener, 0);
    fake->stop.data = fake;
    fake->listener.data = fake;
    assert_int_equal(uv_pipe_bind(&fake->listener, socket), 0);
    assert_int_equal(uv_listen((uv_stream_t *)&fake->listener, 100, on_connection), 0);
    assert_int_equal(uv_thread_create(&fake->thread, run, fake), 0);
}

void fake_redis_change(struct fake_redis *fake, const struct fake_answers *answers)
{
    atomic_store(&fake->answers, answers);
}

void fake_redis_stop(struct fake_redis *fake)
{
    uv_async_send(&fake->stop);
    uv_thread_join(&fake->thread);
    assert_int_equal(uv_loop_close(&fake->loop), 0);
    temp_dir_remove(&fake->dir);
}
