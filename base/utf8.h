/* utf8.h: which bytes are text that may be stored as a name, and how people are shown them. */
#ifndef BATON_BASE_UTF8_H
#define BATON_BASE_UTF8_H

#include "base/slice.h"

/* True for valid UTF-8 (RFC 3629: no surrogates, nothing overlong) without control characters
 * (C0, DEL and C1). The empty text is clean. */
bool utf8_is_clean(struct slice text);

enum { UTF8_SHOWN_LONGEST = 12 }; /* bytes: two escapes of UTF-16 */

/* Writes the first character of a text (not empty) so that people see it: as it is; escaped as in
 * JSON, like \u202e, if it is a control character, is invisible or turns the direction of the text;
 * U+FFFD if the byte is not UTF-8. Returns the length of the character in bytes. */
size_t utf8_show(struct slice text, char ret[UTF8_SHOWN_LONGEST], size_t *ret_length);

/* Writes all of the text so, and a NUL. Cuts it after a whole character to fit `size` bytes. */
void utf8_show_all(struct slice text, char *ret, size_t size);

#endif
