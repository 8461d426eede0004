/* memory.h: ends the process if memory has run out, since no later answer would be reliable. */
#ifndef BATON_BASE_MEMORY_H
#define BATON_BASE_MEMORY_H

#include <stdlib.h>

/* Returns what malloc(3), calloc(3), realloc(3) or strdup(3) has returned. */
static inline void *memory_checked(void *block)
{
    if (!block)
        abort();
    return block;
}

#endif
