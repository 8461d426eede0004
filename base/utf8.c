#include "base/utf8.h"

/* The well-formed sequences, as table 3-7 of the Unicode standard lists them: by first byte, how
 * many bytes follow and in which range the second one is; the others are 80..BF. */
static const struct sequence {
    unsigned char first_low, first_high, following, second_low, second_high;
} SEQUENCES[] = {
    {0x20, 0x7e, 0, 0x00, 0x00}, {0xc2, 0xc2, 1, 0xa0, 0xbf}, /* without C1 */
    {0xc3, 0xdf, 1, 0x80, 0xbf}, {0xe0, 0xe0, 2, 0xa0, 0xbf}, {0xe1, 0xec, 2, 0x80, 0xbf},
    {0xed, 0xed, 2, 0x80, 0x9f}, {0xee, 0xef, 2, 0x80, 0xbf}, {0xf0, 0xf0, 3, 0x90, 0xbf},
    {0xf1, 0xf3, 3, 0x80, 0xbf}, {0xf4, 0xf4, 3, 0x80, 0x8f},
};

/* The length of the clean sequence at the start, 0 where there is none. */
static size_t clean_sequence(const unsigned char *bytes, size_t length)
{
    for (size_t i = 0; i < sizeof SEQUENCES / sizeof SEQUENCES[0]; i++) {
        const struct sequence *sequence = &SEQUENCES[i];
        if (bytes[0] < sequence->first_low || bytes[0] > sequence->first_high)
            continue;
        if (length <= sequence->following)
            return 0;
        if (sequence->following > 0 &&
            (bytes[1] < sequence->second_low || bytes[1] > sequence->second_high))
            return 0;
        for (size_t j = 2; j <= sequence->following; j++)
            if ((bytes[j] & 0xc0) != 0x80)
                return 0;
        return sequence->following + 1u;
    }
    return 0;
}

bool utf8_is_clean(struct slice text)
{
    const unsigned char *bytes = (const unsigned char *)text.bytes;
    for (size_t i = 0; i < text.length;) {
        size_t length = clean_sequence(bytes + i, text.length - i);
        if (length == 0)
            return false;
        i += length;
    }
    return true;
}
