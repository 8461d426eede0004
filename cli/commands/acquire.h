/* acquire.h: takes one lock or several, and waits for them over requests and batonds. */
#ifndef BATON_CLI_COMMANDS_ACQUIRE_H
#define BATON_CLI_COMMANDS_ACQUIRE_H

#include "cli/commands/commands.h"
#include "cli/token.h"

#include <stdint.h>

/* Acquires what the options name, with a new token. Sets *ret_sent_ns to the CLOCK_BOOTTIME at
 * which the request was sent that the reply is for. */
struct reply acquire_lock(const struct context *context, char token[TOKEN_SIZE],
                          int64_t *ret_sent_ns);

/* Prints why it was not granted, if the options allow. Returns the exit status. */
enum status acquire_report(const struct options *options, const struct reply *reply);

/* Releases what the options name, and does not wait for long. */
void command_release_token(const struct context *context, const char *token);

#endif
