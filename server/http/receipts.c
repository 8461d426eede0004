#include "server/http/receipts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    /* What may be unacknowledged behind a reply: our FIN, and the last record of TLS. A reply is
     * longer, and is sent and acknowledged as a whole. */
    CLOSING_BYTES = 128,
    LOOK_MS = 20,
    PATIENCE_MS = 5000,
};

enum verdict { OPEN, RECEIVED, REFUSED };

/* A connection of which it is not known yet. */
struct receipt {
    int fd;
    bool finished; /* the client had closed its end before it acknowledged the reply */
    uint64_t until;
    struct undelivered *told;
    TAILQ_ENTRY(receipt) others;
};

struct receipts {
    struct metrics *metrics;
    uv_timer_t timer;
    TAILQ_HEAD(open_receipts, receipt) open; /* in the order of `until` */
    size_t count;
    void (*closed)(void *context);
    void *context;
};

/* The kernel says EPIPE of a connection that was reset after the client's FIN, and ECONNRESET of
 * any other. Where nobody can know, the client may have read the reply. */
static enum verdict judge(struct receipt *receipt)
{
    struct tcp_info info;
    socklen_t size = sizeof info, error_size = sizeof(int);
    int unacknowledged, error = 0;
    if (ioctl(receipt->fd, SIOCOUTQ, &unacknowledged) < 0 || unacknowledged <= CLOSING_BYTES ||
        getsockopt(receipt->fd, IPPROTO_TCP, TCP_INFO, &info, &size) < 0)
        return RECEIVED;
    switch (info.tcpi_state) {
    case TCP_CLOSE:
        getsockopt(receipt->fd, SOL_SOCKET, SO_ERROR, &error, &error_size);
        return receipt->finished || error == EPIPE ? REFUSED : RECEIVED;
    case TCP_CLOSE_WAIT:
    case TCP_LAST_ACK:
    case TCP_CLOSING:
        receipt->finished = true;
        return OPEN;
    default:
        return OPEN;
    }
}

static void settle(struct receipts *receipts, struct undelivered *told, enum verdict verdict)
{
    if (verdict != REFUSED) {
        undelivered_free(told);
        return;
    }
    metrics_add(&receipts->metrics->undelivered, 1);
    undelivered_take_back(told);
}

static void drop(struct receipts *receipts, struct receipt *receipt)
{
    TAILQ_REMOVE(&receipts->open, receipt, others);
    receipts->count--;
    close(receipt->fd);
    free(receipt);
}

static void look_again(uv_timer_t *timer)
{
    struct receipts *receipts = timer->data;
    struct receipt *receipt = TAILQ_FIRST(&receipts->open), *next;
    for (; receipt; receipt = next) {
        next = TAILQ_NEXT(receipt, others);
        enum verdict verdict = judge(receipt);
        if (verdict == OPEN && uv_now(timer->loop) < receipt->until)
            continue;
        settle(receipts, receipt->told, verdict);
        drop(receipts, receipt);
    }
    if (receipts->count == 0)
        uv_timer_stop(timer);
}

/* The library closes its descriptor; ours keeps what the kernel knows. */
static void keep_open(struct receipts *receipts, const struct receipt *seen)
{
    int fd = receipts->count < RECEIPTS_MOST ? fcntl(seen->fd, F_DUPFD_CLOEXEC, 0) : -1;
    struct receipt *receipt = fd < 0 ? NULL : malloc(sizeof *receipt);
    if (!receipt) {
        if (fd >= 0)
            close(fd);
        settle(receipts, seen->told, RECEIVED);
        return;
    }
    *receipt = *seen;
    receipt->fd = fd;
    receipt->until = uv_now(receipts->timer.loop) + PATIENCE_MS;
    shutdown(fd, SHUT_WR); /* as closing it would */
    TAILQ_INSERT_TAIL(&receipts->open, receipt, others);
    if (receipts->count++ == 0)
        uv_timer_start(&receipts->timer, look_again, LOOK_MS, LOOK_MS);
}

void receipts_examine(struct receipts *receipts, int fd, struct undelivered *told)
{
    struct receipt receipt = {.fd = fd, .told = told};
    enum verdict verdict = judge(&receipt);
    if (verdict == OPEN)
        keep_open(receipts, &receipt);
    else
        settle(receipts, told, verdict);
}

bool receipts_find_refused(struct receipts *receipts, int fd, struct undelivered *told)
{
    bool refused = judge(&(struct receipt){.fd = fd}) == REFUSED;
    if (refused)
        settle(receipts, told, REFUSED);
    return refused;
}

struct receipts *receipts_open(uv_loop_t *loop, struct metrics *metrics)
{
    struct receipts *receipts = calloc(1, sizeof *receipts);
    if (!receipts)
        abort();
    receipts->metrics = metrics;
    TAILQ_INIT(&receipts->open);
    uv_timer_init(loop, &receipts->timer);
    receipts->timer.data = receipts;
    return receipts;
}

static void on_closed(uv_handle_t *handle)
{
    struct receipts *receipts = handle->data;
    receipts->closed(receipts->context);
    free(receipts);
}

void receipts_close(struct receipts *receipts, void (*closed)(void *context), void *context)
{
    while (!TAILQ_EMPTY(&receipts->open)) {
        settle(receipts, TAILQ_FIRST(&receipts->open)->told, RECEIVED);
        drop(receipts, TAILQ_FIRST(&receipts->open));
    }
    receipts->closed = closed;
    receipts->context = context;
    uv_close((uv_handle_t *)&receipts->timer, on_closed);
}
