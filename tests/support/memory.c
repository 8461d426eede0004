#include "tests/support/memory.h"

#include "tests/support/cmocka.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CONTEXT = 24, BLOCK = 1 << 20 };

struct finding {
    const char *needle;
    size_t count;
    char *places;
    size_t length;
};

/* Some bytes around it tell what kind of copy it is. */
static void note(struct finding *finding, const char *bytes, size_t size, size_t at,
                 const char *region)
{
    size_t from = at > CONTEXT ? at - CONTEXT : 0, to = at + strlen(finding->needle) + CONTEXT;
    finding->count++;
    if (finding->length + 200 > MEMORY_PLACES)
        return;
    finding->length += (size_t)snprintf(finding->places + finding->length, 80, "%.70s: ", region);
    for (size_t i = from; i < to && i < size; i++)
        finding->places[finding->length++] =
            (char)(bytes[i] >= ' ' && bytes[i] < 0x7f ? bytes[i] : '.');
    finding->places[finding->length++] = '\n';
    finding->places[finding->length] = '\0';
}

static void search(struct finding *finding, const char *bytes, size_t size, const char *region)
{
    size_t length = strlen(finding->needle);
    const char *at = bytes;
    while ((at = memmem(at, size - (size_t)(at - bytes), finding->needle, length))) {
        note(finding, bytes, size, (size_t)(at - bytes), region);
        at += length;
    }
}

/* Stacks are mapped without having been touched: what cannot be read is nothing. */
static void search_region(struct finding *finding, int memory, uint64_t start, uint64_t end,
                          const char *region)
{
    size_t overlap = strlen(finding->needle) - 1;
    char *bytes = malloc(BLOCK + overlap);
    assert_non_null(bytes);
    for (uint64_t at = start; at < end; at += BLOCK) {
        size_t wanted = end - at < BLOCK + overlap ? (size_t)(end - at) : BLOCK + overlap;
        ssize_t got = pread(memory, bytes, wanted, (off_t)at);
        if (got > 0)
            search(finding, bytes, (size_t)got, region);
    }
    free(bytes);
}

size_t memory_count(pid_t pid, const char *needle, char places[MEMORY_PLACES])
{
    struct finding finding = {.needle = needle, .places = places};
    char path[64], line[512], writable;
    places[0] = '\0';
    snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
    int memory = open(path, O_RDONLY | O_CLOEXEC);
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(path, "re");
    if (memory < 0 || !maps) {
        fail_msg("cannot read the memory of %d: %s", (int)pid, strerror(errno));
        return 0;
    }
    size_t regions = 0;
    while (fgets(line, sizeof line, maps)) {
        uint64_t start, end;
        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*c%c", &start, &end, &writable) != 3 ||
            writable != 'w')
            continue;
        search_region(&finding, memory, start, end, line);
        regions++;
    }
    assert_true(regions > 0);
    fclose(maps);
    close(memory);
    return finding.count;
}
