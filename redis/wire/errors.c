#include "redis/wire/errors.h"

#include <stdio.h>
#include <string.h>

enum { WORDS_SHOWN = 160 };

#define LENGTH(table) (sizeof(table) / sizeof((table)[0]))

/* Redis gives these errors before a script runs, or at its first write. Redis does not roll a
 * script back, so any other error may come after some of its writes. */
static const struct error {
    const char *code;
    enum error_kind kind;
    const char *meaning;
    const char *advice;
} ERRORS[] = {
    {"NOSCRIPT", ERROR_FORGOTTEN, "Redis forgets the scripts of batond again and again",
     "see who runs SCRIPT FLUSH there"},
    {"NOPERM", ERROR_UNKNOWN, "Redis does not let the user of batond do what it has to",
     "give that user the rules of docs/redis.md"},
    {"RIGHTS", ERROR_REFUSED,
     "Redis does not let the user of batond run all commands that it needs",
     "give that user the rules of docs/redis.md"},
    {"WRONGTYPE", ERROR_DAMAGED, "", ""},
    {"OOM", ERROR_REFUSED, "Redis is full", "raise its maxmemory, or wait until locks have ended"},
    {"LOADING", ERROR_REFUSED, "Redis has started and still reads its data", "wait until it has"},
    {"MASTERDOWN", ERROR_REFUSED, "Redis is a replica that has lost its primary",
     "bring that back, or have redis-url name the primary"},
    {"BUSY", ERROR_REFUSED, "a long script keeps Redis busy",
     "wait for its end, or end it by SCRIPT KILL"},
    {"MISCONF", ERROR_REFUSED, "Redis cannot write to its disk, and so takes no changes",
     "see its log, and whether that disk is full"},
    {"NOREPLICAS", ERROR_REFUSED, "Redis has fewer replicas than its min-replicas-to-write",
     "bring some back"},
    {"NOAUTH", ERROR_WRONG_SERVER, "Redis asks for a login now", "give batond a --redis-password"},
    {"READONLY", ERROR_WRONG_SERVER, "this Redis is a replica now, which takes no changes",
     "wait until batond has found the primary; if it does not, see its redis-url"},
    {"MOVED", ERROR_ELSEWHERE, "another node of the Redis Cluster has this name now", "try again"},
    {"ASK", ERROR_ELSEWHERE, "this name is on its way to another node of the Redis Cluster",
     "try again"},
    {"TRYAGAIN", ERROR_ELSEWHERE, "this name is on its way to another node of the Redis Cluster",
     "try again"},
    {"CLUSTERDOWN", ERROR_ELSEWHERE, "a part of the Redis Cluster has no primary",
     "wait until a replica has taken its place, or bring it back"},
    {"LATE", ERROR_LATE, "Redis was too slow", "try again"},
};

static const char *const PASSING[] = {
    "LOADING",
    "BUSY",
    "MASTERDOWN",
    "ERR max number of clients reached",
};

bool error_has_code(const char *text, const char *code)
{
    size_t length = strlen(code);
    return strncmp(text, code, length) == 0 && (text[length] == ' ' || text[length] == '\0');
}

/* Redis 6.2 wraps the error of a command in a script: "ERR Error running script (call to f_…):
 * @user_script:1: -OOM command not allowed …". */
static const char *errors_unwrap(const char *text)
{
    static const char WRAPPED[] = "ERR Error running script";
    const char *inner = NULL;
    if (strncmp(text, WRAPPED, sizeof WRAPPED - 1) == 0)
        inner = strstr(text, ": -");
    return inner ? inner + 3 : text;
}

/* Returns NULL for any other error. */
static const struct error *errors_find(const char *inner)
{
    for (size_t i = 0; i < LENGTH(ERRORS); i++)
        if (error_has_code(inner, ERRORS[i].code))
            return &ERRORS[i];
    return NULL;
}

/* A script fails in Lua only if it reads data that no script of batond writes. Redis 6.2 wraps
 * these errors, too. */
static bool errors_is_of_lua(const char *text)
{
    return strncmp(text, "ERR user_script:", 16) == 0 || strstr(text, ": user_script:") ||
           strstr(text, "hash value is not an integer");
}

enum error_kind error_kind(const char *text)
{
    const struct error *error = errors_find(errors_unwrap(text));
    if (error)
        return error->kind;
    return errors_is_of_lua(text) ? ERROR_DAMAGED : ERROR_UNKNOWN;
}

/* Leaves out the script's line and hash, which newer versions of Redis add. */
void error_explain_damage(const char *text, char *ret, size_t size)
{
    const char *inner = errors_unwrap(text), *end = strstr(inner, " script: ");
    size_t length = end ? (size_t)(end - inner) : strlen(inner);
    while (length > 0 && inner[length - 1] == '.')
        length--;
    snprintf(ret, size, "what Redis keeps of it cannot be read (Redis says: %.*s)",
             (int)(length < WORDS_SHOWN ? length : WORDS_SHOWN), inner);
}

void error_explain(const char *text, char *ret, size_t size)
{
    const char *inner = errors_unwrap(text);
    const struct error *error = errors_find(inner);
    size_t length = strnlen(inner, WORDS_SHOWN);
    if (length > 0 && inner[length - 1] == '.')
        length--;
    snprintf(ret, size, "%s, so nothing was done: %s (Redis says: %.*s)",
             error ? error->meaning : "Redis has refused it",
             error ? error->advice : "see the log of Redis", (int)length, inner);
}

bool error_passes(const char *text)
{
    for (size_t i = 0; i < LENGTH(PASSING); i++)
        if (error_has_code(text, PASSING[i]))
            return true;
    return false;
}
