#include "server/settings.h"

#include "api/principal.h"
#include "base/duration.h"
#include "locks/name.h"
#include "locks/replicas.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum kind { TEXT, SECRET, DURATION, COUNT, CHOICE, FLAG, REPLICAS };

static const char *const LOG_FORMATS[] = {"json", "text", NULL};
static const char *const LOG_LEVELS[] = {"debug", "info", "warn", "error", NULL};

static const struct setting {
    const char *name;
    enum kind kind;
    size_t offset;
    const char *standard; /* the default; NULL: unset */
    const char *value;    /* what to write for it in the help */
    const char *help;
    int64_t lowest;
    int64_t highest;
    const char *const *choices;
} SETTINGS[] = {
#define AT(member) offsetof(struct settings, member)
    {"listen", TEXT, AT(listen), "127.0.0.1:7420", "ADDRESS:PORT",
     "where to serve HTTP; [::1]:7420 for IPv6, port 0 for any free one", 0, 0, NULL},
    {"redis-url", SECRET, AT(redis_url), NULL, "URL",
     "redis://[user:password@]host[:port][/db], rediss://, unix:///path, or "
     "redis+sentinel://[user:password@]host[:port],host[:port]/MASTER[/db]; unset: its own Redis",
     0, 0, NULL},
    {"redis-user", TEXT, AT(redis_user), NULL, "NAME",
     "who logs in to Redis, where redis-url does not say", 0, 0, NULL},
    {"redis-password", SECRET, AT(redis_password), NULL, "TEXT",
     "the password for Redis, where redis-url does not say", 0, 0, NULL},
    {"redis-sentinel-user", TEXT, AT(redis_sentinel_user), NULL, "NAME",
     "who logs in to the sentinels of redis+sentinel://, where they ask for it", 0, 0, NULL},
    {"redis-sentinel-password", SECRET, AT(redis_sentinel_password), NULL, "TEXT",
     "the password for the sentinels; that for Redis is not sent to them", 0, 0, NULL},
    {"redis-ca", TEXT, AT(redis_ca), NULL, "FILE",
     "certificates (PEM) to trust for rediss://, in place of the system's", 0, 0, NULL},
    {"redis-cert", TEXT, AT(redis_cert), NULL, "FILE",
     "the certificate (PEM) to show to Redis, where it asks for one", 0, 0, NULL},
    {"redis-key", TEXT, AT(redis_key), NULL, "FILE", "the key (PEM) of redis-cert", 0, 0, NULL},
    {"redis-server-name", TEXT, AT(redis_server_name), NULL, "NAME",
     "what the certificate of Redis names (and SNI), in place of the host in redis-url", 0, 0,
     NULL},
    {"state-dir", TEXT, AT(state_dir), "", "DIRECTORY",
     "where the embedded Redis keeps its data ($XDG_STATE_HOME/baton or ~/.local/state/baton)", 0,
     0, NULL},
    {"key-prefix", TEXT, AT(key_prefix), "baton:", "TEXT",
     "what all keys in Redis begin with; at most 64 bytes, no braces", 0, 0, NULL},
    {"workers", COUNT, AT(workers), "0", "N", "threads that serve; 0: as suits the machine", 0, 256,
     NULL},
    {"default-ttl", DURATION, AT(default_ttl_ms), "30s", "DURATION",
     "TTL of a hold whose acquire names none", 100, 86400000, NULL},
    {"max-ttl", DURATION, AT(max_ttl_ms), "24h", "DURATION",
     "the longest TTL that may be asked for", 100, 86400000, NULL},
    {"retention", DURATION, AT(retention_ms), "1h", "DURATION",
     "how long a free name is remembered: its last release, its version", 1000, 86400000, NULL},
    {"max-wait", DURATION, AT(max_wait_ms), "60s", "DURATION",
     "the longest that a request may wait for a lock or an event", 1000, 3600000, NULL},
    {"max-waiters", COUNT, AT(max_waiters), "10000", "N",
     "requests that may wait for one lock; one more is answered 429", 1, 1000000, NULL},
    {"max-waiters-per-process", COUNT, AT(process_waiters), "0", "N",
     "requests that may wait in this batond, streams too; 0: nine tenths of its connections", 0,
     10000000, NULL},
    {"max-waiters-per-principal", COUNT, AT(principal_waiters), "0", "N",
     "of them, those of one principal, unless tokens-file has another number; 0: all", 0,
     PRINCIPAL_LIMIT_MOST, NULL},
    {"rate-limit", COUNT, AT(rate_limit), "0", "N",
     "requests per second of one principal, unless tokens-file has another number; 0: any", 0,
     PRINCIPAL_LIMIT_MOST, NULL},
    {"claim-window", DURATION, AT(claim_window_ms), "2s", "DURATION",
     "how long a grant that its waiter does not collect blocks the next waiter", 100, 60000, NULL},
    {"confirm", REPLICAS, AT(replicas), "none", "none|replicas:N",
     "how many replicas of Redis must have a grant before anybody is told of it", 0, 8, NULL},
    {"confirm-timeout", DURATION, AT(confirm_timeout_ms), "1s", "DURATION",
     "how long they have for it; then the grant is taken back, and the answer is 503", 10, 10000,
     NULL},
    {"waiter-lease", DURATION, AT(waiter_lease_ms), "10s", "DURATION",
     "how long waiters keep their place when their batond has died", 1000, 600000, NULL},
    {"drain", DURATION, AT(drain_ms), "5s", "DURATION",
     "how long to serve on after SIGTERM, while /readyz sends clients to others; needs a redis-url",
     0, 600000, NULL},
    {"head-timeout", DURATION, AT(head_timeout_ms), "10s", "DURATION",
     "how long a request's head may take: the first from connecting on, a later one from its line "
     "on",
     100, 600000, NULL},
    {"body-timeout", DURATION, AT(body_timeout_ms), "10s", "DURATION",
     "how long a request's body may take from the end of its head", 100, 600000, NULL},
    {"idle-timeout", DURATION, AT(idle_timeout_ms), "75s", "DURATION",
     "how long a connection may be without a request, and a reply may take to be read", 100,
     86400000, NULL},
    {"max-connections", COUNT, AT(max_connections), "0", "N",
     "connections of this batond; more wait to be accepted; 0: as many as descriptors allow", 0,
     10000000, NULL},
    {"max-connections-per-address", COUNT, AT(max_connections_per_address), "0", "N",
     "connections from one address; one more is answered 429; 0: a quarter of all", 0, 10000000,
     NULL},
    {"trusted-proxies", TEXT, AT(trusted_proxies), "127.0.0.0/8,::1", "NETWORKS",
     "addresses and networks from where connections are not counted by address", 0, 0, NULL},
    {"log-format", CHOICE, AT(log_format), "json", "json|text", "how lines on stderr look", 0, 0,
     LOG_FORMATS},
    {"log-level", CHOICE, AT(log_level), "info", "LEVEL", "debug, info, warn or error", 0, 0,
     LOG_LEVELS},
    {"access-log", FLAG, AT(access_log), "true", "true|false",
     "log each request, at info (what monitors ask: at debug)", 0, 0, NULL},
    {"audit-log", FLAG, AT(audit_log), "true", "true|false",
     "log the begin and the end of each hold, at info", 0, 0, NULL},
    {"tokens-file", TEXT, AT(tokens_file), NULL, "FILE",
     "who may do what, as JSON, read again on SIGHUP; unset: whoever can connect may do all", 0, 0,
     NULL},
    {"tls-cert", TEXT, AT(tls_cert), NULL, "FILE",
     "the certificate (PEM, with what leads to its root) to serve HTTPS with, read again on SIGHUP",
     0, 0, NULL},
    {"tls-key", TEXT, AT(tls_key), NULL, "FILE", "the key (PEM) of tls-cert", 0, 0, NULL},
    {"tls-client-ca", TEXT, AT(tls_client_ca), NULL, "FILE",
     "certificates (PEM) that vouch for clients; a client's common name is who it is", 0, 0, NULL},
    {"allow-anonymous", FLAG, AT(allow_anonymous), "false", NULL,
     "serve other machines too although nobody has to log in: for a network that is itself closed",
     0, 0, NULL},
    {"sandbox", FLAG, AT(sandbox), "false", NULL,
     "keep only the system calls that serving needs; one that is not allowed ends batond", 0, 0,
     NULL},
#undef AT
};

enum {
    SETTING_COUNT = sizeof SETTINGS / sizeof SETTINGS[0],
    NAME_TEXT = 64,
    SECRET_LONGEST = 4096,
    SHOWN_LENGTH = 100, /* of a wrong value, so that what is expected is still said */
};

static const char CHECK[] = "--check";

static char **text_at(struct settings *settings, const struct setting *setting)
{
    return (char **)((char *)settings + setting->offset);
}

static int set_text(struct settings *settings, const struct setting *setting, const char *value)
{
    char *copy = strdup(value);
    if (!copy)
        return -ENOMEM;
    char **place = text_at(settings, setting);
    free(*place);
    *place = copy;
    return 0;
}

static int set_number(struct settings *settings, const struct setting *setting, int64_t number)
{
    if (number < setting->lowest || number > setting->highest)
        return -EINVAL;
    *(int64_t *)((char *)settings + setting->offset) = number;
    return 0;
}

static int set_count(struct settings *settings, const struct setting *setting, const char *value)
{
    char *end;
    errno = 0;
    long long number = strtoll(value, &end, 10);
    if (!isdigit((unsigned char)value[0]) || *end || errno)
        return -EINVAL;
    return set_number(settings, setting, number);
}

static int set_duration(struct settings *settings, const struct setting *setting, const char *value)
{
    int64_t ms;
    if (duration_parse(slice_of(value), &ms) < 0)
        return -EINVAL;
    return set_number(settings, setting, ms);
}

static int set_choice(struct settings *settings, const struct setting *setting, const char *value)
{
    for (int i = 0; setting->choices[i]; i++) {
        if (strcmp(setting->choices[i], value) == 0) {
            *(int *)((char *)settings + setting->offset) = i;
            return 0;
        }
    }
    return -EINVAL;
}

static int set_flag(struct settings *settings, const struct setting *setting, const char *value)
{
    bool yes = strcmp(value, "true") == 0;
    if (!yes && strcmp(value, "false") != 0)
        return -EINVAL;
    *(bool *)((char *)settings + setting->offset) = yes;
    return 0;
}

static int set_replicas(struct settings *settings, const struct setting *setting, const char *value)
{
    int64_t replicas;
    if (!replicas_parse(slice_of(value), &replicas))
        return -EINVAL;
    return set_number(settings, setting, replicas);
}

/* What a value of the kind looks like, for people. */
static void describe(const struct setting *setting, char *text, size_t size)
{
    char low[DURATION_TEXT], high[DURATION_TEXT];
    switch (setting->kind) {
    case DURATION:
        duration_format(setting->lowest, low);
        duration_format(setting->highest, high);
        snprintf(text, size, "a duration from %s to %s, such as 500ms, 30s, 5m or 2h", low, high);
        break;
    case COUNT:
        snprintf(text, size, "a number from %" PRId64 " to %" PRId64, setting->lowest,
                 setting->highest);
        break;
    case CHOICE: {
        int length = 0;
        for (int i = 0; setting->choices[i]; i++)
            length += snprintf(text + length, size - (size_t)length, "%s%s", i ? ", " : "one of ",
                               setting->choices[i]);
        break;
    }
    case REPLICAS:
        snprintf(text, size, "none, or replicas:N with N from 1 to %" PRId64, setting->highest);
        break;
    case FLAG:
        snprintf(text, size, "true or false");
        break;
    case TEXT:
    case SECRET:
        snprintf(text, size, "a text");
        break;
    }
}

/* `origin` is how the user gave it: --name or BATON_NAME. */
static int set(struct settings *settings, const struct setting *setting, const char *value,
               const char *origin, struct failure *failure)
{
    static int (*const SETTERS[])(struct settings *, const struct setting *, const char *) = {
        [TEXT] = set_text,     [SECRET] = set_text, [DURATION] = set_duration, [COUNT] = set_count,
        [CHOICE] = set_choice, [FLAG] = set_flag,   [REPLICAS] = set_replicas};
    if (SETTERS[setting->kind](settings, setting, value) == 0)
        return 0;
    char expected[128];
    describe(setting, expected, sizeof expected);
    return failure_set(failure, -EINVAL, "%s: \"%.*s\" will not do; expected %s", origin,
                       SHOWN_LENGTH, value, expected);
}

static void variable_name(const struct setting *setting, const char *suffix, char name[NAME_TEXT])
{
    snprintf(name, NAME_TEXT, "BATON_%s%s", setting->name, suffix);
    for (char *c = name; *c; c++)
        *c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
}

/* Reads the secret in a file, without the newline that editors put at its end. A file that holds
 * none is a mistake, unlike an empty variable: without a URL, batond would start a Redis. */
static int set_from_file(struct settings *settings, const struct setting *setting, const char *path,
                         const char *origin, struct failure *failure)
{
    char value[SECRET_LONGEST + 1];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, value, SECRET_LONGEST);
    int error = errno;
    if (fd >= 0)
        close(fd);
    if (length < 0)
        return failure_set(failure, -EINVAL, "%s: cannot read %s: %s", origin, path,
                           strerror(error));
    bool too_long = length == SECRET_LONGEST;
    value[length] = '\0';
    value[strcspn(value, "\r\n")] = '\0';
    int result = too_long ? failure_set(failure, -EINVAL, "%s: %s has more than %d bytes", origin,
                                        path, SECRET_LONGEST - 1)
                 : !value[0] ? failure_set(failure, -EINVAL, "%s: %s is empty", origin, path)
                             : set(settings, setting, value, origin, failure);
    explicit_bzero(value, sizeof value);
    return result;
}

static int read_variable(struct settings *settings, const struct setting *setting,
                         struct failure *failure)
{
    char name[NAME_TEXT], file_name[NAME_TEXT];
    variable_name(setting, "", name);
    variable_name(setting, "_FILE", file_name);
    const char *value = getenv(name);
    if (value && !value[0] && setting->kind == SECRET)
        value = NULL; /* which is how compose files unset one */
    const char *path = setting->kind == SECRET ? getenv(file_name) : NULL;
    if (value && path)
        return failure_set(failure, -EINVAL, "%s and %s are both set; keep one of them", name,
                           file_name);
    if (path)
        return set_from_file(settings, setting, path, file_name, failure);
    return value ? set(settings, setting, value, name, failure) : 0;
}

static const struct setting *setting_find(const char *name, size_t length)
{
    for (size_t i = 0; i < SETTING_COUNT; i++)
        if (strlen(SETTINGS[i].name) == length && memcmp(SETTINGS[i].name, name, length) == 0)
            return &SETTINGS[i];
    return NULL;
}

/* Reads the flag at argv[*index], and its value where that is an argument of its own. */
static int read_flag(struct settings *settings, int argc, char **argv, int *index,
                     struct failure *failure)
{
    const char *argument = argv[*index];
    size_t shown = strcspn(argument, "=:"); /* it may be a URL, with its password behind that */
    if (strncmp(argument, "--", 2) != 0)
        return failure_set(failure, -EINVAL, "\"%.*s\" is no flag; batond --help lists them",
                           (int)(shown < SHOWN_LENGTH ? shown : SHOWN_LENGTH), argument);
    const char *name = argument + 2, *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    const struct setting *setting = setting_find(name, length);
    char origin[NAME_TEXT];
    snprintf(origin, sizeof origin, "--%.*s", (int)(length < 48 ? length : 48), name);
    if (!setting)
        return failure_set(failure, -EINVAL, "there is no flag %s; batond --help lists them",
                           origin);
    if (equals)
        return set(settings, setting, equals + 1, origin, failure);
    if (setting->kind == FLAG)
        return set(settings, setting, "true", origin, failure);
    if (*index + 1 == argc)
        return failure_set(failure, -EINVAL, "%s needs a value: %s=%s", origin, origin,
                           setting->value);
    *index += 1;
    return set(settings, setting, argv[*index], origin, failure);
}

static int set_default_state_dir(struct settings *settings, struct failure *failure)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (settings->state_dir[0] || settings->redis_url)
        return 0;
    if (!(state && state[0] == '/') && !(home && home[0]))
        return failure_set(failure, -EINVAL,
                           "--state-dir: HOME is not set, so say where to keep the data");
    free(settings->state_dir);
    int length = state && state[0] == '/'
                     ? asprintf(&settings->state_dir, "%s/baton", state)
                     : asprintf(&settings->state_dir, "%s/.local/state/baton", home);
    if (length < 0)
        settings->state_dir = NULL;
    return length < 0 ? -ENOMEM : 0;
}

/* What no single setting can tell. */
static int check(struct settings *settings, struct failure *failure)
{
    struct failure wrong;
    if (settings->redis_url && !settings->redis_url[0])
        return failure_set(failure, -EINVAL,
                           "--redis-url is empty; give a URL, or leave it out for a Redis of "
                           "batond's own");
    if (!key_prefix_is_valid(slice_of(settings->key_prefix)))
        return failure_set(failure, -EINVAL,
                           "--key-prefix: expected at most %d bytes of UTF-8 without control "
                           "characters and braces",
                           KEY_PREFIX_LENGTH);
    if (settings->default_ttl_ms > settings->max_ttl_ms)
        return failure_set(failure, -EINVAL,
                           "--default-ttl is longer than --max-ttl: lower it, or raise --max-ttl");
    if (settings->replicas > 0 && !settings->redis_url)
        return failure_set(failure, -EINVAL,
                           "--confirm needs a --redis-url: batond's own Redis has no replicas");
    if (networks_read(&settings->trusted, settings->trusted_proxies, &wrong) < 0)
        return failure_set(failure, -EINVAL,
                           "--trusted-proxies: %s; expected addresses and networks with commas "
                           "between, such as 127.0.0.0/8,10.1.2.3,fd00::/8",
                           wrong.text);
    if (!settings->tls_cert != !settings->tls_key)
        return failure_set(failure, -EINVAL,
                           "--tls-cert and --tls-key need each other; give both or none");
    if (settings->tls_client_ca && !settings->tls_cert)
        return failure_set(failure, -EINVAL, "--tls-client-ca needs --tls-cert and --tls-key");
    return set_default_state_dir(settings, failure);
}

/* What has batond do something else than serve, wherever among the flags it stands. */
static int read_command(struct settings *settings, int argc, char **argv, struct failure *failure)
{
    static const char NEW_TOKEN[] = "--new-token";
    const size_t length = sizeof NEW_TOKEN - 1;
    for (int i = 1; i < argc; i++) {
        settings->wants_help |= strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0;
        settings->wants_version |= strcmp(argv[i], "--version") == 0;
        settings->wants_check |= strcmp(argv[i], CHECK) == 0;
        if (strncmp(argv[i], NEW_TOKEN, length) != 0 || settings->new_token)
            continue;
        const char *name = argv[i][length] == '=' ? argv[i] + length + 1
                           : !argv[i][length]     ? argv[i + 1]
                                                  : NULL;
        settings->new_token = name ? strdup(name) : NULL;
        if (!settings->new_token)
            return failure_set(failure, -EINVAL,
                               "--new-token needs the name of a principal: --new-token=ci");
    }
    return 0;
}

int settings_read(struct settings *ret, int argc, char **argv, struct failure *failure)
{
    struct settings settings = {0};
    int result = 0;
    for (size_t i = 0; result == 0 && i < SETTING_COUNT; i++)
        if (SETTINGS[i].standard)
            result = set(&settings, &SETTINGS[i], SETTINGS[i].standard, SETTINGS[i].name, failure);
    if (result == 0)
        result = read_command(&settings, argc, argv, failure);
    if (settings.wants_help || settings.wants_version || settings.new_token)
        goto end;
    for (size_t i = 0; result == 0 && i < SETTING_COUNT; i++)
        result = read_variable(&settings, &SETTINGS[i], failure);
    for (int i = 1; result == 0 && i < argc; i++)
        result = strcmp(argv[i], CHECK) == 0 ? 0 : read_flag(&settings, argc, argv, &i, failure);
    if (result == 0)
        result = check(&settings, failure);

end:
    if (result == 0)
        *ret = settings;
    else
        settings_free(&settings);
    return result;
}

/* What is left tells that there was one, and not how long it was. */
static void blot(char *secret)
{
    size_t length = strlen(secret);
    explicit_bzero(secret, length);
    memcpy(secret, "***", length < 3 ? length : 3);
}

static void hide_flags(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *name = strncmp(argv[i], "--", 2) == 0 ? argv[i] + 2 : "";
        size_t length = strcspn(name, "=");
        const struct setting *setting = setting_find(name, length);
        char *value = name[length] ? argv[i] + 2 + length + 1 : NULL;
        if (setting && setting->kind != FLAG && !value && i + 1 < argc)
            value = argv[++i];
        if (setting && setting->kind == SECRET && value)
            blot(value);
    }
}

void settings_hide(int argc, char **argv)
{
    char name[NAME_TEXT];
    hide_flags(argc, argv);
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        variable_name(&SETTINGS[i], "", name);
        char *value = SETTINGS[i].kind == SECRET ? getenv(name) : NULL;
        if (!value)
            continue;
        explicit_bzero(value, strlen(value));
        unsetenv(name);
    }
}

void settings_forget_secrets(struct settings *settings)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        char *text = SETTINGS[i].kind == SECRET ? *text_at(settings, &SETTINGS[i]) : NULL;
        if (text)
            explicit_bzero(text, strlen(text));
    }
}

void settings_free(struct settings *settings)
{
    settings_forget_secrets(settings);
    for (size_t i = 0; i < SETTING_COUNT; i++)
        if (SETTINGS[i].kind == TEXT || SETTINGS[i].kind == SECRET)
            free(*text_at(settings, &SETTINGS[i]));
    networks_free(&settings->trusted);
    free(settings->new_token);
    *settings = (struct settings){0};
}

void settings_help(FILE *out)
{
    fprintf(out, "Usage: batond [--FLAG=VALUE]...\n\n"
                 "Serves locks over HTTP and keeps them in Redis. Try it:\n"
                 "  batond &\n"
                 "  curl -X POST 'http://127.0.0.1:7420/locks/demo?ttl=30s'\n\n"
                 "Each flag can also be given as a variable: --redis-url is BATON_REDIS_URL, and\n"
                 "BATON_REDIS_URL_FILE names a file with it (so for all that is secret). A flag "
                 "wins over a variable.\n\n");
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const struct setting *setting = &SETTINGS[i];
        bool has_default = setting->value && setting->standard && setting->standard[0];
        fprintf(out, "  --%s%s%s\n      %s", setting->name, setting->value ? "=" : "",
                setting->value ? setting->value : "", setting->help);
        if (has_default)
            fprintf(out, " (default: %s)", setting->standard);
        fputc('\n', out);
    }
    fprintf(out,
            "\nInstead of serving:\n\n"
            "  --new-token=NAME\n      print a new token, and the principal that has it for the "
            "tokens-file\n"
            "  --check\n      ask the batond that the same settings describe whether it is ready: "
            "exit code 0 if so, 1 if not\n"
            "  --help\n      print this\n  --version\n      print the version\n\n"
            "The HTTP interface is described at /openapi.yaml.\n");
}
