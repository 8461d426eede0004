/* on_quorum.h: what stories about locks in a quorum wait for. */
#ifndef BATON_TESTS_INTEGRATION_ON_QUORUM_H
#define BATON_TESTS_INTEGRATION_ON_QUORUM_H

#include "tests/integration/parked.h"
#include "tests/support/quorum.h"

enum {
    PATIENCE_MS = 5000,
    PROMPT_MS = 1800, /* at once, on a machine that others use, too; sooner than a claim window */
};

/* Until a batond knows that so many members are up ("5 of 5"). Each of these fails the test where
 * that takes too long. */
void await_up(struct http_client *client, const char *members);

/* Until the name is held at so many members; and at all of them, where none is raised to another's
 * fence any more. */
void await_held_at(struct quorum_servers *servers, const char *name, int members);
void await_settled_at(struct quorum_servers *servers, const char *name);

/* Until so many wait. */
void await_queue(struct http_client *client, const char *name, int64_t length);

#endif
