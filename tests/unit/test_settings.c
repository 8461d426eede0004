#include "server/settings/settings.h"

#include "server/settings/setting.h"
#include "server/settings/sources.h"
#include "tests/support/cmocka.h"
#include "tests/support/temp_dir.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ARGUMENTS = 6 };

/* Nothing of the environment that the tests run in. */
static int clean_environment(void **state)
{
    (void)state;
    clearenv();
    return setenv("HOME", "/home/me", 1);
}

/* Reads what is set and the arguments up to the first NULL. */
static int read_arguments(struct settings *ret, const char *const arguments[ARGUMENTS],
                          struct failure *failure)
{
    char *argv[ARGUMENTS + 2] = {"batond"};
    int argc = 1;
    for (int i = 0; i < ARGUMENTS && arguments[i]; i++)
        argv[argc++] = (char *)(uintptr_t)arguments[i];
    return settings_read(ret, argc, argv, failure);
}

static void read_well(struct settings *ret, const char *const arguments[ARGUMENTS])
{
    struct failure failure = {""};
    if (read_arguments(ret, arguments, &failure) != 0)
        fail_msg("%s", failure.text);
}

/* What each failure is to say. */
static void assert_refused(const char *const arguments[ARGUMENTS], const char *said)
{
    struct settings settings = {.workers = 99};
    struct failure failure = {""};
    if (read_arguments(&settings, arguments, &failure) != -EINVAL)
        fail_msg("%s %s is read", arguments[0], arguments[1]);
    if (!strstr(failure.text, said))
        fail_msg("\"%s\" does not say \"%s\"", failure.text, said);
    assert_int_equal(settings.workers, 99); /* untouched */
    assert_null(settings.listen);
}

static const char *const NOTHING[ARGUMENTS] = {NULL};

/* Each setting that is not about the state directory: a value, and what is read without it. */
static const struct given {
    const char *name, *value;
    size_t offset, size; /* size 0: a text, which is kept as it was given */
    int64_t number, default_number;
    const char *default_text;
} GIVEN[] = {
#define STRING(name, field, value, otherwise)                                                      \
    {                                                                                              \
        name, value, offsetof(struct settings, field), 0, 0, 0, otherwise                          \
    }
#define NUMBER(name, field, value, number, otherwise)                                              \
    {                                                                                              \
        name, value, offsetof(struct settings, field), sizeof(((struct settings *)0)->field),      \
            number, otherwise, NULL                                                                \
    }
    STRING("listen", listen, "[::1]:1", "127.0.0.1:7420"),
    STRING("redis-url", redis_url, "redis://h", NULL),
    STRING("redis-user", redis_user, "baton", NULL),
    STRING("redis-password", redis_password, "pass", NULL),
    STRING("redis-ca", redis_ca, "/ca", NULL),
    STRING("redis-cert", redis_cert, "/cert", NULL),
    STRING("redis-key", redis_key, "/key", NULL),
    STRING("redis-server-name", redis_server_name, "name", NULL),
    NUMBER("redis-timeout", redis_timeout_ms, "1m", 60000, 800),
    STRING("key-prefix", key_prefix, "b=c", "baton:"),
    NUMBER("workers", workers, "256", 256, 0),
    NUMBER("default-ttl", default_ttl_ms, "100ms", 100, 30000),
    NUMBER("max-ttl", max_ttl_ms, "1h", 3600000, 3600000),
    NUMBER("max-held", max_held_ms, "720h", 2592000000, 0),
    NUMBER("retention", retention_ms, "1", 1000, 3600000),
    NUMBER("max-wait", max_wait_ms, "1001ms", 1001, 50000),
    NUMBER("max-waiters", max_waiters, "1000000", 1000000, 10000),
    NUMBER("max-waiters-per-process", process_waiters, "10000000", 10000000, 0),
    NUMBER("max-waiters-per-principal", principal_waiters, "1000000", 1000000, 0),
    NUMBER("max-bodies-per-principal", principal_bodies, "1000000", 1000000, 500),
    NUMBER("max-streams-per-principal", principal_streams, "1000000", 1000000, 1000),
    NUMBER("max-connection-holds-per-principal", principal_connection_holds, "1000000", 1000000,
           5000),
    NUMBER("rate-limit", rate_limit, "1", 1, 0),
    NUMBER("claim-window", claim_window_ms, "1m", 60000, 2000),
    NUMBER("waiter-lease", waiter_lease_ms, "10m", 600000, 10000),
    NUMBER("drain", drain_ms, "10m", 600000, 5000),
    NUMBER("head-timeout", head_timeout_ms, "100ms", 100, 10000),
    NUMBER("body-timeout", body_timeout_ms, "10m", 600000, 10000),
    NUMBER("idle-timeout", idle_timeout_ms, "90s", 90000, 75000),
    NUMBER("max-connections", max_connections, "10000000", 10000000, 0),
    NUMBER("max-connections-per-address", max_connections_per_address, "1", 1, 0),
    STRING("allowed-hosts", allowed_hosts, "locks.example.com, .corp.example,*", ""),
    STRING("trusted-proxies", trusted_proxies, "10.0.0.0/8, fd00::/8, 10.1.2.3", "127.0.0.0/8,::1"),
    NUMBER("log-format", log_format, "text", LOG_TEXT, LOG_JSON),
    NUMBER("log-level", log_level, "error", LOG_ERROR, LOG_INFO),
    STRING("tls-cert", tls_cert, "/cert.pem", NULL),
    STRING("tls-key", tls_key, "/key.pem", NULL),
    STRING("tls-client-ca", tls_client_ca, "/ca.pem", NULL),
    NUMBER("allow-anonymous", allow_anonymous, "true", true, false),
    NUMBER("sandbox", sandbox, "true", true, false),
};

static void variable_of(const char *name, char variable[64])
{
    int length = snprintf(variable, 64, "BATON_%s", name);
    for (int i = 0; i < length; i++)
        variable[i] = variable[i] == '-' ? '_' : (char)toupper((unsigned char)variable[i]);
}

static int64_t number_at(const void *place, size_t size)
{
    return size == sizeof(bool)  ? *(const bool *)place
           : size == sizeof(int) ? *(const int *)place
                                 : *(const int64_t *)place;
}

/* As they were given, or else as they are by default. */
static void assert_all(const struct settings *settings, bool are_given)
{
    for (size_t i = 0; i < LENGTH(GIVEN); i++) {
        const struct given *given = &GIVEN[i];
        const void *place = (const char *)settings + given->offset;
        if (given->size > 0) {
            if (number_at(place, given->size) !=
                (are_given ? given->number : given->default_number))
                fail_msg("%s", given->name);
            continue;
        }
        const char *text = *(const char *const *)place;
        const char *expected = are_given ? given->value : given->default_text;
        if (expected ? !text || strcmp(text, expected) != 0 : text != NULL)
            fail_msg("%s: %s", given->name, text ? text : "NULL");
    }
}

TEST_WITH(setting_that_is_not_given_has_its_default, clean_environment, NULL)
{
    struct settings settings;
    read_well(&settings, NOTHING);
    assert_all(&settings, false);
    assert_string_equal(settings.state_dir, "/home/me/.local/state/baton");
    assert_int_equal(settings.trusted.count, 2);
    assert_false(settings.wants_help);
    assert_false(settings.wants_version);
    settings_free(&settings);
    settings_free(&settings); /* a zeroed one too */
}

TEST_WITH(every_setting_may_be_a_variable, clean_environment, NULL)
{
    struct settings settings;
    char variable[64];
    for (size_t i = 0; i < LENGTH(GIVEN); i++) {
        variable_of(GIVEN[i].name, variable);
        setenv(variable, GIVEN[i].value, 1);
    }
    read_well(&settings, NOTHING);
    assert_all(&settings, true);
    assert_int_equal(settings.trusted.count, 3);
    settings_free(&settings);
}

TEST_WITH(every_setting_may_be_a_flag, clean_environment, NULL)
{
    static char joined[LENGTH(GIVEN)][160], apart[LENGTH(GIVEN)][64];
    char *one[LENGTH(GIVEN) + 2] = {"batond"}, *two[2 * LENGTH(GIVEN) + 2] = {"batond"};
    int one_count = 1, two_count = 1;
    struct settings settings;
    for (size_t i = 0; i < LENGTH(GIVEN); i++) {
        snprintf(apart[i], sizeof apart[i], "--%s", GIVEN[i].name);
        snprintf(joined[i], sizeof joined[i], "--%s=%s", GIVEN[i].name, GIVEN[i].value);
        one[one_count++] = joined[i];
        two[two_count++] = apart[i];
        if (strcmp(GIVEN[i].value, "true") != 0)
            two[two_count++] = (char *)(uintptr_t)GIVEN[i].value;
    }
    assert_int_equal(settings_read(&settings, one_count, one, NULL), 0);
    assert_all(&settings, true);
    settings_free(&settings);
    assert_int_equal(settings_read(&settings, two_count, two, NULL), 0);
    assert_all(&settings, true);
    settings_free(&settings);
}

TEST_WITH(flag_wins_over_variable, clean_environment, NULL)
{
    struct settings settings;
    setenv("BATON_LISTEN", "127.0.0.1:1", 1);
    setenv("BATON_LOG_LEVEL", "debug", 1);
    setenv("BATON_ALLOW_ANONYMOUS", "true", 1);
    read_well(&settings,
              (const char *[ARGUMENTS]){"--listen=127.0.0.1:2", "--allow-anonymous=false",
                                        "--workers=1", "--workers", "2"});
    assert_string_equal(settings.listen, "127.0.0.1:2");
    assert_int_equal(settings.log_level, LOG_DEBUG);
    assert_false(settings.allow_anonymous);
    assert_int_equal(settings.workers, 2); /* the last one */
    settings_free(&settings);
}

TEST_WITH(secrets_are_hidden, clean_environment, NULL)
{
    struct settings settings;
    char texts[][64] = {"batond",
                        "--workers",
                        "2",
                        "--redis-url=redis://:pw@h",
                        "--redis-url",
                        "r",
                        "--key-prefix",
                        "--redis-url=x",
                        "--sandbox"};
    char *argv[LENGTH(texts)];
    for (size_t i = 0; i < LENGTH(texts); i++)
        argv[i] = texts[i];
    setenv("BATON_REDIS_URL", "redis://:other@h", 1);
    char *value = getenv("BATON_REDIS_URL");
    assert_int_equal(settings_read(&settings, LENGTH(texts), argv, NULL), 0);
    sources_hide(LENGTH(texts), argv);
    assert_memory_equal(texts[3], "--redis-url=***\0\0\0\0\0\0\0\0\0", 25);
    assert_string_equal(texts[2], "2");
    assert_string_equal(texts[5], "*");
    assert_string_equal(texts[7], "--redis-url=x"); /* a value, not a flag */
    assert_null(getenv("BATON_REDIS_URL"));
    assert_memory_equal(value, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
    assert_string_equal(settings.redis_url, "r");
    settings_forget_secrets(&settings);
    assert_string_equal(settings.redis_url, "");
    settings_free(&settings);
}

TEST_WITH(hiding_accepts_malformed_arguments, clean_environment, NULL)
{
    char texts[][64] = {"batond", "-", "--", "--=", "--nothing=1", "x=y", "--redis-url"};
    char *argv[LENGTH(texts)];
    for (size_t i = 0; i < LENGTH(texts); i++)
        argv[i] = texts[i];
    sources_hide(LENGTH(texts), argv);
    assert_string_equal(texts[4], "--nothing=1");
}

TEST_WITH(secret_may_be_in_a_file, clean_environment, NULL)
{
    static const char *const CONTENTS[] = {"redis://:pw@h", "redis://:pw@h\n", "redis://:pw@h\r\n",
                                           "redis://:pw@h\nmore", "\xEF\xBB\xBFredis://:pw@h\r\n"};
    struct temp_dir dir;
    struct settings settings;
    char path[128];
    temp_dir_make(&dir);
    snprintf(path, sizeof path, "%s/url", dir.path);
    for (size_t i = 0; i < LENGTH(CONTENTS); i++) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fputs(CONTENTS[i], file);
        fclose(file);
        setenv("BATON_REDIS_URL_FILE", path, 1);
        read_well(&settings, NOTHING);
        assert_string_equal(settings.redis_url, "redis://:pw@h");
        settings_free(&settings);
    }
    read_well(&settings, (const char *[ARGUMENTS]){"--redis-url=redis://flag"});
    assert_string_equal(settings.redis_url, "redis://flag");
    settings_free(&settings);

    setenv("BATON_REDIS_URL", "redis://h", 1);
    assert_refused(NOTHING, "BATON_REDIS_URL and BATON_REDIS_URL_FILE are both set");
    unsetenv("BATON_REDIS_URL");
    unlink(path);
    assert_refused(NOTHING, "BATON_REDIS_URL_FILE: cannot read ");
    assert_refused(NOTHING, ": No such file or directory");
    setenv("BATON_REDIS_URL_FILE", dir.path, 1);
    assert_refused(NOTHING, ": Is a directory");
    temp_dir_remove(&dir);
}

TEST_WITH(file_without_a_secret_is_refused, clean_environment, NULL)
{
    static char large[5000];
    struct temp_dir dir;
    char path[128];
    memset(large, 'x', sizeof large - 1);
    const char *const contents[] = {"", "\n", "\xEF\xBB\xBF\n", large};
    static const char *const SAID[] = {"is empty", "is empty", "is empty",
                                       "has more than 4095 bytes"};
    temp_dir_make(&dir);
    snprintf(path, sizeof path, "%s/url", dir.path);
    setenv("BATON_REDIS_URL_FILE", path, 1);
    for (size_t i = 0; i < LENGTH(contents); i++) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fputs(contents[i], file);
        fclose(file);
        assert_refused(NOTHING, SAID[i]);
    }
    temp_dir_remove(&dir);
}

/* As a template or a file from Windows leaves them. */
TEST_WITH(mark_in_front_and_line_break_at_end_are_not_of_a_value, clean_environment, NULL)
{
    struct settings settings;
    setenv("BATON_REDIS_URL", "redis://:pw @h\n", 1);
    setenv("BATON_REDIS_PASSWORD", "\n", 1);
    setenv("BATON_MAX_TTL",
           "\xEF\xBB\xBF"
           "10m\r\n",
           1);
    setenv("BATON_KEY_PREFIX", "a: \r\n\n", 1);
    read_well(&settings,
              (const char *[ARGUMENTS]){"--allow-anonymous=true\r", "--tokens-file=/a\n"});
    assert_string_equal(settings.redis_url, "redis://:pw @h");
    assert_null(settings.redis_password);
    assert_int_equal(settings.max_ttl_ms, 600000);
    assert_string_equal(settings.key_prefix, "a: ");
    assert_true(settings.allow_anonymous);
    assert_string_equal(settings.tokens_file, "/a");
    settings_free(&settings);
}

TEST_WITH(only_secret_may_be_in_a_file, clean_environment, NULL)
{
    setenv("BATON_STATE_DIR_FILE", "/nowhere", 1);
    assert_refused(NOTHING,
                   "BATON_STATE_DIR_FILE is not a setting, because batond reads only "
                   "redis-url and passwords from files. Set BATON_STATE_DIR to the value itself.");
    unsetenv("BATON_STATE_DIR_FILE");
    setenv("BATON_TLS_KEY_FILE", "/key.pem", 1);
    assert_refused(NOTHING,
                   "BATON_TLS_KEY_FILE is not a setting. Set BATON_TLS_KEY to the name of the "
                   "file.");
    unsetenv("BATON_TLS_KEY_FILE");
    setenv("BATON_LISTEN_FLE", "/nowhere", 1); /* and nobody is sent from one mistake to the next */
    struct settings settings;
    read_well(&settings, NOTHING);
    settings_free(&settings);
}

TEST_WITH(empty_variable_for_a_secret_is_unset, clean_environment, NULL)
{
    struct settings settings;
    setenv("BATON_REDIS_URL", "", 1);
    read_well(&settings, NOTHING);
    assert_null(settings.redis_url);
    assert_string_equal(settings.state_dir, "/home/me/.local/state/baton");
    settings_free(&settings);
}

static const struct wrong {
    const char *arguments[ARGUMENTS];
    const char *said;
} WRONG[] = {
    {{"--redis-url="}, "--redis-url is empty"},
    {{"--workers=257"}, "--workers: \"257\" is not valid; expected a number from 0 to 256"},
    {{"--workers=1x"}, "--workers: \"1x\""},
    {{"--workers="}, "--workers: \"\""},
    {{"--workers=+1"}, "--workers: \"+1\""},
    {{"--workers=-1"}, "--workers: \"-1\""},
    {{"--workers= 1"}, "--workers: \" 1\""},
    {{"--workers=99999999999999999999"}, "--workers: \"99999999999999999999\""},
    {{"--log-format=JSON"}, "--log-format: \"JSON\""},
    {{"--default-ttl=99ms"},
     "--default-ttl: \"99ms\" is not valid; expected a duration from 100ms"},
    {{"--max-ttl=86400001ms"}, "a duration from 100ms to 24h, as one number and one unit"},
    {{"--claim-window=2h"}, "a duration from 100ms to 1m, as one number and one unit"},
    {{"--retention=999ms"}, "expected a duration from 1s to 24h"},
    {{"--max-wait=999ms"}, "expected a duration from 1s to 1h"},
    {{"--max-waiters=0"}, "expected a number from 1 to 1000000"},
    {{"--max-ttl=1m30s"}, "one number and one unit"},
    {{"--quarantine=1m30s"},
     "--quarantine: \"1m30s\" is not valid; expected auto, off, or a duration from 1s to 24h, as "
     "one number "
     "and one unit (ms, s, m or h)"},
    {{"--waiter-lease=999ms"}, "expected a duration from 1s to 10m"},
    {{"--head-timeout=99ms"}, "expected a duration from 100ms to 10m"},
    {{"--body-timeout=11m"}, "--body-timeout: \"11m\""},
    {{"--idle-timeout=25h"}, "expected a duration from 100ms to 24h"},
    {{"--max-connections-per-address=many"}, "--max-connections-per-address: \"many\""},
    {{"--trusted-proxies=proxy.example"},
     "--trusted-proxies: \"proxy.example\" is not an address; expected addresses and networks"},
    {{"--allowed-hosts=localhost:7420"}, "--allowed-hosts: \"localhost:7420\" is not valid"},
    {{"--allowed-hosts=a.example,"}, "expected names without ports"},
    {{"--allowed-hosts=http://a.example"}, "--allowed-hosts"},
    {{"--allowed-hosts=*.example.com"}, "--allowed-hosts"},
    {{"--trusted-proxies=10.0.0.5/8"}, "\"10.0.0.5/8\" has bits beyond its prefix length"},
    {{"--log-format=xml"}, "--log-format: \"xml\" is not valid; expected one of json, text"},
    {{"--log-level=trace"}, "expected one of debug, info, warn, error"},
    {{"--allow-anonymous=yes"}, "--allow-anonymous: \"yes\" is not valid; expected true or false"},
    {{"--allow-anonymous="}, "--allow-anonymous: \"\""},
    {{"--allow-anonymous", "false"}, "\"false\" is not a flag"},
    {{"--key-prefix=a{b"}, "--key-prefix: expected at most 64 bytes"},
    {{"--key-prefix=a\nb"}, "--key-prefix: expected"},
    {{"--default-ttl=2m", "--max-ttl=1m"}, "--default-ttl is longer than --max-ttl"},
    {{"--max-ttl=29s"}, "--default-ttl is longer than --max-ttl"},
    {{"--tls-cert=/c"}, "--tls-cert and --tls-key need each other"},
    {{"--tls-key=/k"}, "--tls-cert and --tls-key need each other"},
    {{"--tls-client-ca=/c"}, "--tls-client-ca needs --tls-cert and --tls-key"},
    {{"--help=all"}, "--help takes no value"},
    {{"--version=1"}, "--version takes no value"},
    {{"--check=true"}, "--check takes no value but config"},
    {{"--nonsense"}, "there is no flag --nonsense"},
    {{"--lsiten=1"}, "there is no flag --lsiten; did you mean --listen?"},
    {{"--redis-ulr", "redis://h"}, "there is no flag --redis-ulr; did you mean --redis-url?"},
    {{"--max_ttl=1m"}, "there is no flag --max_ttl; did you mean --max-ttl?"},
    {{"--"}, "there is no flag --;"},
    {{"-l"}, "\"-l\" is not a flag"},
    {{"redis://:opensesame@h"}, "\"redis\" is not a flag"},
    {{""}, "\"\" is not a flag"},
    {{"--listen"}, "--listen needs a value: --listen=ADDRESS:PORT"},
    {{"--workers", "1", "--redis-url"}, "--redis-url needs a value: --redis-url=URL"},
};

TEST_WITH(wrong_flag_is_refused_with_what_is_expected, clean_environment, NULL)
{
    for (size_t i = 0; i < LENGTH(WRONG); i++)
        assert_refused(WRONG[i].arguments, WRONG[i].said);
}

/* As Kubernetes sets for a service of the name baton, and what somebody else's tools may use. */
TEST_WITH(unknown_variable_is_ignored, clean_environment, NULL)
{
    static const char *const OTHERS[] = {"BATON_SERVICE_HOST",
                                         "BATON_SERVICE_PORT",
                                         "BATON_PORT",
                                         "BATON_PORT_7420_TCP_ADDR",
                                         "BATON_IMAGE",
                                         "BATON_",
                                         "BATON_X"};
    struct settings settings;
    struct failure failure = {0};
    for (size_t i = 0; i < LENGTH(OTHERS); i++)
        setenv(OTHERS[i], "10.0.0.7", 1);
    char program[] = "batond", *arguments[] = {program, NULL};
    assert_int_equal(settings_read(&settings, 1, arguments, &failure), 0);
    settings_free(&settings);
    for (size_t i = 0; i < LENGTH(OTHERS); i++)
        unsetenv(OTHERS[i]);
}

TEST_WITH(wrong_variable_is_refused_by_name, clean_environment, NULL)
{
    static const struct {
        const char *said, *variable, *value;
    } WRONG_VARIABLES[] = {
        {"BATON_WORKERS: \"many\" is not valid", "BATON_WORKERS", "many"},
        {"BATON_WORKERS: \"\" is not valid", "BATON_WORKERS", ""},
        {"BATON_MAX_TTL: \"1d\" is not valid", "BATON_MAX_TTL", "1d"},
        {"BATON_LOG_FORMAT: \"xml\" is not valid", "BATON_LOG_FORMAT", "xml"},
        {"BATON_ALLOW_ANONYMOUS: \"1\" is not valid", "BATON_ALLOW_ANONYMOUS", "1"},
        {"BATON_REDIS_ULR is not a setting; did you mean BATON_REDIS_URL?", "BATON_REDIS_ULR", "x"},
        {"BATON_REDISURL is not a setting; did you mean BATON_REDIS_URL?", "BATON_REDISURL", ""},
        {"BATON_REDIS_URL_FLE is not a setting; did you mean BATON_REDIS_URL_FILE?",
         "BATON_REDIS_URL_FLE", "/f"},
    };
    for (size_t i = 0; i < LENGTH(WRONG_VARIABLES); i++) {
        setenv(WRONG_VARIABLES[i].variable, WRONG_VARIABLES[i].value, 1);
        assert_refused(NOTHING, WRONG_VARIABLES[i].said);
        unsetenv(WRONG_VARIABLES[i].variable);
    }
}

TEST_WITH(long_value_is_cut_in_message, clean_environment, NULL)
{
    static char text[1000];
    const char *const arguments[ARGUMENTS] = {text};
    memset(text, 'x', sizeof text - 1);
    assert_refused(arguments, "is not a flag");
    memcpy(text, "--", 2);
    assert_refused(arguments, "there is no flag --xxx");
    memcpy(text, "--workers=", 10);
    assert_refused(arguments, "--workers: \"xxx");
}

static const struct place {
    const char *state_home;
    const char *home;
    const char *state_dir; /* NULL: refused */
} PLACES[] = {
    {NULL, "/h", "/h/.local/state/baton"},
    {"", "/h", "/h/.local/state/baton"},
    {"relative", "/h", "/h/.local/state/baton"},
    {"/s", "/h", "/s/baton"},
    {"/s", NULL, "/s/baton"},
    {NULL, NULL, NULL},
    {"relative", "", NULL},
};

static void set_or_unset(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

TEST_WITH(state_dir_follows_xdg, clean_environment, NULL)
{
    for (size_t i = 0; i < LENGTH(PLACES); i++) {
        struct settings settings;
        set_or_unset("XDG_STATE_HOME", PLACES[i].state_home);
        set_or_unset("HOME", PLACES[i].home);
        if (!PLACES[i].state_dir) {
            assert_refused(NOTHING, "because HOME is not set");
            continue;
        }
        read_well(&settings, NOTHING);
        assert_string_equal(settings.state_dir, PLACES[i].state_dir);
        settings_free(&settings);
    }
}

TEST_WITH(given_state_dir_needs_no_home, clean_environment, NULL)
{
    struct settings settings;
    unsetenv("HOME");
    read_well(&settings, (const char *[ARGUMENTS]){"--state-dir=/var/lib/baton"});
    assert_string_equal(settings.state_dir, "/var/lib/baton");
    settings_free(&settings);
    read_well(&settings, (const char *[ARGUMENTS]){"--redis-url=redis://h"});
    settings_free(&settings);
}

TEST_WITH(help_is_given_whatever_else_is_wrong, clean_environment, NULL)
{
    static const char *const ASKING[][ARGUMENTS] = {
        {"--help"}, {"-h"}, {"--nonsense", "--help"}, {"--help", "--workers=x"}, {"-h", "--"}};
    struct settings settings;
    setenv("BATON_WORKERS", "many", 1);
    for (size_t i = 0; i < LENGTH(ASKING); i++) {
        read_well(&settings, ASKING[i]);
        assert_true(settings.wants_help);
        assert_false(settings.wants_version);
        settings_free(&settings);
    }
    read_well(&settings, (const char *[ARGUMENTS]){"--version"});
    assert_true(settings.wants_version);
    assert_false(settings.wants_help);
    settings_free(&settings);
}

static void assert_fits_a_terminal(const char *text)
{
    for (size_t length; *text; text += length + (text[length] == '\n')) {
        length = strcspn(text, "\n");
        assert_in_range(length, 0, 80);
    }
}

/* The same heading twice is a row at the wrong place. */
TEST_WITH(help_has_each_group_once, clean_environment, NULL)
{
    static const char *const GROUPS[] = {"Listen", "Redis",    "Locks",
                                         "Limits", "Security", "Logging"};
    size_t group = 0;
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        group += strcmp(SETTINGS[i].group, GROUPS[group]) != 0;
        assert_in_range(group, 0, LENGTH(GROUPS) - 1);
        assert_string_equal(SETTINGS[i].group, GROUPS[group]);
    }
    assert_int_equal(group, LENGTH(GROUPS) - 1);
}

TEST_WITH(help_names_every_flag, clean_environment, NULL)
{
    char *text = NULL, word[64];
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    settings_help(out);
    fclose(out);
    for (size_t i = 0; i < LENGTH(GIVEN); i++) {
        snprintf(word, sizeof word, "\n  --%s", GIVEN[i].name);
        assert_non_null(strstr(text, word));
    }
    assert_non_null(strstr(text, "\n  --state-dir=DIRECTORY\n"));
    assert_non_null(strstr(text, "\n  --listen=ADDRESS:PORT (default: 127.0.0.1:7420)\n"));
    assert_fits_a_terminal(text);
    assert_non_null(strstr(text, "\n  --help, -h\n"));
    assert_non_null(strstr(text, "A DURATION is 500ms, 30s, 5m or 2h"));
    free(text);
}

/* Each of these is a secret, and nobody has to guess that it may be in a file. */
TEST_WITH(help_names_variables_for_files, clean_environment, NULL)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        char variable[64], words[96];
        variable_of(SETTINGS[i].name, variable);
        snprintf(words, sizeof words, "%s_FILE names a file", variable);
        assert_int_equal(strstr(SETTINGS[i].help, words) != NULL, SETTINGS[i].kind == SECRET);
    }
}
