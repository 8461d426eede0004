/* waiting.h: says on standard error for whom an acquire waits, or why nobody can be granted the
 * lock: on a terminal one line, which is kept current; elsewhere a line, and another when it
 * changes. */
#ifndef BATON_CLI_COMMANDS_WAITING_H
#define BATON_CLI_COMMANDS_WAITING_H

#include "cli/client.h"

enum { WAITING_LINE = 1200 };

struct waiting {
    const char *name; /* NULL: nothing is said */
    bool is_terminal;
    json_t *refusal;    /* the latest; NULL: none yet, or no batond answers */
    int64_t refused_ms; /* when it came, by the monotonic clock */
    int64_t away_ms;    /* since when nobody can be granted the lock; 0: somebody can */
    int64_t end_ms;     /* of the patience for that */
    char trouble[REPLY_SHOWN];
    char said[WAITING_LINE];
};

/* `name` is of the lock, unless a reply has another. */
void waiting_begin(struct waiting *waiting, const char *name, struct client *client);

/* Prints what a reply says, and again while the next one is waited for. Why nobody can be granted
 * the lock (away_ms) is printed when that is so for a second. */
void waiting_print(struct waiting *waiting, const struct reply *reply);

/* Clears the line. Takes a zeroed one, too. */
void waiting_end(struct waiting *waiting, struct client *client);

#endif
