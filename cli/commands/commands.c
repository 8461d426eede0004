/* What the commands share: the path of the names, and requests whose replies are printed. */
#include "cli/commands/commands.h"

#include "base/duration.h"
#include "base/memory.h"
#include "cli/commands/print.h"
#include "cli/problem.h"

#include <string.h>

char *command_path(const struct options *options, json_t *body)
{
    if (options->name_count == 1)
        return client_path(options->names[0], "");
    /* A body with one that is not UTF-8 is sent empty, and refused. */
    json_t *names = memory_checked(json_array());
    for (size_t i = 0; i < options->name_count; i++)
        json_array_append_new(names, json_string_nocheck(options->names[i]));
    json_object_set_new(body, "names", names);
    return memory_checked(strdup("/locks"));
}

json_t *command_number(int64_t number)
{
    return number ? json_integer(number) : NULL;
}

json_t *command_duration(int64_t ms)
{
    char text[DURATION_TEXT];
    duration_format(ms, text);
    return ms ? json_string(text) : NULL;
}

enum status command_ask(struct context *context, struct request request, const char *subject,
                        print_function *print)
{
    char *first = request.path, *cursor = NULL;
    enum status status;
    do {
        const char *const fields[] = {"cursor", cursor, NULL};
        request.path = client_query(memory_checked(strdup(first)), fields);
        struct reply reply = client_send(context->client, &request);
        status = problem_report(&reply, subject);
        if (status == STATUS_DONE)
            print_reply(context, &reply, subject, print);
        const char *next = json_string_value(json_object_get(reply.json, "cursor"));
        free(cursor);
        cursor = status == STATUS_DONE && next ? memory_checked(strdup(next)) : NULL;
        reply_free(&reply);
        free(request.path);
    } while (cursor);
    free(first);
    return status;
}
