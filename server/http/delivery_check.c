#include "server/http/delivery_check.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    /* At most this much is unacknowledged behind a reply: our FIN, and the last TLS record. A reply
     * is longer, and is sent and acknowledged as a whole. */
    CLOSING_BYTES = 128,
    LOOK_MS = 20,
    PATIENCE_MS = 5000,
};

enum verdict { OPEN, RECEIVED, REFUSED };

/* A connection whose client may or may not have got the reply. */
struct delivery {
    int fd;
    bool finished; /* the client closed its end before it acknowledged the reply */
    uint64_t until;
    struct undelivered *undelivered;
    TAILQ_ENTRY(delivery) others;
};

struct delivery_checks {
    struct metrics *metrics;
    uv_timer_t timer;
    TAILQ_HEAD(open_deliveries, delivery) open; /* in the order of `until` */
    size_t count;
};

/* After the client's FIN, the kernel reports a reset as EPIPE, otherwise as ECONNRESET. If nothing
 * proves the contrary, the client may have read the reply. */
static enum verdict delivery_judge(struct delivery *delivery)
{
    struct tcp_info info;
    socklen_t size = sizeof info, error_size = sizeof(int);
    int unacknowledged, error = 0;
    if (ioctl(delivery->fd, SIOCOUTQ, &unacknowledged) < 0 || unacknowledged <= CLOSING_BYTES ||
        getsockopt(delivery->fd, IPPROTO_TCP, TCP_INFO, &info, &size) < 0)
        return RECEIVED;
    switch (info.tcpi_state) {
    case TCP_CLOSE:
        getsockopt(delivery->fd, SOL_SOCKET, SO_ERROR, &error, &error_size);
        return delivery->finished || error == EPIPE ? REFUSED : RECEIVED;
    case TCP_CLOSE_WAIT:
    case TCP_LAST_ACK:
    case TCP_CLOSING:
        delivery->finished = true;
        return OPEN;
    default:
        return OPEN;
    }
}

static void delivery_settle(struct delivery_checks *deliveries, struct undelivered *undelivered,
                            enum verdict verdict)
{
    if (verdict != REFUSED) {
        undelivered_free(undelivered);
        return;
    }
    metrics_add(&deliveries->metrics->undelivered, 1);
    undelivered_take_back(undelivered);
}

static void delivery_drop(struct delivery_checks *deliveries, struct delivery *delivery)
{
    TAILQ_REMOVE(&deliveries->open, delivery, others);
    deliveries->count--;
    close(delivery->fd);
    free(delivery);
}

static void delivery_checks_on_timer(uv_timer_t *timer)
{
    struct delivery_checks *deliveries = timer->data;
    struct delivery *delivery = TAILQ_FIRST(&deliveries->open), *next;
    for (; delivery; delivery = next) {
        next = TAILQ_NEXT(delivery, others);
        enum verdict verdict = delivery_judge(delivery);
        if (verdict == OPEN && uv_now(timer->loop) < delivery->until)
            continue;
        delivery_settle(deliveries, delivery->undelivered, verdict);
        delivery_drop(deliveries, delivery);
    }
    if (deliveries->count == 0)
        uv_timer_stop(timer);
}

/* The library closes its descriptor; ours keeps the state of the connection in the kernel. */
static void delivery_keep_open(struct delivery_checks *deliveries, const struct delivery *seen)
{
    int fd = deliveries->count < DELIVERIES_MOST ? fcntl(seen->fd, F_DUPFD_CLOEXEC, 0) : -1;
    struct delivery *delivery = fd < 0 ? NULL : malloc(sizeof *delivery);
    if (!delivery) {
        if (fd >= 0)
            close(fd);
        delivery_settle(deliveries, seen->undelivered, RECEIVED);
        return;
    }
    *delivery = *seen;
    delivery->fd = fd;
    delivery->until = uv_now(deliveries->timer.loop) + PATIENCE_MS;
    shutdown(fd, SHUT_WR); /* as close(2) would */
    TAILQ_INSERT_TAIL(&deliveries->open, delivery, others);
    if (deliveries->count++ == 0)
        uv_timer_start(&deliveries->timer, delivery_checks_on_timer, LOOK_MS, LOOK_MS);
}

void delivery_check(struct delivery_checks *deliveries, int fd, struct undelivered *undelivered)
{
    struct delivery delivery = {.fd = fd, .undelivered = undelivered};
    enum verdict verdict = delivery_judge(&delivery);
    if (verdict == OPEN)
        delivery_keep_open(deliveries, &delivery);
    else
        delivery_settle(deliveries, undelivered, verdict);
}

bool delivery_check_find_refused(struct delivery_checks *deliveries, int fd,
                                 struct undelivered *undelivered)
{
    bool refused = delivery_judge(&(struct delivery){.fd = fd}) == REFUSED;
    if (refused)
        delivery_settle(deliveries, undelivered, REFUSED);
    return refused;
}

struct delivery_checks *delivery_checks_open(uv_loop_t *loop, struct metrics *metrics)
{
    struct delivery_checks *deliveries = memory_checked(calloc(1, sizeof *deliveries));
    deliveries->metrics = metrics;
    TAILQ_INIT(&deliveries->open);
    uv_timer_init(loop, &deliveries->timer);
    deliveries->timer.data = deliveries;
    return deliveries;
}

static void delivery_on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void delivery_checks_close(struct delivery_checks *deliveries)
{
    while (!TAILQ_EMPTY(&deliveries->open)) {
        delivery_settle(deliveries, TAILQ_FIRST(&deliveries->open)->undelivered, RECEIVED);
        delivery_drop(deliveries, TAILQ_FIRST(&deliveries->open));
    }
    uv_close((uv_handle_t *)&deliveries->timer, delivery_on_closed);
}
