/* offered.h: refuses what the locks of a quorum, or of batond's own Redis, do not offer, rather
 * than do half of it. */
#ifndef BATON_API_OPERATIONS_OFFERED_H
#define BATON_API_OPERATIONS_OFFERED_H

#include <stdbool.h>

struct exchange;

/* Whether what is asked for is offered where the locks are kept; else the exchange has been
 * answered. The fields have been read. */
bool offered_check(struct exchange *exchange);

#endif
