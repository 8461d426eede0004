/* digest.h: SHA-256, to recognise a secret without keeping it; any thread. */
#ifndef BATON_BASE_DIGEST_H
#define BATON_BASE_DIGEST_H

#include "base/slice.h"

enum { DIGEST_LENGTH = 32, DIGEST_HEX_LENGTH = 2 * DIGEST_LENGTH };

struct digest {
    unsigned char bytes[DIGEST_LENGTH];
};

/* Leaves no copy of the text in memory. Ends the process if GnuTLS refuses, which has no reason to.
 */
struct digest digest_of(struct slice text);

/* Takes the same time whether they are equal or not. */
bool digest_equals(const struct digest *one, const struct digest *other);

/* Reads 64 hexadecimal digits, upper or lower case. Returns 0 or -EINVAL. */
int digest_parse(struct slice hex, struct digest *ret);

/* Writes 64 hexadecimal digits in lower case and a NUL. */
void digest_format(const struct digest *digest, char hex[DIGEST_HEX_LENGTH + 1]);

#endif
