/* owner.h: the owner of holds: a name within a realm. */
#ifndef BATON_LOCKS_TYPES_OWNER_H
#define BATON_LOCKS_TYPES_OWNER_H

#include "base/slice.h"

/* Owners of different realms differ even if their names are equal. So a client that may choose its
 * name but not its realm cannot act for another one. Clients without a realm have the empty one. As
 * text an owner is REALM, a separator and NAME; in the empty realm, only the name. In Redis
 * OWNER_MADE begins the text if batond made the owner from the client's address. So it differs from
 * each owner that a client names, and no request re-enters its holds. */

enum {
    OWNER_NAME_LENGTH = 128, /* bytes, at most */
    OWNER_REALM_LENGTH = 64, /* bytes, at most */
    OWNER_LENGTH = 1 + OWNER_REALM_LENGTH + 1 + OWNER_NAME_LENGTH,
    OWNER_MADE = '\x1f', /* is in no clean text */
};

/* Writes both, which must be clean text of at most these lengths, and returns what it wrote. `text`
 * has room for OWNER_LENGTH bytes. */
struct slice owner_compose(struct slice realm, struct slice name, char *text);

/* Whether owner_compose can have written the text, with or without OWNER_MADE. */
bool owner_is_valid(struct slice text);

/* Copies the text of an owner in a reply to `copy`, and lets `owner` point there: so it outlives
 * the reply. */
void owner_keep(struct slice *owner, char copy[OWNER_LENGTH]);

/* Splits such a text. */
void owner_split(struct slice text, struct slice *ret_realm, struct slice *ret_name);

#endif
