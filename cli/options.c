#include "cli/options.h"

#include "base/duration.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "cli/status.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { CONNECT_TIMEOUT_MS = 10000, KILL_AFTER_MS = 5000, RUN_TTL_MS = 30000, PATIENCE_MS = 60000 };

#define HOUR_MS INT64_C(3600000)
#define YEAR_MS (8766 * HOUR_MS)
#define MOST    INT64_C(2147483647)

/* What an option does with its value. */
enum kind {
    KIND_FLAG, /* sets a bool to `lowest` */
    KIND_TEXT,
    KIND_LABEL, /* a text that a request has */
    KIND_DURATION,
    KIND_NUMBER,
    KIND_SIGNAL,
    KIND_CHOICE, /* a bool: true for the second of the two words */
    KIND_META,
};

#define AT(member) offsetof(struct options, member)
#define LOCKS      (FOR_ACQUIRE | FOR_RUN)

static const struct row {
    char letter; /* 0: none */
    unsigned commands;
    enum kind kind;
    size_t at; /* the member's place */
    int64_t lowest, highest;
    const char *name, *value, *text; /* value: "" for an option without one */
} ROWS[] = {
    {'n', LOCKS, KIND_DURATION, AT(wait_ms), 0, 0, "nonblock", "",
     "do not wait if the lock is taken"},
    {'w', LOCKS, KIND_DURATION, AT(wait_ms), 0, YEAR_MS, "wait", "DURATION",
     "wait for others at most so long (default: until it is granted)"},
    {0, LOCKS, KIND_DURATION, AT(patience_ms), 0, YEAR_MS, "patience", "DURATION",
     "ask again for so long while nobody can be granted the lock (default: 1m)"},
    {'s', LOCKS, KIND_FLAG, AT(shared), true, 0, "shared", "", "take a shared lock"},
    {'x', LOCKS, KIND_FLAG, AT(shared), false, 0, "exclusive", "",
     "take an exclusive lock (default)"},
    {0, LOCKS, KIND_NUMBER, AT(limit), 1, MOST, "limit", "N",
     "at most N holders at a time; implies --shared"},
    {0, LOCKS, KIND_NUMBER, AT(permits), 1, MOST, "permits", "N",
     "count for N holders by --limit, all or none (default: 1)"},
    {'E', LOCKS, KIND_NUMBER, AT(refused_status), 0, 255, "conflict-exit-code", "N",
     "the exit status if somebody else has the lock (default: 75)"},
    {'q', LOCKS, KIND_FLAG, AT(quiet), true, 0, "quiet", "",
     "do not print who holds the lock, why it is not granted, and what is left behind"},
    {'q', FOR_SHOW, KIND_FLAG, AT(quiet), true, 0, "quiet", "",
     "print nothing: exit status 0 if one of them is held, 1 if all are free"},
    {'v', FOR_RUN, KIND_FLAG, AT(verbose), true, 0, "verbose", "",
     "print each grant, renewal and release; with -n, who holds the lock"},
    {'k', FOR_RUN, KIND_DURATION, AT(kill_after_ms), 0, YEAR_MS, "kill-after", "DURATION",
     "from the signal to SIGKILL, when something is ended (default: 5s)"},
    {'o', FOR_RUN, KIND_FLAG, AT(only_command), true, 0, "only-command", "",
     "release the lock when the command ends, whatever it leaves behind"},
    {0, FOR_RUN, KIND_SIGNAL, AT(signal), 0, 0, "signal", "NAME",
     "the signal that ends the command (default: TERM)"},
    {'c', FOR_RUN, KIND_TEXT, AT(shell_line), 0, 0, "command", "LINE", "run a line of the shell"},
    {0, FOR_RUN, KIND_DURATION, AT(max_held_ms), 1000, YEAR_MS, "max-held", "DURATION",
     "end the command before it has run so long, with exit status 124"},
    {0, FOR_RUN, KIND_CHOICE, AT(ignores_loss), 0, 0, "on-lost", "kill|ignore",
     "what becomes of the command if the lock is lost (default: kill)"},
    {0, FOR_RUN, KIND_CHOICE, AT(runs_unlocked), 0, 0, "if-unavailable", "fail|run",
     "what to do when --patience is over (default: fail); run: without a lock"},
    {0, FOR_ACQUIRE | FOR_RENEW, KIND_DURATION, AT(ttl_ms), 1, YEAR_MS, "ttl", "DURATION",
     "how long the hold lasts unless renewed"},
    {0, FOR_RUN, KIND_DURATION, AT(ttl_ms), 3000, YEAR_MS, "ttl", "DURATION",
     "how long the hold lasts unless renewed (default: 30s)"},
    {0, FOR_ACQUIRE, KIND_DURATION, AT(max_held_ms), 0, YEAR_MS, "max-held", "DURATION",
     "how long renewals may carry the hold at most, from its grant"},
    {0, LOCKS, KIND_DURATION, AT(at_least_ms), 0, YEAR_MS, "at-least", "DURATION",
     "how long the name stays taken, even if it is released before"},
    {0, LOCKS, KIND_LABEL, AT(owner), 0, 0, "owner", "TEXT",
     "for whom the lock is held, a label (default: USER@HOST)"},
    {0, FOR_ACQUIRE, KIND_FLAG, AT(reentrant), true, 0, "reentrant", "",
     "let the holds of the same --owner let this one in"},
    {0, LOCKS, KIND_META, 0, 0, 0, "meta", "KEY=VALUE", "a note for others; may be repeated"},
    {0, FOR_ACQUIRE, KIND_TEXT, AT(token_file), 0, 0, "token-file", "FILE",
     "where to write the token (default: -, which is standard output)"},
    {0, FOR_RENEW | FOR_RELEASE, KIND_TEXT, AT(token_file), 0, 0, "token-file", "FILE",
     "where the token is; -: standard input"},
    {0, FOR_RUN, KIND_TEXT, AT(token_file), 0, 0, "token-file", "FILE",
     "where to write the token for the command; removed at the end"},
    {0, FOR_BREAK, KIND_LABEL, AT(prefix), 0, 0, "prefix", "TEXT",
     "break all locks whose names begin with TEXT"},
    {0, FOR_BREAK, KIND_NUMBER, AT(fence), 1, INT64_MAX, "fence", "N",
     "end the hold with this fence, and no other"},
    {0, FOR_LIST, KIND_TEXT, AT(owner), 0, 0, "owner", "TEXT", "only holds of this owner"},
    {0, FOR_LIST, KIND_DURATION, AT(held_for_ms), 0, YEAR_MS, "held-for", "DURATION",
     "only what is held for so long, or longer"},
    {0, FOR_BREAK, KIND_LABEL, AT(reason), 0, 0, "reason", "TEXT",
     "why, for the last release and the audit log; required with --prefix"},
    {0, FOR_ALL & ~FOR_RUN, KIND_FLAG, AT(json), true, 0, "json", "",
     "print one JSON object a line"},
    {0, FOR_ALL, KIND_TEXT, AT(settings[SETTING_URL]), 0, 0, "url", "URLS",
     "where batond is; several, on one Redis, are tried in turn"},
    {0, FOR_ALL, KIND_TEXT, AT(settings[SETTING_AUTH_FILE]), 0, 0, "auth-file", "FILE",
     "the file of your API key"},
    {0, FOR_ALL, KIND_TEXT, AT(settings[SETTING_CA]), 0, 0, "ca", "FILE",
     "the authority of batond's certificate"},
    {0, FOR_ALL, KIND_TEXT, AT(settings[SETTING_CERT]), 0, 0, "cert", "FILE", "your certificate"},
    {0, FOR_ALL, KIND_TEXT, AT(settings[SETTING_KEY]), 0, 0, "key", "FILE",
     "the key of your certificate"},
    {0, FOR_ALL, KIND_DURATION, AT(connect_timeout_ms), 1, HOUR_MS, "connect-timeout", "DURATION",
     "how long to wait for each batond to answer (default: 10s)"},
    {'h', FOR_ALL, KIND_FLAG, AT(wants_help), true, 0, "help", "", "print this help"},
};

enum { ROW_COUNT = sizeof ROWS / sizeof ROWS[0], EXPECTED_TEXT = 160 };

/* Reads a value. Returns false if it is not valid. Describes valid values in both cases. */
typedef bool reader(const struct row *row, const char *value, void *ret,
                    char expected[EXPECTED_TEXT]);

/* Allows a fraction, as flock does: 0.5 is 500 ms. Rounds up. */
static bool options_duration(const struct row *row, const char *value, void *ret,
                             char expected[EXPECTED_TEXT])
{
    char *unit, one[8];
    int64_t unit_ms, ms;
    double number = strtod(value, &unit);
    bool is_number = unit > value && unit == value + strspn(value, "0123456789.");
    duration_describe(row->lowest, row->highest, expected);
    if (!is_number || snprintf(one, sizeof one, "1%s", unit) >= (int)sizeof one ||
        duration_parse(slice_of(one), &unit_ms) < 0 || number > (double)YEAR_MS)
        return false;
    *(int64_t *)ret = ms = (int64_t)(number * (double)unit_ms + 0.999);
    return ms >= row->lowest && ms <= row->highest;
}

static bool options_number(const struct row *row, const char *value, void *ret,
                           char expected[EXPECTED_TEXT])
{
    char *end;
    errno = 0;
    long long number = strtoll(value, &end, 10);
    snprintf(expected, EXPECTED_TEXT, "a whole number from %" PRId64 " to %" PRId64, row->lowest,
             row->highest);
    *(int64_t *)ret = number;
    return !errno && !*end && end > value && number >= row->lowest && number <= row->highest;
}

/* Takes TERM and SIGTERM. */
static bool options_signal(const struct row *row, const char *value, void *ret,
                           char expected[EXPECTED_TEXT])
{
    const char *name = strncmp(value, "SIG", 3) == 0 ? value + 3 : value, *known;
    int signal = 1;
    (void)row;
    while (signal < SIGRTMIN && (!(known = sigabbrev_np(signal)) || strcmp(known, name) != 0))
        signal++;
    snprintf(expected, EXPECTED_TEXT, "the name of a signal, such as TERM or INT");
    *(int64_t *)ret = signal;
    return signal < SIGRTMIN;
}

static bool options_choice(const struct row *row, const char *value, void *ret,
                           char expected[EXPECTED_TEXT])
{
    size_t length = strcspn(row->value, "|");
    const char *second = row->value + length + 1;
    *(bool *)ret = strcmp(second, value) == 0;
    snprintf(expected, EXPECTED_TEXT, "%.*s or %s", (int)length, row->value, second);
    return *(bool *)ret || slice_equals((struct slice){row->value, length}, value);
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
    static reader *const READERS[] = {[KIND_DURATION] = options_duration,
                                      [KIND_NUMBER] = options_number,
                                      [KIND_SIGNAL] = options_signal,
                                      [KIND_CHOICE] = options_choice};
    char expected[EXPECTED_TEXT];
    if (!options)
        return 0;
    void *member = (char *)options + row->at;
    switch (row->kind) {
    case KIND_META:
        return options_add_meta(options, value, failure);
    case KIND_FLAG:
        *(bool *)member = row->lowest;
        return 0;
    case KIND_LABEL:
        if (!utf8_is_clean(slice_of(value)))
            return failure_set(failure, -EINVAL, "--%s has control characters, or is not UTF-8",
                               row->name);
        /* fall through */
    case KIND_TEXT:
        *(const char **)member = value;
        return 0;
    default:
        return READERS[row->kind](row, value, member, expected)
                   ? 0
                   : failure_set(failure, -EINVAL, "--%s: \"%s\" is not valid. Give %s.", row->name,
                                 value, expected);
    }
}

/* By its letter or whole name. Refuses abbreviations: a later option could change what they
 * mean. */
static const struct row *options_find(unsigned command, const char *written, bool is_long)
{
    struct slice name = {written, strcspn(written, "=")};
    for (const struct row *row = ROWS; row < ROWS + ROW_COUNT; row++) {
        bool is_it = is_long ? slice_equals(name, row->name) : row->letter == *written;
        if (is_it && (row->commands & command))
            return row;
    }
    return NULL;
}

/* `command` is "" in front of the command. */
static int options_refuse(const char *command, const char *argument, const char *written,
                          struct failure *failure)
{
    bool is_long = argument[1] == '-';
    const char *between = *command ? " " : "";
    return failure_set(
        failure, -EINVAL, "\"-%.*s\" is not an option of baton%s%s; baton help%s%s lists them%s",
        is_long ? (int)strcspn(argument + 1, "=") : 1, is_long ? argument + 1 : written, between,
        command, between, command,
        strcmp(command, "run") == 0 ? ". Those of COMMAND stand behind \"--\"." : "");
}

/* Reads one argument, which may have several letters. The value of the last one is the rest of the
 * argument, or the next one. Sets nothing if `options` is NULL. Returns how many arguments were
 * read, or -EINVAL with a failure. */
static int options_take(struct options *options, unsigned command, char **argv, int at,
                        struct failure *failure)
{
    const char *written = argv[at] + 1, *command_word = options ? argv[0] : "";
    bool is_long = *written == '-';
    written += is_long;
    do {
        const struct row *row = options_find(command, written, is_long);
        if (!row)
            return options_refuse(command_word, argv[at], written, failure);
        size_t length = is_long ? strlen(row->name) : 1;
        const char *attached = written[length] ? written + length + is_long : NULL;
        const char *value = !*row->value ? "0" : attached ? attached : argv[at + 1];
        if (!value)
            return failure_set(failure, -EINVAL, "--%s needs a value: --%s=%s", row->name,
                               row->name, row->value);
        if (is_long && attached && !*row->value)
            return failure_set(failure, -EINVAL, "--%s takes no value", row->name);
        if (options_set(options, row, value, failure) < 0)
            return -EINVAL;
        if (*row->value)
            return attached ? 1 : 2;
        written += length;
    } while (*written);
    return 1;
}

int options_before_command(char **argv, struct failure *failure)
{
    int at = 1;
    while (argv[at] && argv[at][0] == '-') {
        int taken = options_take(NULL, FOR_ALL, argv, at, failure);
        if (taken < 0)
            return taken;
        at += taken;
    }
    return at;
}

int options_read(struct options *options, unsigned command, int argc, char **argv,
                 struct failure *failure)
{
    int taken, at;
    *options = (struct options){.for_command = command,
                                .wait_ms = OPTIONS_WAIT_FOREVER,
                                .patience_ms = PATIENCE_MS,
                                .connect_timeout_ms = CONNECT_TIMEOUT_MS,
                                .kill_after_ms = KILL_AFTER_MS,
                                .ttl_ms = command == FOR_RUN ? RUN_TTL_MS : 0,
                                .signal = SIGTERM,
                                .refused_status = STATUS_REFUSED,
                                .names = argv + 1};
    for (at = 1; at < argc && strcmp(argv[at], "--") != 0; at += taken) {
        bool is_option = argv[at][0] == '-' && argv[at][1];
        taken = is_option ? options_take(options, command, argv, at, failure) : 1;
        if (taken < 0)
            return taken;
        if (!is_option)
            options->names[options->name_count++] = argv[at];
    }
    if (command == FOR_RUN && at < argc)
        options->command = argv + at + 1;
    else
        while (++at < argc)
            options->names[options->name_count++] = argv[at];
    options->shared |= options->limit > 0;
    return 0;
}

void options_free(struct options *options)
{
    json_decref(options->meta);
    *options = (struct options){0};
}

const char *options_name_of(const struct options *options, const char *field)
{
    for (const struct row *row = ROWS; row < ROWS + ROW_COUNT; row++) {
        size_t at = 0;
        while (field[at] && row->name[at] == (field[at] == '_' ? '-' : field[at]))
            at++;
        if (!field[at] && !row->name[at] && (row->commands & options->for_command))
            return row->name;
    }
    return NULL;
}

void options_print(unsigned command, FILE *to)
{
    for (const struct row *row = ROWS; row < ROWS + ROW_COUNT; row++) {
        if (!(row->commands & command))
            continue;
        fprintf(to, row->letter ? "  -%c, " : "      ", row->letter);
        fprintf(to, "--%s%s%s\n        %s\n", row->name, *row->value ? "=" : "", row->value,
                row->text);
    }
}
