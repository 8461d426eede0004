/* Streams of events whose clients read slowly, are cut off on the way, or do not read at all. */
#include "tests/support/fixtures/service.h"
#include "tests/support/raw.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    NAMES = 400,
    NOTE = 800,
    BITE = 8 * 1024,
    BUFFER = 32 * 1024, /* of a reader's socket */
    ID_TEXT = 48,
};

/* A client of a stream that reads as much as it is told to. */
struct reader {
    int fd;
    bool closed;      /* by batond */
    int snapshots;    /* that have begun */
    bool complete;    /* the latest has ended */
    char id[ID_TEXT]; /* the latest */
    bool seen[NAMES];
    int seen_count;
    int changes; /* of another lock */
    size_t length;
    char text[256 * 1024]; /* what has come and was not taken apart yet */
};

static void fill(struct http_client *client)
{
    char request[60], note[NOTE + 1], body[NOTE + 100];
    memset(note, 'x', NOTE);
    note[NOTE] = '\0';
    snprintf(body, sizeof body, "{\"ttl_ms\":600000,\"meta\":{\"note\":\"%s\"}}", note);
    for (int i = 0; i < NAMES; i++) {
        snprintf(request, sizeof request, "POST /locks/n%d", i);
        answers(client, request, body, 201, NULL);
    }
}

/* With a small buffer of its own, so that what it does not read stays with batond. */
static void connect_reader(struct reader *reader, int port)
{
    char request[200];
    reader->fd = raw_connect(port);
    assert_true(reader->fd >= 0);
    setsockopt(reader->fd, SOL_SOCKET, SO_RCVBUF, &(int){BUFFER}, sizeof(int));
    snprintf(request, sizeof request,
             "GET /events HTTP/1.1\r\nHost: h\r\nAccept: text/event-stream\r\n%s%s%s\r\n",
             reader->id[0] ? "Last-Event-ID: " : "", reader->id, reader->id[0] ? "\r\n" : "");
    assert_true(raw_send(reader->fd, request, strlen(request)));
    reader->length = 0;
    reader->closed = false;
}

static void take(struct reader *reader, const char *event)
{
    const char *id = strstr(event, "id: "), *name = strstr(event, "\"name\":\"");
    int number;
    if (id) {
        reader->id[0] = '\0';
        sscanf(id, "id: %47[0-9]", reader->id);
    }
    if (strstr(event, "event: snapshot")) {
        reader->snapshots++;
        reader->complete = false;
    }
    reader->complete |= strstr(event, "event: complete") != NULL;
    if (!name)
        return;
    reader->changes += strncmp(name, "\"name\":\"elsewhere\"", 18) == 0;
    if (sscanf(name, "\"name\":\"n%d\"", &number) == 1 && !reader->seen[number]) {
        reader->seen[number] = true;
        reader->seen_count++;
    }
}

/* The sizes of chunks, on lines of their own, are of no matter: they tear no event that is asked
 * for here but for one, which is then told as one without a name or an id. */
static void take_events(struct reader *reader)
{
    char *next = reader->text, *end;
    while ((end = strstr(next, "\n\n"))) {
        *end = '\0';
        take(reader, next);
        next = end + 2;
    }
    reader->length -= (size_t)(next - reader->text);
    memmove(reader->text, next, reader->length + 1);
}

/* Takes the lines between chunks out of what has come. */
static void join_chunks(char *text)
{
    char *at = text, *line;
    while ((line = strstr(at, "\r\n"))) {
        size_t digits = strspn(line + 2, "0123456789abcdefABCDEF");
        if (digits > 0 && strncmp(line + 2 + digits, "\r\n", 2) == 0)
            memmove(line, line + 4 + digits, strlen(line + 4 + digits) + 1);
        at = line + 1;
    }
}

static void read_some(struct reader *reader, size_t size, int timeout_ms)
{
    char *end = reader->text + reader->length;
    assert_true(reader->length + size < sizeof reader->text);
    reader->length += raw_receive(reader->fd, end, size, "\n", timeout_ms, &reader->closed);
    join_chunks(reader->text);
    reader->length = strlen(reader->text);
    take_events(reader);
}

static void change(struct http_client *client)
{
    char token[TOKEN_TEXT];
    acquire_lock(client, "elsewhere", token);
    release_lock(client, token, "elsewhere");
}

/* However much there is to tell and however often something changes meanwhile. */
TEST_ON_SERVICE(a_slow_reader_gets_everything_and_is_not_cut_off)
{
    struct reader *reader = calloc(1, sizeof *reader);
    int64_t deadline = clock_ms() + CLOCK_HANG_MS;
    fill(service->client);
    connect_reader(reader, service->batond.port);
    while (reader->seen_count < NAMES && clock_ms() < deadline) {
        change(service->client);
        read_some(reader, BITE, 1000);
        assert_false(reader->closed);
    }
    assert_int_equal(reader->seen_count, NAMES);
    int before = reader->changes;
    change(service->client);
    while (reader->changes == before && clock_ms() < deadline) {
        read_some(reader, BITE, 1000);
        assert_false(reader->closed);
    }
    assert_true(reader->changes > before);
    assert_true(reader->complete);
    assert_int_equal(reader->snapshots, 1);
    close(reader->fd);
    free(reader);
}

static int64_t resident_kib(const struct service *service)
{
    char path[40], line[100];
    int64_t kib = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)service->batond.process.pid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "VmRSS: %" SCNd64, &kib) == 1)
            break;
    fclose(file);
    return kib;
}

static void come_to_stream(struct http_client *client, int count)
{
    char text[40];
    int64_t deadline = clock_ms() + CLOCK_HANG_MS;
    snprintf(text, sizeof text, "\nbaton_streams %d\n", count);
    do
        answers(client, "GET /metrics", NULL, 200, NULL);
    while (!strstr(client->reply.body, text) && clock_ms() < deadline);
    assert_non_null(strstr(client->reply.body, text));
}

/* What cannot be sent is not looked for: neither memory nor time goes into it. */
TEST_ON_SERVICE(memory_of_unread_streams_is_bounded)
{
    enum { STREAMS = 100, CHANGES = 30, EACH_KIB = 80 };
    struct reader *readers = calloc(STREAMS, sizeof *readers);
    int64_t before = resident_kib(service);
    for (int i = 0; i < STREAMS; i++)
        connect_reader(&readers[i], service->batond.port);
    come_to_stream(service->client, STREAMS);
    for (int i = 0; i < CHANGES; i++)
        change(service->client);
    int64_t more = resident_kib(service) - before;
    print_message("%d unread streams take %d KiB each\n", STREAMS, (int)(more / STREAMS));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* which keep what is freed */
    assert_true(more < (int64_t)STREAMS * EACH_KIB);
#endif
    for (int i = 0; i < STREAMS; i++)
        close(readers[i].fd);
    come_to_stream(service->client, 0);
    free(readers);
}

static void reconnect(struct reader *reader, int port)
{
    close(reader->fd);
    memset(reader->seen, 0, sizeof reader->seen);
    reader->seen_count = 0;
    connect_reader(reader, port);
}

/* A client that is cut off in a snapshot has no place to resume at: it gets another. One that has
 * seen the end goes on there. */
TEST_ON_SERVICE(client_cut_off_in_a_snapshot_starts_again)
{
    enum { PART = 60 };
    struct reader *reader = calloc(1, sizeof *reader);
    connect_reader(reader, service->batond.port);
    while (reader->seen_count < PART && !reader->closed)
        read_some(reader, BITE, CLOCK_HANG_MS);
    assert_false(reader->complete);
    assert_string_equal(reader->id, "");
    reconnect(reader, service->batond.port);
    while (!reader->complete && !reader->closed)
        read_some(reader, BITE, CLOCK_HANG_MS);
    assert_int_equal(reader->seen_count, NAMES);
    assert_int_equal(reader->snapshots, 2);
    reconnect(reader, service->batond.port);
    change(service->client);
    while (reader->changes == 0 && !reader->closed)
        read_some(reader, BITE, CLOCK_HANG_MS);
    assert_int_equal(reader->seen_count, 0);
    assert_int_equal(reader->snapshots, 2);
    close(reader->fd);
    free(reader);
}

/* Half the retention later, Redis may have forgotten what was freed: the snapshot begins again. */
TEST(stream_that_was_not_read_for_long_gets_another_snapshot)
{
    enum { RETENTION_MS = 4000 };
    struct service service;
    struct reader *reader = calloc(1, sizeof *reader);
    service_open(&service, NULL, LIST("--retention=4s"));
    fill(service.client);
    connect_reader(reader, service.batond.port);
    while (reader->snapshots == 0 && !reader->closed)
        read_some(reader, BITE, CLOCK_HANG_MS);
    clock_sleep_ms(RETENTION_MS / 2 + 100);
    while (!reader->complete && !reader->closed)
        read_some(reader, BITE, CLOCK_HANG_MS);
    assert_true(reader->snapshots > 1);
    assert_int_equal(reader->seen_count, NAMES);
    close(reader->fd);
    free(reader);
    service_close(&service);
}

RUN_TESTS(service_start, service_stop)
