#include "tests/support/faults/proxy.h"

#include "tests/support/cmocka.h"
#include "tests/support/published.h"

#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { PAIRS = 16, STEP_MS = 5, CLIENT = 0, REDIS = 1 };

/* The two sockets of one connection; -1 where there is none. */
struct pair {
    int ends[2];
    bool marked;  /* the next reply is to be lost */
    char *behind; /* bytes held back from Redis, whose end stays open alone */
    size_t behind_length;
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
    for (int i = 0; i < 2; i++) {
        if (pair->ends[i] >= 0)
            close(pair->ends[i]);
        pair->ends[i] = -1;
    }
    free(pair->behind);
    pair->behind = NULL;
}

static void hold_back(struct pair *pair, const char *bytes, size_t length)
{
    pair->behind = malloc(length);
    memcpy(pair->behind, bytes, length);
    pair->behind_length = length;
    close(pair->ends[CLIENT]);
    pair->ends[CLIENT] = -1;
}

/* Sends on what was held back, if Redis still has the other end open. */
static void deliver(struct pair *pair)
{
    char reply[1024];
    if (!pair->behind)
        return;
    if (send(pair->ends[REDIS], pair->behind, pair->behind_length, MSG_NOSIGNAL) > 0)
        recv(pair->ends[REDIS], reply, sizeof reply, 0); /* it has done it */
    pair_close(pair);
}

static void accept_one(const struct proxy *proxy, struct pair *pairs)
{
    int client = accept(proxy->listener, NULL, NULL);
    int redis = proxy->mode == PROXY_CLOSED ? -1 : unix_socket(proxy->redis_socket, false);
    struct pair *pair = pairs;
    while (pair < pairs + PAIRS && (pair->ends[CLIENT] >= 0 || pair->ends[REDIS] >= 0))
        pair++;
    if (redis >= 0 && pair < pairs + PAIRS) {
        *pair = (struct pair){.ends = {client, redis}};
        return;
    }
    close(client);
    if (redis >= 0)
        close(redis);
}

static bool loses(void *context, const char *text, size_t length)
{
    struct proxy *proxy = context;
    size_t marked = strlen(proxy->mark);
    if (proxy->mode != PROXY_LOSES_MESSAGES || length < marked ||
        memcmp(text, proxy->mark, marked) != 0)
        return false;
    if (++proxy->losses >= proxy->most)
        proxy->mode = PROXY_OPEN;
    return true;
}

/* What the mode does with some bytes. False: they are lost, and the proxy closes. */
static bool let_pass(struct proxy *proxy, struct pair *pair, int from, char *bytes, size_t length)
{
    enum proxy_mode mode = proxy->mode;
    const char *mark = proxy->mark;
    bool marked = from == CLIENT && memmem(bytes, length, mark, strlen(mark));
    if ((mode == PROXY_LOSES_COMMAND && marked) || (from == REDIS && pair->marked)) {
        proxy->mode = PROXY_CLOSED;
        proxy->losses++;
        return false;
    }
    if (mode == PROXY_HOLDS_BACK && marked) {
        hold_back(pair, bytes, length);
        proxy->mode = PROXY_OPEN;
        return true;
    }
    pair->marked |= mode == PROXY_LOSES_REPLY && marked;
    return true;
}

/* Moves what has come from one side to the other. False where the connection has ended. */
static bool pass_on(struct proxy *proxy, struct pair *pair, int from)
{
    char bytes[65536];
    ssize_t length = recv(pair->ends[from], bytes, sizeof bytes, 0);
    if (length <= 0 || !let_pass(proxy, pair, from, bytes, (size_t)length))
        return false;
    if (pair->behind)
        return from == CLIENT;
    if (from == REDIS)
        length = (ssize_t)published_cut(bytes, (size_t)length, loses, proxy);
    return send(pair->ends[!from], bytes, (size_t)length, MSG_NOSIGNAL) == length;
}

static void turn(struct proxy *proxy, struct pair *pairs, const struct pollfd *polls)
{
    if (polls[1].revents)
        accept_one(proxy, pairs);
    for (int i = 0; i < PAIRS; i++)
        for (int end = 0; end < 2; end++)
            if (polls[2 + 2 * i + end].revents && pairs[i].ends[end] >= 0 &&
                !pass_on(proxy, &pairs[i], end))
                pair_close(&pairs[i]);
    for (int i = 0; proxy->mode == PROXY_CLOSED && i < PAIRS; i++)
        pair_close(&pairs[i]);
    if (proxy->mode == PROXY_DELIVERS) {
        for (int i = 0; i < PAIRS; i++)
            deliver(&pairs[i]);
        proxy->mode = PROXY_OPEN;
    }
}

static void *run(void *context)
{
    struct proxy *proxy = context;
    struct pair pairs[PAIRS];
    for (int i = 0; i < PAIRS; i++)
        pairs[i] = (struct pair){.ends = {-1, -1}};
    for (;;) {
        struct pollfd polls[2 + 2 * PAIRS] = {{.fd = proxy->stop[0], .events = POLLIN},
                                              {.fd = proxy->listener, .events = POLLIN}};
        for (int i = 0; i < 2 * PAIRS; i++)
            polls[2 + i] = (struct pollfd){.fd = pairs[i / 2].ends[i % 2], .events = POLLIN};
        poll(polls, 2 + 2 * PAIRS, STEP_MS); /* the mode may have changed meanwhile */
        if (polls[0].revents)
            break;
        turn(proxy, pairs, polls);
    }
    for (int i = 0; i < PAIRS; i++)
        pair_close(&pairs[i]);
    return NULL;
}

void proxy_start(struct proxy *proxy, const char *redis_socket)
{
    char path[100];
    proxy->mode = PROXY_OPEN;
    proxy->mark = PROXY_MARK;
    proxy->losses = 0;
    proxy->most = 0;
    snprintf(proxy->redis_socket, sizeof proxy->redis_socket, "%s", redis_socket);
    temp_dir_make(&proxy->dir);
    snprintf(path, sizeof path, "%s/proxy", proxy->dir.path);
    snprintf(proxy->url, sizeof proxy->url, "unix://%s", path);
    proxy->listener = unix_socket(path, true);
    assert_true(proxy->listener >= 0);
    assert_int_equal(pipe2(proxy->stop, O_CLOEXEC), 0); /* a Redis may be started later */
    assert_int_equal(pthread_create(&proxy->thread, NULL, run, proxy), 0);
}

void proxy_stop(struct proxy *proxy)
{
    close(proxy->stop[1]);
    pthread_join(proxy->thread, NULL);
    close(proxy->stop[0]);
    close(proxy->listener);
    temp_dir_remove(&proxy->dir);
}
