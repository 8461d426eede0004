/* talk.h: sends the bytes of a row to a port and tells what came back, in the words of the table.
 */
#ifndef BATON_TESTS_EDGE_TALK_H
#define BATON_TESTS_EDGE_TALK_H

#include "tests/edge/rows.h"

#include <stdbool.h>

struct outcome {
    char words[160];
    size_t served; /* replies that batond's own code has made, told by their X-Request-Id */
};

/* Hears until what is expected has come, or until it is late. */
void talk(int port, const struct row *row, const char *expected, struct outcome *ret);

/* Whether that is one of the alternatives. */
bool talk_is(const char *words, const char *expected);

#endif
