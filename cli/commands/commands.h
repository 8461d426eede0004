/* commands.h: what baton does: each command sends requests, prints what comes of them, and returns
 * the exit status. */
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
    const bool *inherited;      /* descriptors, for the command of baton run */
    struct interrupt interrupt; /* of acquire and run, until the lock is granted */
    char *path;                 /* of the lock on the command line, or of several */
    json_t *body;               /* has the names of several */
    const char *subject;        /* of a request whose reply is printed: the name, or its like */
    struct table table;         /* that the command prints */
    json_t *locks;              /* of baton list, of all pages; NULL: none yet */
    bool is_silent;             /* prints no reply */
    bool is_held;               /* one of the locks in the replies so far is */
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

/* Sets path, body and subject by the names on the command line. The first two are to be freed. */
void command_name(struct context *context);

/* A member of a body. NULL, which json_pack leaves out for "o*", stands for 0. */
json_t *command_number(int64_t number);

/* The same, in units, so that a refusal speaks of them, too. */
json_t *command_duration(int64_t ms);

/* Acquires what the options name, with a new token. Sets *ret_sent_ns to the CLOCK_BOOTTIME at
 * which the request was sent that the reply is for. Closes the interrupt of the context. If the
 * reply has a signal, nothing was acquired, and baton is to end by it. */
struct reply acquire_lock(const struct context *context, char token[TOKEN_SIZE],
                          int64_t *ret_sent_ns);

/* Prints why it was not granted, if the options allow. Returns the exit status. */
enum status acquire_report(const struct context *context, const struct reply *reply);

/* Releases what the options name, and does not wait for long. */
void command_release_token(const struct context *context, const char *token);

#endif
