/* owner.h: the owner of holds: a name within a realm. */
#ifndef BATON_LOCKS_TYPES_OWNER_H
#define BATON_LOCKS_TYPES_OWNER_H

#include "base/slice.h"

/* Owners of different realms differ even if their names are equal: so a client that may choose its
 * name but not its realm cannot act for another one. Clients without a realm have the empty one. As
 * text an owner is REALM, a separator and NAME; in the empty realm, the name alone. OWNER_MADE
 * begins the text in Redis if batond has made the owner of the client's address, so that it differs
 * from each owner that a client names: nobody re-enters its holds. */

enum {
    OWNER_NAME_LENGTH = 128, /* bytes, at most */
    OWNER_REALM_LENGTH = 64, /* bytes, at most */
    OWNER_LENGTH = 1 + OWNER_REALM_LENGTH + 1 + OWNER_NAME_LENGTH,
    OWNER_MADE = '\x1f', /* is in no clean text */
};

/* Writes both, which have to be clean text of at most those lengths, and returns what was written.
 * `text` has room for OWNER_LENGTH bytes. */
struct slice owner_compose(struct slice realm, struct slice name, char *text);

/* Whether it is a text as owner_compose writes it, or that behind OWNER_MADE. */
bool owner_is_valid(struct slice text);

/* Takes such a text apart. */
void owner_split(struct slice text, struct slice *ret_realm, struct slice *ret_name);

#endif
