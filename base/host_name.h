/* host_name.h: compares host names. Case does not matter, nor does a final dot, except behind a
 * single label. */
#ifndef BATON_BASE_HOST_NAME_H
#define BATON_BASE_HOST_NAME_H

#include "base/slice.h"

/* Returns the name without one dot at its end: resolvers, Istio and Go's clients add it so that
 * nothing is appended. A dot alone stays. */
struct slice host_name_without_dot(struct slice name);

/* Returns the form to compare: without the final dot, unless the name is one label other than
 * localhost. Its case does not change. */
struct slice host_name_compared(struct slice name);

/* Whether both are the same name. */
bool host_names_equal(struct slice one, struct slice other);

/* The same for HOST[:PORT] or [ADDRESS][:PORT]. The ports must be equal, too. */
bool host_authorities_equal(struct slice one, struct slice other);

#endif
