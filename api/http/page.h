/* page.h: the locks that one round of a watch reports: those that changed first, as many as fit. */
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

/* Keeps the locks that changed first, in whatever order they are added: so each page brings its
 * reader further, in bounded memory. Set the limits and zero the rest. */
struct page {
    size_t most;       /* locks */
    size_t most_bytes; /* of text; a page has at least one lock, however long */
    /* Whether a page may end between locks that changed in the same microsecond. If not, the page
     * has the whole of the first such group. */
    bool tears;
    struct page_lock **locks;
    size_t count;
    size_t room;
    size_t bytes;
    struct page_lock *left_out; /* the first lock that did not fit; NULL if all did */
};

/* Copies the texts. */
void page_add(struct page *page, int64_t version, struct slice name, struct slice text);

/* Lowers the position that the round has reached to what the page covers. Its name may point into
 * the page then. */
void page_limit(const struct page *page, struct prefix_position *reached);

/* Frees and removes all locks in the page. */
void page_clear(struct page *page);

#endif
