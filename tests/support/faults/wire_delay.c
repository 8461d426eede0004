#include "tests/support/faults/wire_delay.h"

#include "tests/support/clock.h"
#include "tests/support/cmocka.h"
#include "tests/support/raw.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PAIRS = 32, ENDS = 2 * PAIRS, STEP_MS = 5 };

/* Some bytes on their way. */
struct piece {
    struct piece *next;
    int64_t due; /* us */
    size_t length;
    char bytes[];
};

/* One side of a connection; its peer is the one beside it. */
struct end {
    int fd;              /* -1: none */
    struct piece *first; /* for this end */
    struct piece *last;
};

static void drop_pieces(struct end *end)
{
    while (end->first) {
        struct piece *piece = end->first;
        end->first = piece->next;
        free(piece);
    }
    end->last = NULL;
}

static void close_pair(struct end *pair)
{
    for (int i = 0; i < 2; i++) {
        if (pair[i].fd >= 0)
            close(pair[i].fd);
        pair[i].fd = -1;
        drop_pieces(&pair[i]);
    }
}

static void accept_one(struct wire_delay *wire, struct end *ends)
{
    int client = accept(wire->listener, NULL, NULL);
    struct end *pair = ends;
    while (pair < ends + ENDS && pair[0].fd >= 0)
        pair += 2;
    int server = pair < ends + ENDS ? raw_connect(wire->target) : -1;
    if (server < 0) {
        close(client);
        return;
    }
    pair[0].fd = client;
    pair[1].fd = server;
    for (int i = 0; i < 2; i++) /* the way is as long as it is said to be, and no longer */
        setsockopt(pair[i].fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
}

/* Whoever dies takes what is still under way along. False where that is so. */
static bool take_in(struct wire_delay *wire, struct end *from, struct end *to)
{
    char bytes[65536];
    ssize_t length = recv(from->fd, bytes, sizeof bytes, 0);
    if (length <= 0)
        return false;
    struct piece *piece = malloc(sizeof *piece + (size_t)length);
    if (!piece)
        abort();
    *piece = (struct piece){.due = clock_us() + wire->ms * 1000, .length = (size_t)length};
    memcpy(piece->bytes, bytes, (size_t)length);
    if (wire->cut)
        piece->length = wire->cut(wire->context, piece->bytes, piece->length);
    if (to->last)
        to->last->next = piece;
    else
        to->first = piece;
    to->last = piece;
    return true;
}

static void deliver(struct end *end, int64_t now)
{
    while (end->first && end->first->due <= now) {
        struct piece *piece = end->first;
        send(end->fd, piece->bytes, piece->length, MSG_NOSIGNAL);
        end->first = piece->next;
        if (!end->first)
            end->last = NULL;
        free(piece);
    }
}

/* What is for a client, the first of each pair, may be held. */
static bool is_held(const struct wire_delay *wire, int end)
{
    return wire->holds && end % 2 == 0;
}

/* Until some are due, and not for long: nobody says when they are let go, or the wire breaks. */
static int sleep_ms(const struct wire_delay *wire, const struct end *ends)
{
    int64_t now = clock_us(), due = now + STEP_MS * 1000;
    for (int i = 0; i < ENDS; i++)
        if (ends[i].first && !is_held(wire, i) && ends[i].first->due < due)
            due = ends[i].first->due;
    return due <= now ? 0 : (int)((due - now + 999) / 1000);
}

/* What is under way is lost. */
static void break_when_due(struct wire_delay *wire, struct end *ends, int64_t *when)
{
    int after = atomic_exchange(&wire->break_ms, 0);
    if (after > 0)
        *when = clock_ms() + after;
    if (clock_ms() < *when)
        return;
    for (int i = 0; i < ENDS; i += 2)
        close_pair(&ends[i]);
    *when = INT64_MAX;
}

static void *run(void *context)
{
    struct wire_delay *wire = context;
    struct end ends[ENDS];
    int64_t breaks = INT64_MAX;
    for (int i = 0; i < ENDS; i++)
        ends[i] = (struct end){.fd = -1};
    for (;;) {
        struct pollfd polls[2 + ENDS] = {{.fd = wire->stop[0], .events = POLLIN},
                                         {.fd = wire->listener, .events = POLLIN}};
        for (int i = 0; i < ENDS; i++)
            polls[2 + i] = (struct pollfd){.fd = ends[i].fd, .events = POLLIN};
        poll(polls, 2 + ENDS, sleep_ms(wire, ends));
        if (polls[0].revents)
            break;
        if (polls[1].revents)
            accept_one(wire, ends);
        for (int i = 0; i < ENDS; i++)
            if (polls[2 + i].revents && ends[i].fd == polls[2 + i].fd &&
                !take_in(wire, &ends[i], &ends[i ^ 1]))
                close_pair(&ends[i & ~1]);
        for (int i = 0; i < ENDS; i++)
            if (!is_held(wire, i))
                deliver(&ends[i], clock_us());
        break_when_due(wire, ends, &breaks);
    }
    for (int i = 0; i < ENDS; i += 2)
        close_pair(&ends[i]);
    return NULL;
}

static void start(struct wire_delay *wire)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    wire->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(wire->listener, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(wire->listener, PAIRS), 0);
    assert_int_equal(getsockname(wire->listener, (struct sockaddr *)&address, &length), 0);
    wire->port = ntohs(address.sin_port);
    assert_int_equal(pipe2(wire->stop, O_CLOEXEC), 0); /* it ends by being closed */
    assert_int_equal(pthread_create(&wire->thread, NULL, run, wire), 0);
}

void wire_delay_start(struct wire_delay *wire, int target, int ms)
{
    *wire = (struct wire_delay){.target = target, .ms = ms};
    start(wire);
}

void wire_delay_start_cutting(struct wire_delay *wire, int target, wire_cut *cut, void *context)
{
    *wire = (struct wire_delay){.target = target, .cut = cut, .context = context};
    start(wire);
}

void wire_delay_stop(struct wire_delay *wire)
{
    if (wire->port == 0)
        return;
    close(wire->stop[1]);
    pthread_join(wire->thread, NULL);
    close(wire->stop[0]);
    close(wire->listener);
    wire->port = 0;
}
