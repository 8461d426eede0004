/* digest.h: SHA-256, for what is to be recognised but not kept; any thread. */
#ifndef BATON_BASE_DIGEST_H
#define BATON_BASE_DIGEST_H

#include "base/slice.h"

enum { DIGEST_LENGTH = 32, DIGEST_HEX_LENGTH = 2 * DIGEST_LENGTH };

struct digest {
    unsigned char bytes[DIGEST_LENGTH];
};

/* Leaves nothing of the text in memory. Ends the process where the library refuses, which it has no
 * reason to. */
struct digest digest_of(struct slice text);

/* Takes as long whether they are equal, or where they differ. */
bool digest_equals(const struct digest *one, const struct digest *other);

/* Reads 64 hexadecimal digits, upper or lower case. Returns 0 or -EINVAL. */
int digest_parse(struct slice hex, struct digest *ret);

/* Writes 64 hexadecimal digits in lower case and a NUL. */
void digest_format(const struct digest *digest, char hex[DIGEST_HEX_LENGTH + 1]);

#endif
