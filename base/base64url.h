/* base64url.h: bytes as text that needs no escaping anywhere (RFC 4648, section 5, no padding). */
#ifndef BATON_BASE_BASE64URL_H
#define BATON_BASE_BASE64URL_H

#include "base/slice.h"

/* How many characters `length` bytes become, without a NUL. */
#define BASE64URL_LENGTH(length) (((length)*4 + 2) / 3)

/* Writes BASE64URL_LENGTH(length) characters and a NUL. */
void base64url_encode(const void *bytes, size_t length, char *text);

/* Decodes into `bytes`, which has room for text.length * 3 / 4 bytes. Returns 0 and sets
 * *ret_length, or -EINVAL for a character or a length that encoding never gives. */
int base64url_decode(struct slice text, void *bytes, size_t *ret_length);

/* The same for the ordinary alphabet with `+` and `/` (RFC 4648, section 4), padded or not. */
int base64_decode(struct slice text, void *bytes, size_t *ret_length);

#endif
