/* page.h: the locks that one round of a watch reports: those that changed first, as many as fit. */
#ifndef BATON_API_HTTP_PAGE_H
#define BATON_API_HTTP_PAGE_H

#include "base/slice.h"

#include <stdint.h>

/* A lock, as a line of JSON. */
struct page_lock {
    int64_t version;
    struct slice text; /* without the newline */
    char bytes[];
};

/* Keeps the locks that changed first, in whatever order they are added. So each page advances its
 * reader, in bounded memory. Locks that changed in the same microsecond stay together. Set the
 * limits and zero the rest. */
struct page {
    size_t most;       /* locks */
    size_t most_bytes; /* of text; a page has at least one lock, however long */
    struct page_lock **locks;
    size_t count;
    size_t room;
    size_t bytes;
    int64_t left_out; /* the version of the first locks that did not fit; 0: all did */
};

/* Copies the text. */
void page_add(struct page *page, int64_t version, struct slice text);

/* The version that the page reaches, in a round that reached version `round`. */
int64_t page_reaches(const struct page *page, int64_t round);

/* Frees and removes all locks in the page. */
void page_clear(struct page *page);

#endif
