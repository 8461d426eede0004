/* represent.h: holds and locks as JSON. */
#ifndef BATON_API_HTTP_REPRESENT_H
#define BATON_API_HTTP_REPRESENT_H

#include "api/http/exchange.h"

#include <jansson.h>

/* Each returns a new reference and ends the process when there is no memory. */

/* What the owner of a hold is told, as text for free(3). */
char *represent_hold(struct slice name, struct slice token, const struct hold *hold);

/* The same as a document, to be part of another. */
json_t *represent_hold_document(struct slice name, struct slice token, const struct hold *hold);

/* What whoever has released it is told of the end of a hold. */
json_t *represent_release_document(struct slice name, const struct release *release);

/* The same as a line of text, for free(3). */
char *represent_release(struct slice name, const struct release *release);

/* What anybody is told of a lock. */
json_t *represent_view(struct slice name, const struct lock_view *view);

/* The holders, to be told to whoever is refused. */
json_t *represent_holders(const struct lock_view *view);

/* The owner as its client calls it. */
json_t *represent_owner(struct slice owner);

/* Text that Redis kept; as valid UTF-8 as it was when it came in. */
json_t *represent_text(struct slice text);

#endif
