#include "tests/budget/counts.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

struct counts counts;
static bool counting;

/* glibc's own, by the names that it keeps for those who replace a part of its heap. */
// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl51-cpp,cert-dcl37-c)
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);

void *malloc(size_t size)
{
    counts.allocations += counting;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    counts.allocations += counting;
    return __libc_calloc(count, size);
}

enum { BEGIN_S = 1700000000, US_PER_S = 1000000, NS_PER_US = 1000 };

static uint64_t microseconds(void)
{
    static uint64_t now = (uint64_t)BEGIN_S * US_PER_S;
    return ++now;
}

int clock_gettime(clockid_t clock, struct timespec *ret)
{
    uint64_t now = microseconds();
    (void)clock;
    *ret = (struct timespec){(time_t)(now / US_PER_S), (long)(now % US_PER_S) * NS_PER_US};
    return 0;
}

int gettimeofday(struct timeval *restrict ret, void *restrict zone)
{
    uint64_t now = microseconds();
    (void)zone;
    *ret = (struct timeval){(time_t)(now / US_PER_S), (suseconds_t)(now % US_PER_S)};
    return 0;
}

time_t time(time_t *ret)
{
    time_t now = (time_t)(microseconds() / US_PER_S);
    if (ret)
        *ret = now;
    return now;
}

// NOLINTEND(readability-inconsistent-declaration-parameter-name)
// NOLINTEND(bugprone-reserved-identifier,cert-dcl51-cpp,cert-dcl37-c)

/* A compiler that does away with a call does away with what callgrind looks for. */
__attribute__((noinline)) void counts_while(void (*run)(void *context), void *context)
{
    counting = true;
    run(context);
    counting = false;
    __asm__ volatile("");
}

__attribute__((noinline)) void counts_begin(void)
{
    counts = (struct counts){0};
    __asm__ volatile("");
}

__attribute__((noinline)) void counts_end(void)
{
    __asm__ volatile("");
}
