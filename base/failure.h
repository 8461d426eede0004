/* failure.h: one line for a person, saying what went wrong and how to mend it. */
#ifndef BATON_BASE_FAILURE_H
#define BATON_BASE_FAILURE_H

struct failure {
    char text[640];
};

/* Writes the line as printf does, cut to fit. Returns `code` (a negative errno),
 * so that a function ends with `return failure_set(failure, -EINVAL, ...)`. NULL is allowed. */
int failure_set(struct failure *failure, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
