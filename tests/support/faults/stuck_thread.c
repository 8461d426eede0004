#include "tests/support/faults/stuck_thread.h"

#include "tests/support/clock.h"
#include "tests/support/cmocka.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static bool has_name(pid_t process, const char *thread, const char *name)
{
    char path[64], text[32] = "";
    snprintf(path, sizeof path, "/proc/%d/task/%.16s/comm", (int)process, thread);
    FILE *file = fopen(path, "re");
    bool same = file && fgets(text, sizeof text, file) && strcspn(text, "\n") == strlen(name) &&
                strncmp(text, name, strlen(name)) == 0;
    if (file)
        fclose(file);
    return same;
}

/* 0 if there is none. */
static pid_t find(pid_t process, const char *name)
{
    char path[64];
    pid_t found = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)process);
    DIR *threads = opendir(path);
    assert_non_null(threads);
    for (const struct dirent *entry; !found && (entry = readdir(threads));)
        if (has_name(process, entry->d_name, name))
            found = (pid_t)strtol(entry->d_name, NULL, 10);
    closedir(threads);
    return found;
}

/* A thread names itself, a while after it was made. */
static pid_t find_soon(pid_t process, const char *name)
{
    pid_t found;
    for (int64_t until = clock_ms() + CLOCK_HANG_MS; !(found = find(process, name));) {
        if (clock_ms() >= until)
            fail_msg("no thread called %s", name);
        clock_sleep_ms(2);
    }
    return found;
}

/* Whether the stopped thread was in epoll_wait. */
static bool waits_for_events(pid_t process, pid_t thread)
{
    char path[64];
    long call = -1;
    snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", (int)process, (int)thread);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%ld", &call), 1);
    fclose(file);
#ifdef SYS_epoll_wait
    if (call == SYS_epoll_wait)
        return true;
#endif
    return call == SYS_epoll_pwait;
}

static void stop(pid_t thread)
{
    assert_int_equal(ptrace(PTRACE_INTERRUPT, thread, NULL, NULL), 0);
    assert_int_equal(waitpid(thread, NULL, __WALL), thread);
}

pid_t stuck_thread_begin(pid_t process, const char *name)
{
    pid_t thread = find_soon(process, name);
    if (ptrace(PTRACE_SEIZE, thread, NULL, NULL) < 0) {
        assert_int_equal(errno, EPERM);
        return 0;
    }
    stop(thread);
    while (!waits_for_events(process, thread)) {
        assert_int_equal(ptrace(PTRACE_CONT, thread, NULL, NULL), 0);
        clock_sleep_ms(1);
        stop(thread);
    }
    return thread;
}

void stuck_thread_end(pid_t thread)
{
    if (thread)
        assert_int_equal(ptrace(PTRACE_DETACH, thread, NULL, NULL), 0);
}
