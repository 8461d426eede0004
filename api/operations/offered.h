/* offered.h: refuses what a quorum, or batond's own Redis, lacks. */
#ifndef BATON_API_OPERATIONS_OFFERED_H
#define BATON_API_OPERATIONS_OFFERED_H

#include <stdbool.h>

struct exchange;

/* Returns false if it has refused the request, because the store lacks something that it needs.
 * Call this after fields_read. */
bool offered_check(struct exchange *exchange);

#endif
