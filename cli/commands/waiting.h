/* waiting.h: says on standard error for whom an acquire waits: on a terminal one line, which is
 * kept current; elsewhere a line, and another when it changes. */
#ifndef BATON_CLI_COMMANDS_WAITING_H
#define BATON_CLI_COMMANDS_WAITING_H

#include "cli/client.h"

enum { WAITING_LINE = 1200 };

struct waiting {
    const char *name;
    bool is_terminal;
    json_t *refusal; /* the latest; NULL: none yet */
    int64_t told_ms; /* when it came, by the monotonic clock */
    char said[WAITING_LINE];
};

/* `name` is of the lock, unless a reply has another. */
void waiting_begin(struct waiting *waiting, const char *name, struct client *client);

/* Prints what a reply to a request says that has waited, and again while the next one waits. */
void waiting_print(struct waiting *waiting, const struct reply *reply);

/* Clears the line. */
void waiting_end(struct waiting *waiting, struct client *client);

#endif
