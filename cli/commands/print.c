#include "cli/commands/print.h"

#include "base/duration.h"
#include "base/utf8.h"
#include "cli/client.h"

#include <stdio.h>

enum { CELL_TEXT = 1600 };

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
    fflush(stdout);
}

void print_broken(const char *subject, json_int_t count, const json_t *holders)
{
    const json_t *one;
    size_t i;
    printf("%s: ended %" JSON_INTEGER_FORMAT " hold%s", subject, count, count == 1 ? "" : "s");
    json_array_foreach (holders, i, one) {
        char owner[CELL_TEXT];
        const char *text = json_string_value(json_object_get(one, "owner"));
        utf8_show_all(slice_of(text ? text : ""), owner, sizeof owner);
        printf("%s%s (fence %" JSON_INTEGER_FORMAT ")", i > 0 ? ", " : ", of ", owner,
               json_integer_value(json_object_get(one, "fence")));
    }
    putchar('\n');
}

static void print_shown(const json_t *object, const char *member, const char *absent)
{
    char shown[CELL_TEXT];
    const char *text = json_string_value(json_object_get(object, member));
    utf8_show_all(slice_of(text ? text : absent), shown, sizeof shown);
    fputs(shown, stdout);
}

void print_caller(const json_t *caller)
{
    const json_t *rule, *verb;
    size_t i, j;
    print_shown(caller, "principal", "anybody (this batond has no tokens-file)");
    fputs(" from ", stdout);
    print_shown(caller, "client", "");
    fputs(", batond ", stdout);
    print_shown(caller, "version", "");
    putchar('\n');
    json_array_foreach (json_object_get(caller, "rules"), i, rule) {
        const char *prefix = json_string_value(json_object_get(rule, "prefix"));
        fputs("  ", stdout);
        print_shown(rule, prefix && *prefix ? "prefix" : "", "all names");
        json_array_foreach (json_object_get(rule, "verbs"), j, verb)
            printf("%s%s", j > 0 ? ", " : ": ", json_string_value(verb));
        putchar('\n');
    }
}

void print_heading(void)
{
    printf("%-24s %-9s %-28s %-15s %-17s %8s %8s\n", "NAME", "STATE", "OWNER", "CLIENT", "FENCE",
           "FOR", "LEFT");
}

/* Whole seconds, or the milliseconds of a time below that. An absent one is "-". */
static void print_time(const json_t *object, const char *member)
{
    char text[DURATION_TEXT] = "-";
    const json_t *value = json_object_get(object, member);
    int64_t ms = json_integer_value(value);
    if (json_is_integer(value) && ms >= 0)
        duration_format(ms < 1000 ? ms : ms - ms % 1000, text);
    printf(" %8s", text);
}

static void print_text(const json_t *object, const char *member, int width)
{
    char shown[CELL_TEXT];
    const char *text = json_string_value(json_object_get(object, member));
    utf8_show_all(slice_of(text ? text : "-"), shown, sizeof shown);
    printf("%-*s ", width, shown);
}

static void print_fence(const json_t *hold)
{
    if (json_is_integer(hold))
        printf("%-17" JSON_INTEGER_FORMAT, json_integer_value(hold));
    else
        printf("%-17s", "-");
}

/* A line for a holder, a waiter, or (NULL) nobody. */
static void print_line(const json_t *lock, const char *state, const json_t *one, const char *since)
{
    print_text(lock, "name", 24);
    printf("%-9s ", state);
    print_text(one, "owner", 28);
    print_text(one, "client", 15);
    print_fence(json_object_get(one, "fence"));
    print_time(one, since);
    print_time(one, "ttl_ms");
    putchar('\n');
}

static void print_after(const char *before, const json_t *object, const char *member)
{
    if (!json_is_string(json_object_get(object, member)))
        return;
    fputs(before, stdout);
    print_shown(object, member, "");
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
    print_after(" of ", release, "owner");
    printf(" was broken %s ago", ago);
    print_after(" by ", broken, "principal");
    print_after(" from ", broken, "client");
    print_after(": ", broken, "reason");
    putchar('\n');
}

void print_lock(const json_t *lock)
{
    const json_t *holders = json_object_get(lock, "holders"),
                 *waiters = json_object_get(lock, "waiters"), *one;
    size_t i;
    if (json_array_size(holders) == 0)
        print_line(lock, "free", NULL, "");
    json_array_foreach (holders, i, one) {
        const char *mode = json_string_value(json_object_get(one, "mode"));
        const char *state = mode && mode[0] == 's' ? "shared" : "exclusive";
        bool is_released = json_is_true(json_object_get(one, "released"));
        print_line(lock, is_released ? "released" : state, one, "held_ms");
    }
    json_array_foreach (waiters, i, one)
        print_line(lock, "waiting", one, "waited_ms");
    print_break(json_object_get(lock, "last_release"));
    fflush(stdout);
}
