/* The redis-server that belongs to one process: its start, its death, and its data. */
#include "redis/embedded/embedded.h"
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"
#include "tests/support/faults/small_disk.h"
#include "tests/support/fixtures/store_fixture.h"
#include "tests/support/temp_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct world {
    struct temp_dir dir;
    char state_dir[96];
    struct embedded *embedded;
    struct failure failure;
};

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    temp_dir_make(&world->dir);
    snprintf(world->state_dir, sizeof world->state_dir, "%s/a/state", world->dir.path);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    embedded_stop(world->embedded);
    temp_dir_remove(&world->dir);
    free(world);
    return 0;
}

#define TEST_IN_WORLD(name) TEST_ON(struct world *world, name, set_up, tear_down)

static void start(struct world *world)
{
    if (embedded_start(&world->embedded, world->state_dir, true, &world->failure) < 0)
        fail_msg("%s", world->failure.text);
}

static void stop(struct world *world)
{
    embedded_stop(world->embedded);
    world->embedded = NULL;
}

static redisContext *client(const char *state_dir)
{
    char path[128];
    snprintf(path, sizeof path, "%s/redis.sock", state_dir);
    return redisConnectUnix(path);
}

/* -1 where there is no answer. */
static long long ask(const char *state_dir, const char *command)
{
    long long integer = -1;
    redisContext *context = client(state_dir);
    redisReply *reply = context->err ? NULL : redisCommand(context, command);
    if (reply && reply->type == REDIS_REPLY_INTEGER)
        integer = reply->integer;
    if (reply)
        freeReplyObject(reply);
    redisFree(context);
    return integer;
}

static pid_t server_pid(const char *state_dir)
{
    redisContext *context = client(state_dir);
    redisReply *reply = redisCommand(context, "INFO server");
    assert_non_null(reply);
    const char *found = strstr(reply->str, "process_id:");
    pid_t pid = (pid_t)strtol(found + strlen("process_id:"), NULL, 10);
    freeReplyObject(reply);
    redisFree(context);
    return pid;
}

static void expect_setting(const char *state_dir, const char *name, const char *value)
{
    redisContext *context = client(state_dir);
    redisReply *reply = redisCommand(context, "CONFIG GET %s", name);
    assert_non_null(reply);
    assert_int_equal(reply->elements, 2);
    assert_string_equal(reply->element[1]->str, value);
    freeReplyObject(reply);
    redisFree(context);
}

static mode_t mode_of(const char *state_dir, const char *name)
{
    char path[128];
    struct stat about;
    snprintf(path, sizeof path, "%s/%s", state_dir, name);
    assert_int_equal(stat(path, &about), 0);
    return about.st_mode & 07777;
}

TEST_IN_WORLD(embedded_redis_starts_and_answers)
{
    start(world);
    struct store_fixture store;
    store_fixture_open_up(&store, embedded_url(world->embedded));
    assert_int_equal(
        store_fixture_run(&store, "return redis.call('INCR', KEYS[1])", "a", "").integer, 1);
    assert_int_equal(store.warnings, 0);
    store_fixture_close(&store);

    assert_int_equal(mode_of(world->state_dir, "."), 0700);
    assert_int_equal(mode_of(world->state_dir, ".."), 0700);
    assert_int_equal(mode_of(world->state_dir, "redis.sock"), 0700);
    assert_int_equal(mode_of(world->state_dir, "redis.log") & 077, 0);
    expect_setting(world->state_dir, "port", "0");
    expect_setting(world->state_dir, "appendonly", "yes");
    expect_setting(world->state_dir, "appendfsync", "always");
    expect_setting(world->state_dir, "save", "");
    expect_setting(world->state_dir, "maxmemory-policy", "noeviction");
    pid_t server = server_pid(world->state_dir);
    assert_int_equal(getpgid(server), server); /* out of reach of Ctrl-C */
    assert_false(embedded_has_ended(world->embedded));
    stop(world);
    assert_int_equal(kill(server, 0), -1);
}

TEST_IN_WORLD(the_data_survives_a_stop)
{
    start(world);
    assert_int_equal(ask(world->state_dir, "INCR a"), 1);
    stop(world);
    start(world);
    assert_int_equal(ask(world->state_dir, "INCR a"), 2);
}

TEST_IN_WORLD(the_data_survives_a_crash_of_redis)
{
    start(world);
    assert_int_equal(ask(world->state_dir, "INCR a"), 1);
    assert_int_equal(embedded_restart(world->embedded, &world->failure), -EALREADY);

    pid_t server = server_pid(world->state_dir);
    kill(server, SIGKILL);
    siginfo_t info;
    waitid(P_PID, (id_t)server, &info, WEXITED | WNOWAIT);
    assert_true(embedded_has_ended(world->embedded));
    assert_false(embedded_has_ended(world->embedded)); /* told once */

    struct store_fixture store;
    store_fixture_open(&store, embedded_url(world->embedded));
    assert_int_equal(embedded_restart(world->embedded, &world->failure), 0);
    store_fixture_await(&store, &store.ups, 1);
    store_fixture_close(&store);
    assert_int_equal(ask(world->state_dir, "INCR a"), 2);
    assert_false(embedded_has_ended(world->embedded));
}

TEST_IN_WORLD(a_second_one_is_refused)
{
    start(world);
    struct embedded *second = NULL;
    char pid[32];
    snprintf(pid, sizeof pid, "process %ld", (long)getpid());
    assert_int_equal(embedded_start(&second, world->state_dir, false, &world->failure), -EBUSY);
    assert_non_null(strstr(world->failure.text, pid));
    int64_t begun = clock_ms();
    assert_int_equal(embedded_start(&second, world->state_dir, true, &world->failure), -EBUSY);
    assert_true(clock_ms() - begun >= EMBEDDED_PATIENCE_MS);
    assert_null(second);
    assert_non_null(strstr(world->failure.text, pid));
    assert_non_null(strstr(world->failure.text, "--state-dir"));
    assert_int_equal(ask(world->state_dir, "INCR a"), 1); /* the first is not disturbed */
    stop(world);
    start(world);
}

/* A process of its own that starts one, says so by a byte, and waits to be killed. */
static pid_t start_elsewhere(const char *state_dir)
{
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t parent = fork();
    if (parent == 0) {
        struct embedded *embedded;
        if (embedded_start(&embedded, state_dir, true, NULL) == 0 && write(ready[1], "x", 1) == 1)
            pause();
        _exit(1);
    }
    close(ready[1]);
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return parent;
}

TEST_IN_WORLD(embedded_redis_ends_with_a_killed_parent)
{
    pid_t parent = start_elsewhere(world->state_dir);
    assert_int_equal(ask(world->state_dir, "INCR a"), 1);
    pid_t server = server_pid(world->state_dir);

    kill(parent, SIGKILL);
    waitpid(parent, NULL, 0);
    start(world); /* at once: it waits for the old one by itself */
    assert_int_not_equal(server_pid(world->state_dir), server);
    assert_int_equal(ask(world->state_dir, "INCR a"), 2);
}

/* However long it takes it to go: until then its data is not touched. */
TEST_IN_WORLD(a_server_that_lingers_is_waited_for)
{
    enum { LINGERS_MS = 500 };
    char path[128];
    assert_int_equal(mkdir(dirname(strcpy(path, world->state_dir)), 0700), 0);
    assert_int_equal(mkdir(world->state_dir, 0700), 0);
    snprintf(path, sizeof path, "%s/lock", world->state_dir);
    int64_t begun = clock_ms();
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t lingering = fork();
    if (lingering == 0) {
        int lock = open(path, O_RDWR | O_CREAT, 0600);
        flock(lock, LOCK_EX);
        if (write(lock, "4242\n", 5) == 5 && write(ready[1], "x", 1) == 1)
            clock_sleep_ms(LINGERS_MS);
        _exit(0);
    }
    close(ready[1]);
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    start(world);
    assert_true(clock_ms() - begun >= LINGERS_MS);
    waitpid(lingering, NULL, 0);
}

TEST_IN_WORLD(the_child_inherits_the_lock_and_nothing_else)
{
    int leak = open("/dev/null", O_RDONLY); /* without close-on-exec */
    start(world);
    char path[64], target[256];
    snprintf(path, sizeof path, "/proc/%ld/fd", (long)server_pid(world->state_dir));
    DIR *files = opendir(path);
    assert_non_null(files);
    int locks = 0;
    for (struct dirent *file; (file = readdir(files));) {
        char name[400];
        snprintf(name, sizeof name, "%s/%s", path, file->d_name);
        ssize_t length = readlink(name, target, sizeof target - 1);
        if (length < 0)
            continue;
        target[length] = '\0';
        locks += strstr(target, "/lock") != NULL;
        if (atoi(file->d_name) > 0)
            assert_string_not_equal(target, "/dev/null");
    }
    closedir(files);
    close(leak);
    assert_int_equal(locks, 1);
}

static uint64_t signal_mask(pid_t pid, const char *field)
{
    char path[64], line[256];
    unsigned long long mask = ~0ull;
    snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        if (strncmp(line, field, strlen(field)) == 0)
            mask = strtoull(line + strlen(field), NULL, 16);
    fclose(file);
    return mask;
}

TEST_IN_WORLD(signals_are_as_a_program_expects_them)
{
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigaddset(&blocked, SIGCHLD);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    signal(SIGUSR2, SIG_IGN);
    start(world);
    signal(SIGUSR2, SIG_DFL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    pid_t server = server_pid(world->state_dir);
    assert_int_equal(signal_mask(server, "SigBlk:"), 0);
    assert_int_equal(signal_mask(server, "SigIgn:") & (1ull << (SIGUSR2 - 1)), 0);
}

/* The directory may be an older one, or made by a service manager. */
TEST_IN_WORLD(files_in_a_directory_open_to_others_are_private)
{
    snprintf(world->state_dir, sizeof world->state_dir, "%s/open", world->dir.path);
    assert_int_equal(mkdir(world->state_dir, 0755), 0);
    start(world);
    assert_int_equal(ask(world->state_dir, "INCR a"), 1);
    DIR *files = opendir(world->state_dir);
    assert_non_null(files);
    int seen = 0;
    for (struct dirent *file = readdir(files); file; file = readdir(files)) {
        if (file->d_name[0] == '.')
            continue;
        if (mode_of(world->state_dir, file->d_name) & 077)
            fail_msg("others can use %s", file->d_name);
        seen++;
    }
    closedir(files);
    assert_true(seen >= 4); /* the lock, the log, the socket, the append-only file */
}

TEST_IN_WORLD(a_path_with_special_characters_works)
{
    snprintf(world->state_dir, sizeof world->state_dir, "%s/a b%%41?#'\"", world->dir.path);
    start(world);
    struct store_fixture store;
    store_fixture_open_up(&store, embedded_url(world->embedded));
    store_fixture_close(&store);
    assert_int_equal(ask(world->state_dir, "INCR a"), 1);
}

TEST_IN_WORLD(a_relative_path_works)
{
    char before[1024];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(world->dir.path), 0);
    int result = embedded_start(&world->embedded, "here", true, &world->failure);
    assert_int_equal(chdir(before), 0);
    assert_int_equal(result, 0);
    struct store_fixture store;
    store_fixture_open_up(&store, embedded_url(world->embedded));
    store_fixture_close(&store);
}

TEST_IN_WORLD(a_path_that_is_too_long_is_refused)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%0100d", world->dir.path, 0);
    assert_int_equal(embedded_start(&world->embedded, path, true, &world->failure), -ENAMETOOLONG);
    assert_non_null(strstr(world->failure.text, "--state-dir"));
}

TEST_IN_WORLD(a_file_in_the_way_is_named)
{
    char path[128];
    snprintf(path, sizeof path, "%s/file", world->dir.path);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    strcat(path, "/state");
    assert_int_equal(embedded_start(&world->embedded, path, true, &world->failure), -ENOTDIR);
    assert_non_null(strstr(world->failure.text, path));
}

static int start_with_path(struct world *world, const char *path)
{
    const char *value = getenv("PATH");
    char *before = strdup(value ? value : "");
    setenv("PATH", path, 1);
    int result = embedded_start(&world->embedded, world->state_dir, true, &world->failure);
    setenv("PATH", before, 1);
    free(before);
    return result;
}

TEST_IN_WORLD(a_missing_redis_server_is_named)
{
    assert_int_equal(start_with_path(world, "/nowhere:"), -ENOENT);
    assert_non_null(strstr(world->failure.text, "install"));
    assert_non_null(strstr(world->failure.text, "--redis-url"));
}

/* With a program in redis-server's place. */
static int start_with(struct world *world, const char *program)
{
    char path[128];
    snprintf(path, sizeof path, "%s/redis-server", world->dir.path);
    FILE *file = fopen(path, "w");
    fputs(program, file);
    fclose(file);
    chmod(path, 0700);
    return start_with_path(world, world->dir.path);
}

TEST_IN_WORLD(a_server_that_ends_at_once_is_reported)
{
    assert_int_equal(start_with(world, "#!/bin/sh\necho no luck\nexit 1\n"), -EPROTO);
    assert_non_null(strstr(world->failure.text, "redis.log"));

    char path[128], text[64] = "";
    snprintf(path, sizeof path, "%s/redis.log", world->state_dir);
    FILE *log = fopen(path, "r");
    assert_non_null(fgets(text, sizeof text, log));
    fclose(log);
    assert_string_equal(text, "no luck\n");
    start(world); /* and the lock is free again */
}

/* Whoever may write there may put in locks. */
TEST_IN_WORLD(a_directory_that_others_may_write_in_is_refused)
{
    static const mode_t MODES[] = {0777, 0702, 01777, 02772};
    start(world);
    stop(world);
    for (size_t i = 0; i < sizeof MODES / sizeof *MODES; i++) {
        assert_int_equal(chmod(world->state_dir, MODES[i]), 0);
        assert_int_equal(embedded_start(&world->embedded, world->state_dir, true, &world->failure),
                         -EPERM);
        assert_non_null(strstr(world->failure.text, "chmod go-w"));
        assert_non_null(strstr(world->failure.text, world->state_dir));
        assert_null(strchr(world->failure.text, '\n'));
    }
    assert_int_equal(chmod(world->state_dir, 0755), 0);
    start(world);
    assert_null(embedded_closed(world->embedded));
}

/* As the fsGroup of a pod leaves them. */
TEST_IN_WORLD(a_directory_of_ours_is_taken_from_its_group)
{
    static const mode_t MODES[] = {02770, 0720, 0775};
    for (size_t i = 0; i < sizeof MODES / sizeof *MODES; i++) {
        start(world);
        assert_int_equal(ask(world->state_dir, "INCR a"), (int)i + 1);
        assert_null(embedded_closed(world->embedded));
        stop(world);
        assert_int_equal(chmod(world->state_dir, MODES[i]), 0);
        start(world);
        assert_int_equal(mode_of(world->state_dir, "."), 0700);
        assert_string_equal(embedded_closed(world->embedded), world->state_dir);
        stop(world);
    }
}

TEST_IN_WORLD(a_directory_without_our_lock_keeps_its_mode)
{
    start(world);
    stop(world);
    char path[128];
    snprintf(path, sizeof path, "%s/lock", world->state_dir);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(chmod(world->state_dir, 02775), 0);
    assert_int_equal(embedded_start(&world->embedded, world->state_dir, true, &world->failure),
                     -EPERM);
    assert_int_equal(mode_of(world->state_dir, "."), 02775);
}

TEST_IN_WORLD(a_directory_of_another_user_is_refused)
{
    start(world);
    stop(world);
    if (chown(world->state_dir, 12345, (gid_t)-1) < 0)
        skip(); /* only root may */
    assert_int_equal(embedded_start(&world->embedded, world->state_dir, true, &world->failure),
                     -EPERM);
    assert_non_null(strstr(world->failure.text, "belongs to user 12345"));
    assert_int_equal(chown(world->state_dir, geteuid(), (gid_t)-1), 0);
    start(world);
}

static void await_end(struct world *world)
{
    int64_t deadline = clock_ms() + CLOCK_HANG_MS;
    while (!embedded_has_ended(world->embedded)) {
        if (clock_ms() > deadline)
            fail_msg("redis-server has not ended");
        clock_sleep_ms(2);
    }
}

TEST_IN_WORLD(a_full_disk_is_named_and_waited_for)
{
    assert_int_equal(mkdir(dirname(strdupa(world->state_dir)), 0700), 0);
    assert_int_equal(mkdir(world->state_dir, 0700), 0);
    if (!small_disk_mount(world->state_dir))
        skip(); /* only root may */
    start(world);
    assert_int_equal(ask(world->state_dir, "INCR a"), 1);
    small_disk_fill(world->state_dir);
    for (int i = 0; i < 1000 && ask(world->state_dir, "INCR b") > 0; i++)
        ;
    await_end(world);
    assert_non_null(strstr(embedded_why(world->embedded), "the disk is full"));
    int pause_ms = embedded_pause_ms(world->embedded);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(embedded_restart(world->embedded, &world->failure), 0);
        await_end(world);
        assert_non_null(strstr(embedded_why(world->embedded), "No space left on device"));
        assert_in_range(embedded_pause_ms(world->embedded), pause_ms < 8000 ? 2 * pause_ms : 10000,
                        10000);
        pause_ms = embedded_pause_ms(world->embedded);
    }
    stop(world);
    assert_int_equal(embedded_start(&world->embedded, world->state_dir, true, &world->failure),
                     -EPROTO);
    assert_non_null(strstr(world->failure.text, "No space left on device"));
    small_disk_empty(world->state_dir);
    start(world);
    assert_int_equal(ask(world->state_dir, "INCR a"), 2);
    stop(world);
    small_disk_unmount(world->state_dir);
}
