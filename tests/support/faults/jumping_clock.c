#include "tests/support/faults/jumping_clock.h"

#include "tests/support/cmocka.h"
#include "tests/support/faults/preloaded.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile int64_t *map(const char *path)
{
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    assert_int_equal(ftruncate(file, sizeof(int64_t)), 0);
    void *mapped = mmap(NULL, sizeof(int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    assert_true(mapped != MAP_FAILED);
    return mapped;
}

void jumping_clock_open(struct jumping_clock *clock)
{
    *clock = (struct jumping_clock){0};
    temp_dir_make(&clock->dir);
    snprintf(clock->preload, sizeof clock->preload, "LD_PRELOAD=%s/clock.so", clock->dir.path);
    snprintf(clock->file, sizeof clock->file, "JUMPING_CLOCK_FILE=%s/shift", clock->dir.path);
    clock->environment[0] = clock->preload;
    clock->environment[1] = clock->file;
    preloaded_build("jumping_clock.c", strchr(clock->preload, '=') + 1, clock->dir.path);
    clock->shift_us = map(strchr(clock->file, '=') + 1);
}

void jumping_clock_set(struct jumping_clock *clock, double seconds)
{
    *clock->shift_us = (int64_t)(seconds * 1e6);
}

void jumping_clock_close(struct jumping_clock *clock)
{
    if (clock->shift_us)
        munmap((void *)(uintptr_t)clock->shift_us, sizeof(int64_t));
    temp_dir_remove(&clock->dir);
    *clock = (struct jumping_clock){0};
}
