/* view_copy.h: keeps a view beyond the reply of Redis that its texts stand in. Internal to locks/.
 */
#ifndef BATON_LOCKS_CALLS_VIEW_COPY_H
#define BATON_LOCKS_CALLS_VIEW_COPY_H

#include "locks/locks.h"

/* A copy with all its texts; the caller frees it with free(3). */
struct lock_view *view_copy(const struct lock_view *view);

#endif
