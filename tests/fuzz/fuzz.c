#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct {
    uint64_t passed_ms;
    unsigned char random;
} world = {.passed_ms = 1000000};

noreturn void fuzz_fail(const char *file, int line, const char *claim)
{
    fprintf(stderr, "%s:%d: this is not true: %s\n", file, line, claim);
    abort();
}

void fuzz_pass(uint64_t ms)
{
    world.passed_ms += ms;
}

void fuzz_begin(void)
{
    world.random = 0;
}

/* In place of those of the C library. libFuzzer itself looks at the time of day only. */

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
int clock_gettime(clockid_t clock, struct timespec *ret)
{
    if (clock != CLOCK_MONOTONIC && clock != CLOCK_MONOTONIC_COARSE)
        return (int)syscall(SYS_clock_gettime, clock, ret);
    ret->tv_sec = (time_t)(world.passed_ms / 1000);
    ret->tv_nsec = (long)(world.passed_ms % 1000) * 1000000;
    return 0;
}

ssize_t getrandom(void *buffer, size_t length, unsigned flags)
{
    (void)flags;
    for (size_t i = 0; i < length; i++)
        ((unsigned char *)buffer)[i] = world.random++;
    return (ssize_t)length;
}

struct slice fuzz_cut(struct slice *rest, char mark)
{
    const char *found = rest->length > 0 ? memchr(rest->bytes, mark, rest->length) : NULL;
    struct slice front = {rest->bytes, found ? (size_t)(found - rest->bytes) : rest->length};
    size_t taken = front.length + (found ? 1 : 0);
    *rest = (struct slice){taken ? rest->bytes + taken : rest->bytes, rest->length - taken};
    return front;
}

char *fuzz_text(struct slice text)
{
    char *copy = strndup(text.length > 0 ? text.bytes : "", text.length);
    if (!copy)
        abort();
    return copy;
}
