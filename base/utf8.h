/* utf8.h: which bytes are valid text for a name, and how to show bytes to people. */
#ifndef BATON_BASE_UTF8_H
#define BATON_BASE_UTF8_H

#include "base/slice.h"

/* True for valid UTF-8 (RFC 3629: no surrogates, nothing overlong) without control characters
 * (C0, DEL and C1). The empty text is clean. */
bool utf8_is_clean(struct slice text);

enum { UTF8_SHOWN_LONGEST = 12 }; /* bytes: two escapes of UTF-16 */

/* Writes the first character of a text (not empty) for people. Control characters, invisible ones
 * and ones that turn the direction of the text are escaped as in JSON, like \u202e. A byte that is
 * not UTF-8 becomes U+FFFD. Returns the length of the character in bytes. */
size_t utf8_show(struct slice text, char ret[UTF8_SHOWN_LONGEST], size_t *ret_length);

/* Writes the whole text like this, and a NUL. Cuts it after a whole character to fit `size`
 * bytes. */
void utf8_show_all(struct slice text, char *ret, size_t size);

#endif
