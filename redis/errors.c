#include "redis/errors.h"

#include <string.h>

#define LENGTH(table) (sizeof(table) / sizeof((table)[0]))

/* Redis gives these before a script runs, or at its first write. A script is not rolled back, so
 * any other error may have come after some of its writes. */
static const struct {
    const char *code;
    enum error_kind kind;
} KINDS[] = {
    {"NOSCRIPT", ERROR_FORGOTTEN},    {"OOM", ERROR_REFUSED},
    {"LOADING", ERROR_REFUSED},       {"MASTERDOWN", ERROR_REFUSED},
    {"BUSY", ERROR_REFUSED},          {"MISCONF", ERROR_REFUSED},
    {"NOREPLICAS", ERROR_REFUSED},    {"NOAUTH", ERROR_WRONG_SERVER},
    {"READONLY", ERROR_WRONG_SERVER}, {"MOVED", ERROR_ELSEWHERE},
    {"ASK", ERROR_ELSEWHERE},         {"TRYAGAIN", ERROR_ELSEWHERE},
    {"CLUSTERDOWN", ERROR_ELSEWHERE}, {"LATE", ERROR_LATE},
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

/* Redis 6.2 wraps what a command in a script answers:
 * "ERR Error running script (call to f_…): @user_script:1: -OOM command not allowed …". */
static const char *unwrap(const char *text)
{
    static const char WRAPPED[] = "ERR Error running script";
    const char *inner = NULL;
    if (strncmp(text, WRAPPED, sizeof WRAPPED - 1) == 0)
        inner = strstr(text, ": -");
    return inner ? inner + 3 : text;
}

enum error_kind error_kind(const char *text)
{
    const char *inner = unwrap(text);
    for (size_t i = 0; i < LENGTH(KINDS); i++)
        if (error_has_code(inner, KINDS[i].code))
            return KINDS[i].kind;
    return ERROR_UNKNOWN;
}

bool error_passes(const char *text)
{
    for (size_t i = 0; i < LENGTH(PASSING); i++)
        if (error_has_code(text, PASSING[i]))
            return true;
    return false;
}
