#include "cli/problem.h"

#include "base/memory.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum status problem_print(enum status status, const char *format, ...)
{
    va_list arguments;
    char *text = NULL;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "baton: %s\n", (char *)memory_checked(length < 0 ? NULL : text));
    free(text);
    return status;
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

/* The length of the first sentence, and of those behind it up to one for users of HTTP, as in
 * wait=30s: the advice for baton is in CODES. */
static size_t problem_length(const char *detail)
{
    const char *first = strstr(detail, ". "), *end = first ? strchr(first, '=') : NULL;
    const char *repeat = strstr(detail, ". Repeat the request");
    if (repeat && (!end || repeat < end))
        end = repeat + 1;
    if (!end)
        return strlen(detail);
    while (strncmp(--end, ". ", 2) != 0) {
    }
    return (size_t)(end + 1 - detail);
}

/* Writes the part of the detail that is for users of baton: "--max-held: expected ..." where batond
 * has "max_held: expected ...". */
static void problem_describe(const struct reply *reply, const struct options *options,
                             char relevant[REPLY_SHOWN])
{
    const char *detail = json_string_value(json_object_get(reply->json, "detail"));
    const char *field = json_string_value(json_object_get(reply->json, "parameter"));
    const char *option = field ? options_name_of(options, field) : NULL;
    detail = detail ? detail : "";
    size_t renamed = option && strncmp(detail, field, strlen(field)) == 0 ? strlen(field) : 0;
    snprintf(relevant, REPLY_SHOWN, "%s%s%.*s", renamed ? "--" : "", renamed ? option : "",
             (int)problem_length(detail + renamed), detail + renamed);
}

enum status problem_report(const struct reply *reply, const struct options *options,
                           const char *subject)
{
    char name[REPLY_SHOWN], title[REPLY_SHOWN], relevant[REPLY_SHOWN];
    enum status status = reply_status(reply);
    if (status == STATUS_DONE)
        return status;
    if (reply->status == 0) {
        problem_print(status, "no batond answered");
        problem_print_lines(reply->trouble);
        problem_print_lines(
            "Check the URL in --url, BATON_URL or client.conf, and that batond runs.");
        return status;
    }
    reply_show(json_object_get(reply->json, "name"), subject, name);
    reply_show(json_object_get(reply->json, "title"), "", title);
    problem_print(status, "%s%s%s", name, name[0] ? ": " : "", title);
    problem_describe(reply, options, relevant);
    problem_print_lines(relevant);
    problem_print_lines(reply_advice(reply));
    return status;
}
