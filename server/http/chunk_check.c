#include "server/http/chunk_check.h"

#include <string.h>

/* Whether the line feed has no CR before it. What is before `start` is not of this run. */
static bool is_bare(const struct chunk_check *check, const char *feed)
{
    return feed == check->start || feed[-1] != '\r';
}

/* The line with the size of this chunk, and the end of the chunk before, if they came in this run.
 */
static void chunk_check_lines_before(struct chunk_check *check, const char *piece)
{
    const char *size_end = piece - 1;
    const char *chunk_end = memrchr(check->start, '\n', (size_t)(size_end - check->start));
    check->has_bare_feed |= is_bare(check, size_end) || (chunk_end && is_bare(check, chunk_end));
}

void chunk_check_piece(struct chunk_check *check, const char *piece, size_t length, uint64_t run)
{
    if (!check->start)
        return;
    if (piece > check->start)
        chunk_check_lines_before(check, piece);
    check->end = piece + length;
    check->last = piece[length - 1];
    check->run = run;
}

/* The library has moved what follows the body to `start`. If that reached the lines, it most likely
 * changed the byte before them, too. */
void chunk_check_end(struct chunk_check *check, uint64_t run)
{
    const char *at = check->end;
    if (!at || check->run != run || at[-1] != check->last)
        return;
    if (at[0] == '\n')
        check->has_bare_feed |= at[1] == '0';
    else if (at[0] == '\r' && at[1] == '\n' && at[2] == '0')
        check->has_bare_feed |= at[2 + strspn(at + 2, "0")] == '\n';
}
