#include "locks/calls/view_copy.h"

#include "base/memory.h"

/* The texts of the last end, besides those of holds and waiters. */
enum { LAST_TEXTS = 5 };

static void last_texts(struct lock_view *view, struct slice *ret[LAST_TEXTS])
{
    ret[0] = &view->last_release.reason;
    ret[1] = &view->last_release.owner;
    ret[2] = &view->last_release.breaker.principal;
    ret[3] = &view->last_release.breaker.client;
    ret[4] = &view->last_release.breaker.reason;
}

static size_t texts_length(struct lock_view *view)
{
    struct slice *last[LAST_TEXTS];
    size_t length = 0;
    last_texts(view, last);
    for (size_t i = 0; view->last_release.fence && i < LAST_TEXTS; i++)
        length += last[i]->length;
    for (size_t i = 0; i < view->holder_count; i++)
        length += view->holders[i].owner.length + view->holders[i].client.length +
                  view->holders[i].meta.length;
    for (size_t i = 0; i < view->waiter_count; i++)
        length += view->waiters[i].owner.length + view->waiters[i].client.length;
    return length;
}

static void keep_text(char **end, struct slice *text)
{
    if (text->length == 0)
        return;
    memcpy(*end, text->bytes, text->length);
    text->bytes = *end;
    *end += text->length;
}

struct lock_view *view_copy(const struct lock_view *view)
{
    struct lock_view copy = *view;
    struct lock_view *kept = memory_checked(malloc(sizeof *kept + texts_length(&copy)));
    char *end = (char *)(kept + 1);
    struct slice *last[LAST_TEXTS];
    *kept = copy;
    last_texts(kept, last);
    for (size_t i = 0; kept->last_release.fence && i < LAST_TEXTS; i++)
        keep_text(&end, last[i]);
    for (size_t i = 0; i < kept->holder_count; i++) {
        keep_text(&end, &kept->holders[i].owner);
        keep_text(&end, &kept->holders[i].client);
        keep_text(&end, &kept->holders[i].meta);
    }
    for (size_t i = 0; i < kept->waiter_count; i++) {
        keep_text(&end, &kept->waiters[i].owner);
        keep_text(&end, &kept->waiters[i].client);
    }
    return kept;
}
