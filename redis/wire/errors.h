/* errors.h: what an error reply of Redis means for the script that was sent. */
#ifndef BATON_REDIS_WIRE_ERRORS_H
#define BATON_REDIS_WIRE_ERRORS_H

#include <stdbool.h>
#include <stddef.h>

enum error_kind {
    ERROR_UNKNOWN,      /* the script may have written something before it failed */
    ERROR_FORGOTTEN,    /* Redis does not have the function, or no longer has it */
    ERROR_FULL,         /* as ERROR_REFUSED: Redis has no memory for what may be new */
    ERROR_DAMAGED,      /* as ERROR_UNKNOWN: the script cannot read what is stored under its key */
    ERROR_REFUSED,      /* Redis refused before the script's first write: nothing was changed */
    ERROR_LATE,         /* as ERROR_REFUSED: the script itself says that it came too late */
    ERROR_ELSEWHERE,    /* as ERROR_REFUSED, in a Cluster: another node or none serves the key */
    ERROR_WRONG_SERVER, /* as ERROR_REFUSED, and so will every call here: find another server */
};

/* `text` is the reply without its leading '-'. */
enum error_kind error_kind(const char *text);

/* Writes what the refusal of a script means, what to do, and then the words of Redis; for the
 * client. */
void error_explain(const char *text, char *ret, size_t size);

/* Writes the same for ERROR_DAMAGED: it has no advice, only the words of Redis. */
void error_explain_damage(const char *text, char *ret, size_t size);

/* Whether a step of the greeting (AUTH, SELECT, INFO) that got this error may succeed later by
 * itself. */
bool error_passes(const char *text);

/* Whether `text` begins with the error code `code`. */
bool error_has_code(const char *text, const char *code);

#endif
