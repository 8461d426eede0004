#include "cli/reply.h"

#include "base/duration.h"
#include "base/memory.h"
#include "base/utf8.h"

#include <string.h>

#define LONGEST_MS (INT64_C(366) * 86400000)

const char *reply_code(const struct reply *reply)
{
    const char *code = json_string_value(json_object_get(reply->json, "code"));
    return reply->status >= 400 && code ? code : "";
}

/* What batond's codes mean to a caller. A code that is not here counts by its status. */
static const struct {
    const char *code;
    enum status status;
    const char *advice; /* NULL: the detail says it */
} CODES[] = {
    {"locked", STATUS_REFUSED, "Without -n, baton waits for it."},
    {"wait_timeout", STATUS_REFUSED, "Wait longer with -w, or see who holds it with baton show."},
    {"not_held", STATUS_LOST, NULL},
    {"max_held", STATUS_OVERDUE, NULL},
    {"hold_ended", STATUS_REFUSED, "baton show has the present fences."},
    {"unauthorized", STATUS_DENIED,
     "baton sends the key that is in the file of --auth-file or BATON_AUTH_FILE."},
    {"superseded", STATUS_UNANSWERED, NULL}, /* by our own earlier request that arrived late */
    {"invalid_name", STATUS_USAGE, "baton encodes names itself: write them as they are."},
    {"damaged", STATUS_FAULT, "baton break clears it."},
};

static const struct {
    long status;
    enum status means;
} STATUSES[] = {
    {400, STATUS_USAGE},      {401, STATUS_DENIED},     {403, STATUS_DENIED},
    {404, STATUS_CONFIG},     {405, STATUS_CONFIG},     {408, STATUS_UNANSWERED},
    {409, STATUS_REFUSED},    {413, STATUS_USAGE},      {429, STATUS_UNANSWERED},
    {431, STATUS_USAGE},      {501, STATUS_USAGE},      {502, STATUS_UNANSWERED},
    {503, STATUS_UNANSWERED}, {504, STATUS_UNANSWERED},
};

enum status reply_status(const struct reply *reply)
{
    if (reply->signal)
        return (enum status)(128 + reply->signal);
    if (reply->status == 0)
        return reply->is_foreign ? STATUS_CONFIG : STATUS_UNANSWERED;
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

const char *reply_advice(const struct reply *reply)
{
    for (size_t i = 0; i < sizeof CODES / sizeof CODES[0]; i++)
        if (strcmp(CODES[i].code, reply_code(reply)) == 0)
            return CODES[i].advice;
    return NULL;
}

/* A proxy answers for a batond that is down, and a server of another kind may answer anything. */
bool reply_read(struct reply *reply, const char *bytes, size_t length)
{
    reply->json = json_loadb(bytes, length, 0, NULL);
    if (json_is_object(reply->json) && (reply->status < 300 || reply_code(reply)[0]))
        return true;
    json_decref(reply->json);
    reply->json = NULL;
    reply->status = 0;
    return false;
}

void reply_show(const json_t *value, const char *absent, char shown[REPLY_SHOWN])
{
    char number[24];
    const char *text = json_is_string(value) ? json_string_value(value) : absent;
    snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    utf8_show_all(slice_of(json_is_integer(value) ? number : text), shown, REPLY_SHOWN);
}

void reply_write(FILE *to, const char *before, const json_t *value)
{
    char shown[REPLY_SHOWN];
    reply_show(value, NULL, shown);
    if (shown[0])
        fprintf(to, "%s%s", before, shown);
}

bool reply_describe_end(const json_t *end, char text[REPLY_SHOWN])
{
    char ago[DURATION_SPOKEN];
    const json_t *broken = json_object_get(end, "broken");
    const char *reason = json_string_value(json_object_get(end, "reason"));
    if (!reason)
        return false;
    duration_speak(reply_ms(end, "ago_ms"), ago);
    FILE *to = memory_checked(fmemopen(text, REPLY_SHOWN, "w"));
    fputs(broken                            ? "was broken "
          : strcmp(reason, "released") == 0 ? "was released "
                                            : "expired ",
          to);
    fprintf(to, "%s ago", ago);
    reply_write(to, " by ", json_object_get(broken, "principal"));
    reply_write(to, " from ", json_object_get(broken, "client"));
    reply_write(to, ": ", json_object_get(broken, "reason"));
    fclose(to);
    return true;
}

int64_t reply_ms(const json_t *object, const char *member)
{
    json_int_t ms = json_integer_value(json_object_get(object, member));
    return ms < 0 ? 0 : ms < LONGEST_MS ? ms : LONGEST_MS;
}

void reply_free(struct reply *reply)
{
    json_decref(reply->json);
    *reply = (struct reply){0};
}
