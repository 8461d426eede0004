#include "server/settings/settings.h"

#include "server/settings/setting.h"
#include "server/settings/sources.h"
#include "tests/support/cmocka.h"
#include "tests/support/temp_dir.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LENGTH(table) (sizeof(table) / sizeof((table)[0]))

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

static void what_is_not_given_has_a_default(void **state)
{
    struct settings settings;
    (void)state;
    read_well(&settings, NOTHING);
    assert_string_equal(settings.listen, "127.0.0.1:7420");
    assert_null(settings.redis_url);
    assert_null(settings.redis_user);
    assert_null(settings.redis_password);
    assert_null(settings.redis_ca);
    assert_null(settings.redis_cert);
    assert_null(settings.redis_key);
    assert_null(settings.redis_server_name);
    assert_string_equal(settings.state_dir, "/home/me/.local/state/baton");
    assert_string_equal(settings.key_prefix, "baton:");
    assert_int_equal(settings.workers, 0);
    assert_int_equal(settings.default_ttl_ms, 30000);
    assert_int_equal(settings.max_ttl_ms, 3600000);
    assert_int_equal(settings.retention_ms, 3600000);
    assert_int_equal(settings.max_wait_ms, 50000);
    assert_int_equal(settings.max_waiters, 10000);
    assert_int_equal(settings.principal_streams, 1000);
    assert_int_equal(settings.principal_connection_holds, 5000);
    assert_int_equal(settings.claim_window_ms, 2000);
    assert_int_equal(settings.waiter_lease_ms, 10000);
    assert_int_equal(settings.drain_ms, 5000);
    assert_int_equal(settings.head_timeout_ms, 10000);
    assert_int_equal(settings.body_timeout_ms, 10000);
    assert_int_equal(settings.idle_timeout_ms, 75000);
    assert_int_equal(settings.max_connections, 0);
    assert_int_equal(settings.max_connections_per_address, 0);
    assert_string_equal(settings.trusted_proxies, "127.0.0.0/8,::1");
    assert_int_equal(settings.trusted.count, 2);
    assert_int_equal(settings.log_format, LOG_JSON);
    assert_int_equal(settings.log_level, LOG_INFO);
    assert_null(settings.tls_cert);
    assert_null(settings.tls_key);
    assert_null(settings.tls_client_ca);
    assert_false(settings.allow_anonymous);
    assert_string_equal(settings.allowed_hosts, "");
    assert_false(settings.wants_help);
    assert_false(settings.wants_version);
    settings_free(&settings);
    settings_free(&settings); /* a zeroed one too */
}

/* Each setting but the state directory, which redis-url makes needless. */
static void assert_all_other(const struct settings *settings)
{
    assert_string_equal(settings->listen, "[::1]:1");
    assert_string_equal(settings->redis_url, "redis://h");
    assert_string_equal(settings->redis_user, "baton");
    assert_string_equal(settings->redis_password, "pass");
    assert_string_equal(settings->redis_ca, "/ca");
    assert_string_equal(settings->redis_cert, "/cert");
    assert_string_equal(settings->redis_key, "/key");
    assert_string_equal(settings->redis_server_name, "name");
    assert_string_equal(settings->key_prefix, "b=c");
    assert_int_equal(settings->workers, 256);
    assert_int_equal(settings->default_ttl_ms, 100);
    assert_int_equal(settings->max_ttl_ms, 3600000);
    assert_int_equal(settings->retention_ms, 1000);
    assert_int_equal(settings->max_wait_ms, 1001);
    assert_int_equal(settings->max_waiters, 1000000);
    assert_int_equal(settings->process_waiters, 10000000);
    assert_int_equal(settings->principal_waiters, 1000000);
    assert_int_equal(settings->principal_streams, 1000000);
    assert_int_equal(settings->principal_connection_holds, 1000000);
    assert_int_equal(settings->rate_limit, 1);
    assert_int_equal(settings->claim_window_ms, 60000);
    assert_int_equal(settings->waiter_lease_ms, 600000);
    assert_int_equal(settings->drain_ms, 600000);
    assert_int_equal(settings->head_timeout_ms, 100);
    assert_int_equal(settings->body_timeout_ms, 600000);
    assert_int_equal(settings->idle_timeout_ms, 90000);
    assert_int_equal(settings->max_connections, 10000000);
    assert_int_equal(settings->max_connections_per_address, 1);
    assert_string_equal(settings->trusted_proxies, "10.0.0.0/8, fd00::/8, 10.1.2.3");
    assert_int_equal(settings->trusted.count, 3);
    assert_int_equal(settings->log_format, LOG_TEXT);
    assert_int_equal(settings->log_level, LOG_ERROR);
    assert_string_equal(settings->tls_cert, "/cert.pem");
    assert_string_equal(settings->tls_key, "/key.pem");
    assert_string_equal(settings->tls_client_ca, "/ca.pem");
    assert_true(settings->allow_anonymous);
    assert_string_equal(settings->allowed_hosts, "locks.example.com, .corp.example,*");
    assert_true(settings->sandbox);
}

static const struct given {
    const char *flag;
    const char *variable;
    const char *value;
} GIVEN[] = {
    {"--listen", "BATON_LISTEN", "[::1]:1"},
    {"--redis-url", "BATON_REDIS_URL", "redis://h"},
    {"--redis-user", "BATON_REDIS_USER", "baton"},
    {"--redis-password", "BATON_REDIS_PASSWORD", "pass"},
    {"--redis-ca", "BATON_REDIS_CA", "/ca"},
    {"--redis-cert", "BATON_REDIS_CERT", "/cert"},
    {"--redis-key", "BATON_REDIS_KEY", "/key"},
    {"--redis-server-name", "BATON_REDIS_SERVER_NAME", "name"},
    {"--key-prefix", "BATON_KEY_PREFIX", "b=c"},
    {"--workers", "BATON_WORKERS", "256"},
    {"--default-ttl", "BATON_DEFAULT_TTL", "100ms"},
    {"--max-ttl", "BATON_MAX_TTL", "1h"},
    {"--retention", "BATON_RETENTION", "1"},
    {"--max-wait", "BATON_MAX_WAIT", "1001ms"},
    {"--max-waiters", "BATON_MAX_WAITERS", "1000000"},
    {"--max-waiters-per-process", "BATON_MAX_WAITERS_PER_PROCESS", "10000000"},
    {"--max-waiters-per-principal", "BATON_MAX_WAITERS_PER_PRINCIPAL", "1000000"},
    {"--max-bodies-per-principal", "BATON_MAX_BODIES_PER_PRINCIPAL", "1000000"},
    {"--max-streams-per-principal", "BATON_MAX_STREAMS_PER_PRINCIPAL", "1000000"},
    {"--max-connection-holds-per-principal", "BATON_MAX_CONNECTION_HOLDS_PER_PRINCIPAL", "1000000"},
    {"--rate-limit", "BATON_RATE_LIMIT", "1"},
    {"--claim-window", "BATON_CLAIM_WINDOW", "1m"},
    {"--waiter-lease", "BATON_WAITER_LEASE", "10m"},
    {"--drain", "BATON_DRAIN", "10m"},
    {"--head-timeout", "BATON_HEAD_TIMEOUT", "100ms"},
    {"--body-timeout", "BATON_BODY_TIMEOUT", "10m"},
    {"--idle-timeout", "BATON_IDLE_TIMEOUT", "90s"},
    {"--max-connections", "BATON_MAX_CONNECTIONS", "10000000"},
    {"--max-connections-per-address", "BATON_MAX_CONNECTIONS_PER_ADDRESS", "1"},
    {"--allowed-hosts", "BATON_ALLOWED_HOSTS", "locks.example.com, .corp.example,*"},
    {"--trusted-proxies", "BATON_TRUSTED_PROXIES", "10.0.0.0/8, fd00::/8, 10.1.2.3"},
    {"--log-format", "BATON_LOG_FORMAT", "text"},
    {"--log-level", "BATON_LOG_LEVEL", "error"},
    {"--tls-cert", "BATON_TLS_CERT", "/cert.pem"},
    {"--tls-key", "BATON_TLS_KEY", "/key.pem"},
    {"--tls-client-ca", "BATON_TLS_CLIENT_CA", "/ca.pem"},
    {"--allow-anonymous", "BATON_ALLOW_ANONYMOUS", "true"},
    {"--sandbox", "BATON_SANDBOX", "true"},
};

static void every_setting_may_be_a_variable(void **state)
{
    struct settings settings;
    (void)state;
    for (size_t i = 0; i < LENGTH(GIVEN); i++)
        setenv(GIVEN[i].variable, GIVEN[i].value, 1);
    read_well(&settings, NOTHING);
    assert_all_other(&settings);
    settings_free(&settings);
}

static void every_setting_may_be_a_flag(void **state)
{
    static char texts[LENGTH(GIVEN)][64];
    char *joined[LENGTH(GIVEN) + 2] = {"batond"}, *apart[2 * LENGTH(GIVEN) + 2] = {"batond"};
    int joined_count = 1, apart_count = 1;
    struct settings settings;
    (void)state;
    for (size_t i = 0; i < LENGTH(GIVEN); i++) {
        snprintf(texts[i], sizeof texts[i], "%s=%s", GIVEN[i].flag, GIVEN[i].value);
        joined[joined_count++] = texts[i];
        apart[apart_count++] = (char *)(uintptr_t)GIVEN[i].flag;
        if (strcmp(GIVEN[i].value, "true") != 0)
            apart[apart_count++] = (char *)(uintptr_t)GIVEN[i].value;
    }
    assert_int_equal(settings_read(&settings, joined_count, joined, NULL), 0);
    assert_all_other(&settings);
    settings_free(&settings);
    assert_int_equal(settings_read(&settings, apart_count, apart, NULL), 0);
    assert_all_other(&settings);
    settings_free(&settings);
}

static void a_flag_wins_over_a_variable_over_a_default(void **state)
{
    struct settings settings;
    (void)state;
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

static void secrets_are_hidden(void **state)
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
    (void)state;
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

static void hiding_takes_what_cannot_be_read(void **state)
{
    char texts[][64] = {"batond", "-", "--", "--=", "--nothing=1", "x=y", "--redis-url"};
    char *argv[LENGTH(texts)];
    (void)state;
    for (size_t i = 0; i < LENGTH(texts); i++)
        argv[i] = texts[i];
    sources_hide(LENGTH(texts), argv);
    assert_string_equal(texts[4], "--nothing=1");
}

static void a_secret_may_be_in_a_file(void **state)
{
    static const char *const CONTENTS[] = {"redis://:pw@h", "redis://:pw@h\n", "redis://:pw@h\r\n",
                                           "redis://:pw@h\nmore"};
    struct temp_dir dir;
    struct settings settings;
    char path[128];
    (void)state;
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

static void a_file_that_holds_no_secret_is_refused(void **state)
{
    static char large[5000];
    struct temp_dir dir;
    char path[128];
    (void)state;
    memset(large, 'x', sizeof large - 1);
    const char *const contents[] = {"", "\n", large};
    static const char *const SAID[] = {"is empty", "is empty", "has more than 4095 bytes"};
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

static void only_a_secret_may_be_in_a_file(void **state)
{
    (void)state;
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

static void an_empty_variable_for_a_secret_is_an_unset_one(void **state)
{
    struct settings settings;
    (void)state;
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
    {{"--workers=-1"}, "--workers: \"-1\""},
    {{"--workers=+1"}, "--workers: \"+1\""},
    {{"--workers= 1"}, "--workers: \" 1\""},
    {{"--workers=1x"}, "--workers: \"1x\""},
    {{"--workers=1.5"}, "--workers: \"1.5\""},
    {{"--workers="}, "--workers: \"\""},
    {{"--workers=0x1"}, "--workers: \"0x1\""},
    {{"--workers=99999999999999999999"}, "--workers: \"99999999999999999999\""},
    {{"--default-ttl=99ms"},
     "--default-ttl: \"99ms\" is not valid; expected a duration from 100ms"},
    {{"--max-ttl=86400001ms"}, "a duration from 100ms to 24h, as one number and one unit"},
    {{"--claim-window=2h"}, "a duration from 100ms to 1m, as one number and one unit"},
    {{"--max-ttl=25h"}, "--max-ttl: \"25h\""},
    {{"--max-ttl=1d"}, "--max-ttl: \"1d\""},
    {{"--max-ttl", "-1s"}, "--max-ttl: \"-1s\""},
    {{"--retention=999ms"}, "expected a duration from 1s to 24h"},
    {{"--retention=24h1ms"}, "--retention: \"24h1ms\""},
    {{"--max-wait=999ms"}, "expected a duration from 1s to 1h"},
    {{"--max-wait=61m"}, "--max-wait: \"61m\""},
    {{"--max-waiters=0"}, "expected a number from 1 to 1000000"},
    {{"--max-waiters=1000001"}, "--max-waiters: \"1000001\""},
    {{"--claim-window=99ms"}, "expected a duration from 100ms to 1m"},
    {{"--claim-window=61s"}, "--claim-window: \"61s\""},
    {{"--max-ttl=1m30s"}, "one number and one unit"},
    {{"--waiter-lease=999ms"}, "expected a duration from 1s to 10m"},
    {{"--waiter-lease=11m"}, "--waiter-lease: \"11m\""},
    {{"--head-timeout=99ms"}, "expected a duration from 100ms to 10m"},
    {{"--head-timeout=0"}, "--head-timeout: \"0\""},
    {{"--body-timeout=11m"}, "--body-timeout: \"11m\""},
    {{"--idle-timeout=25h"}, "expected a duration from 100ms to 24h"},
    {{"--max-connections=-1"}, "expected a number from 0 to 10000000"},
    {{"--max-connections-per-address=many"}, "--max-connections-per-address: \"many\""},
    {{"--trusted-proxies=proxy.example"},
     "--trusted-proxies: \"proxy.example\" is not an address; expected addresses and networks"},
    {{"--allowed-hosts=localhost:7420"}, "--allowed-hosts: \"localhost:7420\" is not valid"},
    {{"--allowed-hosts=a.example,"}, "expected names without ports"},
    {{"--allowed-hosts=a.example,,b.example"}, "--allowed-hosts"},
    {{"--allowed-hosts=."}, "--allowed-hosts"},
    {{"--allowed-hosts=http://a.example"}, "--allowed-hosts"},
    {{"--allowed-hosts=*.example.com"}, "--allowed-hosts"},
    {{"--trusted-proxies=10.0.0.5/8"}, "\"10.0.0.5/8\" has bits beyond its prefix length"},
    {{"--log-format=xml"}, "--log-format: \"xml\" is not valid; expected one of json, text"},
    {{"--log-format=JSON"}, "--log-format: \"JSON\""},
    {{"--log-level=trace"}, "expected one of debug, info, warn, error"},
    {{"--log-level="}, "--log-level: \"\""},
    {{"--allow-anonymous=yes"}, "--allow-anonymous: \"yes\" is not valid; expected true or false"},
    {{"--allow-anonymous="}, "--allow-anonymous: \"\""},
    {{"--allow-anonymous", "false"}, "\"false\" is not a flag"},
    {{"--key-prefix=a{b"}, "--key-prefix: expected at most 64 bytes"},
    {{"--key-prefix=\n"}, "--key-prefix: expected"},
    {{"--default-ttl=2m", "--max-ttl=1m"}, "--default-ttl is longer than --max-ttl"},
    {{"--max-ttl=29s"}, "--default-ttl is longer than --max-ttl"},
    {{"--tls-cert=/c"}, "--tls-cert and --tls-key need each other"},
    {{"--tls-key=/k"}, "--tls-cert and --tls-key need each other"},
    {{"--tls-client-ca=/c"}, "--tls-client-ca needs --tls-cert and --tls-key"},
    {{"--help=all"}, "--help takes no value"},
    {{"--version=1"}, "--version takes no value"},
    {{"--check=true"}, "--check takes no value"},
    {{"--nonsense"}, "there is no flag --nonsense"},
    {{"--nonsense=1"}, "there is no flag --nonsense;"},
    {{"--listenx=1"}, "there is no flag --listenx; did you mean --listen?"},
    {{"--lsiten=1"}, "there is no flag --lsiten; did you mean --listen?"},
    {{"--redis-ulr", "redis://h"}, "there is no flag --redis-ulr; did you mean --redis-url?"},
    {{"--max_ttl=1m"}, "there is no flag --max_ttl; did you mean --max-ttl?"},
    {{"--Listen=1"}, "there is no flag --Listen"},
    {{"--=1"}, "there is no flag --;"},
    {{"--"}, "there is no flag --;"},
    {{"-l"}, "\"-l\" is not a flag"},
    {{"-redis-url=redis://:opensesame@h"}, "\"-redis-url\" is not a flag"},
    {{"redis://:opensesame@h"}, "\"redis\" is not a flag"},
    {{""}, "\"\" is not a flag"},
    {{"serve"}, "\"serve\" is not a flag"},
    {{"--listen"}, "--listen needs a value: --listen=ADDRESS:PORT"},
    {{"--workers", "1", "--redis-url"}, "--redis-url needs a value: --redis-url=URL"},
};

static void wrong_flags_are_refused_by_name_with_what_is_expected(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(WRONG); i++)
        assert_refused(WRONG[i].arguments, WRONG[i].said);
}

/* As Kubernetes sets for a service of the name baton, and what somebody else's tools may use. */
static void variables_that_are_no_setting_are_let_be(void **state)
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
    (void)state;
    for (size_t i = 0; i < LENGTH(OTHERS); i++)
        setenv(OTHERS[i], "10.0.0.7", 1);
    char program[] = "batond", *arguments[] = {program, NULL};
    assert_int_equal(settings_read(&settings, 1, arguments, &failure), 0);
    settings_free(&settings);
    for (size_t i = 0; i < LENGTH(OTHERS); i++)
        unsetenv(OTHERS[i]);
}

static void wrong_variables_are_refused_by_their_name(void **state)
{
    static const struct given WRONG_VARIABLES[] = {
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
    (void)state;
    for (size_t i = 0; i < LENGTH(WRONG_VARIABLES); i++) {
        setenv(WRONG_VARIABLES[i].variable, WRONG_VARIABLES[i].value, 1);
        assert_refused(NOTHING, WRONG_VARIABLES[i].flag);
        unsetenv(WRONG_VARIABLES[i].variable);
    }
}

static void a_long_value_is_cut_in_what_is_said(void **state)
{
    static char text[1000];
    const char *const arguments[ARGUMENTS] = {text};
    (void)state;
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

static void the_state_is_kept_where_the_desktop_standard_says(void **state)
{
    (void)state;
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

static void a_state_directory_that_is_given_or_not_needed_needs_no_home(void **state)
{
    struct settings settings;
    (void)state;
    unsetenv("HOME");
    read_well(&settings, (const char *[ARGUMENTS]){"--state-dir=/var/lib/baton"});
    assert_string_equal(settings.state_dir, "/var/lib/baton");
    settings_free(&settings);
    read_well(&settings, (const char *[ARGUMENTS]){"--redis-url=redis://h"});
    settings_free(&settings);
}

static void help_is_given_whatever_else_is_wrong(void **state)
{
    static const char *const ASKING[][ARGUMENTS] = {
        {"--help"}, {"-h"}, {"--nonsense", "--help"}, {"--help", "--workers=x"}, {"-h", "--"}};
    struct settings settings;
    (void)state;
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
static void the_help_has_each_group_once(void **state)
{
    static const char *const GROUPS[] = {"Listen", "Redis",    "Locks",
                                         "Limits", "Security", "Logging"};
    size_t group = 0;
    (void)state;
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        group += strcmp(SETTINGS[i].group, GROUPS[group]) != 0;
        assert_in_range(group, 0, LENGTH(GROUPS) - 1);
        assert_string_equal(SETTINGS[i].group, GROUPS[group]);
    }
    assert_int_equal(group, LENGTH(GROUPS) - 1);
}

static void the_help_names_every_flag(void **state)
{
    char *text = NULL, word[64];
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    (void)state;
    assert_non_null(out);
    settings_help(out);
    fclose(out);
    for (size_t i = 0; i < LENGTH(GIVEN); i++) {
        snprintf(word, sizeof word, "\n  %s", GIVEN[i].flag);
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
static void the_help_names_the_variables_for_files(void **state)
{
    (void)state;
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        char variable[80];
        int length =
            snprintf(variable, sizeof variable, "BATON_%s_FILE names a file", SETTINGS[i].name);
        for (int j = 0; j < length && variable[j] != ' '; j++)
            variable[j] = variable[j] == '-' ? '_' : (char)toupper((unsigned char)variable[j]);
        assert_int_equal(strstr(SETTINGS[i].help, variable) != NULL, SETTINGS[i].kind == SECRET);
    }
}

#define TEST(test) cmocka_unit_test_setup(test, clean_environment)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_not_given_has_a_default),
        TEST(every_setting_may_be_a_variable),
        TEST(every_setting_may_be_a_flag),
        TEST(a_flag_wins_over_a_variable_over_a_default),
        TEST(secrets_are_hidden),
        TEST(hiding_takes_what_cannot_be_read),
        TEST(a_secret_may_be_in_a_file),
        TEST(a_file_that_holds_no_secret_is_refused),
        TEST(only_a_secret_may_be_in_a_file),
        TEST(an_empty_variable_for_a_secret_is_an_unset_one),
        TEST(wrong_flags_are_refused_by_name_with_what_is_expected),
        TEST(wrong_variables_are_refused_by_their_name),
        TEST(variables_that_are_no_setting_are_let_be),
        TEST(a_long_value_is_cut_in_what_is_said),
        TEST(the_state_is_kept_where_the_desktop_standard_says),
        TEST(a_state_directory_that_is_given_or_not_needed_needs_no_home),
        TEST(help_is_given_whatever_else_is_wrong),
        TEST(the_help_has_each_group_once),
        TEST(the_help_names_every_flag),
        TEST(the_help_names_the_variables_for_files),
    };
    return cmocka_run_group_tests_name("settings", tests, NULL, NULL);
}
