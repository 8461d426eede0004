#include "base/heap.h"

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define HAS_OTHER_HEAP
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define HAS_OTHER_HEAP
#endif
#endif

#ifdef HAS_OTHER_HEAP

bool heap_wipes(void)
{
    return false;
}

#else

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

enum { MARK_START = 8, MARK_END = 16 };

/* The free of glibc, under the name that it keeps for programs with a free of their own. */
extern void __libc_free(void *block); // NOLINT(bugprone-reserved-identifier,cert-dcl51-cpp)

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): the headers' are reserved

bool heap_wipes(void)
{
    return true;
}

void free(void *block)
{
    if (!block)
        return;
    char *bytes = block;
    memset(bytes, 0, MARK_START); /* no block is smaller than 24 bytes */
    explicit_bzero(bytes + MARK_END, malloc_usable_size(block) - MARK_END);
    __libc_free(block);
}

/* A block with enough room stays. Else it is copied here, since glibc would free the old
 * block without wiping it. */
void *realloc(void *block, size_t size)
{
    size_t room = block ? malloc_usable_size(block) : 0;
    if (size > 0 && size <= room && size >= room / 2)
        return block;
    void *copy = size > 0 ? malloc(size) : block ? NULL : malloc(1);
    if (copy && block)
        memcpy(copy, block, size < room ? size : room);
    if (copy || size == 0)
        free(block);
    return copy;
}

// NOLINTEND(readability-inconsistent-declaration-parameter-name)

#endif
