/* principals.h: all principals, found by their API keys or the names in their certificates. */
#ifndef BATON_API_PRINCIPALS_PRINCIPALS_H
#define BATON_API_PRINCIPALS_PRINCIPALS_H

#include "api/principals/principal.h"
#include "base/digest.h"

/* Any thread may look principals up. Those of a tokens-file are constant; when the file is read
 * again, others replace them. */
struct principals;

/* Without a tokens-file: all requests have one principal, which has no name and every right. */
struct principals *principals_anonymous(void);

/* With client certificates and no tokens-file: each name in a certificate is a principal with every
 * right, added when first seen. The authority bounds their number. */
struct principals *principals_certified(void);

/* Empty. */
struct principals *principals_new(void);

/* Adds a principal and takes over its reference. Returns false, and drops the reference, if the
 * name exists. Call this before you share the principals. */
bool principals_add(struct principals *principals, struct principal *principal);

/* Adds the digest of a token of the principal. Returns false if any principal has it already. Call
 * this before you share the principals. */
bool principals_add_token(struct principals *principals, const struct digest *digest,
                          struct principal *principal);

/* Takes another reference. */
struct principals *principals_keep(struct principals *principals);

/* Drops a reference; the last one frees. Takes NULL. */
void principals_drop(struct principals *principals);

size_t principals_count(const struct principals *principals);

/* Returns the principal of all requests if no login is needed, else NULL. This and the next two
 * return a borrowed reference, valid as long as the principals are. */
struct principal *principals_everybody(const struct principals *principals);

/* Returns the principal with this token, or NULL. Compares every digest, in constant time. */
struct principal *principals_by_token(const struct principals *principals, struct slice token);

/* Returns the principal with this name, as in a client certificate, or NULL. */
struct principal *principals_by_name(struct principals *principals, struct slice name);

#endif
