#include "tests/edge/talk.h"

#include "tests/support/clock.h"
#include "tests/support/cmocka.h"
#include "tests/support/raw.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    QUIET_MS = 30, /* that nothing comes only time can show; a slow machine lets it pass */
    RECEIVED_MOST = 32 * 1024,
};

static const char CANARY[] = "GET /livez HTTP/1.1\r\nHost: h\r\nX-Request-Id: canary\r\n\r\n";

struct line {
    int fd;
    bool ended;
    char received[RECEIVED_MOST]; /* and not yet told; NUL-terminated */
    size_t length;
    struct outcome *outcome;
};

static void note(struct line *line, const char *word)
{
    char *words = line->outcome->words;
    size_t length = strlen(words);
    snprintf(words + length, sizeof line->outcome->words - length, "%s%s", length ? " " : "", word);
}

/* The value of a header field of the first reply; NULL where there is none. */
static const char *field(const struct line *line, const char *name)
{
    const char *end = strstr(line->received, "\r\n\r\n");
    const char *at = strcasestr(line->received, name);
    return at && at < end ? at + strlen(name) : NULL;
}

/* The length of the first reply, 0 where it is not complete yet. */
static size_t reply_length(const struct line *line)
{
    const char *end = strstr(line->received, "\r\n\r\n");
    if (!end)
        return 0;
    const char *length = field(line, "\r\nContent-Length:");
    size_t whole = (size_t)(end + 4 - line->received) + (length ? strtoul(length, NULL, 10) : 0);
    return line->length >= whole ? whole : 0;
}

static void note_reply(struct line *line)
{
    char word[64] = "?", code[48];
    const char *end = strstr(line->received, "\r\n\r\n");
    const char *problem = strstr(end, "\"code\":\"");
    if (strncmp(line->received, "HTTP/1.", 7) == 0)
        snprintf(word, sizeof word, "%.3s", line->received + 9);
    if (problem && sscanf(problem + 8, "%47[a-z_]", code) == 1)
        snprintf(word + 3, sizeof word - 3, ":%s", code);
    note(line, word);
    line->outcome->served += field(line, "\r\nX-Request-Id:") != NULL;
}

static bool is_canary(const struct line *line)
{
    const char *id = field(line, "\r\nX-Request-Id:");
    return id && strncmp(line->received, "HTTP/1.1 200 ", 13) == 0 &&
           strncmp(id, " canary\r\n", 9) == 0;
}

/* Waits for a whole reply, and takes it off. False where there came none. */
static bool receive(struct line *line, int timeout_ms, bool *ret_is_canary)
{
    int64_t deadline = clock_ms() + timeout_ms;
    size_t length;
    while (!(length = reply_length(line))) {
        int64_t left = deadline - clock_ms();
        char byte[2];
        if (line->ended || left < 0 || line->length + 1 == RECEIVED_MOST)
            return false;
        if (raw_receive(line->fd, byte, sizeof byte, NULL, (int)left, &line->ended) == 1)
            line->received[line->length++] = byte[0];
        line->received[line->length] = '\0';
    }
    *ret_is_canary = is_canary(line);
    if (*ret_is_canary)
        line->outcome->served++;
    else
        note_reply(line);
    line->length -= length;
    memmove(line->received, line->received + length, line->length + 1);
    return true;
}

static void send_padded(int fd, const struct row *row)
{
    const char *at = memchr(row->bytes, '@', row->length);
    size_t before = (size_t)(at - row->bytes);
    char *text = malloc(row->length + row->padding);
    assert_non_null(text);
    memcpy(text, row->bytes, before);
    memset(text + before, 'x', row->padding);
    memcpy(text + before + row->padding, at + 1, row->length - before - 1);
    raw_send(fd, text, row->length - 1 + row->padding);
    free(text);
}

static void send_row(int fd, const struct row *row)
{
    int at_once = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
    if (row->padding) /* it may all be in vain: the other side may have closed already */
        send_padded(fd, row);
    else if (row->sending != SLOWLY)
        raw_send(fd, row->bytes, row->length);
    for (size_t i = 0; row->sending == SLOWLY && i < row->length; i++) {
        raw_send(fd, row->bytes + i, 1);
        clock_sleep_ms(1);
    }
    if (row->sending == AND_NO_MORE)
        shutdown(fd, SHUT_WR);
}

/* In the first of the alternatives. */
static size_t count_replies(const char *expected)
{
    size_t count = 0;
    for (const char *at = expected; *at && *at != '|'; at++)
        count += *at == ' ';
    return count;
}

static bool ends_with(const char *expected, const char *word)
{
    size_t length = strcspn(expected, "|"), end_length = strlen(word);
    return length >= end_length && strncmp(expected + length - end_length, word, end_length) == 0;
}

/* What is left is no whole reply: HTTP/0.9 has no head, and libmicrohttpd 0.9 may begin twice. */
static void note_rest(struct line *line)
{
    if (line->length)
        note(line, "part");
    line->outcome->served += strstr(line->received, "\"request_id\":") != NULL;
    line->length = 0;
}

/* The next request on the connection is answered, and no reply comes before it. */
static void try_again(struct line *line)
{
    bool answered = false;
    raw_send(line->fd, CANARY, sizeof CANARY - 1);
    while (!answered && receive(line, CLOCK_HANG_MS, &answered))
        ;
    note_rest(line);
    note(line, answered ? "open" : line->ended ? "end" : "stuck");
}

/* Whether, by what was heard so far, the connection may well stay open: then no end is waited for,
 * but the next request tells. */
static bool may_be_open(const struct line *line, const char *expected)
{
    char words[sizeof line->outcome->words + sizeof " open"];
    snprintf(words, sizeof words, "%s open", line->outcome->words);
    return talk_is(words, expected);
}

static void receive_all(struct line *line, const char *expected)
{
    bool is_canary;
    bool ends = ends_with(expected, "end"), waits = ends_with(expected, "waits");
    size_t left = count_replies(expected);
    while ((ends ? !may_be_open(line, expected) : left-- > 0) &&
           receive(line, CLOCK_HANG_MS, &is_canary))
        ;
    while (waits && receive(line, QUIET_MS, &is_canary))
        ;
    note_rest(line);
    if (line->ended)
        note(line, "end");
    else if (waits)
        note(line, "waits");
    else
        try_again(line);
}

void talk(int port, const struct row *row, const char *expected, struct outcome *ret)
{
    struct line line = {.fd = raw_connect(port), .outcome = ret};
    *ret = (struct outcome){"", 0};
    assert_true(line.fd >= 0);
    send_row(line.fd, row);
    receive_all(&line, expected);
    close(line.fd);
}

bool talk_is(const char *words, const char *expected)
{
    size_t length = strlen(words);
    for (const char *at = expected; at; at = strchr(at, '|')) {
        at += *at == '|';
        if (strcspn(at, "|") == length && strncmp(at, words, length) == 0)
            return true;
    }
    return false;
}
