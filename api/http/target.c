#include "api/http/target.h"

#include <errno.h>
#include <strings.h>

static const char *skip_authority(const char *target)
{
    static const char *const SCHEMES[] = {"http://", "https://"};
    if (*target == '/') /* as almost all do */
        return target;
    for (size_t i = 0; i < sizeof SCHEMES / sizeof SCHEMES[0]; i++) {
        size_t length = strlen(SCHEMES[i]);
        if (strncasecmp(target, SCHEMES[i], length) == 0)
            return target + length + strcspn(target + length, "/?#");
    }
    return target;
}

void target_split(const char *target, struct slice *ret_path, struct slice *ret_query)
{
    const char *path = skip_authority(target);
    bool is_root = path != target && (*path == '\0' || *path == '?');
    *ret_path =
        is_root ? slice_of("/") : (struct slice){path, *path == '/' ? strcspn(path, "?") : 0};
    const char *mark = strchr(path, '?');
    *ret_query = slice_of(mark ? mark + 1 : NULL);
}

static int target_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

int percent_decode(struct slice text, char *bytes, size_t *ret_length)
{
    size_t length = 0;
    for (size_t i = 0; i < text.length; i++) {
        char c = text.bytes[i];
        if (c == '%') {
            if (text.length - i < 3)
                return -EINVAL;
            int high = target_hex_digit(text.bytes[i + 1]),
                low = target_hex_digit(text.bytes[i + 2]);
            if (high < 0 || low < 0)
                return -EINVAL;
            c = (char)(high << 4 | low);
            i += 2;
        }
        bytes[length++] = c;
    }
    *ret_length = length;
    return 0;
}

static bool is_unreserved(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("-._~", c));
}

size_t percent_encode(struct slice text, char *ret)
{
    static const char DIGITS[] = "0123456789ABCDEF";
    size_t length = 0;
    for (size_t i = 0; i < text.length; i++) {
        unsigned char c = (unsigned char)text.bytes[i];
        if (is_unreserved((char)c)) {
            ret[length++] = (char)c;
        } else {
            ret[length++] = '%';
            ret[length++] = DIGITS[c >> 4];
            ret[length++] = DIGITS[c & 15];
        }
    }
    ret[length] = '\0';
    return length;
}

/* The bytes before the first `c`, and those after it; absent if there is no `c`. */
static void target_cut(struct slice text, char c, struct slice *ret_before, struct slice *ret_after)
{
    const char *found = text.length > 0 ? memchr(text.bytes, c, text.length) : NULL;
    *ret_before = text;
    *ret_after = slice_of(NULL);
    if (found) {
        ret_before->length = (size_t)(found - text.bytes);
        *ret_after = (struct slice){found + 1, text.length - ret_before->length - 1};
    }
}

bool query_next(struct slice *query, struct slice *ret_name, struct slice *ret_value)
{
    while (query->length > 0) {
        struct slice pair;
        target_cut(*query, '&', &pair, query);
        if (pair.length == 0)
            continue;
        target_cut(pair, '=', ret_name, ret_value);
        return true;
    }
    return false;
}
