#include "cli/run/interrupt.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

int interrupt_block(const int *signals, const sigset_t *except)
{
    struct sigaction action;
    sigset_t taken;
    sigemptyset(&taken);
    for (; *signals; signals++)
        if (sigaction(*signals, NULL, &action) == 0 && action.sa_handler != SIG_IGN &&
            !sigismember(except, *signals))
            sigaddset(&taken, *signals);
    int descriptor = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
    if (descriptor >= 0)
        sigprocmask(SIG_BLOCK, &taken, NULL);
    return descriptor;
}

void interrupt_open(struct interrupt *ret)
{
    static const int SIGNALS[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT, 0};
    sigprocmask(SIG_BLOCK, NULL, &ret->former);
    ret->descriptor = interrupt_block(SIGNALS, &ret->former);
}

int interrupt_close(const struct interrupt *interrupt)
{
    struct signalfd_siginfo info;
    bool has_come = read(interrupt->descriptor, &info, sizeof info) == sizeof info;
    close(interrupt->descriptor);
    return has_come ? (int)info.ssi_signo : 0;
}

void interrupt_take(int signal)
{
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, signal);
    kill(getpid(), signal);
    sigprocmask(SIG_UNBLOCK, &own, NULL);
    sigprocmask(SIG_BLOCK, &own, NULL);
}

void interrupt_die(int signal)
{
    setrlimit(RLIMIT_CORE, &(struct rlimit){0});
    sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    interrupt_take(signal);
}
