/* utf8.h: which bytes are text that may be shown to people and stored as a name. */
#ifndef BATON_BASE_UTF8_H
#define BATON_BASE_UTF8_H

#include "base/slice.h"

/* True for valid UTF-8 (RFC 3629: no surrogates, nothing overlong) without control characters
 * (C0, DEL and C1). The empty text is clean. */
bool utf8_is_clean(struct slice text);

#endif
