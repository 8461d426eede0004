/* json_text.h: reads JSON whose numbers may be of any size, which jansson alone refuses. */
#ifndef BATON_API_HTTP_JSON_TEXT_H
#define BATON_API_HTTP_JSON_TEXT_H

#include "base/slice.h"

#include <jansson.h>
#include <stdint.h>

/* Like json_loadb. If a number is beyond the types of jansson, all numbers are reals, and a number
 * beyond the types of C is JSON_TEXT_BEYOND. A number that is not an integer never becomes one,
 * although a double rounds 1e-400 to 0: use the text itself for such numbers. */
json_t *json_text_load(struct slice text, size_t flags, json_error_t *error);

#define JSON_TEXT_BEYOND (-1.0)

/* Whether the brackets nest more than 16 levels deep. Brackets within strings do not count. */
enum { JSON_TEXT_DEPTH = 16 };
bool json_text_is_deep(struct slice text);

/* The text of a member of the object that was loaded from `text`. It must have the member. */
struct slice json_text_member(struct slice text, json_t *object, const char *key);

/* The text without white space between its parts, for free(3). Numbers and escapes stay as they
 * are. The text must be valid JSON. */
char *json_text_compact(struct slice text);

/* Whether the value is an integer in any notation, such as 30000, 30000.0 or 3e4, as in JSON
 * Schema. At most 2^53, which is beyond each bound here. */
bool json_text_integer(const json_t *value, int64_t *ret);

#endif
