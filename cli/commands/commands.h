/* commands.h: what baton does: each command sends requests, prints what comes of them, and returns
 * the exit status. */
#ifndef BATON_CLI_COMMANDS_COMMANDS_H
#define BATON_CLI_COMMANDS_COMMANDS_H

#include "cli/client.h"
#include "cli/options.h"
#include "cli/status.h"

struct context {
    const struct options *options;
    struct client *client;
    const bool *inherited; /* descriptors, for the command of baton run */
};

enum status command_acquire(const struct context *context);
enum status command_run(const struct context *context);
enum status command_renew(const struct context *context);
enum status command_release(const struct context *context);
enum status command_break(const struct context *context);
enum status command_show(const struct context *context);
enum status command_list(const struct context *context);
enum status command_watch(const struct context *context);
enum status command_whoami(const struct context *context);

/* The path for the names of the command line: one lock's, or that of several, whose names are added
 * to the body. */
char *command_path(const struct options *options, json_t *body);

/* Adds a duration to the body, unless it is 0: in units, so that a refusal speaks of them, too. */
void command_add_duration(json_t *body, const char *member, int64_t ms);

#endif
