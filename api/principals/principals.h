/* principals.h: all principals, found by their API keys or the names in their certificates. */
#ifndef BATON_API_PRINCIPALS_PRINCIPALS_H
#define BATON_API_PRINCIPALS_PRINCIPALS_H

#include "api/principals/principal.h"
#include "base/digest.h"

/* Any thread may look somebody up. What a tokens-file says does not change; another takes its place
 * when the file is read again. */
struct principals;

/* Without a tokens-file: all requests have the same principal, which has no name and may do all. */
struct principals *principals_anonymous(void);

/* Those of a process that has no tokens-file and asks for certificates: whoever has a name may do
 * all, each under its own name. There are as many as the authority has named. */
struct principals *principals_certified(void);

/* Empty. */
struct principals *principals_new(void);

/* Adds one, whose reference is taken over. False, with the reference dropped, where there is one of
 * that name. While making it only. */
bool principals_add(struct principals *principals, struct principal *principal);

/* Adds the digest of a token by which the principal is known. False where another one has it, or
 * the same one already. While making it only. */
bool principals_add_token(struct principals *principals, const struct digest *digest,
                          struct principal *principal);

/* Another reference. */
struct principals *principals_keep(struct principals *principals);

/* One reference less; the last one frees. Takes NULL. */
void principals_drop(struct principals *principals);

size_t principals_count(const struct principals *principals);

/* Who everybody is, where nobody is asked who they are; else NULL. Each of these is a borrowed
 * reference, good as long as the principals are. */
struct principal *principals_everybody(const struct principals *principals);

/* Whose token this is; NULL for nobody's. Looks at each digest there is, in the same time. */
struct principal *principals_by_token(const struct principals *principals, struct slice token);

/* Who has this name, as a client certificate says it; NULL for nobody, and for what is no name. */
struct principal *principals_by_name(struct principals *principals, struct slice name);

#endif
