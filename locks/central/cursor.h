/* cursor.h: where a list goes on: the shard, Redis' SCAN cursor there, and the names that did not
 * fit the page before. Clients get it as an opaque text. Internal to locks/. */
#ifndef BATON_LOCKS_CENTRAL_CURSOR_H
#define BATON_LOCKS_CENTRAL_CURSOR_H

#include "base/base64url.h"
#include "locks/types/name.h"

enum {
    CURSOR_NAMES = 64, /* names left over, at most: list.lua scans some 20 keys at once */
    CURSOR_SCAN_LENGTH = 20,
    CURSOR_POSITION_LENGTH = 10,
    CURSOR_BYTES = CURSOR_POSITION_LENGTH + 1 + CURSOR_SCAN_LENGTH +
                   CURSOR_NAMES * (NAME_LENGTH + 1), /* decoded */
    CURSOR_TEXT = BASE64URL_LENGTH(CURSOR_BYTES) + 1,
};

struct cursor {
    unsigned position; /* of the shard: see store_seek_shard */
    struct slice scan; /* SCAN's cursor in digits; empty: only names are left */
    struct slice names[CURSOR_NAMES];
    size_t name_count;
};

/* Writes the cursor as text, NUL-terminated. */
void cursor_encode(const struct cursor *cursor, char text[CURSOR_TEXT]);

/* Reads a text; the parts of the cursor point into `bytes`. Returns 0, or -EINVAL for a text that
 * no cursor_encode wrote. */
int cursor_decode(struct slice text, char bytes[CURSOR_BYTES], struct cursor *ret);

#endif
