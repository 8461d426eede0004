#include "api/http/page.h"

#include "base/memory.h"

static struct page_lock *new_lock(int64_t version, struct slice text)
{
    struct page_lock *lock = memory_checked(malloc(sizeof *lock + text.length));
    lock->version = version;
    lock->text = (struct slice){lock->bytes, text.length};
    memcpy(lock->bytes, text.bytes, text.length);
    return lock;
}

/* Locks arrive nearly in order, so an insertion sort is cheap. */
static void insert(struct page *page, struct page_lock *lock)
{
    size_t at = page->count;
    if (page->count == page->room) {
        page->room = page->room ? 2 * page->room : 8;
        page->locks = memory_checked(realloc(page->locks, page->room * sizeof(struct page_lock *)));
    }
    for (; at > 0 && lock->version < page->locks[at - 1]->version; at--)
        page->locks[at] = page->locks[at - 1];
    page->locks[at] = lock;
    page->count++;
    page->bytes += lock->text.length;
}

static bool is_too_long(const struct page *page)
{
    return (page->count > page->most || page->bytes > page->most_bytes) &&
           page->locks[page->count - 1]->version != page->locks[0]->version;
}

/* Also leaves out the locks that changed together with it. */
static void leave_out_last(struct page *page)
{
    page->left_out = page->locks[page->count - 1]->version;
    while (page->locks[page->count - 1]->version == page->left_out) {
        struct page_lock *last = page->locks[--page->count];
        page->bytes -= last->text.length;
        free(last);
    }
}

void page_add(struct page *page, int64_t version, struct slice text)
{
    if (page->left_out > 0 && version >= page->left_out)
        return;
    insert(page, new_lock(version, text));
    while (is_too_long(page))
        leave_out_last(page);
}

int64_t page_reaches(const struct page *page, int64_t round)
{
    bool is_cut = page->left_out > 0 && page->left_out <= round;
    return is_cut ? page->left_out - 1 : round;
}

void page_clear(struct page *page)
{
    for (size_t i = 0; i < page->count; i++)
        free(page->locks[i]);
    free(page->locks);
    page->locks = NULL;
    page->count = page->room = page->bytes = 0;
    page->left_out = 0;
}
