#include "server/http/http.h"

#include "api/http/problem.h"
#include "server/http/door.h"
#include "server/http/hangups.h"
#include "server/http/receipts.h"
#include "server/http/rooms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    CLOSE_DEADLINE_MS = 5000,
    /* For those who are connected and have not asked for anything: the request is on its way, which
     * takes a few round trips where they shake hands first. */
    ARRIVAL_MS = 2000,
    PARTS = 7,
    REFUSAL_LENGTH = 640
};

struct http {
    struct desk desk;
    char too_slow[REFUSAL_LENGTH], too_many[REFUSAL_LENGTH];
    struct door *door;
    struct rooms *rooms;
    struct receipts *receipts;
    struct farewells *farewells;
    struct callers *callers;
    uv_timer_t deadline; /* of closing */
    bool closing;
    bool too_late; /* for a first request */
    bool cut_off;  /* closing takes too long */
    int parts;     /* that have yet to close: door, rooms, callers, hang-ups, receipts,
                    * farewells, deadline */
    void (*closed)(void *context);
    void *context;
};

static void on_part_closed(void *context)
{
    struct http *http = context;
    if (--http->parts > 0)
        return;
    http->closed(http->context);
    free(http);
}

static void on_deadline_closed(uv_handle_t *handle)
{
    on_part_closed(handle->data);
}

static void finish(struct http *http)
{
    http->closing = false; /* but closed */
    callers_say_goodbye(http->callers);
    rooms_close(http->rooms, on_part_closed, http);
    callers_close(http->callers, on_part_closed, http);
    hangups_close(http->desk.hangups, on_part_closed, http);
    receipts_close(http->receipts, on_part_closed, http);
    farewells_close(http->farewells, on_part_closed, http);
    uv_close((uv_handle_t *)&http->deadline, on_deadline_closed);
}

/* Whether the daemons may stop: nothing is under way any more, or the deadline has passed. They
 * must not have a suspended connection then, but Redis' own deadline is short. */
static bool is_finished(const struct http *http)
{
    bool nobody_comes = http->too_late || callers_arriving(http->callers) == 0;
    return (http->desk.under_way == 0 && nobody_comes) ||
           (http->cut_off && http->desk.suspended == 0);
}

static void on_turned(void *context)
{
    struct http *http = context;
    if (http->closing && is_finished(http))
        finish(http);
}

unsigned http_connections(unsigned descriptors, unsigned workers)
{
    return rooms_connections_most(descriptors, workers);
}

/* A whole reply to be written as it is, where there is no request that libmicrohttpd answers. */
static void write_refusal(char *text, const char *head, enum problem problem, const char *detail)
{
    char *body = problem_line(problem, detail);
    snprintf(text, REFUSAL_LENGTH,
             "HTTP/1.1 %s\r\nContent-Type: application/problem+json\r\nContent-Length: %zu\r\n"
             "Connection: close\r\n\r\n%s",
             head, strlen(body), body);
    free(body);
}

static void open_parts(struct http *http, uv_loop_t *loop, const struct http_options *options)
{
    write_refusal(http->too_slow, "408 Request Timeout", PROBLEM_REQUEST_TIMEOUT,
                  "the request did not arrive in time: its head within head-timeout, its body "
                  "within body-timeout");
    write_refusal(http->too_many, "429 Too Many Requests\r\nRetry-After: 1",
                  PROBLEM_TOO_MANY_CONNECTIONS,
                  "as many connections are open from this address as may be: close some, or use "
                  "one for several requests");
    http->receipts = receipts_open(loop, options->metrics);
    http->farewells = farewells_open(loop);
    http->callers = callers_open(&(struct callers_options){
        .loop = loop,
        .addresses = options->addresses,
        .metrics = options->metrics,
        .receipts = http->receipts,
        .farewells = http->farewells,
        .lasts_ms = {[DEADLINE_HEAD] = options->head_timeout_ms,
                     [DEADLINE_BODY] = options->body_timeout_ms,
                     [DEADLINE_REPLY] = options->idle_timeout_ms,
                     [DEADLINE_IDLE] = options->idle_timeout_ms},
        .too_slow = http->too_slow,
    });
    http->rooms = rooms_open(loop, &http->desk, options->https, on_turned, http);
    http->door = door_new(&(struct door_options){
        .loop = loop,
        .listen_fd = options->listen_fd,
        .addresses = options->addresses,
        .callers = http->callers,
        .farewells = http->farewells,
        .rooms = http->rooms,
        .metrics = options->metrics,
        .log = options->log,
        .when_full = options->is_admin ? "new connections to admin-listen wait, since as many are "
                                         "open there as may be: keep strangers away from it"
                                       : "new connections wait, since as many are open as may be; "
                                         "see max-connections",
        .too_many = options->https ? "" : http->too_many, /* it would not be TLS */
    });
    uv_timer_init(loop, &http->deadline);
    http->deadline.data = http;
}

int http_open(struct http **ret, uv_loop_t *loop, const struct http_options *options)
{
    struct http *http = calloc(1, sizeof *http);
    if (!http)
        abort();
    http->desk = (struct desk){.api = options->api,
                               .metrics = options->metrics,
                               .log = options->log,
                               .is_admin = options->is_admin};
    http->parts = PARTS;
    int result = hangups_open(&http->desk.hangups, loop);
    if (result < 0) {
        close(options->listen_fd);
        free(http);
        return result;
    }
    open_parts(http, loop, options);
    *ret = http;
    return 0;
}

void http_serve(struct http *http)
{
    door_open(http->door);
    rooms_start(http->rooms);
}

void http_set_https(struct http *http, struct https *https)
{
    rooms_set_https(http->rooms, https);
}

/* Who waits for the API to answer would wait on; who is still sending a request now will not get an
 * answer. */
static void on_close_deadline(uv_timer_t *timer)
{
    struct http *http = timer->data;
    http->cut_off = true;
    hangups_tell_all(http->desk.hangups);
    rooms_wake(http->rooms); /* this turn may be the last for lack of events */
}

static void on_arrival_deadline(uv_timer_t *timer)
{
    struct http *http = timer->data;
    http->too_late = true;
    uv_timer_start(timer, on_close_deadline, CLOSE_DEADLINE_MS - ARRIVAL_MS, 0);
    rooms_wake(http->rooms);
}

void http_close(struct http *http, void (*closed)(void *context), void *context)
{
    http->closed = closed;
    http->context = context;
    http_serve(http); /* whoever waits is answered, even if nobody was so far */
    http->closing = http->desk.closing = true;
    door_close(http->door, on_part_closed, http);
    api_drain(http->desk.api);
    uv_timer_start(&http->deadline, on_arrival_deadline, ARRIVAL_MS, 0);
    rooms_wake(http->rooms); /* a turn that finds that there is nothing to wait for */
}
