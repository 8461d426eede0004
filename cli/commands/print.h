/* print.h: replies on standard output: tables for people, one JSON object a line for programs. */
#ifndef BATON_CLI_COMMANDS_PRINT_H
#define BATON_CLI_COMMANDS_PRINT_H

#include <jansson.h>

/* The object as a line, or each of its `locks` if it has some. Writes it out at once. */
void print_json(const json_t *object);

/* What a break has ended, and whose holds the first were, which may be NULL. */
void print_broken(const char *subject, json_int_t count, const json_t *holders);

/* Whom batond takes the caller for: a line, and one for each rule. */
void print_caller(const json_t *caller);

/* The columns of print_lock. */
void print_heading(void);

/* A line for each holder and each waiter of a lock, or one that says it is free; and who broke the
 * hold that ended last, if it was broken. */
void print_lock(const json_t *lock);

#endif
