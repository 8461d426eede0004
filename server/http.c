#include "server/http.h"

#include "server/door.h"
#include "server/hangups.h"
#include "server/rooms.h"

#include <stdlib.h>
#include <unistd.h>

enum { CLOSE_DEADLINE_MS = 5000, PARTS = 4 };

struct http {
    struct desk desk;
    struct door *door;
    struct rooms *rooms;
    uv_timer_t deadline; /* of closing */
    bool closing;
    bool cut_off; /* closing takes too long */
    int parts;    /* that have yet to close: door, rooms, hang-ups, deadline */
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
    rooms_close(http->rooms, on_part_closed, http);
    hangups_close(http->desk.hangups, on_part_closed, http);
    uv_close((uv_handle_t *)&http->deadline, on_deadline_closed);
}

/* Whether the daemons may stop: nothing is under way any more, or the deadline has passed. They
 * must not have a suspended connection then, but Redis' own deadline is short. */
static bool is_finished(const struct http *http)
{
    return http->desk.under_way == 0 || (http->cut_off && http->desk.suspended == 0);
}

static void on_turned(void *context)
{
    struct http *http = context;
    if (http->closing && is_finished(http))
        finish(http);
}

unsigned http_connections(unsigned descriptors)
{
    return rooms_connections_most(descriptors);
}

int http_open(struct http **ret, uv_loop_t *loop, const struct http_options *options)
{
    struct http *http = calloc(1, sizeof *http);
    if (!http)
        abort();
    http->desk = (struct desk){.api = options->api, .metrics = options->metrics};
    http->parts = PARTS;
    int result = hangups_open(&http->desk.hangups, loop);
    if (result < 0) {
        close(options->listen_fd);
        free(http);
        return result;
    }
    http->rooms = rooms_open(loop, &http->desk, on_turned, http);
    http->door = door_new(loop, options->listen_fd, http->rooms, options->connections);
    uv_timer_init(loop, &http->deadline);
    http->deadline.data = http;
    *ret = http;
    return 0;
}

void http_serve(struct http *http)
{
    door_open(http->door);
    rooms_start(http->rooms);
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

void http_close(struct http *http, void (*closed)(void *context), void *context)
{
    http->closed = closed;
    http->context = context;
    http_serve(http); /* whoever waits is answered, even if nobody was so far */
    http->closing = http->desk.closing = true;
    door_close(http->door, on_part_closed, http);
    api_drain(http->desk.api);
    uv_timer_start(&http->deadline, on_close_deadline, CLOSE_DEADLINE_MS, 0);
    rooms_wake(http->rooms); /* a turn that finds that there is nothing to wait for */
}
