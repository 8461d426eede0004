#include "tests/bench/options.h"

#include <err.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

enum kind { URL, LABEL, WATCH, TEXT, NUMBER };

static const struct row {
    const char *name;
    enum kind kind;
    size_t offset;
    const char *standard;
    const char *help;
} ROWS[] = {
#define AT(member) offsetof(struct options, member)
    {"url", URL, 0, NULL, "of a batond, as http://ADDRESS:PORT; may be given several times"},
    {"label", LABEL, 0, NULL, "what the figures call it; given as often"},
    {"redis", TEXT, AT(redis), NULL, "the Redis that they use: ADDRESS:PORT or a socket's path"},
    {"exchange", TEXT, AT(exchange), NULL,
     "pairs, contest: the file that says what to ask; see exchange.h"},
    {"fresh", NUMBER, AT(fresh), "0", "pairs: 1 for a name that nobody has used in each turn"},
    {"watch", WATCH, 0, NULL,
     "pairs: NAME=PID, whose CPU time to tell; may be given several times"},
    {"pid", NUMBER, AT(pid), "0", "of the first batond: whose cost to read"},
    {"count", NUMBER, AT(count), "1000", "hand-overs"},
    {"pause", NUMBER, AT(pause_ms), "20", "how long, in ms, all is quiet before each of them"},
    {"names", NUMBER, AT(names), "1", "park: names that are waited for"},
    {"waiters", NUMBER, AT(waiters), "1", "clients that wait for each name"},
    {"wait", TEXT, AT(wait), "50s", "how long they wait at most; see batond's --max-wait"},
    {"clients", NUMBER, AT(clients), "64",
     "contend: clients that want the lock; pairs, contest: connections"},
    {"seconds", NUMBER, AT(seconds), "3",
     "contend, pairs, contest: how long each takes; park: how long to do nothing"},
#undef AT
};

enum { ROW_COUNT = sizeof ROWS / sizeof *ROWS };

static void add(const char **list, size_t most, size_t *count, const char *value)
{
    if (*count == most)
        errx(2, "\"%s\" is one too many", value);
    list[(*count)++] = value;
}

static int64_t number(const struct row *row, const char *value)
{
    char *end;
    long long result = strtoll(value, &end, 10);
    if (end == value || *end || result < 0 || result > INT32_MAX)
        errx(2, "--%s: \"%s\" is no number that will do", row->name, value);
    return result;
}

static void set(struct options *options, const struct row *row, const char *value)
{
    void *place = (char *)options + row->offset;
    switch (row->kind) {
    case URL:
        add(options->urls, OPTIONS_URLS, &options->url_count, value);
        break;
    case LABEL:
        add(options->labels, OPTIONS_URLS, &options->label_count, value);
        break;
    case WATCH:
        add(options->watched, OPTIONS_WATCHED, &options->watched_count, value);
        break;
    case TEXT:
        *(const char **)place = value;
        break;
    case NUMBER:
        *(int64_t *)place = number(row, value);
        break;
    }
}

void options_read(struct options *options, int argc, char **argv)
{
    struct option known[ROW_COUNT + 1] = {{0}};
    *options = (struct options){0};
    for (size_t i = 0; i < ROW_COUNT; i++) {
        known[i] = (struct option){ROWS[i].name, required_argument, NULL, 0};
        if (ROWS[i].standard)
            set(options, &ROWS[i], ROWS[i].standard);
    }
    int index, result;
    while ((result = getopt_long(argc, argv, "", known, &index)) == 0)
        set(options, &ROWS[index], optarg);
    if (result != -1 || optind < argc)
        errx(2, "see load --help");
    for (size_t i = options->label_count; i < options->url_count; i++)
        options->labels[i] = options->urls[i];
}

void options_help(void)
{
    for (size_t i = 0; i < ROW_COUNT; i++)
        printf("  --%-13s %s%s%s%s\n", ROWS[i].name, ROWS[i].help, ROWS[i].standard ? " (" : "",
               ROWS[i].standard ? ROWS[i].standard : "", ROWS[i].standard ? ")" : "");
}

void options_need(const struct options *options, size_t urls, int redis, int pid)
{
    if (options->url_count < urls)
        errx(2, "this needs --url%s", urls > 1 ? ", twice" : "");
    if (redis && !options->redis)
        errx(2, "this needs --redis");
    if (pid && options->pid == 0)
        errx(2, "this needs --pid");
    if (options->names == 0 || options->waiters == 0 || options->count == 0)
        errx(2, "--names, --waiters and --count are at least 1");
}
