/* heap.h: free(3) and realloc(3) that wipe what they free, for the whole process. */
#ifndef BATON_BASE_HEAP_H
#define BATON_BASE_HEAP_H

#include <stdbool.h>

/* A request's tokens pass through libmicrohttpd, jansson, hiredis and TLS, which free their copies
 * without wiping them. So heap.c defines free and realloc itself: every library's freed memory is
 * wiped, and a core dump or an overrun shows only what is in use.
 *
 * Of each block eight bytes (8 to 15) may stay: there glibc keeps the mark by which it recognizes a
 * double free. So wipe a password before you free it.
 *
 * False in builds with a sanitizer, which brings a heap of its own. */
bool heap_wipes(void);

#endif
