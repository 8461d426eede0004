/* waker.h: has the kernel continue this process from a time on, if it is stopped. Nothing else runs
 * in a process that is stopped, and its timers are all that it has left. */
#ifndef BATON_CLI_RUN_WAKER_H
#define BATON_CLI_RUN_WAKER_H

#include "cli/run/boottime.h"

#include <errno.h>
#include <signal.h>

/* From then on so often, since a process can be stopped again. */
#define WAKER_AGAIN_NS (20 * MS_IN_NS)

static inline void waker_on_signal(int signal)
{
    (void)signal; /* the kernel repeats the signal only if it is taken */
}

/* Takes SIGCONT for itself. Returns 0, or a negative errno. */
static inline int waker_make(timer_t *ret)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGCONT};
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, SIGCONT);
    sigaction(SIGCONT, &(struct sigaction){.sa_handler = waker_on_signal}, NULL);
    sigprocmask(SIG_UNBLOCK, &own, NULL);
    return timer_create(CLOCK_BOOTTIME, &event, ret) < 0 ? -errno : 0;
}

/* `from_ns` is by CLOCK_BOOTTIME. */
static inline void waker_set(timer_t waker, int64_t from_ns)
{
    struct itimerspec times = {.it_value = boottime_spec(from_ns),
                               .it_interval = boottime_spec(WAKER_AGAIN_NS)};
    timer_settime(waker, TIMER_ABSTIME, &times, NULL);
}

#endif
