/* spelling.h: how far a name is from another, to find the one that was meant. */
#ifndef BATON_SERVER_SETTINGS_SPELLING_H
#define BATON_SERVER_SETTINGS_SPELLING_H

#include <limits.h>

enum { SPELLING_LONGEST = 63, SPELLING_FAR = INT_MAX };

/* How many letters have to be put in, left out, replaced, or swapped with their neighbour to make
 * one of the other (the restricted Damerau-Levenshtein distance); SPELLING_FAR where either is
 * longer than SPELLING_LONGEST. */
unsigned spelling_distance(const char *one, const char *other);

/* The same where `written` may have been meant to be `name`, which it is not: two slips at most,
 * and one in a short name. SPELLING_FAR otherwise. */
unsigned spelling_slips(const char *written, const char *name);

#endif
