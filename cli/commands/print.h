/* print.h: replies on standard output: tables for people, one JSON object a line for programs. */
#ifndef BATON_CLI_COMMANDS_PRINT_H
#define BATON_CLI_COMMANDS_PRINT_H

#include "cli/commands/commands.h"

/* Prints a reply for people. */
typedef void print_function(struct context *context, const json_t *reply);

/* Prints the object as a line, or each of its `locks` if it has some. */
void print_json(const json_t *object);

/* Prints a reply at once, without a token: as JSON if the options ask for it, otherwise by `print`,
 * which may be NULL. */
void print_reply(struct context *context, const struct reply *reply, print_function *print);

/* Prints what a break ended, and the owners of the first holds. */
void print_broken(struct context *context, const json_t *reply);

/* Prints which caller batond sees: a line, and one for each rule. */
void print_caller(struct context *context, const json_t *caller);

/* Adds to the table a row for each holder and each waiter of a lock, or a row for a free one; and
 * the breaker, if the hold that ended last was broken. */
void print_lock(struct context *context, const json_t *lock);

/* Keeps the locks of a page of the list for print_list. */
void print_keep(struct context *context, const json_t *page);

/* Adds the locks that were kept to the table, in the order of their names. */
void print_list(struct context *context);

#endif
