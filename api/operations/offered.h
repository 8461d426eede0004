/* offered.h: refuses what a quorum, or batond's own Redis, does not offer. */
#ifndef BATON_API_OPERATIONS_OFFERED_H
#define BATON_API_OPERATIONS_OFFERED_H

#include <stdbool.h>

struct exchange;

/* Returns false if it has refused the request, because the store lacks what the request asks for.
 * Call it after fields_read. */
bool offered_check(struct exchange *exchange);

#endif
