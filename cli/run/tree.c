#include "cli/run/tree.h"

#include "base/memory.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STAT_TEXT = 512, PASS_US = 2000 };

struct member {
    pid_t pid, parent;
    bool is_ours;
};

struct processes {
    struct member *members;
    size_t count, room;
};

bool tree_is_visible(void)
{
    char own[16] = "";
    return readlink("/proc/self", own, sizeof own - 1) > 0 && strtol(own, NULL, 10) == getpid();
}

/* The parent's pid stands two fields behind the name, which may have any characters. */
static pid_t tree_parent(const char *pid)
{
    char path[64], text[STAT_TEXT];
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%.16s/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    if (length <= 0)
        return 0;
    text[length] = '\0';
    const char *behind = strrchr(text, ')');
    return behind && sscanf(behind, ") %*c %d", &parent) == 1 ? parent : 0;
}

static void processes_read(struct processes *all)
{
    DIR *proc = opendir("/proc");
    const struct dirent *entry;
    while (proc && (entry = readdir(proc))) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        if (all->count == all->room) {
            all->room = all->room ? 2 * all->room : 256;
            all->members =
                memory_checked(reallocarray(all->members, all->room, sizeof *all->members));
        }
        all->members[all->count++] = (struct member){.pid = (pid_t)strtol(entry->d_name, NULL, 10),
                                                     .parent = tree_parent(entry->d_name)};
    }
    if (proc)
        closedir(proc);
}

static int member_compare(const void *one, const void *other)
{
    pid_t first = ((const struct member *)one)->pid, second = ((const struct member *)other)->pid;
    return (first > second) - (first < second);
}

static bool processes_are_ours(const struct processes *all, pid_t parent)
{
    const struct member wanted = {.pid = parent};
    const struct member *found =
        bsearch(&wanted, all->members, all->count, sizeof wanted, member_compare);
    return parent == getpid() || (found && found->is_ours);
}

/* Marks children, then their children, until there are no more. There may be 20,000 processes and
 * some milliseconds, so each parent is looked up. */
static void processes_mark(struct processes *all)
{
    bool has_more = all->count > 0;
    if (has_more)
        qsort(all->members, all->count, sizeof *all->members, member_compare);
    while (has_more) {
        has_more = false;
        for (struct member *one = all->members; one < all->members + all->count; one++) {
            if (one->is_ours || !processes_are_ours(all, one->parent))
                continue;
            one->is_ours = true;
            has_more = true;
        }
    }
}

int tree_signal(int signal)
{
    struct processes all = {0};
    int count = 0;
    processes_read(&all);
    processes_mark(&all);
    for (size_t i = 0; i < all.count; i++)
        if (all.members[i].is_ours)
            count += kill(all.members[i].pid, signal) == 0;
    free(all.members);
    return count;
}

void tree_end(void)
{
    pid_t reaped;
    for (;;) {
        tree_signal(SIGKILL);
        while ((reaped = waitpid(-1, NULL, WNOHANG)) > 0) {
        }
        if (reaped < 0 && errno == ECHILD)
            return;
        usleep(PASS_US);
    }
}
