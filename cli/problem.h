/* problem.h: prints what went wrong and what to do next. */
#ifndef BATON_CLI_PROBLEM_H
#define BATON_CLI_PROBLEM_H

#include "cli/options.h"
#include "cli/reply.h"

/* Prints a line "baton: ..." as printf does, to standard error. Returns `status`. */
enum status problem_print(enum status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Prints the problem in a reply, if there is one. `subject` is the name of the lock. Names a field
 * by the option that set it. Returns reply_status. */
enum status problem_report(const struct reply *reply, const struct options *options,
                           const char *subject);

#endif
