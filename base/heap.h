/* heap.h: free(3) and realloc(3) that wipe what they give back, for the whole process. */
#ifndef BATON_BASE_HEAP_H
#define BATON_BASE_HEAP_H

#include <stdbool.h>

/* A request's tokens pass through libmicrohttpd, jansson, hiredis and TLS, which free their copies
 * as they are. So heap.c defines free and realloc itself: what is freed, by whomever, is gone from
 * memory, and a core or a neighbour's overrun finds only what is in use.
 *
 * Of each block eight bytes (8 to 15) may stay: there glibc keeps the mark by which it recognizes a
 * double free. So a password is still to be wiped before it is freed.
 *
 * False in builds with a sanitizer, which brings a heap of its own. */
bool heap_wipes(void);

#endif
