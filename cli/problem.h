/* problem.h: prints what went wrong and what to do next, and chooses the exit status. */
#ifndef BATON_CLI_PROBLEM_H
#define BATON_CLI_PROBLEM_H

#include "cli/client.h"
#include "cli/status.h"

/* Prints a line "baton: ..." as printf does, to standard error. Returns `status`. */
enum status problem_print(enum status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The exit status of a reply; STATUS_DONE for one without a problem. */
enum status problem_status(const struct reply *reply);

/* Prints what a reply says is wrong, if anything is. `subject` is the name of the lock. Returns
 * problem_status. */
enum status problem_report(const struct reply *reply, const char *subject);

#endif
