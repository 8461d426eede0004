#include "base/slabs.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if __has_include(<sanitizer/asan_interface.h>)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(start, size)
#define ASAN_UNPOISON_MEMORY_REGION(start, size)
#endif

enum { SLAB_BYTES = 16 << 10 }; /* also where a slab begins: at a multiple of it */

struct free_block {
    struct free_block *next;
};

struct slab {
    LIST_ENTRY(slab) others; /* of its list, while it has room */
    struct free_block *free;
    size_t taken;
    _Alignas(max_align_t) char blocks[];
};

static struct slab_list *slabs_list(struct slabs *slabs, size_t size)
{
    assert(size > 0 && size <= SLABS_LARGEST);
    return &slabs->with_room[(size - 1) / SLABS_STEP];
}

static size_t rounded(size_t size)
{
    return (size + SLABS_STEP - 1) / SLABS_STEP * SLABS_STEP;
}

/* AddressSanitizer reports any use of a free block, except of its first word. */
static void slab_put(struct slab *slab, void *block, size_t size)
{
    struct free_block *freed = block;
    freed->next = slab->free;
    slab->free = freed;
    ASAN_POISON_MEMORY_REGION(freed + 1, size - sizeof *freed);
}

static struct slab *slabs_add(struct slabs *slabs, size_t size)
{
    struct slab *slab =
        slabs->bytes + SLAB_BYTES <= slabs->limit ? aligned_alloc(SLAB_BYTES, SLAB_BYTES) : NULL;
    if (!slab)
        return NULL;
    memset(slab, 0, SLAB_BYTES);
    for (char *end = (char *)slab + SLAB_BYTES, *block = slab->blocks;
         (size_t)(end - block) >= size; block += size)
        slab_put(slab, block, size);
    slabs->bytes += SLAB_BYTES;
    return slab;
}

static void slabs_drop(struct slabs *slabs, struct slab *slab)
{
    LIST_REMOVE(slab, others);
    ASAN_UNPOISON_MEMORY_REGION(slab, SLAB_BYTES);
    free(slab);
    slabs->bytes -= SLAB_BYTES;
}

void *slabs_take(struct slabs *slabs, size_t size)
{
    struct slab_list *list = slabs_list(slabs, size);
    struct slab *slab = LIST_FIRST(list);
    if (!slab) {
        if (!(slab = slabs_add(slabs, rounded(size))))
            return NULL;
        LIST_INSERT_HEAD(list, slab, others);
    }
    struct free_block *block = slab->free;
    ASAN_UNPOISON_MEMORY_REGION(block, rounded(size));
    slab->free = block->next;
    block->next = NULL;
    slab->taken++;
    if (!slab->free)
        LIST_REMOVE(slab, others);
    return block;
}

void slabs_give_back(struct slabs *slabs, void *block, size_t size)
{
    struct slab_list *list = slabs_list(slabs, size);
    struct slab *slab = (struct slab *)((uintptr_t)block & ~(uintptr_t)(SLAB_BYTES - 1));
    if (!slab->free)
        LIST_INSERT_HEAD(list, slab, others);
    memset(block, 0, size);
    slab_put(slab, block, rounded(size));
    if (--slab->taken == 0 && (LIST_FIRST(list) != slab || LIST_NEXT(slab, others)))
        slabs_drop(slabs, slab);
}

void slabs_close(struct slabs *slabs)
{
    for (size_t i = 0; i < SLABS_SIZES; i++)
        for (struct slab *slab = LIST_FIRST(&slabs->with_room[i]), *next; slab; slab = next) {
            next = LIST_NEXT(slab, others);
            slabs_drop(slabs, slab);
        }
    assert(slabs->bytes == 0);
}
