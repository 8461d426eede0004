/* boottime.h: the clock of a lease, which no user sets and which runs while the machine sleeps; and
 * a timer by it, the waker: it makes the kernel continue this process if it is stopped. A stopped
 * process can run nothing itself. */
#ifndef BATON_CLI_RUN_BOOTTIME_H
#define BATON_CLI_RUN_BOOTTIME_H

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <time.h>

#define MS_IN_NS INT64_C(1000000)

/* A waker repeats this often, since a process can be stopped again. */
#define WAKER_AGAIN_NS (20 * MS_IN_NS)

static inline int64_t boottime_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline struct timespec boottime_spec(int64_t ns)
{
    return (struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
}

static inline int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline void waker_on_signal(int signal)
{
    (void)signal; /* the kernel repeats the signal only if it has a handler */
}

#define WAKER_FAULT "cannot make a timer (ulimit -i bounds their signals)"

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

static inline void waker_set(timer_t waker, int64_t from_ns)
{
    struct itimerspec times = {.it_value = boottime_spec(from_ns),
                               .it_interval = boottime_spec(WAKER_AGAIN_NS)};
    timer_settime(waker, TIMER_ABSTIME, &times, NULL);
}

#endif
