/* options.h: the options of the command line, and which commands take them. */
#ifndef BATON_CLI_OPTIONS_H
#define BATON_CLI_OPTIONS_H

#include "base/failure.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Which commands take an option: one bit each. */
enum {
    FOR_ACQUIRE = 1 << 0,
    FOR_RENEW = 1 << 1,
    FOR_RELEASE = 1 << 2,
    FOR_BREAK = 1 << 3,
    FOR_OTHERS = 1 << 4,
    FOR_RUN = 1 << 5,
    FOR_LIST = 1 << 6,
    FOR_SHOW = 1 << 7,
    FOR_ALL = (1 << 8) - 1,
};

#define OPTIONS_WAIT_FOREVER (INT64_MAX / 2)

/* The URLs of batond and the credentials: from options, variables and lines of files. */
enum setting {
    SETTING_URL,
    SETTING_AUTH_FILE,
    SETTING_CA,
    SETTING_CERT,
    SETTING_KEY,
    SETTING_COUNT
};

/* Texts belong to argv. */
struct options {
    unsigned for_command; /* FOR_RUN and the like */
    bool wants_help, json, quiet, verbose, shared, reentrant;
    bool ignores_loss;   /* --on-lost=ignore */
    bool only_command;   /* baton ends and awaits only the command, not its descendants */
    bool runs_unlocked;  /* --if-unavailable=run */
    int64_t wait_ms;     /* how long to wait for a holder; 0; or OPTIONS_WAIT_FOREVER */
    int64_t patience_ms; /* how long to ask while no batond can grant the lock */
    int64_t connect_timeout_ms, ttl_ms, kill_after_ms;
    int64_t limit, permits, fence, at_least_ms, max_held_ms, held_for_ms; /* 0: none */
    int64_t refused_status, signal;
    const char *owner, *token_file, *prefix, *reason;
    json_t *meta; /* NULL: none */
    const char *settings[SETTING_COUNT];
    char **names; /* the arguments that are not options */
    size_t name_count;
    char **command; /* behind --, of baton run; NULL: none */
    const char *shell_line;
};

/* Returns the index of the first argument that is neither an option nor an option's value: the
 * command, or the NULL at the end; or -EINVAL with a failure. */
int options_before_command(char **argv, struct failure *failure);

/* Reads argv (argv[0] is the command, and NULL follows the last), and gathers the names in it.
 * Returns 0, or -EINVAL with a failure. Free `options` in either case. */
int options_read(struct options *options, unsigned command, int argc, char **argv,
                 struct failure *failure);

void options_free(struct options *options);

/* Returns the name of the option that sets a field of a request, or NULL if the command has none.
 */
const char *options_name_of(const struct options *options, const char *field);

/* Prints the options of a command for --help. */
void options_print(unsigned command, FILE *to);

#endif
