#include "cli/options.h"

#include "base/duration.h"
#include "base/memory.h"
#include "cli/status.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { CONNECT_TIMEOUT_MS = 10000, KILL_AFTER_MS = 5000, RUN_TTL_MS = 30000 };

#define HOUR_MS INT64_C(3600000)
#define YEAR_MS (8766 * HOUR_MS)
#define MOST    INT64_C(2147483647)

/* What an option does with its value. */
enum kind {
    KIND_FLAG, /* sets a bool to `lowest` */
    KIND_NOW,  /* sets a duration to 0 */
    KIND_TEXT,
    KIND_DURATION,
    KIND_NUMBER,
    KIND_SIGNAL,
    KIND_CHOICE, /* a bool: whether it is the second of the two words */
    KIND_META,
};

/* Options without a letter have numbers beyond all letters. */
enum code {
    LONG_ONLY = 256,
    LIMIT = LONG_ONLY,
    PERMITS,
    REENTRANT,
    TTL,
    AT_LEAST,
    MAX_HELD,
    HOLD_MAX_HELD,
    SIGNAL,
    ON_LOST,
    IF_UNAVAILABLE,
    OWNER,
    META,
    TOKEN_FILE,
    PREFIX,
    REASON,
    FENCE,
    OF_OWNER,
    HELD_FOR,
    JSON,
    URL,
    AUTH_FILE,
    CA,
    CERT,
    KEY,
    CONNECT_TIMEOUT,
};

#define AT(member) offsetof(struct options, member)
#define LOCKS      (FOR_ACQUIRE | FOR_RUN)

static const struct row {
    int code; /* the letter, if there is one */
    unsigned commands;
    enum kind kind;
    size_t at; /* of the member */
    int64_t lowest, highest;
    const char *name, *value, *text;
} ROWS[] = {
    {'n', LOCKS, KIND_NOW, AT(wait_ms), 0, 0, "nonblock", NULL, "do not wait if the lock is taken"},
    {'w', LOCKS, KIND_DURATION, AT(wait_ms), 0, YEAR_MS, "wait", "DURATION",
     "wait at most so long (default: until it is granted)"},
    {'s', LOCKS, KIND_FLAG, AT(shared), true, 0, "shared", NULL, "take a shared lock"},
    {'x', LOCKS, KIND_FLAG, AT(shared), false, 0, "exclusive", NULL,
     "take an exclusive lock (default)"},
    {LIMIT, LOCKS, KIND_NUMBER, AT(limit), 1, MOST, "limit", "N",
     "at most N holders at a time; implies --shared"},
    {PERMITS, LOCKS, KIND_NUMBER, AT(permits), 1, MOST, "permits", "N",
     "count for N holders by --limit, all or none (default: 1)"},
    {'E', LOCKS, KIND_NUMBER, AT(refused_status), 0, 255, "conflict-exit-code", "N",
     "the exit status if it is not granted (default: 75)"},
    {'q', LOCKS, KIND_FLAG, AT(quiet), true, 0, "quiet", NULL,
     "do not print who holds the lock, and why it is not granted"},
    {'v', FOR_RUN, KIND_FLAG, AT(verbose), true, 0, "verbose", NULL,
     "print each grant, renewal and release"},
    {'k', FOR_RUN, KIND_DURATION, AT(kill_after_ms), 0, YEAR_MS, "kill-after", "DURATION",
     "from the signal to SIGKILL, if the lock is lost (default: 5s)"},
    {SIGNAL, FOR_RUN, KIND_SIGNAL, AT(signal), 0, 0, "signal", "NAME",
     "the signal that ends the command (default: TERM)"},
    {'c', FOR_RUN, KIND_TEXT, AT(shell_line), 0, 0, "command", "LINE", "run a line of the shell"},
    {MAX_HELD, FOR_RUN, KIND_DURATION, AT(max_held_ms), 1000, YEAR_MS, "max-held", "DURATION",
     "end the command before it has run so long, with exit status 124"},
    {ON_LOST, FOR_RUN, KIND_CHOICE, AT(ignores_loss), 0, 0, "on-lost", "kill|ignore",
     "what becomes of the command if the lock is lost (default: kill)"},
    {IF_UNAVAILABLE, FOR_RUN, KIND_CHOICE, AT(runs_unlocked), 0, 0, "if-unavailable", "fail|run",
     "what to do if no batond answers (default: fail); run: without a lock"},
    {TTL, FOR_ACQUIRE | FOR_RENEW | FOR_RUN, KIND_DURATION, AT(ttl_ms), 1, YEAR_MS, "ttl",
     "DURATION", "how long the hold lasts unless renewed"},
    {HOLD_MAX_HELD, FOR_ACQUIRE, KIND_DURATION, AT(max_held_ms), 0, YEAR_MS, "max-held", "DURATION",
     "how long renewals may carry the hold at most, from its grant"},
    {AT_LEAST, LOCKS, KIND_DURATION, AT(at_least_ms), 0, YEAR_MS, "at-least", "DURATION",
     "how long the name stays taken, even if it is released before"},
    {OWNER, LOCKS, KIND_TEXT, AT(owner), 0, 0, "owner", "TEXT",
     "for whom the lock is held, a label (default: USER@HOST)"},
    {REENTRANT, FOR_ACQUIRE, KIND_FLAG, AT(reentrant), true, 0, "reentrant", NULL,
     "let the holds of the same --owner let this one in"},
    {META, LOCKS, KIND_META, 0, 0, 0, "meta", "KEY=VALUE", "a note for others; may be repeated"},
    {TOKEN_FILE, FOR_ACQUIRE | FOR_RENEW | FOR_RELEASE | FOR_RUN, KIND_TEXT, AT(token_file), 0, 0,
     "token-file", "FILE",
     "the file of the token; -: standard output of acquire, standard input of renew and release"},
    {PREFIX, FOR_BREAK, KIND_TEXT, AT(prefix), 0, 0, "prefix", "TEXT",
     "break all locks whose names begin so"},
    {FENCE, FOR_BREAK, KIND_TEXT, AT(fence), 0, 0, "fence", "N",
     "end the hold with this fence, and no other"},
    {OF_OWNER, FOR_LIST, KIND_TEXT, AT(owner), 0, 0, "owner", "TEXT", "only holds of this owner"},
    {HELD_FOR, FOR_LIST, KIND_TEXT, AT(held_for), 0, 0, "held-for", "DURATION",
     "only what is held for so long, or longer"},
    {REASON, FOR_BREAK, KIND_TEXT, AT(reason), 0, 0, "reason", "TEXT",
     "why, for the last release and the audit log; required with --prefix"},
    {JSON, FOR_ALL & ~FOR_RUN, KIND_FLAG, AT(json), true, 0, "json", NULL,
     "print one JSON object a line"},
    {URL, FOR_ALL, KIND_TEXT, AT(url), 0, 0, "url", "URLS",
     "where batond is; several are tried in turn"},
    {AUTH_FILE, FOR_ALL, KIND_TEXT, AT(auth_file), 0, 0, "auth-file", "FILE",
     "the file of your API key"},
    {CA, FOR_ALL, KIND_TEXT, AT(ca), 0, 0, "ca", "FILE", "the authority of batond's certificate"},
    {CERT, FOR_ALL, KIND_TEXT, AT(cert), 0, 0, "cert", "FILE", "your certificate"},
    {KEY, FOR_ALL, KIND_TEXT, AT(key), 0, 0, "key", "FILE", "the key of your certificate"},
    {CONNECT_TIMEOUT, FOR_ALL, KIND_DURATION, AT(connect_timeout_ms), 1, HOUR_MS, "connect-timeout",
     "DURATION", "how long to wait for each batond to answer (default: 10s)"},
    {'h', FOR_ALL, KIND_FLAG, AT(wants_help), true, 0, "help", NULL, "print this help"},
};

enum { ROW_COUNT = sizeof ROWS / sizeof ROWS[0], WRITTEN_TEXT = 64 };

static int options_duration(const struct row *row, const char *value, int64_t *ret_ms,
                            struct failure *failure)
{
    char range[DURATION_RANGE];
    int64_t ms;
    if (duration_parse(slice_of(value), &ms) == 0 && ms >= row->lowest && ms <= row->highest) {
        *ret_ms = ms;
        return 0;
    }
    duration_describe(row->lowest, row->highest, range);
    return failure_set(failure, -EINVAL, "--%s: \"%s\" is not valid. Give %s.", row->name, value,
                       range);
}

static int options_number(const struct row *row, const char *value, int64_t *ret,
                          struct failure *failure)
{
    char *end;
    errno = 0;
    long long number = strtoll(value, &end, 10);
    if (errno || *end || end == value || number < row->lowest || number > row->highest)
        return failure_set(failure, -EINVAL,
                           "--%s: \"%s\" is not valid. Give a whole number from %lld to %lld.",
                           row->name, value, (long long)row->lowest, (long long)row->highest);
    *ret = number;
    return 0;
}

/* Takes TERM and SIGTERM. */
static int options_signal(const struct row *row, const char *value, int64_t *ret,
                          struct failure *failure)
{
    const char *name = strncmp(value, "SIG", 3) == 0 ? value + 3 : value;
    for (int signal = 1; signal < SIGRTMIN; signal++) {
        const char *known = sigabbrev_np(signal);
        if (known && strcmp(known, name) == 0) {
            *ret = signal;
            return 0;
        }
    }
    return failure_set(failure, -EINVAL,
                       "--%s: \"%s\" is not a signal. Write its name, such as TERM or INT.",
                       row->name, value);
}

static int options_choice(const struct row *row, const char *value, bool *ret,
                          struct failure *failure)
{
    size_t length = strcspn(row->value, "|");
    bool is_first = strlen(value) == length && memcmp(row->value, value, length) == 0;
    if (!is_first && strcmp(row->value + length + 1, value) != 0)
        return failure_set(failure, -EINVAL, "--%s: \"%s\" is not valid. Give %.*s or %s.",
                           row->name, value, (int)length, row->value, row->value + length + 1);
    *ret = !is_first;
    return 0;
}

static int options_add_meta(struct options *options, const char *value, struct failure *failure)
{
    size_t length = strcspn(value, "=");
    if (length == 0 || !value[length])
        return failure_set(failure, -EINVAL, "--meta: \"%s\" is not valid. Write KEY=VALUE.",
                           value);
    char *key = memory_checked(strndup(value, length));
    if (!options->meta)
        options->meta = memory_checked(json_object());
    int set = json_object_set_new(options->meta, key, json_string(value + length + 1));
    free(key);
    return set == 0 ? 0 : failure_set(failure, -EINVAL, "--meta: \"%s\" is not UTF-8", value);
}

static int options_set(struct options *options, const struct row *row, const char *value,
                       struct failure *failure)
{
    void *member = (char *)options + row->at;
    switch (row->kind) {
    case KIND_FLAG:
        *(bool *)member = row->lowest;
        return 0;
    case KIND_NOW:
        *(int64_t *)member = 0;
        return 0;
    case KIND_TEXT:
        *(const char **)member = value;
        return 0;
    case KIND_DURATION:
        return options_duration(row, value, member, failure);
    case KIND_NUMBER:
        return options_number(row, value, member, failure);
    case KIND_SIGNAL:
        return options_signal(row, value, member, failure);
    case KIND_CHOICE:
        return options_choice(row, value, member, failure);
    case KIND_META:
        return options_add_meta(options, value, failure);
    }
    return 0;
}

/* Fills what getopt_long(3) wants with the options of a command. */
static void options_list(unsigned command, struct option longs[ROW_COUNT + 1],
                         char letters[2 * ROW_COUNT + 2])
{
    *letters++ = ':';
    for (const struct row *row = ROWS; row < ROWS + ROW_COUNT; row++) {
        if (!(row->commands & command))
            continue;
        *longs++ = (struct option){row->name, row->value ? required_argument : no_argument, NULL,
                                   row->code};
        if (row->code >= LONG_ONLY)
            continue;
        *letters++ = (char)row->code;
        if (row->value)
            *letters++ = ':';
    }
    *longs = (struct option){0};
    *letters = '\0';
}

static const struct row *options_find(int code)
{
    for (const struct row *row = ROWS; row < ROWS + ROW_COUNT; row++)
        if (row->code == code)
            return row;
    return NULL;
}

/* getopt_long(3) tells a letter or, for a long option, where it stood. */
static int options_refuse(const char *command, int found, const char *written,
                          struct failure *failure)
{
    const struct row *row = options_find(optopt);
    if (found == ':')
        return failure_set(failure, -EINVAL, "--%s needs a value: --%s=%s", row->name, row->name,
                           row->value);
    char letter[] = {'-', (char)optopt, '\0'};
    const char *shown = optopt && optopt < LONG_ONLY ? letter : written;
    return failure_set(failure, -EINVAL,
                       "\"%.*s\" is not an option of baton %s; baton %s --help lists them",
                       (int)strcspn(shown, "="), shown, command, command);
}

/* getopt_long(3) takes the start of a name for the whole, which a later option may make another's.
 */
static bool options_is_cut(const struct row *row, const char *written)
{
    size_t length = strcspn(written + 2, "=");
    return length != strlen(row->name);
}

/* Reads the option that getopt_long(3) has found. */
static int options_take(struct options *options, int found, int place, char **argv,
                        struct failure *failure)
{
    const struct row *row = options_find(found);
    const char *written = argv[optind - 1 - (optarg && optarg == argv[optind - 1])];
    if (found == ':' || !row)
        return options_refuse(argv[0], found, written, failure);
    if (place >= 0 && options_is_cut(row, written)) {
        optopt = 0;
        return options_refuse(argv[0], '?', written, failure);
    }
    return options_set(options, row, optarg ? optarg : "", failure);
}

/* Sets what stands behind "--" aside. Returns how many arguments are left. */
static int options_cut_command(struct options *options, int argc, char **argv)
{
    options->ttl_ms = RUN_TTL_MS;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--") == 0) {
            options->command = argv + i + 1;
            return i;
        }
    return argc;
}

int options_read(struct options *options, unsigned command, int argc, char **argv,
                 struct failure *failure)
{
    struct option longs[ROW_COUNT + 1];
    char letters[2 * ROW_COUNT + 2];
    int found, place = -1, result = 0;
    *options = (struct options){.wait_ms = OPTIONS_WAIT_FOREVER,
                                .connect_timeout_ms = CONNECT_TIMEOUT_MS,
                                .kill_after_ms = KILL_AFTER_MS,
                                .signal = SIGTERM,
                                .refused_status = STATUS_REFUSED};
    if (command == FOR_RUN)
        argc = options_cut_command(options, argc, argv);
    options_list(command, longs, letters);
    opterr = 0;
    optind = 0; /* so that it begins anew */
    while (result == 0 && (found = getopt_long(argc, argv, letters, longs, &place)) != -1) {
        result = options_take(options, found, place, argv, failure);
        place = -1;
    }
    options->shared |= options->limit > 0;
    options->names = argv + optind;
    options->name_count = (size_t)(argc - optind);
    return result;
}

void options_free(struct options *options)
{
    json_decref(options->meta);
    *options = (struct options){0};
}

void options_print(unsigned command, FILE *to)
{
    for (const struct row *row = ROWS; row < ROWS + ROW_COUNT; row++) {
        char written[WRITTEN_TEXT], letter[] = {'-', (char)row->code, ',', ' ', '\0'};
        if (!(row->commands & command))
            continue;
        snprintf(written, sizeof written, "%s--%s%s%s", row->code < LONG_ONLY ? letter : "    ",
                 row->name, row->value ? "=" : "", row->value ? row->value : "");
        fprintf(to, "  %s\n        %s\n", written, row->text);
    }
}
