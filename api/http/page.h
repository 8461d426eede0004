/* page.h: what one round of a watch tells: locks in the order in which they changed, as many as
 * fit.
 */
#ifndef BATON_API_HTTP_PAGE_H
#define BATON_API_HTTP_PAGE_H

#include "locks/locks.h"

/* A lock, as a line of JSON. */
struct page_lock {
    int64_t version;
    struct slice name;
    struct slice text; /* without the newline */
    char bytes[];
};

/* Whatever comes, in whatever order, it keeps those that changed first: so each page brings its
 * reader further, and has so much memory at most. Set the limits; the rest is zeroed. */
struct page {
    size_t most;       /* locks */
    size_t most_bytes; /* of text; a page has one lock at least, however long */
    /* Whether locks that changed in the same microsecond may be told apart. Where not, the first
     * such group is in the page as a whole. */
    bool tears;
    struct page_lock **locks;
    size_t count;
    size_t room;
    size_t bytes;
    struct page_lock *left_out; /* the first of those that did not fit; NULL: all did */
};

/* The texts are copied. */
void page_add(struct page *page, int64_t version, struct slice name, struct slice text);

/* What the round has reached is lowered to what the page has of it: its name is the page's then. */
void page_limit(const struct page *page, struct prefix_position *reached);

/* Forgets all that is in it. */
void page_clear(struct page *page);

#endif
