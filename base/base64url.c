#include "base/base64url.h"

#include <errno.h>
#include <stdint.h>

#define LETTERS_AND_DIGITS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

static const char ALPHABET[] = LETTERS_AND_DIGITS "-_";
static const char ORDINARY[] = LETTERS_AND_DIGITS "+/";

void base64url_encode(const void *bytes, size_t length, char *text)
{
    const unsigned char *next = bytes;
    uint32_t bits = 0;
    unsigned pending = 0;
    for (size_t i = 0; i < length; i++) {
        bits = bits << 8 | next[i];
        for (pending += 8; pending >= 6; pending -= 6)
            *text++ = ALPHABET[bits >> (pending - 6) & 63];
    }
    if (pending > 0)
        *text++ = ALPHABET[bits << (6 - pending) & 63];
    *text = '\0';
}

static int base64_decode_with(const char *alphabet, struct slice text, void *bytes,
                              size_t *ret_length)
{
    unsigned char *next = bytes;
    uint32_t bits = 0;
    unsigned pending = 0;
    for (size_t i = 0; i < text.length; i++) {
        const char *found = text.bytes[i] ? strchr(alphabet, text.bytes[i]) : NULL;
        if (!found)
            return -EINVAL;
        bits = bits << 6 | (uint32_t)(found - alphabet);
        pending += 6;
        if (pending >= 8) {
            pending -= 8;
            *next++ = (unsigned char)(bits >> pending);
        }
    }
    if (pending >= 6 || (bits & ((1u << pending) - 1)) != 0)
        return -EINVAL;
    *ret_length = (size_t)(next - (unsigned char *)bytes);
    return 0;
}

int base64url_decode(struct slice text, void *bytes, size_t *ret_length)
{
    return base64_decode_with(ALPHABET, text, bytes, ret_length);
}

int base64_decode(struct slice text, void *bytes, size_t *ret_length)
{
    if (text.length % 4 == 0 && text.length > 0)
        for (int i = 0; i < 2 && text.bytes[text.length - 1] == '='; i++)
            text.length--;
    return base64_decode_with(ORDINARY, text, bytes, ret_length);
}
