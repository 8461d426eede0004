/* fuzz_request.c: the bytes of a connection, through libmicrohttpd, gate, API and locks to a store
 * and back. The first line is what Redis answers to all (notation.h); "|||" ends a packet. */
#include "server/http/http.h"
#include "tests/fuzz/answer.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/notation.h"
#include "tests/fuzz/play.h"

#include <arpa/inet.h>
#include <errno.h>
#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TURNS_MOST = 20000, PACKETS_MOST = 20, ANSWERS_MOST = 500, ANSWER_LONGEST = 1 << 20 };

static const struct log SILENT = {.fd = -1, .level = LOG_DEBUG, .access = true, .audit = true};
static const struct networks NOBODY = {NULL, 0};

struct visit {
    struct metrics metrics;
    struct play play;
    struct http *http;
    struct connection_limits *connection_limits;
    redisReply *tree; /* what Redis answers, */
    int answers;      /* until it has done so too often: a scan goes on until Redis ends it */
    int fd;           /* the client's end */
    bool closed;
    size_t length; /* of what came back */
    char answer[ANSWER_LONGEST];
};

/* In place of the kernel's: one connection, from this machine. */
static int coming = -1;

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
int accept4(int fd, __SOCKADDR_ARG address, socklen_t *restrict length, int flags)
{
    const struct sockaddr_in from = {
        .sin_family = AF_INET, .sin_port = htons(49152), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int caller = coming;
    (void)fd, (void)flags;
    coming = -1;
    if (caller < 0) {
        errno = EAGAIN;
        return -1;
    }
    memcpy(address.__sockaddr__, &from, sizeof from);
    *length = sizeof from;
    return caller;
}

/* Takes what has come back. */
static void receive(struct visit *visit)
{
    ssize_t length;
    while ((length = recv(visit->fd, visit->answer + visit->length,
                          sizeof visit->answer - visit->length, MSG_DONTWAIT)) > 0)
        visit->length += (size_t)length;
}

static void answer(struct visit *visit)
{
    struct store_result result = {.outcome = STORE_REPLIED,
                                  .reply = (const struct value *)(const void *)visit->tree};
    if (visit->answers++ >= ANSWERS_MOST)
        result = (struct store_result){.outcome = STORE_UNSENT};
    else if (visit->tree->type == REDIS_REPLY_ERROR)
        result = (struct store_result){.outcome = STORE_REFUSED, .error = visit->tree->str};
    fuzz_pass(1); /* Redis takes its time: a listing looks for so long, and no longer */
    fake_store_answer(visit->play.store, &result);
}

/* Lets everything happen that may, time going on for Redis alone. */
static void settle(struct visit *visit)
{
    for (int idle = 0, turns = 0; idle < 4; turns++) {
        CLAIM(turns < TURNS_MOST);
        bool waits = fake_store_waiting(visit->play.store) > 0;
        if (waits)
            answer(visit);
        size_t before = visit->length;
        uv_run(&visit->play.loop, UV_RUN_NOWAIT);
        receive(visit);
        idle = waits || visit->length != before ? 0 : idle + 1;
    }
}

static void connect_to(struct visit *visit)
{
    int ends[2];
    CLAIM(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
    visit->fd = ends[0];
    coming = ends[1];
}

static void visit_open(struct visit *visit, struct slice reply)
{
    play_open(&visit->play);
    visit->tree = notation_read(reply);
    visit->connection_limits = connection_limits_new(100, 100, &NOBODY);
    visit->metrics = (struct metrics){.redis_up = true};
    const struct http_options options = {.listen_fd = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC),
                                         .api = &visit->play.api,
                                         .metrics = &visit->metrics,
                                         .log = &SILENT,
                                         .connection_limits = visit->connection_limits,
                                         .head_timeout_ms = 10000,
                                         .body_timeout_ms = 10000,
                                         .idle_timeout_ms = 75000};
    connect_to(visit);
    CLAIM(http_open(&visit->http, &visit->play.loop, &options) == 0);
    http_serve(visit->http);
    settle(visit);
    CLAIM(coming < 0);
}

static void on_http_closed(void *context)
{
    ((struct visit *)context)->closed = true;
}

static void visit_close(struct visit *visit)
{
    shutdown(visit->fd, SHUT_WR);
    settle(visit);
    http_close(visit->http, on_http_closed, visit);
    for (int i = 0; !visit->closed; i++) {
        CLAIM(i < 100);
        settle(visit);
        fuzz_pass(1000);
    }
    close(visit->fd);
    CLAIM(connection_limits_open(visit->connection_limits) == 0);
    connection_limits_free(visit->connection_limits);
    play_close(&visit->play);
    freeReplyObject(visit->tree);
}

static struct slice take_packet(struct slice *rest)
{
    const char *mark = rest->length > 0 ? memmem(rest->bytes, rest->length, "|||", 3) : NULL;
    struct slice packet = {rest->bytes, mark ? (size_t)(mark - rest->bytes) : rest->length};
    size_t taken = packet.length + (mark ? 3 : 0);
    *rest = (struct slice){rest->bytes + taken, rest->length - taken};
    return packet;
}

/* What came back. */

static struct slice field_of(struct slice head, const char *name)
{
    while (head.length > 0) {
        struct slice line = fuzz_cut(&head, '\n'), value = line;
        struct slice found = fuzz_cut(&value, ':');
        if (found.length == strlen(name) && strncasecmp(found.bytes, name, found.length) == 0)
            return (struct slice){value.bytes + 1, value.length - 2}; /* a space, and the CR */
    }
    return slice_of(NULL);
}

static bool is_last(struct slice head)
{
    return slice_equals(field_of(head, "Connection"), "close");
}

/* It has this field. (Of its own refusals libmicrohttpd 0.9.75 may send the head twice.) */
static bool is_from_us(struct slice answer)
{
    return answer.length > 0 && memmem(answer.bytes, answer.length, "X-Request-Id", 12);
}

/* Cuts one answer off the front. False where what follows cannot be told apart any more. */
static bool judge_one(struct slice *rest)
{
    const char *end = memmem(rest->bytes, rest->length, "\r\n\r\n", 4);
    CLAIM(rest->length < 9 || memcmp(rest->bytes, "HTTP/1.", 7) == 0);
    if (!end)
        return false; /* its connection was given up */
    struct slice head = {rest->bytes, (size_t)(end - rest->bytes) + 2};
    unsigned status = (unsigned)strtoul(head.bytes + 9, NULL, 10);
    CLAIM(status >= 100 && status < 600);
    struct slice length = field_of(head, "Content-Length");
    *rest = (struct slice){end + 4, rest->length - head.length - 2};
    if (status < 200)
        return true;
    size_t body = length.bytes ? strtoul(length.bytes, NULL, 10) : 0;
    if (body > rest->length || (!length.bytes && status != 304))
        return false;
    answer_judge_body(status, field_of(head, "Content-Type"), (struct slice){rest->bytes, body});
    *rest = (struct slice){rest->bytes + body, rest->length - body};
    CLAIM(!is_last(head) || !is_from_us(*rest));
    return !is_last(head);
}

static void judge(struct slice answer, bool has_head)
{
    CLAIM(answer.length < 9 || memcmp(answer.bytes, "HTTP/1.", 7) == 0);
    while (!has_head && answer.length > 0 && judge_one(&answer))
        continue;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct visit *visit = malloc(sizeof *visit);
    struct slice rest = {(const char *)bytes, size};
    if (!visit)
        abort();
    visit->length = 0;
    visit->answers = 0;
    visit->closed = false;
    visit_open(visit, fuzz_cut(&rest, '\n'));
    bool has_head = rest.length > 0 && memmem(rest.bytes, rest.length, "HEAD", 4);
    for (int i = 0; i < PACKETS_MOST && rest.length > 0; i++) {
        struct slice packet = take_packet(&rest);
        if (send(visit->fd, packet.bytes, packet.length, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
            break;
        settle(visit);
        fuzz_pass(500);
    }
    visit_close(visit);
    judge((struct slice){visit->answer, visit->length}, has_head);
    free(visit);
    return 0;
}
