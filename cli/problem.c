#include "cli/problem.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum status problem_print(enum status status, const char *format, ...)
{
    va_list arguments;
    flockfile(stderr); /* the thread that renews prints as well */
    fputs("baton: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    funlockfile(stderr);
    return status;
}

/* What batond's codes mean to a caller. A code that is not here counts by its status. */
static const struct {
    const char *code;
    enum status status;
    const char *advice; /* NULL: the detail says it */
} CODES[] = {
    {"locked", STATUS_REFUSED, "Without -n, baton acquire waits for it."},
    {"wait_timeout", STATUS_REFUSED, "Wait longer with -w, or see who holds it with baton show."},
    {"not_held", STATUS_LOST, NULL},
    {"max_held", STATUS_OVERDUE, NULL},
    {"hold_ended", STATUS_REFUSED, "baton show tells the fences of now."},
    {"unauthorized", STATUS_DENIED,
     "Name the file of your API key with --auth-file or BATON_AUTH_FILE."},
    {"quarantined", STATUS_REFUSED, NULL},
    {"invalid_name", STATUS_USAGE, "baton encodes names itself: write them as they are."},
    {"damaged", STATUS_FAULT, "baton break clears it."},
};

static const struct {
    long status;
    enum status means;
} STATUSES[] = {
    {400, STATUS_USAGE},      {401, STATUS_DENIED},     {403, STATUS_DENIED},
    {404, STATUS_CONFIG},     {405, STATUS_CONFIG},     {409, STATUS_REFUSED},
    {413, STATUS_USAGE},      {429, STATUS_REFUSED},    {431, STATUS_USAGE},
    {501, STATUS_USAGE},      {502, STATUS_UNANSWERED}, {503, STATUS_UNANSWERED},
    {504, STATUS_UNANSWERED},
};

enum status problem_status(const struct reply *reply)
{
    if (reply->status == 0)
        return STATUS_UNANSWERED;
    if (reply->status < 300)
        return STATUS_DONE;
    for (size_t i = 0; i < sizeof CODES / sizeof CODES[0]; i++)
        if (strcmp(CODES[i].code, reply_code(reply)) == 0)
            return CODES[i].status;
    for (size_t i = 0; i < sizeof STATUSES / sizeof STATUSES[0]; i++)
        if (STATUSES[i].status == reply->status)
            return STATUSES[i].means;
    return STATUS_FAULT;
}

static const char *problem_advice(const char *code)
{
    for (size_t i = 0; i < sizeof CODES / sizeof CODES[0]; i++)
        if (strcmp(CODES[i].code, code) == 0)
            return CODES[i].advice;
    return NULL;
}

/* Each line of a text, with an indent, so that a terminal is safe from what a server sends. */
static void problem_print_lines(const char *text)
{
    char shown[REPLY_SHOWN];
    while (text && *text) {
        size_t length = strcspn(text, "\n");
        utf8_show_all((struct slice){text, length}, shown, sizeof shown);
        fprintf(stderr, "  %s\n", shown);
        text += length + (text[length] == '\n');
    }
}

/* The first sentence, and those behind it up to one with a parameter of HTTP, as in wait=30s: the
 * advice for baton is in CODES. */
static size_t problem_length(const char *detail)
{
    const char *first = strstr(detail, ". "), *end = first ? strchr(first, '=') : NULL;
    if (!end)
        return strlen(detail);
    while (strncmp(--end, ". ", 2) != 0) {
    }
    return (size_t)(end + 1 - detail);
}

enum status problem_report(const struct reply *reply, const char *subject)
{
    char name[REPLY_SHOWN], title[REPLY_SHOWN], relevant[REPLY_SHOWN];
    enum status status = problem_status(reply);
    if (status == STATUS_DONE)
        return status;
    if (reply->status == 0) {
        problem_print(status, "no batond answered");
        problem_print_lines(reply->trouble);
        problem_print_lines(
            "Check the URL in --url, BATON_URL or client.conf, and that batond runs.");
        return status;
    }
    const char *detail = json_string_value(json_object_get(reply->json, "detail"));
    reply_show(json_object_get(reply->json, "name"), subject, name);
    reply_show(json_object_get(reply->json, "title"), "", title);
    problem_print(status, "%s%s%s", name, name[0] ? ": " : "", title);
    snprintf(relevant, sizeof relevant, "%.*s", detail ? (int)problem_length(detail) : 0, detail);
    problem_print_lines(relevant);
    problem_print_lines(problem_advice(reply_code(reply)));
    return status;
}
