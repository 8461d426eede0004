#include "base/spelling.h"

#include <string.h>

enum { SHORT_NAME = 5 };

static unsigned spelling_least(unsigned one, unsigned other)
{
    return one < other ? one : other;
}

/* Row by row: `row[j]` is the distance of the first letters of `one` to the first j of `other`. */
unsigned spelling_distance(const char *one, const char *other)
{
    unsigned rows[3][SPELLING_LONGEST + 1];
    size_t height = strlen(one), width = strlen(other);
    if (height > SPELLING_LONGEST || width > SPELLING_LONGEST)
        return SPELLING_FAR;
    for (unsigned j = 0; j <= width; j++)
        rows[0][j] = j;
    for (unsigned i = 1; i <= height; i++) {
        unsigned *row = rows[i % 3];
        const unsigned *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];
        row[0] = i;
        for (unsigned j = 1; j <= width; j++) {
            unsigned replaced = above[j - 1] + (one[i - 1] != other[j - 1]);
            row[j] = spelling_least(replaced, 1 + spelling_least(above[j], row[j - 1]));
            if (i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1])
                row[j] = spelling_least(row[j], second[j - 2] + 1);
        }
    }
    return rows[height % 3][width];
}

unsigned spelling_slips(const char *written, const char *name)
{
    unsigned distance = spelling_distance(written, name);
    unsigned most = strlen(name) <= SHORT_NAME ? 1 : 2;
    return distance > 0 && distance <= most ? distance : SPELLING_FAR;
}
