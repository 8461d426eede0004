/* unknown.h: refuses a name that no field of a request has, and says which ones it may have. */
#ifndef BATON_API_HTTP_UNKNOWN_H
#define BATON_API_HTTP_UNKNOWN_H

#include "base/slice.h"

#include <stdbool.h>

struct exchange;

/* Answers invalid_parameter. `accepted` has the fields of the route. Returns false. */
bool unknown_refuse(struct exchange *exchange, unsigned accepted, struct slice name, bool in_query);

#endif
