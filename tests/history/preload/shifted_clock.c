/* A wall clock that is wrong by $SHIFTED_CLOCK_SECONDS, for a program that this is preloaded into.
 * Clocks that only count from some start are left alone. */
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): libc's names are reserved
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static long shift(void)
{
    const char *seconds = getenv("SHIFTED_CLOCK_SECONDS");
    return seconds ? strtol(seconds, NULL, 10) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int (*real)(clockid_t, struct timespec *);
    *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, now);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += shift();
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec precise;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &precise) != 0)
        return -1;
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *ret)
{
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_REALTIME, &now);
    if (ret)
        *ret = now.tv_sec;
    return now.tv_sec;
}
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
