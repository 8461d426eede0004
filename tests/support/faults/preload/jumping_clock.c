/* A wall clock that is wrong by what the file $JUMPING_CLOCK_FILE says, 8 bytes: microseconds. The
 * file is mapped, so whoever writes to it makes the clock jump at once. For a program that this is
 * preloaded into; clocks that only count from some start are left alone. */
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): libc's names are reserved
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { US = 1000000, NS_PER_US = 1000 };

static int (*real)(clockid_t, struct timespec *);
static const volatile int64_t *shift;

__attribute__((constructor)) static void begin(void)
{
    static const int64_t NONE = 0;
    const char *path = getenv("JUMPING_CLOCK_FILE");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *mapped =
        file < 0 ? MAP_FAILED : mmap(NULL, sizeof *shift, PROT_READ, MAP_SHARED, file, 0);
    if (file >= 0)
        close(file);
    shift = mapped == MAP_FAILED ? &NONE : mapped;
    *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    if (!real)
        begin();
    int result = real(clock, now);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        int64_t us = now->tv_sec * (int64_t)US + now->tv_nsec / NS_PER_US + *shift;
        now->tv_sec = us / US;
        now->tv_nsec = us % US * NS_PER_US;
    }
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec precise;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &precise) != 0)
        return -1;
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / NS_PER_US;
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
