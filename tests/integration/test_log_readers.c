/* A log whose reader stops, goes away or never was: it costs lines, which are counted, and no
 * requests. */
#include "server/process/sandbox.h"
#include "tests/support/fixtures/service.h"
#include "tests/support/free_port.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PIPE_BYTES = 4096,
    READ_AT_ONCE = 1 << 20,
    FEW = 100, /* requests, to compare with */
    /* Requests of two lines each, of which three make about 5 KB: more than batond keeps. */
    MANY = 1500,
    NAME_BYTES = 240, /* after its number */
};

/* A batond whose stderr is what a shell's `redirection` says. */
struct piped {
    struct service service;
    struct temp_dir dir;
    char program[120];
    int fd; /* what reads the pipe "fifo" in the directory; -1: nobody does */
    char *text;
    size_t length;
};

/* Runs the program under test with that redirection, in place of it. */
static void write_program(struct piped *piped, const char *redirection)
{
    const char *program = getenv("BATON_TEST_BATOND");
    snprintf(piped->program, sizeof piped->program, "%s/batond", piped->dir.path);
    FILE *file = fopen(piped->program, "we");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\ncd '%s' || exit\nexec '%s' \"$@\" %s\n", piped->dir.path,
            program ? program : "build/batond", redirection);
    fclose(file);
    assert_int_equal(chmod(piped->program, 0700), 0);
}

static void make_pipe(struct piped *piped)
{
    char path[120];
    snprintf(path, sizeof path, "%s/fifo", piped->dir.path);
    assert_int_equal(mkfifo(path, 0600), 0);
    piped->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(piped->fd >= 0);
    assert_true(fcntl(piped->fd, F_SETPIPE_SZ, PIPE_BYTES) > 0);
}

static void piped_open(struct piped *piped, const char *redirection, const char *flag)
{
    const char *before = getenv("BATON_TEST_BATOND");
    char *program = realpath(before ? before : "build/batond", NULL);
    assert_non_null(program);
    *piped = (struct piped){.fd = -1};
    temp_dir_make(&piped->dir);
    make_pipe(piped);
    setenv("BATON_TEST_BATOND", program, 1);
    write_program(piped, redirection);
    setenv("BATON_TEST_BATOND", piped->program, 1);
    redis_process_start(&piped->service.redis, NULL);
    struct batond_process *batond = &piped->service.batond;
    int port = free_port();
    batond_process_launch(batond, &(struct batond_options){.redis_url = piped->service.redis.url,
                                                           .arguments = LIST(flag),
                                                           .port = port});
    setenv("BATON_TEST_BATOND", program, 1);
    free(program);
    snprintf(batond->url, sizeof batond->url, "http://127.0.0.1:%d", port);
    piped->service.client = http_client_new(batond->url);
    assert_true(comes_to_answer(piped->service.client, "/readyz", 200, CLOCK_HANG_MS));
}

/* batond has to end well. */
static void piped_close(struct piped *piped)
{
    http_client_free(piped->service.client);
    assert_int_equal(process_stop(&piped->service.batond.process), 0);
    batond_process_stop(&piped->service.batond);
    redis_process_stop(&piped->service.redis);
    temp_dir_remove(&piped->dir);
    if (piped->fd >= 0)
        close(piped->fd);
    free(piped->text);
}

/* One lock after the other, from this number on; each is two lines. */
static void acquire(struct piped *piped, int first, int count)
{
    char path[NAME_BYTES + 64], name[NAME_BYTES + 1];
    memset(name, 'n', NAME_BYTES);
    name[NAME_BYTES] = '\0';
    for (int i = first; i < first + count; i++) {
        snprintf(path, sizeof path, "/locks/%08d-%s?ttl=1h", i, name);
        assert_int_equal(http_call(piped->service.client, "POST", path, NULL), 201);
    }
}

/* What the lines that came say. */
struct tale {
    int64_t requests, grants, missing;
    int64_t last; /* number of a lock */
};

static void read_log(struct tale *tale, const char *line, size_t length)
{
    json_t *json = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
    if (!json)
        fail_msg("no JSON: %.*s", (int)length, line);
    const char *message = json_string_value(json_object_get(json, "msg"));
    const char *lock = json_string_value(json_object_get(json, "lock"));
    int64_t number = lock ? strtoll(lock, NULL, 10) : -1;
    if (strcmp(message, "lock granted") == 0) {
        assert_true(number > tale->last);
        tale->last = number;
        tale->grants++;
    } else if (strcmp(message, "request") == 0) {
        assert_true(number >= tale->last);
        tale->requests++;
    } else if (json_object_get(json, "lines")) {
        tale->missing += json_integer_value(json_object_get(json, "lines"));
    }
    json_decref(json);
}

static void read_more(struct piped *piped)
{
    struct pollfd readable = {.fd = piped->fd, .events = POLLIN};
    piped->text = realloc(piped->text, piped->length + READ_AT_ONCE + 1);
    assert_non_null(piped->text);
    assert_int_equal(poll(&readable, 1, CLOCK_HANG_MS), 1);
    ssize_t length = read(piped->fd, piped->text + piped->length, READ_AT_ONCE);
    assert_true(length > 0);
    piped->length += (size_t)length;
    piped->text[piped->length] = '\0';
}

/* Reads until so many lines have come or were said to be missing. */
static struct tale listen_for(struct piped *piped, int64_t count)
{
    struct tale tale = {.last = -1};
    while (tale.grants + tale.requests + tale.missing < count) {
        read_more(piped);
        char *line = piped->text, *end;
        for (; (end = strchr(line, '\n')); line = end + 1)
            read_log(&tale, line, (size_t)(end - line));
        piped->length = strlen(line);
        memmove(piped->text, line, piped->length);
    }
    return tale;
}

TEST(stopped_reader_costs_lines_and_no_requests)
{
    static const char LOST[] = "baton_log_lines_lost_total";
    const char *const sandboxed = sandbox_check(NULL) == 0 ? "--sandbox" : NULL;
    struct piped piped;
    piped_open(&piped, "2>fifo", sandboxed);
    acquire(&piped, 0, FEW);
    struct tale tale = listen_for(&piped, 2 * FEW);
    assert_int_equal(tale.missing, 0);
    acquire(&piped, FEW, FEW + MANY);
    tale = listen_for(&piped, 2 * (int64_t)(FEW + MANY));
    int64_t count = metric_of(piped.service.client, LOST);
    assert_in_range(count, 1, 2 * (FEW + MANY) - 1);
    assert_int_equal(tale.missing, count);
    assert_int_equal(tale.grants + tale.requests, 2 * (FEW + MANY) - count);
    acquire(&piped, FEW + FEW + MANY, 1); /* all is well again */
    tale = listen_for(&piped, 2);
    assert_int_equal(tale.missing, 0);
    assert_int_equal(metric_of(piped.service.client, LOST), count);
    piped_close(&piped);
}

TEST(stop_writes_all_lines)
{
    char path[140];
    struct piped piped;
    struct tale tale = {.last = -1};
    piped_open(&piped, "2>log", "--drain=0s");
    acquire(&piped, 0, FEW);
    assert_int_equal(process_stop(&piped.service.batond.process), 0);
    snprintf(path, sizeof path, "%s/log", piped.dir.path);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    char line[4096];
    while (fgets(line, sizeof line, file))
        read_log(&tale, line, strlen(line));
    fclose(file);
    assert_true(tale.grants == FEW && tale.requests == FEW && tale.missing == 0);
    piped_close(&piped);
}
