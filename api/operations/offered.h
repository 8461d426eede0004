/* offered.h: refuses requests that a quorum, or batond's own Redis, cannot fulfil as a whole. */
#ifndef BATON_API_OPERATIONS_OFFERED_H
#define BATON_API_OPERATIONS_OFFERED_H

#include <stdbool.h>

struct exchange;

/* Returns false if it has refused the request, because the store of the locks cannot do what it
 * asks for. The fields have been read. */
bool offered_check(struct exchange *exchange);

#endif
