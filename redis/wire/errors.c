#include "redis/wire/errors.h"

#include "redis/types/result.h"

#include <stdio.h>
#include <string.h>

enum { WORDS_SHOWN = 160 };

#define LENGTH(table) (sizeof(table) / sizeof((table)[0]))

#define KNOW_THEM                                                                                  \
    "Take it out of the rename-command lines of Redis, or use a Redis or Valkey that has it "      \
    "(docs/redis.md)"

/* Redis gives these errors before a function runs, or at its first write. Redis does not roll a
 * function back, so any other error may come after some of its writes. */
static const struct error {
    const char *code;
    enum error_kind kind;
    const char *meaning;
    const char *advice;
} ERRORS[] = {
    {"ERR Function not found", ERROR_FORGOTTEN,
     "Redis forgets the functions of batond again and again",
     "Find the client that runs FUNCTION FLUSH or FUNCTION DELETE there"},
    {"NOPERM", ERROR_UNKNOWN, "Redis does not allow the user of batond all that it needs",
     "Give that user the rules of docs/redis.md"},
    {"RIGHTS", ERROR_REFUSED, "Redis does not allow the user of batond all that it needs",
     "Add the rules after RIGHTS to that user by ACL SETUSER (docs/redis.md has all rules)"},
    {"COMMANDS", ERROR_REFUSED, "Redis does not know all commands that batond needs", KNOW_THEM},
    {"ERR unknown command", ERROR_REFUSED, "Redis does not know a command that batond needs",
     KNOW_THEM},
    {"WRONGTYPE", ERROR_DAMAGED, "", ""},
    {"OOM", ERROR_FULL, "Redis is full", "Raise its maxmemory, or wait until locks have ended"},
    {"LOADING", ERROR_REFUSED, "Redis has just started and still reads its data",
     "Wait until it is ready"},
    {"MASTERDOWN", ERROR_REFUSED, "Redis is a replica that has lost its primary",
     "Start the primary again, or let redis-url name it"},
    {"BUSY", ERROR_REFUSED, "a long script keeps Redis busy",
     "Wait for its end, or end it with FUNCTION KILL or SCRIPT KILL"},
    {"MISCONF", ERROR_REFUSED, "Redis cannot write to its disk and accepts no changes",
     "See its log, and whether the disk is full"},
    {"NOREPLICAS", ERROR_REFUSED, "Redis has fewer replicas than its min-replicas-to-write",
     "Start them again"},
    {"NOAUTH", ERROR_WRONG_SERVER, "Redis asks for a login now", "Give batond a --redis-password"},
    {"READONLY", ERROR_WRONG_SERVER, "this Redis is a replica now and accepts no changes",
     "Wait until batond has found the primary. If it does not, check redis-url"},
    {"MOVED", ERROR_ELSEWHERE, "another node of the Redis Cluster has this name now", "Try again"},
    {"ASK", ERROR_ELSEWHERE, "this name is moving to another node of the Redis Cluster",
     "Try again"},
    {"TRYAGAIN", ERROR_ELSEWHERE, "this name is moving to another node of the Redis Cluster",
     "Try again"},
    {"CLUSTERDOWN", ERROR_ELSEWHERE, "a part of the Redis Cluster has no primary",
     "Wait until a replica has taken its place, or start the primary again"},
    {"LATE", ERROR_LATE, "Redis was too slow", "Try again"},
    {"FORMAT", ERROR_REFUSED, "another release of batond has written this",
     "Use that release, or see docs/deploy.md"},
};

/* A node of a Cluster adds "+ cluster connections" to the last one. */
static const char *const PASSING[] = {
    "LOADING",
    "BUSY",
    "MASTERDOWN",
    "ERR max number of clients",
};

bool error_has_code(const char *text, const char *code)
{
    size_t length = strlen(code);
    return strncmp(text, code, length) == 0 && (text[length] == ' ' || text[length] == '\0');
}

/* Returns NULL for any other error. */
static const struct error *errors_find(const char *text)
{
    for (size_t i = 0; i < LENGTH(ERRORS); i++)
        if (error_has_code(text, ERRORS[i].code))
            return &ERRORS[i];
    return NULL;
}

/* A function fails in Lua only if it reads data that no function of batond writes. */
static bool errors_is_of_lua(const char *text)
{
    return strncmp(text, "ERR user_function:", 18) == 0 ||
           strncmp(text, "user_function:", 14) == 0 || strstr(text, "hash value is not an integer");
}

/* Redis has refused the call itself, not a command in the function, which might have written
 * something before. */
static bool errors_is_before_function(const char *text)
{
    return error_has_code(text, "NOPERM") && !strstr(text, " script: ");
}

enum error_kind error_kind(const char *text)
{
    const struct error *error = errors_find(text);
    if (errors_is_before_function(text))
        return ERROR_REFUSED;
    if (error)
        return error->kind;
    return errors_is_of_lua(text) ? ERROR_DAMAGED : ERROR_UNKNOWN;
}

/* The words of Redis without the place in the library or the arguments, which it adds. */
static int errors_words(const char *text)
{
    const char *end = strstr(text, " script: "), *arguments = strstr(text, ", with args ");
    if (!end || (arguments && arguments < end))
        end = arguments;
    size_t length = end ? (size_t)(end - text) : strlen(text);
    while (length > 0 && text[length - 1] == '.')
        length--;
    return (int)(length < WORDS_SHOWN ? length : WORDS_SHOWN);
}

void error_explain_damage(const char *text, char *ret, size_t size)
{
    snprintf(ret, size, STORE_UNREADABLE " (Redis says: %.*s)", errors_words(text), text);
}

/* "FORMAT <kind of record> <version found> <version known>", see
 * locks/scripts/shared/01-formats.lua. Returns whether the text is that. */
static bool errors_explain_format(const char *text, char *ret, size_t size)
{
    char kind[16], what[64] = "the epoch of this Redis";
    unsigned found, known;
    if (sscanf(text, "FORMAT %15[a-z] %u %u", kind, &found, &known) != 3)
        return false;
    if (strcmp(kind, "epoch") != 0)
        snprintf(what, sizeof what, "the %s of this name in Redis", kind);
    if (found == 0)
        snprintf(ret, size,
                 "%s is of release 0.1 of batond, and this release cannot read it (it knows format "
                 "%u), so nothing was done. Use release 0.1, or see docs/deploy.md",
                 what, known);
    else
        snprintf(ret, size,
                 "%s has format %u, but this release of batond knows format %u, so nothing was "
                 "done. Use the %s release that wrote it, or see docs/deploy.md",
                 what, found, known, found > known ? "newer" : "older");
    return true;
}

void error_explain(const char *text, char *ret, size_t size)
{
    const struct error *error = errors_find(text);
    if (errors_explain_format(text, ret, size))
        return;
    snprintf(ret, size, "%s, so nothing was done. %s (Redis says: %.*s)",
             error ? error->meaning : "Redis has refused the request",
             error ? error->advice : "See the log of Redis", errors_words(text), text);
}

bool error_passes(const char *text)
{
    for (size_t i = 0; i < LENGTH(PASSING); i++)
        if (error_has_code(text, PASSING[i]))
            return true;
    return false;
}
