#include "base/digest.h"

#include <errno.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { STACK_USED = 2048 };

/* GnuTLS leaves the text on the stack that it has used. The frame of this function covers that. */
static __attribute__((noinline)) void digest_wipe_stack(void)
{
    char used[STACK_USED];
    explicit_bzero(used, sizeof used);
}

struct digest digest_of(struct slice text)
{
    struct digest digest;
    if (gnutls_hash_fast(GNUTLS_DIG_SHA256, text.bytes ? text.bytes : "", text.length,
                         digest.bytes) < 0)
        abort();
    digest_wipe_stack();
    return digest;
}

/* By words, since each request's digest is compared with every token's, and GnuTLS compares bytes.
 * The asm hides the difference from the compiler, which might otherwise stop at the first one. */
bool digest_equals(const struct digest *one, const struct digest *other)
{
    uint64_t difference = 0;
    for (size_t i = 0; i < DIGEST_LENGTH; i += sizeof difference) {
        uint64_t a, b;
        memcpy(&a, one->bytes + i, sizeof a);
        memcpy(&b, other->bytes + i, sizeof b);
        difference |= a ^ b;
        __asm__("" : "+r"(difference));
    }
    return difference == 0;
}

int digest_parse(struct slice hex, struct digest *ret)
{
    struct digest digest;
    size_t size = sizeof digest.bytes;
    const gnutls_datum_t text = {(unsigned char *)(uintptr_t)hex.bytes, (unsigned)hex.length};
    if (hex.length != DIGEST_HEX_LENGTH || gnutls_hex_decode(&text, digest.bytes, &size) < 0 ||
        size != DIGEST_LENGTH)
        return -EINVAL;
    *ret = digest;
    return 0;
}

void digest_format(const struct digest *digest, char hex[DIGEST_HEX_LENGTH + 1])
{
    size_t size = DIGEST_HEX_LENGTH + 1;
    const gnutls_datum_t bytes = {(unsigned char *)(uintptr_t)digest->bytes, DIGEST_LENGTH};
    if (gnutls_hex_encode(&bytes, hex, &size) < 0)
        abort();
}
