/* A baton run that does without one of its means, which $CARELESS_RUN names: `waker`, the timer by
 * which the kernel continues a stopped process; `subreaper`; or `pipe`, by which the guard hears
 * that the front is gone and until when the lock lasts. For a baton that this is preloaded into. */
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): libc's names are reserved
#undef _FORTIFY_SOURCE // with it, poll is an inline function
#include <dlfcn.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

static bool lacks(const char *means)
{
    const char *lacking = getenv("CARELESS_RUN");
    return lacking && strcmp(lacking, means) == 0;
}

static void find(const char *name, void *function)
{
    *(void **)function = dlsym(RTLD_NEXT, name);
}

int timer_settime(timer_t timer, int flags, const struct itimerspec *times, struct itimerspec *old)
{
    int (*real)(timer_t, int, const struct itimerspec *, struct itimerspec *);
    find("timer_settime", (void *)&real);
    return lacks("waker") || lacks("pipe") ? 0 : real(timer, flags, times, old);
}

int prctl(int option, ...)
{
    int (*real)(int, ...);
    va_list arguments;
    va_start(arguments, option);
    unsigned long argument = va_arg(arguments, unsigned long);
    va_end(arguments);
    find("prctl", (void *)&real);
    return option == PR_SET_CHILD_SUBREAPER && lacks("subreaper") ? 0
                                                                  : real(option, argument, 0, 0, 0);
}

int ppoll(struct pollfd *polled, nfds_t count, const struct timespec *timeout, const sigset_t *mask)
{
    int (*real)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
    find("ppoll", (void *)&real);
    if (!lacks("pipe"))
        return real(polled, count, timeout, mask);
    polled[0].fd = -1; /* the guard's orders */
    return real(polled, count, NULL, mask);
}
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
