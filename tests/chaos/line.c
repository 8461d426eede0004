#include "tests/chaos/line.h"

#include "tests/support/clock.h"
#include "tests/support/cmocka.h"
#include "tests/support/published.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { PAIRS = 32, CHUNK = 65536, TURN_MS = 5 /* a cut may have been asked for */ };

/* Bytes on their way. */
struct parcel {
    struct parcel *next;
    int64_t due;
    size_t length;
    char bytes[];
};

/* One direction of a connection. */
struct lane {
    int from, to;
    struct parcel *first, **last;
};

struct pair {
    struct lane lanes[2];
    bool open;
};

static int unix_socket(const char *path, bool listening)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    const struct sockaddr *place = (const struct sockaddr *)&address;
    int result = listening ? bind(fd, place, sizeof address) : connect(fd, place, sizeof address);
    if (result == 0 && listening)
        result = listen(fd, PAIRS);
    if (result == 0)
        return fd;
    close(fd);
    return -1;
}

static void pair_close(struct pair *pair)
{
    if (!pair->open)
        return;
    for (int i = 0; i < 2; i++) {
        close(pair->lanes[i].from);
        for (struct parcel *parcel; (parcel = pair->lanes[i].first);) {
            pair->lanes[i].first = parcel->next;
            free(parcel);
        }
    }
    pair->open = false;
}

static void accept_one(const struct line *line, struct pair *pairs)
{
    int client = accept(line->listener, NULL, NULL);
    int redis = unix_socket(line->redis_socket, false);
    struct pair *pair = pairs;
    while (pair < pairs + PAIRS && pair->open)
        pair++;
    if (client < 0 || redis < 0 || pair == pairs + PAIRS) {
        if (client >= 0)
            close(client);
        if (redis >= 0)
            close(redis);
        return;
    }
    *pair = (struct pair){.lanes = {{client, redis, NULL, NULL}, {redis, client, NULL, NULL}},
                          .open = true};
    for (int i = 0; i < 2; i++)
        pair->lanes[i].last = &pair->lanes[i].first;
}

/* The last digits of an attempt tell it from those of some minutes before. */
static bool loses(void *context, const char *text, size_t length)
{
    struct line *line = context;
    const char *end = length > 2 ? memchr(text + 2, ' ', length - 2) : NULL;
    if (line->loses == 0 || memcmp(text, "g ", 2) != 0 || !end || end - text < 6)
        return false;
    unsigned attempt = (unsigned)strtoul(end - 4, NULL, 16) % LINE_ATTEMPTS;
    if (++line->heard % (unsigned)line->loses != 0 || line->has_lost[attempt])
        return false;
    line->has_lost[attempt] = true;
    line->lost++;
    return true;
}

/* Takes in what has come. False where the connection has ended. */
static bool take_in(struct line *line, struct lane *lane)
{
    char bytes[CHUNK];
    ssize_t length = recv(lane->from, bytes, sizeof bytes, 0);
    if (length <= 0)
        return false;
    struct parcel *parcel = malloc(sizeof *parcel + (size_t)length);
    if (!parcel)
        abort();
    *parcel = (struct parcel){.due = clock_us() + line->delay_ms * 1000, .length = (size_t)length};
    memcpy(parcel->bytes, bytes, (size_t)length);
    parcel->length = published_cut(parcel->bytes, parcel->length, loses, line);
    *lane->last = parcel;
    lane->last = &parcel->next;
    return true;
}

/* Hands out what is due, and says when the next is. False where the connection has ended. */
static bool hand_out(struct lane *lane, int64_t now, int64_t *next)
{
    struct parcel *parcel;
    bool sent = true;
    while (sent && (parcel = lane->first) && parcel->due <= now) {
        sent =
            send(lane->to, parcel->bytes, parcel->length, MSG_NOSIGNAL) == (ssize_t)parcel->length;
        lane->first = parcel->next;
        if (!lane->first)
            lane->last = &lane->first;
        free(parcel);
    }
    if (lane->first && lane->first->due < *next)
        *next = lane->first->due;
    return sent;
}

/* One turn of the loop. False when it is to end. */
static bool turn(struct line *line, struct pair *pairs, int64_t *next)
{
    struct pollfd polls[2 + 2 * PAIRS] = {{.fd = line->stop[0], .events = POLLIN},
                                          {.fd = line->listener, .events = POLLIN}};
    for (int i = 0; i < 2 * PAIRS; i++)
        polls[2 + i] = (struct pollfd){
            .fd = pairs[i / 2].open ? pairs[i / 2].lanes[i % 2].from : -1, .events = POLLIN};
    int64_t left = *next - clock_us();
    poll(polls, 2 + 2 * PAIRS, left > 0 ? (int)((left + 999) / 1000) : 0);
    *next = clock_us() + TURN_MS * 1000;
    if (polls[1].revents)
        accept_one(line, pairs);
    for (int i = 0; i < 2 * PAIRS; i++) {
        struct pair *pair = &pairs[i / 2];
        if (pair->open && ((polls[2 + i].revents && !take_in(line, &pair->lanes[i % 2])) ||
                           !hand_out(&pair->lanes[i % 2], clock_us(), next)))
            pair_close(pair);
    }
    return !polls[0].revents;
}

/* Breaks all connections when it is time to; what was under way is lost. */
static void cut(struct line *line, struct pair *pairs, int64_t *when)
{
    int after = atomic_exchange(&line->cut_ms, 0);
    int64_t now = clock_us();
    if (after > 0)
        *when = now + after * 1000;
    if (now < *when)
        return;
    for (int i = 0; i < PAIRS; i++)
        pair_close(&pairs[i]);
    *when = INT64_MAX;
}

static void *run(void *context)
{
    static const struct pair NONE;
    struct line *line = context;
    struct pair pairs[PAIRS];
    int64_t next = 0, when = INT64_MAX;
    for (int i = 0; i < PAIRS; i++)
        pairs[i] = NONE;
    while (turn(line, pairs, &next))
        cut(line, pairs, &when);
    for (int i = 0; i < PAIRS; i++)
        pair_close(&pairs[i]);
    return NULL;
}

void line_start(struct line *line, const char *redis_socket)
{
    char path[100];
    line->delay_ms = line->cut_ms = 0;
    snprintf(line->redis_socket, sizeof line->redis_socket, "%s", redis_socket);
    temp_dir_make(&line->dir);
    snprintf(path, sizeof path, "%s/line", line->dir.path);
    snprintf(line->url, sizeof line->url, "unix://%s", path);
    line->listener = unix_socket(path, true);
    assert_true(line->listener >= 0);
    assert_int_equal(pipe(line->stop), 0);
    assert_int_equal(pthread_create(&line->thread, NULL, run, line), 0);
}

void line_stop(struct line *line)
{
    if (!line->dir.path[0])
        return;
    close(line->stop[1]);
    pthread_join(line->thread, NULL);
    close(line->stop[0]);
    close(line->listener);
    temp_dir_remove(&line->dir);
}
