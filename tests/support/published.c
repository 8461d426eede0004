#include "tests/support/published.h"

#include <stdlib.h>
#include <string.h>

/* Behind the number that a line of this kind says; NULL where it is another one, or not whole. */
static char *read_line(char *at, const char *end, char kind, long *ret)
{
    char *number_end;
    if (!at || at >= end || *at != kind)
        return NULL;
    *ret = strtol(at + 1, &number_end, 10);
    return number_end + 2 <= end ? number_end + 2 : NULL;
}

/* The end of the message whose channel begins at `at`, and where its text is; NULL where it is not
 * whole. */
static char *read_message(char *at, const char *end, char **ret_text, size_t *ret_length)
{
    long length = 0;
    at = read_line(at, end, '$', &length); /* the channel */
    at = read_line(at ? at + length + 2 : NULL, end, '$', &length);
    *ret_text = at;
    *ret_length = (size_t)length;
    return at && at + length + 2 <= end ? at + length + 2 : NULL;
}

size_t published_cut(char *bytes, size_t length,
                     bool (*loses)(void *context, const char *text, size_t length), void *context)
{
    static const char BEGINNING[] = "*3\r\n$7\r\nmessage\r\n";
    char *at = bytes, *end = bytes + length, *text = NULL;
    size_t text_length = 0;
    while ((at = memmem(at, (size_t)(end - at), BEGINNING, sizeof BEGINNING - 1))) {
        char *next = read_message(at + sizeof BEGINNING - 1, end, &text, &text_length);
        if (next && loses(context, text, text_length)) {
            memmove(at, next, (size_t)(end - next));
            end -= next - at;
        } else {
            at += sizeof BEGINNING - 1;
        }
    }
    return (size_t)(end - bytes);
}
