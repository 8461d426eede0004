/* replicas.h: reads how many replicas of Redis must confirm, as people write it. */
#ifndef BATON_LOCKS_TYPES_REPLICAS_H
#define BATON_LOCKS_TYPES_REPLICAS_H

#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

/* "none", which is 0, or "replicas:N" with N from 1 to STORE_REPLICAS_MOST. False, with *ret
 * untouched, for anything else. */
bool replicas_parse(struct slice text, int64_t *ret);

#endif
