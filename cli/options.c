#include "cli/options.h"

#include "base/duration.h"
#include "base/memory.h"
#include "cli/status.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum { CONNECT_TIMEOUT_MS = 10000, KILL_AFTER_MS = 5000, LONGEST_TIMEOUT_MS = 3600000 };

/* Options without a letter have numbers beyond all letters. */
enum code {
    LIMIT = 256,
    TTL,
    OWNER,
    META,
    TOKEN_FILE,
    PREFIX,
    REASON,
    FENCE,
    JSON,
    URL,
    AUTH_FILE,
    CA,
    CERT,
    KEY,
    CONNECT_TIMEOUT,
};

static const struct row {
    int code; /* the letter, if there is one */
    unsigned commands;
    const char *name, *value, *text;
} ROWS[] = {
    {'n', FOR_ACQUIRE | FOR_RUN, "nonblock", NULL, "do not wait if the lock is taken"},
    {'w', FOR_ACQUIRE | FOR_RUN, "wait", "DURATION",
     "wait at most so long (default: until it is granted)"},
    {'s', FOR_ACQUIRE | FOR_RUN, "shared", NULL, "take a shared lock"},
    {'x', FOR_ACQUIRE | FOR_RUN, "exclusive", NULL, "take an exclusive lock (default)"},
    {LIMIT, FOR_ACQUIRE | FOR_RUN, "limit", "N", "at most N holders at a time; implies --shared"},
    {'E', FOR_ACQUIRE | FOR_RUN, "conflict-exit-code", "N",
     "the exit status if it is not granted (default: 75)"},
    {'q', FOR_ACQUIRE | FOR_RUN, "quiet", NULL, "do not print why it is not granted"},
    {'k', FOR_RUN, "kill-after", "DURATION",
     "from SIGTERM to SIGKILL, if the lock is lost (default: 5s)"},
    {'c', FOR_RUN, "command", "LINE", "run a line of the shell"},
    {TTL, FOR_ACQUIRE | FOR_RENEW | FOR_RUN, "ttl", "DURATION",
     "how long the hold lasts unless renewed"},
    {OWNER, FOR_ACQUIRE | FOR_RUN, "owner", "TEXT",
     "for whom the lock is held, a label (default: USER@HOST)"},
    {META, FOR_ACQUIRE | FOR_RUN, "meta", "KEY=VALUE", "a note for others; may be repeated"},
    {TOKEN_FILE, FOR_ACQUIRE | FOR_RENEW | FOR_RELEASE, "token-file", "FILE",
     "the file of the token; -: standard output of acquire, standard input of the others"},
    {PREFIX, FOR_BREAK, "prefix", "TEXT", "break all locks whose names begin so"},
    {FENCE, FOR_BREAK, "fence", "N", "end the hold with this fence, and no other"},
    {REASON, FOR_BREAK, "reason", "TEXT",
     "why, for the last release and the audit log; required with --prefix"},
    {JSON, FOR_ALL & ~FOR_RUN, "json", NULL, "print one JSON object a line"},
    {URL, FOR_ALL, "url", "URLS", "where batond is; several are tried in turn"},
    {AUTH_FILE, FOR_ALL, "auth-file", "FILE", "the file of your API key"},
    {CA, FOR_ALL, "ca", "FILE", "the authority of batond's certificate"},
    {CERT, FOR_ALL, "cert", "FILE", "your certificate"},
    {KEY, FOR_ALL, "key", "FILE", "the key of your certificate"},
    {CONNECT_TIMEOUT, FOR_ALL, "connect-timeout", "DURATION",
     "how long to wait for each batond to answer (default: 10s)"},
    {'h', FOR_ALL, "help", NULL, "print this help"},
};

enum { ROW_COUNT = sizeof ROWS / sizeof ROWS[0], WRITTEN_TEXT = 64 };

static int options_duration(const struct row *row, const char *value, int64_t *ret_ms,
                            struct failure *failure)
{
    if (duration_parse(slice_of(value), ret_ms) == 0)
        return 0;
    return failure_set(failure, -EINVAL,
                       "--%s: \"%s\" is not a duration. Write it as 500ms, 30s, 5m or 2h.",
                       row->name, value);
}

static int options_number(const struct row *row, const char *value, int lowest, int highest,
                          int64_t *ret, struct failure *failure)
{
    char *end;
    errno = 0;
    long long number = strtoll(value, &end, 10);
    if (errno || *end || end == value || number < lowest || number > highest)
        return failure_set(failure, -EINVAL,
                           "--%s: \"%s\" is not valid. Give a whole number from %d to %d.",
                           row->name, value, lowest, highest);
    *ret = number;
    return 0;
}

static int options_status(const struct row *row, const char *value, int *ret,
                          struct failure *failure)
{
    int64_t number = 0;
    int result = options_number(row, value, 0, 255, &number, failure);
    if (result == 0)
        *ret = (int)number;
    return result;
}

/* libcurl takes 0 for no limit. */
static int options_connect_timeout(struct options *options, const struct row *row,
                                   const char *value, struct failure *failure)
{
    int64_t ms = 0;
    int result = options_duration(row, value, &ms, failure);
    if (result == 0 && (ms < 1 || ms > LONGEST_TIMEOUT_MS))
        return failure_set(failure, -EINVAL, "--%s: \"%s\" is not valid. Give 1ms to 1h.",
                           row->name, value);
    options->connect_timeout_ms = ms;
    return result;
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

/* Where the value of an option that is a text goes; NULL for the others. */
static const char **options_text(struct options *options, int code)
{
    switch (code) {
    case 'c':
        return &options->shell_line;
    case TTL:
        return &options->ttl;
    case OWNER:
        return &options->owner;
    case TOKEN_FILE:
        return &options->token_file;
    case PREFIX:
        return &options->prefix;
    case REASON:
        return &options->reason;
    case FENCE:
        return &options->fence;
    case URL:
        return &options->url;
    case AUTH_FILE:
        return &options->auth_file;
    case CA:
        return &options->ca;
    case CERT:
        return &options->cert;
    case KEY:
        return &options->key;
    default:
        return NULL;
    }
}

static int options_set(struct options *options, const struct row *row, const char *value,
                       struct failure *failure)
{
    switch (row->code) {
    case 'n':
        options->wait_ms = 0;
        return 0;
    case 'w':
        return options_duration(row, value, &options->wait_ms, failure);
    case 's':
    case 'x':
        options->shared = row->code == 's';
        return 0;
    case LIMIT:
        options->shared = true;
        return options_number(row, value, 1, INT32_MAX, &options->limit, failure);
    case 'E':
        return options_status(row, value, &options->refused_status, failure);
    case 'q':
        options->quiet = true;
        return 0;
    case 'k':
        return options_duration(row, value, &options->kill_after_ms, failure);
    case META:
        return options_add_meta(options, value, failure);
    case JSON:
        options->json = true;
        return 0;
    case CONNECT_TIMEOUT:
        return options_connect_timeout(options, row, value, failure);
    case 'h':
        options->wants_help = true;
        return 0;
    default:
        *options_text(options, row->code) = value;
        return 0;
    }
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
        if (row->code >= LIMIT)
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
    const char *shown = optopt && optopt < LIMIT ? letter : written;
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
    options->ttl = "30s";
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
        snprintf(written, sizeof written, "%s--%s%s%s", row->code < LIMIT ? letter : "    ",
                 row->name, row->value ? "=" : "", row->value ? row->value : "");
        fprintf(to, "  %s\n        %s\n", written, row->text);
    }
}
