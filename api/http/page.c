#include "api/http/page.h"

#include "base/memory.h"

static struct page_lock *new_lock(int64_t version, struct slice name, struct slice text)
{
    struct page_lock *lock = memory_checked(malloc(sizeof *lock + name.length + text.length));
    lock->version = version;
    lock->name = (struct slice){lock->bytes, name.length};
    lock->text = (struct slice){lock->bytes + name.length, text.length};
    memcpy(mempcpy(lock->bytes, name.bytes, name.length), text.bytes, text.length);
    return lock;
}

static int compare_names(struct slice one, struct slice other)
{
    size_t common = one.length < other.length ? one.length : other.length;
    int order = memcmp(one.bytes, other.bytes, common);
    return order != 0 ? order : (one.length > other.length) - (one.length < other.length);
}

static bool is_before(const struct page_lock *one, const struct page_lock *other)
{
    if (one->version != other->version)
        return one->version < other->version;
    return compare_names(one->name, other->name) < 0;
}

/* Locks arrive nearly in order, so an insertion sort is cheap. */
static void insert(struct page *page, struct page_lock *lock)
{
    size_t at = page->count;
    if (page->count == page->room) {
        page->room = page->room ? 2 * page->room : 8;
        page->locks = memory_checked(realloc(page->locks, page->room * sizeof(struct page_lock *)));
    }
    for (; at > 0 && is_before(lock, page->locks[at - 1]); at--)
        page->locks[at] = page->locks[at - 1];
    page->locks[at] = lock;
    page->count++;
    page->bytes += lock->text.length;
}

static bool is_too_long(const struct page *page)
{
    if (page->count <= page->most && page->bytes <= page->most_bytes)
        return false;
    const struct page_lock *last = page->locks[page->count - 1];
    return page->tears ? page->count > 1 : last->version != page->locks[0]->version;
}

static void leave_out(struct page *page, struct page_lock *lock)
{
    free(page->left_out);
    page->left_out = lock;
}

static void take_last(struct page *page)
{
    struct page_lock *last = page->locks[--page->count];
    page->bytes -= last->text.length;
    leave_out(page, last);
}

/* Also leaves out the locks that changed together with the first one left out. */
static void mend(struct page *page)
{
    while (page->count > 0 && page->locks[page->count - 1]->version == page->left_out->version)
        take_last(page);
}

void page_add(struct page *page, int64_t version, struct slice name, struct slice text)
{
    struct page_lock *lock = new_lock(version, name, text);
    const struct page_lock *left_out = page->left_out;
    if (left_out && (page->tears ? !is_before(lock, left_out) : version >= left_out->version)) {
        free(lock);
        return;
    }
    insert(page, lock);
    while (is_too_long(page)) {
        take_last(page);
        if (!page->tears)
            mend(page);
    }
}

void page_limit(const struct page *page, struct prefix_position *reached)
{
    const struct page_lock *left_out = page->left_out;
    if (!left_out || left_out->version > reached->after)
        return;
    const struct page_lock *last = page->count > 0 ? page->locks[page->count - 1] : NULL;
    bool is_torn = last && last->version == left_out->version;
    reached->after = is_torn ? last->version : left_out->version - 1;
    reached->name = is_torn ? last->name : (struct slice){NULL, 0};
}

void page_clear(struct page *page)
{
    for (size_t i = 0; i < page->count; i++)
        free(page->locks[i]);
    free(page->locks);
    free(page->left_out);
    page->locks = NULL;
    page->left_out = NULL;
    page->count = page->room = page->bytes = 0;
}
