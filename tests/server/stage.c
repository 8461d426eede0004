#include "tests/server/stage.h"

#include "api/access/completion.h"
#include "api/operations/undelivered.h"
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static void say(struct exchange *exchange, unsigned status, const char *text)
{
    reply_text(exchange, status, strdup(text));
}

static const struct log SILENT = {.fd = -1, .level = LOG_ERROR};
static const struct networks NOBODY = {NULL, 0};

static struct stage *stage_of(const struct exchange *exchange)
{
    return exchange->api->context;
}

static void forget(struct stage *stage, struct exchange *exchange)
{
    exchange->hung_up = NULL;
    for (int i = 0; i < STAGE_PLACES; i++) {
        if (stage->places[i] == exchange) {
            stage->places[i] = NULL;
            stage->waiting--;
        }
    }
}

static void on_hung_up(struct exchange *exchange)
{
    stage_of(exchange)->hung_up++;
    forget(stage_of(exchange), exchange);
}

static void on_emptied(struct exchange *exchange)
{
    stage_of(exchange)->emptied++;
}

static void on_turn(uv_timer_t *timer)
{
    struct stage *stage = timer->data;
    struct exchange *exchange = stage->parked;
    stage->parked = NULL;
    say(exchange, 200, "turn");
    exchange_resume(exchange);
}

static enum handling take_place(struct stage *stage, struct exchange *exchange, int place)
{
    if (place < 0 || place >= STAGE_PLACES || stage->places[place])
        abort();
    stage->places[place] = exchange;
    stage->waiting++;
    exchange->hung_up = on_hung_up;
    exchange->drained = on_emptied;
    return WAITING;
}

static const char large[STAGE_LARGE]; /* of zeros */

/* The API as the server knows it, in place of the real one. */

/* Whoever asks for "/nobody" is not known. */
bool api_admit(struct api *api, struct exchange *exchange)
{
    exchange->api = api;
    if (strcmp(exchange->head.target, "/nobody") != 0)
        return true;
    say(exchange, 401, "nobody");
    return false;
}

enum handling api_handle(struct exchange *exchange)
{
    struct stage *stage = exchange->api->context;
    const char *target = exchange->head.target;
    if (stage->drained && !stage->deaf) {
        say(exchange, 503, "draining");
        return ANSWERED;
    }
    if (strncmp(target, "/wait/", 6) == 0 || strncmp(target, "/grant/", 7) == 0)
        return take_place(stage, exchange, atoi(strrchr(target, '/') + 1));
    if (strncmp(target, "/park/", 6) == 0) {
        take_place(stage, exchange, atoi(target + 6));
        exchange->hung_up = NULL;
        return PARKED;
    }
    if (strcmp(target, "/turn") == 0 && !stage->parked) {
        stage->parked = exchange;
        uv_timer_start(&stage->turn, on_turn, 0, 0);
        return PARKED;
    }
    if (strcmp(target, "/several") == 0) {
        exchange_stream(exchange, 200, "text/plain");
        exchange_write(exchange, "all ", 4);
        exchange_write(exchange, "at once", 7);
        exchange_finish(exchange);
        return ANSWERED;
    }
    if (strcmp(target, "/large") == 0) {
        reply_constant(exchange, 200, "text/plain", large, sizeof large);
        return ANSWERED;
    }
    say(exchange, 200, "now");
    return ANSWERED;
}

void api_refuse_request(struct api *api, struct exchange *exchange, const char *why)
{
    (void)api;
    say(exchange, 400, why);
}

void api_refuse_head(struct api *api, struct exchange *exchange, size_t most)
{
    (void)most;
    exchange->api = api;
    say(exchange, 431, "head too large");
}

void api_refuse_body(struct exchange *exchange)
{
    say(exchange, 413, "too large");
}

bool api_has_granted(const struct exchange *exchange)
{
    return exchange->grant.attempt.text[0] != '\0';
}

struct undelivered {
    struct stage *stage;
};

struct undelivered *undelivered_new(const struct exchange *exchange)
{
    struct undelivered *undelivered =
        api_has_granted(exchange) ? malloc(sizeof *undelivered) : NULL;
    if (undelivered)
        undelivered->stage = stage_of(exchange);
    return undelivered;
}

void undelivered_take_back(struct undelivered *undelivered)
{
    undelivered->stage->undelivered++;
    undelivered_free(undelivered);
}

void undelivered_free(struct undelivered *undelivered)
{
    free(undelivered);
}

void api_set_store(struct api *api, bool is_available)
{
    (void)api, (void)is_available;
}

void api_drain(struct api *api)
{
    struct stage *stage = api->context;
    stage->drained = true;
    for (int i = 0; i < STAGE_PLACES && !stage->deaf; i++) {
        if (stage->places[i] && stage->places[i]->stream.is_stream) {
            stage_write_here(stage, i, "draining");
            stage_finish_here(stage, i);
        } else {
            stage_answer_here(stage, i, "draining");
        }
    }
}

/* The loop's thread. */

static void on_call(uv_async_t *call)
{
    struct stage *stage = call->data;
    pthread_mutex_lock(&stage->mutex);
    void (*job)(struct stage *, void *) = stage->job;
    void *context = stage->context;
    pthread_mutex_unlock(&stage->mutex);
    if (!job)
        return;
    job(stage, context);
    pthread_mutex_lock(&stage->mutex);
    stage->job = NULL;
    pthread_cond_broadcast(&stage->done);
    pthread_mutex_unlock(&stage->mutex);
}

static void *run(void *context)
{
    struct stage *stage = context;
    uv_run(&stage->loop, UV_RUN_DEFAULT);
    return NULL;
}

void stage_do(struct stage *stage, void (*job)(struct stage *stage, void *context), void *context)
{
    pthread_mutex_lock(&stage->mutex);
    stage->job = job;
    stage->context = context;
    uv_async_send(&stage->call);
    while (stage->job)
        pthread_cond_wait(&stage->done, &stage->mutex);
    pthread_mutex_unlock(&stage->mutex);
}

/* Both sides of each connection are descriptors of this process. */
static void raise_limit(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static int listen_somewhere(int *ret_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(fd, 4096), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    *ret_port = ntohs(address.sin_port);
    return fd;
}

void stage_open(struct stage *stage, unsigned connections)
{
    stage_open_within(stage, &(struct stage_bounds){connections, connections, 10000, 10000, 75000});
}

int stage_setup(void **state)
{
    static struct stage stage;
    stage_open(&stage, 5000);
    *state = &stage;
    return 0;
}

int stage_teardown(void **state)
{
    struct stage *stage = *state;
    if (!stage->closed)
        stage_close(stage);
    assert_int_equal(stage->metrics.waiting, 0);
    return 0;
}

void stage_open_within(struct stage *stage, const struct stage_bounds *bounds)
{
    raise_limit();
    memset(stage, 0, sizeof *stage);
    struct http_options options = {.listen_fd = listen_somewhere(&stage->port),
                                   .api = &stage->api,
                                   .metrics = &stage->metrics,
                                   .log = &SILENT,
                                   .head_timeout_ms = bounds->head_ms,
                                   .body_timeout_ms = bounds->body_ms,
                                   .idle_timeout_ms = bounds->idle_ms};
    options.connection_limits = stage->connection_limits =
        connection_limits_new(bounds->connections, bounds->each_address, &NOBODY);
    stage->api.context = stage;
    pthread_mutex_init(&stage->mutex, NULL);
    pthread_cond_init(&stage->done, NULL);
    uv_loop_init(&stage->loop);
    uv_async_init(&stage->loop, &stage->call, on_call);
    uv_timer_init(&stage->loop, &stage->turn);
    stage->call.data = stage->turn.data = stage;
    assert_int_equal(http_open(&stage->http, &stage->loop, &options), 0);
    http_serve(stage->http);
    assert_int_equal(pthread_create(&stage->thread, NULL, run, stage), 0);
}

static void on_http_closed(void *context)
{
    struct stage *stage = context;
    stage->closed = true;
    uv_close((uv_handle_t *)&stage->call, NULL);
    uv_close((uv_handle_t *)&stage->turn, NULL);
}

void stage_close_here(struct stage *stage)
{
    http_close(stage->http, on_http_closed, stage);
}

static void on_time_to_close(uv_timer_t *timer)
{
    stage_close_here(timer->data);
}

/* From a timer, behind which the loop may sleep. */
static void close_http(struct stage *stage, void *context)
{
    (void)context;
    uv_timer_start(&stage->turn, on_time_to_close, 0, 0);
}

void stage_begin_closing(struct stage *stage)
{
    stage_do(stage, close_http, NULL);
}

static bool is_closed(void *context)
{
    return ((struct stage *)context)->closed;
}

bool stage_end(struct stage *stage, int timeout_ms)
{
    if (!clock_wait_until(is_closed, stage, timeout_ms))
        return false;
    pthread_join(stage->thread, NULL);
    assert_int_equal(uv_loop_close(&stage->loop), 0);
    assert_int_equal(connection_limits_open(stage->connection_limits), 0);
    connection_limits_free(stage->connection_limits);
    pthread_mutex_destroy(&stage->mutex);
    pthread_cond_destroy(&stage->done);
    return true;
}

void stage_close(struct stage *stage)
{
    stage_begin_closing(stage);
    assert_true(stage_end(stage, CLOCK_HANG_MS));
}

struct goal {
    atomic_int *number;
    int value;
};

static bool is_reached(void *context)
{
    const struct goal *goal = context;
    return *goal->number == goal->value;
}

static void await(atomic_int *number, int value, const char *what)
{
    if (!clock_wait_until(is_reached, &(struct goal){number, value}, CLOCK_HANG_MS))
        fail_msg("%d %s, and not %d", *number, what, value);
}

void stage_await_waiting(struct stage *stage, int count)
{
    await(&stage->waiting, count, "wait");
}

void stage_await_emptied(struct stage *stage, int count)
{
    await(&stage->emptied, count, "streams were drained");
}

void stage_await_hung_up(struct stage *stage, int count)
{
    await(&stage->hung_up, count, "have hung up");
}

/* What the operations do. */

struct act {
    int place;
    const char *text;
};

void stage_answer_here(struct stage *stage, int place, const char *text)
{
    struct exchange *exchange = stage->places[place];
    if (!exchange)
        return;
    if (strncmp(exchange->head.target, "/grant/", 7) == 0)
        strcpy(exchange->grant.attempt.text, "attempt");
    say(exchange, 200, text);
    forget(stage, exchange);
    exchange_resume(exchange);
}

static void answer(struct stage *stage, void *context)
{
    const struct act *act = context;
    stage_answer_here(stage, act->place, act->text);
}

void stage_answer(struct stage *stage, int place, const char *text)
{
    stage_do(stage, answer, &(struct act){place, text});
}

static void stream(struct stage *stage, void *context)
{
    const struct act *act = context;
    struct exchange *exchange = stage->places[act->place];
    if (!exchange)
        return;
    if (strncmp(exchange->head.target, "/grant/", 7) == 0)
        strcpy(exchange->grant.attempt.text, "attempt");
    exchange_stream(exchange, 200, "text/plain");
    if (act->text)
        exchange_write(exchange, act->text, strlen(act->text));
    exchange_resume(exchange);
}

void stage_stream(struct stage *stage, int place, const char *first)
{
    stage_do(stage, stream, &(struct act){place, first});
}

void stage_write_here(struct stage *stage, int place, const char *text)
{
    if (stage->places[place])
        exchange_write(stage->places[place], text, strlen(text));
}

static void write_text(struct stage *stage, void *context)
{
    const struct act *act = context;
    stage_write_here(stage, act->place, act->text);
}

void stage_write(struct stage *stage, int place, const char *text)
{
    stage_do(stage, write_text, &(struct act){place, text});
}

struct look {
    int place;
    bool unsent;
};

static void look_for_unsent(struct stage *stage, void *context)
{
    struct look *look = context;
    const struct exchange *exchange = stage->places[look->place];
    look->unsent = exchange && exchange->stream.length > 0;
}

bool stage_has_unsent(struct stage *stage, int place)
{
    struct look look = {.place = place};
    stage_do(stage, look_for_unsent, &look);
    return look.unsent;
}

void stage_finish_here(struct stage *stage, int place)
{
    struct exchange *exchange = stage->places[place];
    if (!exchange)
        return;
    forget(stage, exchange);
    exchange_finish(exchange);
}

static void finish(struct stage *stage, void *context)
{
    stage_finish_here(stage, ((const struct act *)context)->place);
}

void stage_finish(struct stage *stage, int place)
{
    stage_do(stage, finish, &(struct act){place, NULL});
}
