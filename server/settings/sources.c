#include "server/settings/sources.h"

#include "base/memory.h"
#include "base/slice.h"
#include "base/spelling.h"
#include "server/settings/service_links.h"
#include "server/settings/setting.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char VARIABLES[] = "BATON_"; /* the start of their names */
static const char CHECK_FLAG[] = "--check";

enum { NAME_TEXT = 64, SECRET_LONGEST = 4096 };

static void variable_name(const struct setting *setting, const char *suffix, char name[NAME_TEXT])
{
    snprintf(name, NAME_TEXT, "%s%s%s", VARIABLES, setting->name, suffix);
    for (char *c = name; *c; c++)
        *c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
}

static int sources_set(struct settings *settings, const struct setting *setting, const char *value,
                       const char *origin, struct failure *failure)
{
    struct slice meant = slice_of_value((struct slice){value, strlen(value)});
    char *text = memory_checked(strndup(meant.bytes, meant.length));
    settings->has_listen |= setting->offset == offsetof(struct settings, listen);
    int result = setting_set(settings, setting, text, origin, failure);
    explicit_bzero(text, meant.length);
    free(text);
    return result;
}

/* Reads a secret from a file, without the newline that editors append. An empty file is a mistake,
 * unlike an empty variable: without a URL, batond would start a Redis. */
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
    bool is_empty = slice_of_value(slice_of(value)).length == 0;
    int result =
        too_long   ? failure_set(failure, -EINVAL,
                                 "%s: %s has more than %d bytes. Check that it is the right file.",
                                 origin, path, SECRET_LONGEST - 1)
        : is_empty ? failure_set(failure, -EINVAL, "%s: %s is empty. Write the value into it.",
                                 origin, path)
                   : sources_set(settings, setting, value, origin, failure);
    explicit_bzero(value, sizeof value);
    return result;
}

/* A variable that an operator has set; a service link with this name does not count. */
static const char *sources_variable(const char *name)
{
    const char *value = getenv(name);
    return value && service_links_have(name, value) ? NULL : value;
}

static int read_variable(struct settings *settings, const struct setting *setting,
                         struct failure *failure)
{
    char name[NAME_TEXT], file_name[NAME_TEXT];
    variable_name(setting, "", name);
    variable_name(setting, "_FILE", file_name);
    const char *value = sources_variable(name);
    if (value && setting->kind == SECRET && slice_of_value(slice_of(value)).length == 0)
        value = NULL; /* compose files unset a variable so */
    const char *path = setting->kind == SECRET ? sources_variable(file_name) : NULL;
    if (value && path)
        return failure_set(failure, -EINVAL, "%s and %s are both set. Keep one of them.", name,
                           file_name);
    if (path)
        return set_from_file(settings, setting, path, file_name, failure);
    return value ? sources_set(settings, setting, value, name, failure) : 0;
}

static const struct setting *sources_find(const char *name, size_t length)
{
    for (size_t i = 0; i < SETTING_COUNT; i++)
        if (strlen(SETTINGS[i].name) == length && memcmp(SETTINGS[i].name, name, length) == 0)
            return &SETTINGS[i];
    return NULL;
}

/* The setting whose name is closest to an unknown one. */
struct guess {
    char name[NAME_TEXT]; /* "": no guess */
    unsigned slips;
};

static void guess_better(struct guess *guess, const char *written, const char *name)
{
    unsigned slips = spelling_slips(written, name);
    if (slips >= guess->slips)
        return;
    guess->slips = slips;
    snprintf(guess->name, sizeof guess->name, "%s", name);
}

static enum check sources_check(const char *argument)
{
    if (strcmp(argument, "--check=config") == 0)
        return CHECK_CONFIG;
    return strcmp(argument, CHECK_FLAG) == 0 ? CHECK_READY : CHECK_NOTHING;
}

static int refuse_flag(const char *flag, struct failure *failure)
{
    static const char *const COMMANDS[] = {"--help", "--version"};
    struct guess meant = {.slips = SPELLING_FAR};
    for (size_t i = 0; i < SETTING_COUNT; i++)
        guess_better(&meant, flag + strlen("--"), SETTINGS[i].name);
    if (meant.name[0])
        return failure_set(failure, -EINVAL, "there is no flag %s; did you mean --%s?", flag,
                           meant.name);
    if (strcmp(flag, CHECK_FLAG) == 0)
        return failure_set(failure, -EINVAL, "%s takes no value but config", flag);
    for (size_t i = 0; i < sizeof COMMANDS / sizeof *COMMANDS; i++)
        if (strcmp(flag, COMMANDS[i]) == 0)
            return failure_set(failure, -EINVAL, "%s takes no value", flag);
    return failure_set(failure, -EINVAL, "there is no flag %s; batond --help lists all flags",
                       flag);
}

/* Only secrets are read from a file. Some settings name a file themselves, as tls-key does. */
static int refuse_file(const struct setting *setting, const char *variable, struct failure *failure)
{
    char name[NAME_TEXT];
    bool names_file = setting->value && strcmp(setting->value, "FILE") == 0;
    variable_name(setting, "", name);
    if (names_file)
        return failure_set(failure, -EINVAL, "%s is not a setting. Set %s to the name of the file.",
                           variable, name);
    return failure_set(failure, -EINVAL,
                       "%s is not a setting, because batond reads only redis-url and passwords "
                       "from files. Set %s to the value itself.",
                       variable, name);
}

/* What to set in place of names that other programs use. */
enum advice { ADVICE_REDIS_URL, ADVICE_REDIS_USER, ADVICE_LISTEN, ADVICE_NONE };

static const char *const ADVICES[ADVICE_NONE] = {
    [ADVICE_REDIS_URL] = "BATON_REDIS_URL=redis://[USER:PASSWORD@]HOST:PORT",
    [ADVICE_REDIS_USER] = "BATON_REDIS_USER",
    [ADVICE_LISTEN] = "BATON_LISTEN=ADDRESS:PORT",
};

static enum advice sources_advice(const char *variable)
{
    static const struct {
        const char *pattern;
        enum advice advice;
    } ALIASES[] = {
        {"BATON_REDIS_USER*", ADVICE_REDIS_USER},
        {"BATON_REDIS", ADVICE_REDIS_URL},
        {"BATON_REDIS_*", ADVICE_REDIS_URL},
        {"BATON_HOST", ADVICE_LISTEN},
        {"BATON_PORT", ADVICE_LISTEN},
    };
    for (size_t i = 0; i < sizeof ALIASES / sizeof *ALIASES; i++)
        if (fnmatch(ALIASES[i].pattern, variable, 0) == 0)
            return ALIASES[i].advice;
    return ADVICE_NONE;
}

/* Refuses an unknown variable only if its name is close to a setting's. */
static int check_variable(const char *variable, struct failure *failure)
{
    static const char *const SUFFIXES[] = {"", "_FILE"};
    char name[NAME_TEXT];
    struct guess meant = {.slips = SPELLING_FAR};
    for (size_t i = 0; i < 2 * SETTING_COUNT; i++) {
        const struct setting *setting = &SETTINGS[i / 2];
        bool exists = i % 2 == 0 || setting->kind == SECRET;
        variable_name(setting, SUFFIXES[i % 2], name);
        if (strcmp(name, variable) == 0)
            return exists ? 0 : refuse_file(setting, variable, failure);
        if (exists)
            guess_better(&meant, variable, name);
    }
    if (meant.name[0] && strcmp(variable, "BATON_REDIS_PORT") == 0)
        return failure_set(failure, -EINVAL, "%s is not a setting; set %s", variable,
                           ADVICES[ADVICE_REDIS_URL]);
    return meant.name[0] ? failure_set(failure, -EINVAL, "%s is not a setting; did you mean %s?",
                                       variable, meant.name)
                         : 0;
}

/* The name of a variable of batond's prefix that is no service link; "" for any other. */
static void sources_name(const char *variable, char name[NAME_TEXT])
{
    size_t length = strcspn(variable, "=");
    char *whole = memory_checked(strndup(variable, length));
    bool is_ours = strncmp(whole, VARIABLES, strlen(VARIABLES)) == 0 &&
                   !service_links_have(whole, variable + length + (variable[length] == '='));
    snprintf(name, NAME_TEXT, "%s", is_ours ? whole : "");
    free(whole);
}

/* Whether it is the variable that `baton run --token-file` sets for its command, which may be a
 * batond. Without BATON_NAME it is a typo of BATON_TOKENS_FILE. */
static bool sources_is_of_run(const char *variable)
{
    return strcmp(variable, "BATON_TOKEN_FILE") == 0 && getenv("BATON_NAME");
}

/* With a typo in BATON_REDIS_URL each replica would silently start a Redis of its own. Other
 * programs use this prefix, too: Kubernetes sets BATON_SERVICE_HOST. */
static int check_variables(struct failure *failure)
{
    char written[NAME_TEXT];
    int result = 0;
    for (char **variable = environ; result == 0 && *variable; variable++) {
        sources_name(*variable, written);
        if (written[0] && !sources_is_of_run(written))
            result = check_variable(written, failure);
    }
    return result;
}

static bool sources_is_setting(const char *variable)
{
    char name[NAME_TEXT];
    for (size_t i = 0; i < SETTING_COUNT; i++)
        for (int file = 0; file < 2; file++) {
            variable_name(&SETTINGS[i], file ? "_FILE" : "", name);
            if (strcmp(name, variable) == 0)
                return true;
        }
    return false;
}

/* If the advised setting is set, such a variable may serve to build it. A user alone is of no use
 * without a URL. */
static enum advice sources_missing(const struct settings *settings, enum advice advice)
{
    bool has_user =
        settings->redis_user || (settings->redis_url && strchr(settings->redis_url, '@'));
    switch (advice) {
    case ADVICE_REDIS_URL:
        return settings->redis_url ? ADVICE_NONE : ADVICE_REDIS_URL;
    case ADVICE_REDIS_USER:
        return has_user ? ADVICE_NONE : settings->redis_url ? ADVICE_REDIS_USER : ADVICE_REDIS_URL;
    case ADVICE_LISTEN:
        return settings->has_listen ? ADVICE_NONE : ADVICE_LISTEN;
    case ADVICE_NONE:
        break;
    }
    return ADVICE_NONE;
}

static void sources_add(char *list, size_t size, const char *separator, const char *text)
{
    size_t length = strlen(list);
    snprintf(list + length, size - length, "%s%s", length ? separator : "", text);
}

bool sources_overlooked(const struct settings *settings, struct overlooked *ret)
{
    char written[NAME_TEXT];
    bool is_advised[ADVICE_NONE] = {false};
    *ret = (struct overlooked){0};
    for (char **variable = environ; *variable; variable++) {
        sources_name(*variable, written);
        enum advice missing = sources_missing(settings, sources_advice(written));
        if (missing == ADVICE_NONE || sources_is_setting(written))
            continue;
        sources_add(ret->variables, sizeof ret->variables, ", ", written);
        is_advised[missing] = true;
    }
    for (size_t i = 0; i < ADVICE_NONE; i++)
        if (is_advised[i])
            sources_add(ret->settings, sizeof ret->settings, " and ", ADVICES[i]);
    return ret->variables[0];
}

/* Reads the flag at argv[*index], and its value if that is the next argument. */
static int read_flag(struct settings *settings, int argc, char **argv, int *index,
                     struct failure *failure)
{
    const char *argument = argv[*index];
    size_t shown = strcspn(argument, "=:"); /* it may be a URL, with a password after these */
    if (strncmp(argument, "--", 2) != 0)
        return failure_set(failure, -EINVAL,
                           "\"%.*s\" is not a flag; batond --help lists all flags",
                           (int)(shown < SETTING_SHOWN ? shown : SETTING_SHOWN), argument);
    const char *name = argument + 2, *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    const struct setting *setting = sources_find(name, length);
    char origin[NAME_TEXT];
    snprintf(origin, sizeof origin, "--%.*s", (int)(length < 48 ? length : 48), name);
    if (!setting)
        return refuse_flag(origin, failure);
    if (equals)
        return sources_set(settings, setting, equals + 1, origin, failure);
    if (setting->kind == FLAG)
        return sources_set(settings, setting, "true", origin, failure);
    if (*index + 1 == argc)
        return failure_set(failure, -EINVAL, "%s needs a value: %s=%s", origin, origin,
                           setting->value);
    *index += 1;
    return sources_set(settings, setting, argv[*index], origin, failure);
}

int sources_read_command(struct settings *settings, int argc, char **argv, struct failure *failure)
{
    static const char NEW_TOKEN[] = "--new-token";
    const size_t length = sizeof NEW_TOKEN - 1;
    for (int i = 1; i < argc; i++) {
        settings->wants_help |= strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0;
        settings->wants_version |= strcmp(argv[i], "--version") == 0;
        if (sources_check(argv[i]))
            settings->check = sources_check(argv[i]);
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

int sources_read(struct settings *settings, int argc, char **argv, struct failure *failure)
{
    int result = 0;
    for (size_t i = 0; result == 0 && i < SETTING_COUNT; i++)
        result = read_variable(settings, &SETTINGS[i], failure);
    if (result == 0)
        result = check_variables(failure);
    for (int i = 1; result == 0 && i < argc; i++)
        result = sources_check(argv[i]) ? 0 : read_flag(settings, argc, argv, &i, failure);
    return result;
}

/* Leaves three stars, which show that there was a secret, but not its length. */
static void sources_blot(char *secret)
{
    size_t length = strlen(secret);
    explicit_bzero(secret, length);
    memcpy(secret, "***", length < 3 ? length : 3);
}

static void sources_hide_flags(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *name = strncmp(argv[i], "--", 2) == 0 ? argv[i] + 2 : "";
        size_t length = strcspn(name, "=");
        const struct setting *setting = sources_find(name, length);
        char *value = name[length] ? argv[i] + 2 + length + 1 : NULL;
        if (setting && setting->kind != FLAG && !value && i + 1 < argc)
            value = argv[++i];
        if (setting && setting->kind == SECRET && value)
            sources_blot(value);
    }
}

void sources_hide(int argc, char **argv)
{
    char name[NAME_TEXT];
    sources_hide_flags(argc, argv);
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        variable_name(&SETTINGS[i], "", name);
        char *value = SETTINGS[i].kind == SECRET ? getenv(name) : NULL;
        if (!value)
            continue;
        explicit_bzero(value, strlen(value));
        unsetenv(name);
    }
}
