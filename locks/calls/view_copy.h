/* view_copy.h: keeps a view after the reply of Redis that has its texts. Internal to locks/. */
#ifndef BATON_LOCKS_CALLS_VIEW_COPY_H
#define BATON_LOCKS_CALLS_VIEW_COPY_H

#include "locks/locks.h"

/* A copy with all its texts; the caller frees it with free(3). */
struct lock_view *view_copy(const struct lock_view *view);

#endif
