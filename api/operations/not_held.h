/* not_held.h: the problem of a token that has no live hold. */
#ifndef BATON_API_OPERATIONS_NOT_HELD_H
#define BATON_API_OPERATIONS_NOT_HELD_H

#include "api/http/exchange.h"

/* Answers not_held. If it is known how the token's hold ended, the document says so, and `rest`
 * follows "This hold was broken ..." in the detail; otherwise the detail is `unknown`. */
void not_held(struct exchange *exchange, const struct hold_end *end, const char *unknown,
              const char *rest);

#endif
