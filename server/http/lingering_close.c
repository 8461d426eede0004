#include "server/http/lingering_close.h"

#include "base/memory.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { STAYS_MS = 1000, PIECE = 4096, PIECES_MOST = 256 };

/* A ring; `first` is the oldest. */
struct lingering_closes {
    struct lingering_close {
        int fd;
        uint64_t until;
    } all[LINGERING_MOST];
    size_t first, count;
    uv_timer_t timer;
};

/* Drops what has come meanwhile: with unread data, close(2) would reset the connection. */
static void lingering_close_oldest(struct lingering_closes *lingering)
{
    int fd = lingering->all[lingering->first].fd;
    char dropped[PIECE];
    for (int i = 0; i < PIECES_MOST && recv(fd, dropped, PIECE, MSG_DONTWAIT) > 0; i++)
        ;
    explicit_bzero(dropped, PIECE);
    close(fd);
    lingering->first = (lingering->first + 1) % LINGERING_MOST;
    lingering->count--;
}

static void lingering_close_on_timer(uv_timer_t *timer)
{
    struct lingering_closes *lingering = timer->data;
    uint64_t now = uv_now(timer->loop);
    while (lingering->count > 0 && lingering->all[lingering->first].until <= now)
        lingering_close_oldest(lingering);
    if (lingering->count > 0)
        uv_timer_start(timer, lingering_close_on_timer,
                       lingering->all[lingering->first].until - now, 0);
}

struct lingering_closes *lingering_closes_open(uv_loop_t *loop)
{
    struct lingering_closes *lingering = memory_checked(calloc(1, sizeof *lingering));
    uv_timer_init(loop, &lingering->timer);
    lingering->timer.data = lingering;
    return lingering;
}

static void lingering_close_on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void lingering_closes_close(struct lingering_closes *lingering)
{
    while (lingering->count > 0)
        lingering_close_oldest(lingering);
    uv_close((uv_handle_t *)&lingering->timer, lingering_close_on_closed);
}

void lingering_close_begin(struct lingering_closes *lingering, int fd, const char *text,
                           size_t length)
{
    send(fd, text, length, MSG_DONTWAIT | MSG_NOSIGNAL);
    shutdown(fd, SHUT_WR);
    if (lingering->count == LINGERING_MOST)
        lingering_close_oldest(lingering);
    size_t last = (lingering->first + lingering->count++) % LINGERING_MOST;
    lingering->all[last] = (struct lingering_close){fd, uv_now(lingering->timer.loop) + STAYS_MS};
    if (lingering->count == 1)
        uv_timer_start(&lingering->timer, lingering_close_on_timer, STAYS_MS, 0);
}
