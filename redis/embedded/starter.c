#include "redis/embedded/starter.h"

#include "base/memory.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STACK_SIZE = 64 * 1024 };

struct starter {
    int fd;
    pid_t process;
    void (*run)(const void *context);
    const void *context;
};

static int run(void *context)
{
    const struct starter *starter = context;
    starter->run(starter->context);
    _exit(127);
}

/* The new process is a child of the maker, not of the starter. So the maker gets SIGCHLD when it
 * ends, and the new process ends with the maker. */
static pid_t start(struct starter *starter)
{
    static _Alignas(16) char stack[STACK_SIZE]; /* the child gets a copy */
    pid_t child = clone(run, stack + sizeof stack, CLONE_PARENT | SIGCHLD, starter);
    return child < 0 ? -errno : child;
}

static _Noreturn void starter_serve(struct starter *starter, pid_t maker)
{
    char word;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != maker) /* the maker ended before prctl */
        _exit(1);
    prctl(PR_SET_NAME, "redis-starter");
    setsid(); /* Ctrl-C in a terminal is for the maker */
    while (recv(starter->fd, &word, 1, 0) == 1) {
        pid_t child = start(starter);
        if (send(starter->fd, &child, sizeof child, MSG_NOSIGNAL) < 0)
            break;
    }
    _exit(0);
}

int starter_open(struct starter **ret, void (*run_it)(const void *context), const void *context,
                 struct failure *failure)
{
    int fds[2];
    struct starter *starter = memory_checked(calloc(1, sizeof *starter));
    *starter = (struct starter){.run = run_it, .context = context};
    pid_t maker = getpid();
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
        goto no_sockets;
    starter->process = fork();
    if (starter->process < 0)
        goto no_process;
    starter->fd = fds[starter->process == 0];
    close(fds[starter->process != 0]);
    if (starter->process == 0)
        starter_serve(starter, maker);
    *ret = starter;
    return 0;

no_process:
    close(fds[0]);
    close(fds[1]);
no_sockets:
    free(starter);
    return failure_set(failure, -errno, "cannot make a process that starts redis-server again: %s",
                       strerror(errno));
}

pid_t starter_start(struct starter *starter)
{
    pid_t child;
    if (send(starter->fd, "", 1, MSG_NOSIGNAL) < 0)
        return -errno;
    ssize_t length = recv(starter->fd, &child, sizeof child, 0);
    if (length < 0)
        return -errno;
    return length == sizeof child ? child : -ECHILD;
}

void starter_close(struct starter *starter)
{
    if (!starter)
        return;
    close(starter->fd);
    waitpid(starter->process, NULL, 0);
    free(starter);
}
