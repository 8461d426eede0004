#include "cli/run/tree.h"

#include "base/memory.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    PATH_TEXT = 64,
    LIST_TEXT = 4096,
    STAT_TEXT = 64,
    NAMED = 5,
    MOST_LOOKS = 1000,
    PIDS = 1 << 22
};

int tree_open(struct tree *tree)
{
    char path[PATH_TEXT];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
    *tree = (struct tree){.children = open(path, O_RDONLY | O_CLOEXEC)};
    if (tree->children < 0)
        return -errno;
    tree->is_killed = memory_checked(calloc(PIDS / 8, 1));
    return 0;
}

void tree_close(struct tree *tree)
{
    close(tree->children);
    free(tree->pids);
    free(tree->is_killed);
}

static void tree_add(struct tree *tree, pid_t pid)
{
    if (tree->count == tree->room) {
        tree->room = tree->room ? 2 * tree->room : 64;
        tree->pids = memory_checked(reallocarray(tree->pids, tree->room, sizeof *tree->pids));
    }
    tree->pids[tree->count++] = pid;
}

/* Adds the pids of a list of children: each with a space behind it. */
static void tree_read(struct tree *tree, int children)
{
    char text[LIST_TEXT];
    pid_t pid = 0;
    ssize_t length;
    for (off_t at = 0; (length = pread(children, text, sizeof text, at)) > 0; at += length)
        for (ssize_t i = 0; i < length; i++) {
            if (isdigit((unsigned char)text[i])) {
                pid = 10 * pid + (text[i] - '0');
                continue;
            }
            tree_add(tree, pid);
            pid = 0;
        }
}

/* Each thread of a process has its own children. What cannot be opened now stays unknown: this
 * process inherits its children when it is dead. */
static void tree_descend(struct tree *tree, pid_t pid)
{
    char path[PATH_TEXT];
    const struct dirent *thread;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *threads = opendir(path);
    while (threads && (thread = readdir(threads))) {
        snprintf(path, sizeof path, "%.16s/children", thread->d_name);
        int children = openat(dirfd(threads), path, O_RDONLY | O_CLOEXEC);
        if (children < 0)
            continue; /* ".", ".." or a thread that has ended */
        tree_read(tree, children);
        close(children);
    }
    if (threads)
        closedir(threads);
}

int tree_signal(struct tree *tree, int signal)
{
    int count = 0;
    tree->count = 0;
    tree_read(tree, tree->children);
    for (size_t i = 0; i < tree->count; i++)
        tree_descend(tree, tree->pids[i]);
    for (size_t i = 0; i < tree->count; i++)
        count += kill(tree->pids[i], signal) == 0;
    return count;
}

/* A child that has ended, and waits to be reaped. */
static bool is_dead(pid_t pid)
{
    siginfo_t info = {.si_pid = 0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

/* Kills those that were found from this one on, and forgets the children that were dead before: to
 * look at them takes longer than a fork. */
static void tree_kill_found(struct tree *tree, size_t i)
{
    while (i < tree->count)
        if (is_dead(tree->pids[i]))
            tree->pids[i] = tree->pids[--tree->count];
        else
            kill(tree->pids[i++], SIGKILL);
}

/* Kills each as soon as it is found. A killed process makes no more children, so one look at them
 * is enough. Returns how many it had not killed before. */
static int tree_kill_once(struct tree *tree)
{
    int before = tree->killed;
    tree->count = 0;
    tree_read(tree, tree->children);
    tree_kill_found(tree, 0);
    for (size_t i = 0; i < tree->count; i++) {
        pid_t pid = tree->pids[i];
        unsigned char *byte = &tree->is_killed[pid % PIDS / 8], bit = (unsigned char)(1 << pid % 8);
        size_t known = tree->count;
        if (*byte & bit)
            continue;
        tree_descend(tree, pid);
        tree_kill_found(tree, known);
        if (kill(pid, SIGKILL) < 0)
            continue; /* gone, or another user's */
        *byte |= bit;
        tree->killed++;
    }
    return tree->killed - before;
}

int tree_reap(pid_t *pid, int *ret_status)
{
    int status, count = 0;
    pid_t reaped;
    while ((reaped = waitpid(-1, &status, WNOHANG)) > 0) {
        count++;
        if (reaped != *pid)
            continue;
        *pid = 0;
        *ret_status = status;
    }
    return reaped < 0 && errno == ECHILD ? -1 : count;
}

/* Does not pause: a process that forks and ends again and again is a new one each time. */
bool tree_kill(struct tree *tree, pid_t *pid, int *ret_status)
{
    int killed, reaped, looks = 0;
    do {
        killed = tree_kill_once(tree);
        reaped = tree_reap(pid, ret_status);
    } while (reaped >= 0 && killed + reaped > 0 && looks++ < MOST_LOOKS);
    return reaped >= 0;
}

/* Writes "4711 (sleep)", as /proc describes a process. Returns the length; 0: it is dead. */
static int tree_name_one(pid_t pid, char text[STAT_TEXT])
{
    char path[PATH_TEXT];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? 0 : read(file, text, STAT_TEXT - 1);
    if (file >= 0)
        close(file);
    text[length > 0 ? length : 0] = '\0';
    char *behind = strrchr(text, ')'); /* the name may have any characters */
    if (behind && strncmp(behind, ") Z", 3) == 0)
        return 0;
    return behind                                ? (int)(behind + 1 - text)
           : kill(pid, 0) == 0 || errno == EPERM ? snprintf(text, STAT_TEXT, "%d", pid)
                                                 : 0;
}

bool tree_name(const struct tree *tree, char names[TREE_NAMES])
{
    size_t count = 0, length = 0;
    names[0] = '\0';
    for (size_t i = 0; i < tree->count; i++) {
        char text[STAT_TEXT];
        int one = tree_name_one(tree->pids[i], text);
        if (one > 0 && count++ < NAMED)
            length += (size_t)snprintf(names + length, TREE_NAMES - length, "%s%.*s",
                                       length ? ", " : "", one, text);
    }
    if (count > NAMED)
        snprintf(names + length, TREE_NAMES - length, " and %zu more", count - NAMED);
    return count > 0;
}
