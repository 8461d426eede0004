#include "tests/server/wire.h"

#include "tests/support/clock.h"
#include "tests/support/cmocka.h"
#include "tests/support/raw.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void say(int fd, const char *target)
{
    char request[128];
    int length = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", target);
    assert_true(raw_send(fd, request, (size_t)length));
}

int ask(struct stage *stage, const char *target)
{
    int fd = raw_connect(stage->port);
    assert_true(fd >= 0);
    say(fd, target);
    return fd;
}

int ask_place(struct stage *stage, const char *kind, int place)
{
    char target[40];
    snprintf(target, sizeof target, "/%s/%d", kind, place);
    return ask(stage, target);
}

/* Up to and with `until`. */
static void read_until(int fd, char text[WIRE_SIZE], const char *until)
{
    size_t length = 0;
    text[0] = '\0';
    while (!strstr(text, until)) {
        if (length + 1 == WIRE_SIZE ||
            raw_receive(fd, text + length, 2, NULL, CLOCK_HANG_MS, NULL) != 1)
            fail_msg("the reply ends early: \"%s\"", text);
        length++;
    }
}

void read_head(int fd, char head[WIRE_SIZE])
{
    read_until(fd, head, "\r\n\r\n");
}

void expect_bytes(int fd, const char *bytes)
{
    size_t length = strlen(bytes);
    char *text = malloc(length + 1);
    assert_non_null(text);
    raw_receive(fd, text, length + 1, NULL, CLOCK_HANG_MS, NULL);
    if (strcmp(text, bytes) != 0)
        fail_msg("\"%.200s\" in place of \"%.200s\"", text, bytes);
    free(text);
}

void expect_reply(int fd, const char *body)
{
    char head[WIRE_SIZE];
    read_head(fd, head);
    expect_bytes(fd, body);
}

void expect_chunk(int fd, const char *bytes)
{
    char line[WIRE_SIZE];
    read_until(fd, line, "\r\n");
    assert_int_equal(strtoul(line, NULL, 16), strlen(bytes));
    expect_bytes(fd, bytes);
    expect_bytes(fd, "\r\n");
}

void ends(int fd)
{
    char byte[2];
    bool closed;
    if (raw_receive(fd, byte, sizeof byte, NULL, CLOCK_HANG_MS, &closed) != 0)
        fail_msg("a byte 0x%02x in place of the end", byte[0]);
    assert_true(closed);
    close(fd);
}

void reset(int fd)
{
    struct linger now = {.l_onoff = 1, .l_linger = 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close(fd);
}

void is_quiet(int fd, int ms)
{
    char byte[2];
    bool closed;
    assert_int_equal(raw_receive(fd, byte, sizeof byte, NULL, ms, &closed), 0);
    assert_false(closed);
}

size_t open_files(void)
{
    size_t count = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}
