#include "server/http/farewells.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { STAYS_MS = 1000, PIECE = 4096, PIECES_MOST = 256 };

/* A ring, in which the oldest is the first. */
struct farewells {
    struct farewell {
        int fd;
        uint64_t until;
    } all[FAREWELLS_MOST];
    size_t first, count;
    uv_timer_t timer;
    void (*closed)(void *context);
    void *context;
};

/* What has come meanwhile is dropped first: closing would reset the connection for it. */
static void close_first(struct farewells *farewells)
{
    int fd = farewells->all[farewells->first].fd;
    char dropped[PIECE];
    for (int i = 0; i < PIECES_MOST && recv(fd, dropped, PIECE, MSG_DONTWAIT) > 0; i++)
        ;
    explicit_bzero(dropped, PIECE);
    close(fd);
    farewells->first = (farewells->first + 1) % FAREWELLS_MOST;
    farewells->count--;
}

static void on_timer(uv_timer_t *timer)
{
    struct farewells *farewells = timer->data;
    uint64_t now = uv_now(timer->loop);
    while (farewells->count > 0 && farewells->all[farewells->first].until <= now)
        close_first(farewells);
    if (farewells->count > 0)
        uv_timer_start(timer, on_timer, farewells->all[farewells->first].until - now, 0);
}

struct farewells *farewells_open(uv_loop_t *loop)
{
    struct farewells *farewells = calloc(1, sizeof *farewells);
    if (!farewells)
        abort();
    uv_timer_init(loop, &farewells->timer);
    farewells->timer.data = farewells;
    return farewells;
}

static void on_closed(uv_handle_t *handle)
{
    struct farewells *farewells = handle->data;
    farewells->closed(farewells->context);
    free(farewells);
}

void farewells_close(struct farewells *farewells, void (*closed)(void *context), void *context)
{
    farewells->closed = closed;
    farewells->context = context;
    while (farewells->count > 0)
        close_first(farewells);
    uv_close((uv_handle_t *)&farewells->timer, on_closed);
}

void farewells_say(struct farewells *farewells, int fd, const char *text, size_t length)
{
    send(fd, text, length, MSG_DONTWAIT | MSG_NOSIGNAL);
    shutdown(fd, SHUT_WR);
    if (farewells->count == FAREWELLS_MOST)
        close_first(farewells);
    size_t last = (farewells->first + farewells->count++) % FAREWELLS_MOST;
    farewells->all[last] = (struct farewell){fd, uv_now(farewells->timer.loop) + STAYS_MS};
    if (farewells->count == 1)
        uv_timer_start(&farewells->timer, on_timer, STAYS_MS, 0);
}
