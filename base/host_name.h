/* host_name.h: compares names of hosts. Case makes no difference, nor does a final dot, except
 * behind a single label. */
#ifndef BATON_BASE_HOST_NAME_H
#define BATON_BASE_HOST_NAME_H

#include "base/slice.h"

/* Returns the name without the dot at its end, by which resolvers, Istio and Go's clients say that
 * nothing is to be appended. Only one dot goes, and a dot alone stays. */
struct slice host_name_without_dot(struct slice name);

/* Returns the form that is compared: without the final dot, unless the name is one label other than
 * localhost. Its case is as it was. */
struct slice host_name_compared(struct slice name);

/* Whether both are the same name. */
bool host_names_equal(struct slice one, struct slice other);

/* The same for HOST[:PORT] or [ADDRESS][:PORT]. The ports have to be the same, too. */
bool host_authorities_equal(struct slice one, struct slice other);

#endif
