#include "locks/central/cursor.h"

#include <errno.h>
#include <stdio.h>

enum { POSITION_MOST = 99999 };

/* What is encoded: the position of the shard and a colon, unless it is the first; SCAN's cursor;
 * each name with a NUL in front. */

void cursor_encode(const struct cursor *cursor, char text[CURSOR_TEXT])
{
    char bytes[CURSOR_BYTES];
    size_t length = 0;
    if (cursor->position > 0)
        length = (size_t)snprintf(bytes, sizeof bytes, "%u:", cursor->position);
    memcpy(bytes + length, cursor->scan.bytes, cursor->scan.length);
    length += cursor->scan.length;
    for (size_t i = 0; i < cursor->name_count; i++) {
        struct slice name = cursor->names[i];
        bytes[length++] = '\0';
        memcpy(bytes + length, name.bytes, name.length);
        length += name.length;
    }
    base64url_encode(bytes, length, text);
}

/* False: cursor_encode does not write a position like this. */
static bool cursor_take_position(struct slice *scan, unsigned *ret)
{
    const char *colon = scan->length > 0 ? memchr(scan->bytes, ':', scan->length) : NULL;
    size_t length = colon ? (size_t)(colon - scan->bytes) : 0;
    unsigned position = 0;
    *ret = 0;
    if (!colon)
        return true;
    if (length == 0 || scan->bytes[0] == '0')
        return false;
    for (size_t i = 0; i < length; i++) {
        if (scan->bytes[i] < '0' || scan->bytes[i] > '9' || position > POSITION_MOST)
            return false;
        position = position * 10 + (unsigned)(scan->bytes[i] - '0');
    }
    *scan = (struct slice){colon + 1, scan->length - length - 1};
    *ret = position;
    return position <= POSITION_MOST;
}

/* A number of 64 bits as Redis writes it: Redis refuses any other. */
static bool cursor_is_scan(struct slice scan)
{
    static const char LARGEST[] = "18446744073709551615";
    for (size_t i = 0; i < scan.length; i++)
        if (scan.bytes[i] < '0' || scan.bytes[i] > '9')
            return false;
    if (scan.length > 1 && scan.bytes[0] == '0')
        return false;
    return scan.length < CURSOR_SCAN_LENGTH ||
           (scan.length == CURSOR_SCAN_LENGTH && memcmp(scan.bytes, LARGEST, scan.length) <= 0);
}

/* Takes the bytes up to the next NUL off `rest`, which is absent after the last. */
static struct slice cursor_take_field(struct slice *rest)
{
    const char *end = memchr(rest->bytes, '\0', rest->length);
    struct slice part = {rest->bytes, end ? (size_t)(end - rest->bytes) : rest->length};
    *rest = end ? (struct slice){end + 1, rest->length - part.length - 1} : slice_of(NULL);
    return part;
}

int cursor_decode(struct slice text, char bytes[CURSOR_BYTES], struct cursor *ret)
{
    struct slice rest = {bytes, 0};
    if (text.length >= CURSOR_TEXT || base64url_decode(text, bytes, &rest.length) < 0)
        return -EINVAL;

    ret->scan = cursor_take_field(&rest);
    if (!cursor_take_position(&ret->scan, &ret->position))
        return -EINVAL;
    ret->name_count = 0;
    while (rest.bytes) {
        struct slice name = cursor_take_field(&rest);
        if (ret->name_count == CURSOR_NAMES || !name_is_valid(name))
            return -EINVAL;
        ret->names[ret->name_count++] = name;
    }
    bool nothing = ret->scan.length == 0 && ret->name_count == 0;
    return nothing || !cursor_is_scan(ret->scan) ? -EINVAL : 0;
}
