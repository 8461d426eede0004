#include "cli/run/messages.h"

#include "base/memory.h"
#include "cli/run/boottime.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MESSAGES_TEXT = 4096, SETTLE_MS = 100, PATIENCE_S = 1 };

/* A message leaves the socket when it is printed. What cannot be printed is lost. */
static void *messages_print(void *context)
{
    const struct messages *messages = context;
    char text[MESSAGES_TEXT];
    ssize_t length;
    while ((length = recv(messages->receiver, text, sizeof text, MSG_PEEK)) > 0) {
        struct pollfd output = {.fd = STDERR_FILENO, .events = POLLOUT};
        poll(&output, 1, -1); /* a program that shares the output may have set O_NONBLOCK */
        ssize_t written = write(STDERR_FILENO, text, (size_t)length);
        recv(messages->receiver, text, (size_t)(written > 0 ? written : length), 0);
    }
    return NULL;
}

int messages_open(struct messages *messages)
{
    int ends[2];
    sigset_t all, before;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    *messages = (struct messages){.receiver = ends[1], .direct = stderr};
    sigfillset(&all); /* including SIGTTOU, which stops a process that prints in the background */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&messages->thread, NULL, messages_print, messages);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error)
        return -error;
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    stderr = memory_checked(fdopen(ends[0], "w"));
    setvbuf(stderr, NULL, _IONBF, 0);
    return 0;
}

void messages_settle(void)
{
    int left = 0;
    for (int i = 0; i < SETTLE_MS && ioctl(fileno(stderr), SIOCOUTQ, &left) == 0 && left; i++)
        usleep(1000);
}

void messages_close(struct messages *messages)
{
    struct timespec until;
    sigset_t all;
    shutdown(fileno(stderr), SHUT_WR); /* a child before its exec also has it */
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    if (pthread_timedjoin_np(messages->thread, NULL, &until) != 0) {
        sigfillset(&all);
        pthread_sigmask(SIG_UNBLOCK, &all, NULL);
        pthread_join(messages->thread, NULL);
    }
    fclose(stderr);
    close(messages->receiver);
    stderr = messages->direct;
}
