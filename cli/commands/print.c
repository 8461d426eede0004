#include "cli/commands/print.h"

#include "base/duration.h"

#include <inttypes.h>
#include <stdio.h>

static void print_object(const json_t *object)
{
    json_dumpf(object, stdout, JSON_COMPACT);
    putchar('\n');
}

void print_json(const json_t *object)
{
    const json_t *locks = json_object_get(object, "locks"), *lock;
    size_t i;
    if (!json_is_array(locks))
        print_object(object);
    json_array_foreach (locks, i, lock)
        print_object(lock);
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

/* In a column of this width; 0: without a space behind it. */
static void print_shown(const json_t *value, const char *absent, int width)
{
    char shown[REPLY_SHOWN];
    reply_show(value, absent, shown);
    printf("%-*s%s", width, shown, width ? " " : "");
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
    print_shown(json_object_get(caller, "principal"), "anybody (this batond has no tokens-file)",
                0);
    reply_write(stdout, " from ", json_object_get(caller, "client"));
    reply_write(stdout, ", batond ", json_object_get(caller, "version"));
    putchar('\n');
    json_array_foreach (json_object_get(caller, "rules"), i, rule) {
        const json_t *prefix = json_object_get(rule, "prefix");
        fputs("  ", stdout);
        print_shown(json_string_length(prefix) > 0 ? prefix : NULL, "all names", 0);
        json_array_foreach (json_object_get(rule, "verbs"), j, verb)
            reply_write(stdout, j > 0 ? ", " : ": ", verb);
        putchar('\n');
    }
}

/* Whole seconds, or the milliseconds of a time below that. An absent one is "-". */
static void print_time(const json_t *object, const char *member, char behind)
{
    char text[DURATION_TEXT] = "-";
    const json_t *value = json_object_get(object, member);
    int64_t ms = json_integer_value(value);
    if (json_is_integer(value) && ms >= 0)
        duration_format(ms < 1000 ? ms : ms - ms % 1000, text);
    printf("%8s%c", text, behind);
}

/* A line for a holder, a waiter, or (NULL) nobody. */
static void print_line(const json_t *lock, const char *state, const json_t *one, const char *since)
{
    print_shown(json_object_get(lock, "name"), "-", 24);
    printf("%-9s ", state);
    print_shown(json_object_get(one, "owner"), "-", 28);
    print_shown(json_object_get(one, "client"), "-", 15);
    print_shown(json_object_get(one, "fence"), "-", 17);
    print_time(one, since, ' ');
    print_time(one, "ttl_ms", '\n');
}

/* Who broke the hold that ended last, and why. */
static void print_break(const json_t *release)
{
    char ago[DURATION_SPOKEN];
    const json_t *broken = json_object_get(release, "broken");
    if (!broken)
        return;
    duration_speak(reply_ms(release, "ago_ms"), ago);
    fputs("  the hold", stdout);
    reply_write(stdout, " of ", json_object_get(release, "owner"));
    printf(" was broken %s ago", ago);
    reply_write(stdout, " by ", json_object_get(broken, "principal"));
    reply_write(stdout, " from ", json_object_get(broken, "client"));
    reply_write(stdout, ": ", json_object_get(broken, "reason"));
    putchar('\n');
}

static void print_heading(struct context *context)
{
    if (!context->has_heading)
        printf("%-24s %-9s %-28s %-15s %-17s %8s %8s\n", "NAME", "STATE", "OWNER", "CLIENT",
               "FENCE", "FOR", "LEFT");
    context->has_heading = true;
}

void print_lock(struct context *context, const json_t *lock)
{
    const json_t *holders = json_object_get(lock, "holders"), *one;
    size_t i;
    print_heading(context);
    if (json_array_size(holders) == 0)
        print_line(lock, "free", NULL, "");
    json_array_foreach (holders, i, one) {
        const char *mode = json_string_value(json_object_get(one, "mode"));
        const char *state = mode && mode[0] == 's' ? "shared" : "exclusive";
        bool is_released = json_is_true(json_object_get(one, "released"));
        print_line(lock, is_released ? "released" : state, one, "held_ms");
    }
    json_array_foreach (json_object_get(lock, "waiters"), i, one)
        print_line(lock, "waiting", one, "waited_ms");
    print_break(json_object_get(lock, "last_release"));
}

void print_page(struct context *context, const json_t *page)
{
    const json_t *lock;
    size_t i;
    print_heading(context);
    json_array_foreach (json_object_get(page, "locks"), i, lock)
        print_lock(context, lock);
}
