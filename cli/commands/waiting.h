/* waiting.h: prints on standard error which holder an acquire waits for, or why no batond can grant
 * the lock: on a terminal one line, which is kept current; elsewhere a line, and another when it
 * changes. */
#ifndef BATON_CLI_COMMANDS_WAITING_H
#define BATON_CLI_COMMANDS_WAITING_H

#include "cli/client.h"

enum { WAITING_LINE = 1200 };

struct waiting {
    const char *name; /* NULL: prints nothing */
    bool is_terminal;
    json_t *refusal;    /* the latest; NULL: none yet, or no batond answers */
    int64_t refused_ms; /* when it came, by the monotonic clock */
    int64_t away_ms;    /* since when no batond can grant the lock; 0: one can */
    int64_t end_ms;     /* when the patience for that ends */
    char trouble[REPLY_SHOWN];
    char said[WAITING_LINE];
};

/* `name` is the lock's, unless a reply has another. */
void waiting_begin(struct waiting *waiting, const char *name, struct client *client);

/* Prints the state in a reply, and keeps it current until the next reply. A time without grants
 * (away_ms) is printed once it has lasted a second. */
void waiting_print(struct waiting *waiting, const struct reply *reply);

/* Clears the line. Takes a zeroed one, too. */
void waiting_end(struct waiting *waiting, struct client *client);

#endif
