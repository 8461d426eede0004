#include "cli/commands/print.h"

#include "base/duration.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void print_json(const json_t *object)
{
    const json_t *locks = json_object_get(object, "locks"), *lock;
    size_t i;
    json_array_foreach (locks, i, lock)
        print_json(lock);
    if (json_is_array(locks))
        return;
    json_dumpf(object, stdout, JSON_COMPACT);
    putchar('\n');
}

void print_reply(struct context *context, const struct reply *reply, print_function *print)
{
    int64_t skipped = json_integer_value(json_object_get(reply->json, "skipped"));
    json_t *lock;
    size_t i;
    context->is_held |= json_array_size(json_object_get(reply->json, "holders")) > 0;
    if (context->is_silent)
        return;
    json_object_del(reply->json, "token");
    json_array_foreach (json_object_get(reply->json, "locks"), i, lock)
        json_object_del(lock, "token");
    if (context->options->json)
        print_json(reply->json);
    else if (print)
        print(context, reply->json);
    fflush(stdout);
    if (skipped > 0)
        fprintf(stderr, "baton: %" PRId64 " locks cannot be read; the log of batond names them\n",
                skipped);
}

static void print_shown(const json_t *value, const char *absent)
{
    char shown[REPLY_SHOWN];
    reply_show(value, absent, shown);
    fputs(shown, stdout);
}

void print_broken(struct context *context, const json_t *reply)
{
    const json_t *one;
    size_t i;
    json_int_t count = json_integer_value(json_object_get(reply, "broken"));
    printf("%s: ended %" JSON_INTEGER_FORMAT " hold%s", context->subject, count,
           count == 1 ? "" : "s");
    json_array_foreach (json_object_get(reply, "holders"), i, one) {
        reply_write(stdout, i > 0 ? ", " : ", of ", json_object_get(one, "owner"));
        reply_write(stdout, " (fence ", json_object_get(one, "fence"));
        putchar(')');
    }
    putchar('\n');
}

void print_caller(struct context *context, const json_t *caller)
{
    const json_t *rule, *verb;
    size_t i, j;
    (void)context;
    print_shown(json_object_get(caller, "principal"), "anybody (this batond has no tokens-file)");
    reply_write(stdout, " from ", json_object_get(caller, "client"));
    reply_write(stdout, ", batond ", json_object_get(caller, "version"));
    putchar('\n');
    json_array_foreach (json_object_get(caller, "rules"), i, rule) {
        const json_t *prefix = json_object_get(rule, "prefix");
        fputs("  ", stdout);
        print_shown(json_string_length(prefix) > 0 ? prefix : NULL, "all names");
        json_array_foreach (json_object_get(rule, "verbs"), j, verb)
            reply_write(stdout, j > 0 ? ", " : ": ", verb);
        putchar('\n');
    }
}

/* The two greatest units of a time, or its milliseconds below a second. An absent one is "-". */
static void print_time(const json_t *value, char text[DURATION_TEXT])
{
    int64_t ms = json_integer_value(value), unit = ms < 3600000 ? 60000 : 3600000;
    if (!json_is_integer(value) || ms < 0)
        snprintf(text, DURATION_TEXT, "-");
    else if (ms < 60000)
        duration_format(ms < 1000 ? ms : ms - ms % 1000, text);
    else
        snprintf(text, DURATION_TEXT, "%" PRId64 "%c%02d%c", ms / unit, unit == 60000 ? 'm' : 'h',
                 (int)(ms % unit * 60 / unit), unit == 60000 ? 's' : 'm');
}

/* A row for a holder, a waiter, or (NULL) neither. */
static void print_add(struct context *context, const json_t *lock, const char *state,
                      const json_t *one, const char *since)
{
    char name[REPLY_SHOWN], owner[REPLY_SHOWN], client[REPLY_SHOWN], fence[REPLY_SHOWN];
    char lasted[DURATION_TEXT], left[DURATION_TEXT];
    reply_show(json_object_get(lock, "name"), "-", name);
    reply_show(json_object_get(one, "owner"), "-", owner);
    reply_show(json_object_get(one, "client"), "-", client);
    reply_show(json_object_get(one, "fence"), "-", fence);
    print_time(json_object_get(one, since), lasted);
    print_time(json_object_get(one, "ttl_ms"), left);
    table_add(&context->table,
              json_pack("[s, s, s, s, s, s, s]", name, state, owner, client, fence, lasted, left));
}

/* Who broke the hold that ended last, and why. */
static void print_add_break(struct context *context, const json_t *release)
{
    char end[REPLY_SHOWN], owner[REPLY_SHOWN], line[3 * REPLY_SHOWN];
    if (!json_object_get(release, "broken") || !reply_describe_end(release, end))
        return;
    reply_show(json_object_get(release, "owner"), "", owner);
    snprintf(line, sizeof line, "  the hold%s%s %s", owner[0] ? " of " : "", owner, end);
    table_add(&context->table, json_string_nocheck(line)); /* it may be cut */
}

/* For a semaphore: how much of its limit is taken. */
static void print_state(const json_t *lock, const json_t *holder, char state[REPLY_SHOWN])
{
    const json_t *limit = json_object_get(lock, "limit");
    if (json_is_true(json_object_get(holder, "released")))
        snprintf(state, REPLY_SHOWN, "released");
    else if (json_is_integer(limit))
        snprintf(state, REPLY_SHOWN, "%" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT,
                 json_integer_value(json_object_get(lock, "taken")), json_integer_value(limit));
    else
        reply_show(json_object_get(holder, "mode"), "-", state);
}

void print_lock(struct context *context, const json_t *lock)
{
    const json_t *holders = json_object_get(lock, "holders"), *one;
    char state[REPLY_SHOWN];
    size_t i;
    if (json_array_size(holders) == 0)
        print_add(context, lock, "free", NULL, "");
    json_array_foreach (holders, i, one) {
        print_state(lock, one, state);
        print_add(context, lock, state, one, "held_ms");
    }
    json_array_foreach (json_object_get(lock, "waiters"), i, one)
        print_add(context, lock, "waiting", one, "waited_ms");
    print_add_break(context, json_object_get(lock, "last_release"));
}

void print_keep(struct context *context, const json_t *page)
{
    if (!context->locks)
        context->locks = memory_checked(json_array());
    json_array_extend(context->locks, json_object_get(page, "locks"));
}

static int print_compare(const void *a, const void *b)
{
    const char *first = json_string_value(json_object_get(*(json_t *const *)a, "name"));
    const char *second = json_string_value(json_object_get(*(json_t *const *)b, "name"));
    return strcmp(first ? first : "", second ? second : "");
}

void print_list(struct context *context)
{
    size_t count = json_array_size(context->locks);
    json_t **locks = memory_checked(calloc(count + 1, sizeof(json_t *)));
    for (size_t i = 0; i < count; i++)
        locks[i] = json_array_get(context->locks, i);
    qsort(locks, count, sizeof(json_t *), print_compare);
    for (size_t i = 0; i < count; i++)
        print_lock(context, locks[i]);
    free(locks);
}
