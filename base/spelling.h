/* spelling.h: the edit distance of two names, to suggest a name for a typo. */
#ifndef BATON_BASE_SPELLING_H
#define BATON_BASE_SPELLING_H

#include <limits.h>

enum { SPELLING_LONGEST = 63, SPELLING_FAR = INT_MAX };

/* Returns the restricted Damerau-Levenshtein distance: how many letters to insert, leave out,
 * replace or swap with a neighbour. SPELLING_FAR if either name is longer than SPELLING_LONGEST. */
unsigned spelling_distance(const char *one, const char *other);

/* Returns the distance if `written` is likely a typo of `name`: at most two slips, one in a short
 * name. Otherwise, and for equal names, SPELLING_FAR. */
unsigned spelling_slips(const char *written, const char *name);

#endif
