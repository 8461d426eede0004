/* commands.h: the commands of baton: each sends requests, prints the results, and returns the exit
 * status. */
#ifndef BATON_CLI_COMMANDS_COMMANDS_H
#define BATON_CLI_COMMANDS_COMMANDS_H

#include "cli/client.h"
#include "cli/commands/table.h"
#include "cli/options.h"
#include "cli/run/interrupt.h"
#include "cli/status.h"
#include "cli/token.h"

struct context {
    const struct options *options;
    struct client *client;
    const bool *inherited;      /* open descriptors, for the command of baton run */
    struct interrupt interrupt; /* for acquire and run, until the lock is granted */
    char *path;                 /* of the lock, or of several, on the command line */
    json_t *body;               /* the names, if there are several */
    const char *subject;        /* what a printed reply is about: a name, for instance */
    struct table table;         /* printed by the command */
    json_t *locks;              /* baton list: from all pages; NULL: none yet */
    bool is_silent;             /* prints no reply */
    bool is_held;               /* a lock in the replies so far is held */
};

enum status command_acquire(struct context *context);
enum status command_run(struct context *context);
enum status command_renew(struct context *context);
enum status command_release(struct context *context);
enum status command_break(struct context *context);
enum status command_show(struct context *context);
enum status command_list(struct context *context);
enum status command_watch(struct context *context);
enum status command_whoami(struct context *context);

/* Sets path, body and subject from the names on the command line. Free path and body. */
void command_name(struct context *context);

/* A member of a body. 0 gives NULL, which json_pack leaves out for "o*". */
json_t *command_number(int64_t number);

/* The same as a text with a unit, so that a refusal has units, too. */
json_t *command_duration(int64_t ms);

/* Acquires what the options name, with a new token. Sets *ret_sent_ns to when the answered request
 * was sent, by CLOCK_BOOTTIME. Closes the interrupt of the context. If the reply has a signal,
 * nothing was acquired, and baton must end by it. */
struct reply acquire_lock(const struct context *context, char token[TOKEN_SIZE],
                          int64_t *ret_sent_ns);

/* Prints why the lock was not granted, if the options allow it. Returns the exit status. */
enum status acquire_report(const struct context *context, const struct reply *reply);

/* Releases what the options name, without waiting long. */
void command_release_token(const struct context *context, const char *token);

#endif
