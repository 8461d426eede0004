/* errors.h: what an error reply of Redis means for the script that was to run. */
#ifndef BATON_REDIS_WIRE_ERRORS_H
#define BATON_REDIS_WIRE_ERRORS_H

#include <stdbool.h>
#include <stddef.h>

enum error_kind {
    ERROR_UNKNOWN,      /* the script may have written something before it failed */
    ERROR_FORGOTTEN,    /* NOSCRIPT: Redis does not have the script (any more) */
    ERROR_DAMAGED,      /* the same, because it cannot read what is stored under its key */
    ERROR_REFUSED,      /* given before a script's first write: nothing was changed */
    ERROR_LATE,         /* the same: the script itself says that it came too late */
    ERROR_ELSEWHERE,    /* the same, of a Cluster: another node serves the key, or none now */
    ERROR_WRONG_SERVER, /* the same, and this connection will go on refusing: find another */
};

/* `text` is the reply without its leading '-'. */
enum error_kind error_kind(const char *text);

/* Writes for whoever hears that a script was refused what this means and what to do, and behind
 * that Redis' own words. */
void error_explain(const char *text, char *ret, size_t size);

/* Writes the same of an error of the kind ERROR_DAMAGED: it says no more than Redis does. */
void error_explain_damage(const char *text, char *ret, size_t size);

/* Whether a greeting (AUTH, SELECT, INFO) that was refused so may succeed later by itself. */
bool error_passes(const char *text);

/* Whether `text` begins with the error code `code`. */
bool error_has_code(const char *text, const char *code);

#endif
