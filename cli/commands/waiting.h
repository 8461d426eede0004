/* waiting.h: says on standard error for whom an acquire waits. A process of its own asks and
 * prints, so that the acquire itself does nothing but wait. */
#ifndef BATON_CLI_COMMANDS_WAITING_H
#define BATON_CLI_COMMANDS_WAITING_H

#include "cli/commands/commands.h"

#include <sys/types.h>

/* Starts the process, before the first request of the client. It prints after a second: on a
 * terminal one line, which it keeps current; elsewhere a line, and another when it changes.
 * `token` is that of the acquire. Returns its pid, or -1. */
pid_t waiting_start(const struct context *context, const char *token);

/* Ends it, and clears the line if it can have printed one since then. Takes -1. */
void waiting_stop(pid_t pid, int64_t begun_ms);

#endif
