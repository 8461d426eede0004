#include "cli/run/interrupt.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

void interrupt_open(struct interrupt *ret)
{
    static const int SIGNALS[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT};
    struct sigaction action;
    sigemptyset(&ret->taken);
    sigprocmask(SIG_BLOCK, NULL, &ret->former);
    for (size_t i = 0; i < sizeof SIGNALS / sizeof SIGNALS[0]; i++) {
        sigaction(SIGNALS[i], NULL, &action);
        if (action.sa_handler != SIG_IGN && !sigismember(&ret->former, SIGNALS[i]))
            sigaddset(&ret->taken, SIGNALS[i]);
    }
    ret->descriptor = signalfd(-1, &ret->taken, SFD_CLOEXEC | SFD_NONBLOCK);
    if (ret->descriptor >= 0)
        sigprocmask(SIG_BLOCK, &ret->taken, NULL);
}

int interrupt_close(const struct interrupt *interrupt)
{
    struct signalfd_siginfo info;
    bool has_come = read(interrupt->descriptor, &info, sizeof info) == sizeof info;
    close(interrupt->descriptor);
    return has_come ? (int)info.ssi_signo : 0;
}

void interrupt_die(int signal)
{
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, signal);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0});
    sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    kill(getpid(), signal);
    sigprocmask(SIG_UNBLOCK, &own, NULL);
}
