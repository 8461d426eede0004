/* notation.h: replies of Redis as people write them down: (granted 5 2 ("a b" nil)); what
 * a script packs stands in brackets: [released 5 100 0 8 o]. */
#ifndef BATON_TESTS_FUZZ_NOTATION_H
#define BATON_TESTS_FUZZ_NOTATION_H

#include "base/slice.h"

struct redisReply;

/* Reads a list in parentheses, a packed text in brackets, an integer, a word, a "text" with \XX for
 * any byte, `nil`, or an -error up to the end of the line. Whatever else stands there is read as
 * best as it can be: every text is a reply. To be given to freeReplyObject. */
struct redisReply *notation_read(struct slice text);

#endif
