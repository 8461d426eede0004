#include "server/settings/settings.h"

#include "api/http/cross_site.h"
#include "api/principals/principal.h"
#include "locks/quarantine/quarantine.h"
#include "locks/types/name.h"
#include "server/settings/setting.h"
#include "server/settings/sources.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { HELP_WIDTH = 80, HELP_INDENT = 6 }; /* columns */

static const char *const LOG_FORMATS[] = {"json", "text", NULL};
static const char *const REDIS_KEEPS[] = {"unknown", "all", NULL};
static const char *const LOG_LEVELS[] = {"debug", "info", "warn", "error", NULL};

const struct setting SETTINGS[] = {
#define AT(member) offsetof(struct settings, member)
    {"Listen", "listen", TEXT, AT(listen), "127.0.0.1:7420", "ADDRESS:PORT",
     "address and port to serve HTTP on; [::1]:7420 for IPv6; port 0 is any free one", 0, 0, NULL},
    {"Listen", "admin-listen", TEXT, AT(admin_listen), NULL, "ADDRESS:PORT",
     "a second address for /livez, /readyz and /metrics, and nothing else, with connections "
     "of its own; unset: they are only at listen",
     0, 0, NULL},
    {"Listen", "workers", COUNT, AT(workers), "0", "N",
     "threads that serve; 0: half as many as there are processors, or fewer where the limit of "
     "open files is low",
     0, 256, NULL},
    {"Listen", "drain", DURATION, AT(drain_ms), "5s", "DURATION",
     "how long to serve on after SIGTERM while /readyz says 503, so that clients go to "
     "another batond; only with redis-url",
     0, 600000, NULL},
    {"Listen", "head-timeout", DURATION, AT(head_timeout_ms), "10s", "DURATION",
     "how long the first line and the headers of a request may take to arrive; slower: 408", 100,
     600000, NULL},
    {"Listen", "body-timeout", DURATION, AT(body_timeout_ms), "10s", "DURATION",
     "how long the body of a request may take to arrive after the headers; slower: 408", 100,
     600000, NULL},
    {"Listen", "idle-timeout", DURATION, AT(idle_timeout_ms), "75s", "DURATION",
     "how long a connection may be open without a request, and how long a client may take to "
     "read a reply",
     100, 86400000, NULL},
    {"Listen", "max-connections", COUNT, AT(max_connections), "0", "N",
     "connections of this batond; more wait to be accepted; 0: as many as descriptors allow", 0,
     10000000, NULL},
    {"Listen", "max-connections-per-address", COUNT, AT(max_connections_per_address), "0", "N",
     "connections from one address; one more gets 429; IPv6 counts by /64; 0: a quarter of all", 0,
     10000000, NULL},
    {"Listen", "trusted-proxies", TEXT, AT(trusted_proxies), "127.0.0.0/8,::1", "NETWORKS",
     "proxies, as addresses and networks; their connections are not counted by address, and "
     "holds, waiters and the log name the client that they forward for",
     0, 0, NULL},
    {"Redis", "redis-url", SECRET, AT(redis_url), NULL, "URL",
     "where Redis is: redis://[user:password@]host[:port][/db], rediss:// for TLS, "
     "unix:///path, redis+sentinel://[user:password@]host[:port],host[:port]/MASTER[/db], "
     "redis+cluster://[user:password@]host[:port],host[:port], or "
     "redis+quorum://[user:password@]host[:port],host[:port],host[:port][/db]; "
     "BATON_REDIS_URL_FILE names a file with it; unset: batond starts a Redis of its own",
     0, 0, NULL},
    {"Redis", "redis-user", TEXT, AT(redis_user), NULL, "NAME",
     "the user of Redis to log in as, if redis-url names none", 0, 0, NULL},
    {"Redis", "redis-password", SECRET, AT(redis_password), NULL, "TEXT",
     "the password for Redis, if redis-url has none; BATON_REDIS_PASSWORD_FILE names a file "
     "with it",
     0, 0, NULL},
    {"Redis", "redis-sentinel-user", TEXT, AT(redis_sentinel_user), NULL, "NAME",
     "the user to log in to the sentinels as, if they want a login; only with "
     "redis+sentinel://",
     0, 0, NULL},
    {"Redis", "redis-sentinel-password", SECRET, AT(redis_sentinel_password), NULL, "TEXT",
     "the password for the sentinels; batond never sends them the one for Redis; "
     "BATON_REDIS_SENTINEL_PASSWORD_FILE names a file with it",
     0, 0, NULL},
    {"Redis", "redis-ca", TEXT, AT(redis_ca), NULL, "FILE",
     "certificates (PEM) to trust for rediss://, instead of the system's", 0, 0, NULL},
    {"Redis", "redis-cert", TEXT, AT(redis_cert), NULL, "FILE",
     "the certificate (PEM) to show to Redis, if it asks for one", 0, 0, NULL},
    {"Redis", "redis-key", TEXT, AT(redis_key), NULL, "FILE", "the key (PEM) of redis-cert", 0, 0,
     NULL},
    {"Redis", "redis-server-name", TEXT, AT(redis_server_name), NULL, "NAME",
     "the name that the certificate of Redis must have, and SNI; unset: the host in redis-url", 0,
     0, NULL},
    {"Redis", "redis-timeout", DURATION, AT(redis_timeout_ms), "800ms", "DURATION",
     "how long Redis may take to reply; then batond connects to it again, and the answer is 503",
     100, 60000, NULL},
    {"Redis", "state-dir", TEXT, AT(state_dir), "", "DIRECTORY",
     "where the Redis that batond starts keeps its data; for one batond at a time, and no "
     "other user may write there; unset: $XDG_STATE_HOME/baton or ~/.local/state/baton",
     0, 0, NULL},
    {"Redis", "key-prefix", TEXT, AT(key_prefix), "baton:", "TEXT",
     "the beginning of all keys in Redis; at most 64 bytes, no braces", 0, 0, NULL},
    {"Redis", "confirm", REPLICAS, AT(replicas), "none", "none|replicas:N",
     "how many replicas of Redis must have a grant before batond reports it", 0, 8, NULL},
    {"Redis", "confirm-timeout", DURATION, AT(confirm_timeout_ms), "1s", "DURATION",
     "how long replicas have to confirm; then batond takes the grant back, and the answer is "
     "503",
     10, 10000, NULL},
    {"Redis", "quarantine", QUARANTINE, AT(quarantine_ms), "auto", "auto|off|DURATION",
     "how long nothing is granted after Redis may have lost locks; auto: until every lock "
     "that it may have lost has expired",
     QUARANTINE_AUTO, 86400000, NULL},
    {"Redis", "redis-keeps", CHOICE, AT(redis_keeps), "unknown", "unknown|all",
     "all: Redis loses nothing when it is restarted (appendfsync always, or everysec if its "
     "machine goes on), so no quarantine follows",
     0, 0, REDIS_KEEPS},
    {"Locks", "default-ttl", DURATION, AT(default_ttl_ms), "30s", "DURATION",
     "TTL of a hold if the request names none", 100, 86400000, NULL},
    {"Locks", "max-ttl", DURATION, AT(max_ttl_ms), "1h", "DURATION",
     "the longest TTL that a request may ask for, unless a rule of the tokens-file says "
     "max_ttl",
     100, 86400000, NULL},
    {"Locks", "max-held", DURATION, AT(max_held_ms), "0", "DURATION",
     "the longest that renewals may carry a hold from its grant, unless a rule of the tokens-file "
     "says max_held; 0: for ever",
     0, 2592000000, NULL},
    {"Locks", "retention", DURATION, AT(retention_ms), "1h", "DURATION",
     "how long Redis remembers a free name: its last release and its version; the same for "
     "all batonds that share a Redis",
     1000, 86400000, NULL},
    {"Locks", "max-wait", DURATION, AT(max_wait_ms), "50s", "DURATION",
     "the longest that a request may wait for a lock or an event", 1000, 3600000, NULL},
    {"Locks", "claim-window", DURATION, AT(claim_window_ms), "2s", "DURATION",
     "how long a grant waits for its waiter to collect it, before the next waiter has its turn",
     100, 60000, NULL},
    {"Locks", "waiter-lease", DURATION, AT(waiter_lease_ms), "10s", "DURATION",
     "how long waiters keep their place in the queue after their batond has died", 1000, 600000,
     NULL},
    {"Limits", "max-waiters", COUNT, AT(max_waiters), "10000", "N",
     "requests that may wait for one lock; one more gets 429", 1, 1000000, NULL},
    {"Limits", "max-waiters-per-process", COUNT, AT(process_waiters), "0", "N",
     "requests that may wait in this batond, streams included; 0: nine tenths of its "
     "connections",
     0, 10000000, NULL},
    {"Limits", "max-waiters-per-principal", COUNT, AT(principal_waiters), "0", "N",
     "requests of one principal that may wait in this batond, unless the tokens-file has "
     "another number; 0: no limit",
     0, PRINCIPAL_LIMIT_MOST, NULL},
    {"Limits", "max-streams-per-principal", COUNT, AT(principal_streams), "1000", "N",
     "streams of events of one principal, unless the tokens-file has another number; one more "
     "gets 429; 0: no limit",
     0, PRINCIPAL_LIMIT_MOST, NULL},
    {"Limits", "max-connection-holds-per-principal", COUNT, AT(principal_connection_holds), "5000",
     "N",
     "locks of one principal held with hold=connection, unless the tokens-file has another "
     "number; one more gets 429; 0: no limit",
     0, PRINCIPAL_LIMIT_MOST, NULL},
    {"Limits", "rate-limit", COUNT, AT(rate_limit), "0", "N",
     "requests per second of one principal, unless the tokens-file has another number; 0: no "
     "limit",
     0, PRINCIPAL_LIMIT_MOST, NULL},
    {"Limits", "max-bodies-per-principal", COUNT, AT(principal_bodies), "500", "N",
     "requests of one principal whose bodies are on their way; one more gets 429; 0: no limit", 0,
     PRINCIPAL_LIMIT_MOST, NULL},
    {"Security", "tokens-file", TEXT, AT(tokens_file), NULL, "FILE",
     "API keys and their rights, as JSON, read again on SIGHUP; unset: every client that can "
     "connect may do everything",
     0, 0, NULL},
    {"Security", "tls-cert", TEXT, AT(tls_cert), NULL, "FILE",
     "the certificate (PEM, with the chain that leads to its root) to serve HTTPS with, read "
     "again on SIGHUP; unset: plain HTTP",
     0, 0, NULL},
    {"Security", "tls-key", TEXT, AT(tls_key), NULL, "FILE", "the key (PEM) of tls-cert", 0, 0,
     NULL},
    {"Security", "tls-client-ca", TEXT, AT(tls_client_ca), NULL, "FILE",
     "certificates (PEM) that vouch for those of clients; batond knows a client by the common "
     "name of its certificate",
     0, 0, NULL},
    {"Security", "allow-anonymous", FLAG, AT(allow_anonymous), "false", NULL,
     "serve other machines although there is neither tokens-file nor tls-client-ca: for a "
     "network that is itself closed",
     0, 0, NULL},
    {"Security", "allowed-hosts", TEXT, AT(allowed_hosts), "", "NAMES",
     "without a login: further names by which requests may call batond (Host), besides "
     "addresses and names without a dot; .example.com is every name below it, * any name",
     0, 0, NULL},
    {"Security", "sandbox", FLAG, AT(sandbox), "false", NULL,
     "keep only the system calls that serving needs; any other call ends batond", 0, 0, NULL},
    {"Logging", "log-format", CHOICE, AT(log_format), "json", "json|text",
     "the form of the log, which goes to stderr", 0, 0, LOG_FORMATS},
    {"Logging", "log-level", CHOICE, AT(log_level), "info", "LEVEL",
     "the least level that is logged: debug, info, warn or error", 0, 0, LOG_LEVELS},
    {"Logging", "access-log", FLAG, AT(access_log), "true", "true|false",
     "log each request, at info; requests of monitors, at debug", 0, 0, NULL},
    {"Logging", "audit-log", FLAG, AT(audit_log), "true", "true|false",
     "log when each hold begins and ends, at info", 0, 0, NULL},
#undef AT
};

const size_t SETTING_COUNT = sizeof SETTINGS / sizeof SETTINGS[0];

static const struct {
    const char *flag;
    const char *help;
} COMMANDS[] = {
    {"--new-token=NAME",
     "print a new API key for the principal NAME, and its entry for the tokens-file"},
    {"--check",
     "read settings and files as a start does, and ask that batond if it is ready: exit code 0 if "
     "so, 1 if not, 2 if settings are wrong"},
    {"--check=config", "the same, but ask no batond"},
    {"--help, -h", "print this help"},
    {"--version", "print the version"},
};

static int settings_default_state_dir(struct settings *settings, struct failure *failure)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (settings->state_dir[0] || settings->redis_url)
        return 0;
    if (!(state && state[0] == '/') && !(home && home[0]))
        return failure_set(failure, -EINVAL,
                           "--state-dir: batond does not know where to keep its data, because HOME "
                           "is not set. Name a directory.");
    free(settings->state_dir);
    int length = state && state[0] == '/'
                     ? asprintf(&settings->state_dir, "%s/baton", state)
                     : asprintf(&settings->state_dir, "%s/.local/state/baton", home);
    if (length < 0)
        settings->state_dir = NULL;
    return length < 0 ? -ENOMEM : 0;
}

/* Checks settings against each other, and those whose check needs more than their row. */
static int settings_check(struct settings *settings, struct failure *failure)
{
    struct failure wrong;
    if (settings->redis_url && !settings->redis_url[0])
        return failure_set(failure, -EINVAL,
                           "--redis-url is empty. Give a URL, or leave it out: batond then starts "
                           "a Redis of its own.");
    if (!key_prefix_is_valid(slice_of(settings->key_prefix)))
        return failure_set(
            failure, -EINVAL,
            "--key-prefix: expected at most %d bytes of UTF-8 without control characters or braces",
            KEY_PREFIX_LENGTH);
    if (settings->default_ttl_ms > settings->max_ttl_ms)
        return failure_set(failure, -EINVAL,
                           "--default-ttl is longer than --max-ttl. Lower it, or raise --max-ttl.");
    if (settings->replicas > 0 && !settings->redis_url)
        return failure_set(failure, -EINVAL,
                           "--confirm needs a --redis-url, because the Redis that batond starts "
                           "has no replicas. Give one, or leave --confirm out.");
    if (networks_read(&settings->trusted, settings->trusted_proxies, &wrong) < 0)
        return failure_set(failure, -EINVAL,
                           "--trusted-proxies: %s; expected addresses and networks with commas "
                           "between, such as 127.0.0.0/8,10.1.2.3,fd00::/8",
                           wrong.text);
    if (!cross_site_hosts_are_valid(settings->allowed_hosts))
        return failure_set(failure, -EINVAL,
                           "--allowed-hosts: \"%.*s\" is not valid; expected names without ports "
                           "and with commas between, such as locks.example.com,.corp.example, or *",
                           SETTING_SHOWN, settings->allowed_hosts);
    if (settings->admin_listen &&
        !settings->admin_listen[0]) { /* how to unset the one that the container image sets */
        free(settings->admin_listen);
        settings->admin_listen = NULL;
    }
    if (!settings->tls_cert != !settings->tls_key)
        return failure_set(failure, -EINVAL,
                           "--tls-cert and --tls-key need each other. Give both, or neither.");
    if (settings->tls_client_ca && !settings->tls_cert)
        return failure_set(failure, -EINVAL,
                           "--tls-client-ca needs --tls-cert and --tls-key. Give these too.");
    return settings_default_state_dir(settings, failure);
}

int settings_read(struct settings *ret, int argc, char **argv, struct failure *failure)
{
    struct settings settings = {0};
    int result = 0;
    for (size_t i = 0; result == 0 && i < SETTING_COUNT; i++)
        if (SETTINGS[i].standard)
            result = setting_set(&settings, &SETTINGS[i], SETTINGS[i].standard, SETTINGS[i].name,
                                 failure);
    if (result == 0)
        result = sources_read_command(&settings, argc, argv, failure);
    if (settings.wants_help || settings.wants_version || settings.new_token)
        goto end;
    if (result == 0)
        result = sources_read(&settings, argc, argv, failure);
    if (result == 0)
        result = settings_check(&settings, failure);

end:
    if (result == 0)
        *ret = settings;
    else
        settings_free(&settings);
    return result;
}

void settings_forget_secrets(struct settings *settings)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        char *text = SETTINGS[i].kind == SECRET ? *setting_text(settings, &SETTINGS[i]) : NULL;
        if (text)
            explicit_bzero(text, strlen(text));
    }
}

void settings_free(struct settings *settings)
{
    settings_forget_secrets(settings);
    for (size_t i = 0; i < SETTING_COUNT; i++)
        if (SETTINGS[i].kind == TEXT || SETTINGS[i].kind == SECRET)
            free(*setting_text(settings, &SETTINGS[i]));
    networks_free(&settings->trusted);
    free(settings->new_token);
    *settings = (struct settings){0};
}

/* Prints a text in lines of at most HELP_WIDTH columns. */
static void settings_print_text(FILE *out, const char *text)
{
    size_t column = 0;
    while (*text) {
        size_t length = strcspn(text, " ");
        if (column == 0 || column + 1 + length > HELP_WIDTH) {
            fprintf(out, "%s%*s", column ? "\n" : "", HELP_INDENT, "");
            column = HELP_INDENT;
        } else {
            fputc(' ', out);
            column++;
        }
        fwrite(text, 1, length, out);
        column += length;
        text += length + (text[length] == ' ');
    }
    fputc('\n', out);
}

static void settings_print_row(FILE *out, const struct setting *setting)
{
    fprintf(out, "  --%s", setting->name);
    if (setting->value)
        fprintf(out, "=%s", setting->value);
    if (setting->value && setting->standard && setting->standard[0])
        fprintf(out, " (default: %s)", setting->standard);
    fputc('\n', out);
    settings_print_text(out, setting->help);
}

void settings_help(FILE *out)
{
    const char *group = "";
    fputs("Usage: batond [--SETTING=VALUE]...\n\n"
          "Serves locks over HTTP and keeps them in Redis: in one that it starts itself,\n"
          "or in that of --redis-url. Try it:\n\n"
          "  batond &\n"
          "  curl -X POST 'http://127.0.0.1:7420/locks/demo?ttl=30s'\n\n"
          "Give a setting as a flag or as a variable: --max-ttl is BATON_MAX_TTL. A flag\n"
          "wins. A DURATION is 500ms, 30s, 5m or 2h; without a unit it is seconds.\n",
          out);
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        if (strcmp(SETTINGS[i].group, group) != 0)
            fprintf(out, "\n%s:\n", SETTINGS[i].group);
        group = SETTINGS[i].group;
        settings_print_row(out, &SETTINGS[i]);
    }
    fputs("\nInstead of serving:\n", out);
    for (size_t i = 0; i < sizeof COMMANDS / sizeof *COMMANDS; i++) {
        fprintf(out, "  %s\n", COMMANDS[i].flag);
        settings_print_text(out, COMMANDS[i].help);
    }
    fputs("\nThe HTTP interface is described at /openapi.yaml of each batond.\n", out);
}
