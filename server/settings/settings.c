#include "server/settings/settings.h"

#include "api/http/cross_site.h"
#include "api/principals/principal.h"
#include "locks/types/name.h"
#include "locks/types/quarantine.h"
#include "server/settings/setting.h"
#include "server/settings/sources.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char *const LOG_FORMATS[] = {"json", "text", NULL};
static const char *const LOG_LEVELS[] = {"debug", "info", "warn", "error", NULL};

const struct setting SETTINGS[] = {
#define AT(member) offsetof(struct settings, member)
    {"listen", TEXT, AT(listen), "127.0.0.1:7420", "ADDRESS:PORT",
     "where to serve HTTP; [::1]:7420 for IPv6, port 0 for any free one", 0, 0, NULL},
    {"admin-listen", TEXT, AT(admin_listen), NULL, "ADDRESS:PORT",
     "where to serve /livez, /readyz and /metrics as well, and nothing else, with connections of "
     "its "
     "own; unset: only at listen",
     0, 0, NULL},
    {"redis-url", SECRET, AT(redis_url), NULL, "URL",
     "where Redis is: redis://[user:password@]host[:port][/db], rediss:// for TLS, "
     "unix:///path, or redis+sentinel://[user:password@]host[:port],host[:port]/MASTER[/db], or "
     "redis+cluster://[user:password@]host[:port],host[:port], or "
     "redis+quorum://[user:password@]host[:port],host[:port],host[:port][/db]; "
     "BATON_REDIS_URL_FILE names a file with it; unset: batond starts a Redis of its own",
     0, 0, NULL},
    {"redis-user", TEXT, AT(redis_user), NULL, "NAME",
     "the user of Redis to log in as, where redis-url names none", 0, 0, NULL},
    {"redis-password", SECRET, AT(redis_password), NULL, "TEXT",
     "the password for Redis, where redis-url has none; BATON_REDIS_PASSWORD_FILE names a file "
     "with it",
     0, 0, NULL},
    {"redis-sentinel-user", TEXT, AT(redis_sentinel_user), NULL, "NAME",
     "the user to log in to sentinels as, where they ask for it; only with redis+sentinel://", 0, 0,
     NULL},
    {"redis-sentinel-password", SECRET, AT(redis_sentinel_password), NULL, "TEXT",
     "the password for the sentinels, who are not sent that for Redis; "
     "BATON_REDIS_SENTINEL_PASSWORD_FILE names a file with it",
     0, 0, NULL},
    {"redis-ca", TEXT, AT(redis_ca), NULL, "FILE",
     "certificates (PEM) to trust for rediss://, in place of the system's", 0, 0, NULL},
    {"redis-cert", TEXT, AT(redis_cert), NULL, "FILE",
     "the certificate (PEM) to show to Redis, where it asks for one", 0, 0, NULL},
    {"redis-key", TEXT, AT(redis_key), NULL, "FILE", "the key (PEM) of redis-cert", 0, 0, NULL},
    {"redis-server-name", TEXT, AT(redis_server_name), NULL, "NAME",
     "what the certificate of Redis names (and SNI), in place of the host in redis-url", 0, 0,
     NULL},
    {"state-dir", TEXT, AT(state_dir), "", "DIRECTORY",
     "where batond's own Redis keeps its data, for one batond at a time; nobody else may write "
     "there; unset: "
     "$XDG_STATE_HOME/baton or ~/.local/state/baton",
     0, 0, NULL},
    {"key-prefix", TEXT, AT(key_prefix), "baton:", "TEXT",
     "what all keys in Redis begin with; at most 64 bytes, no braces", 0, 0, NULL},
    {"workers", COUNT, AT(workers), "0", "N",
     "threads that serve; 0: half as many as there are processors", 0, 256, NULL},
    {"default-ttl", DURATION, AT(default_ttl_ms), "30s", "DURATION",
     "how long a hold lasts (its TTL) whose request does not say", 100, 86400000, NULL},
    {"max-ttl", DURATION, AT(max_ttl_ms), "1h", "DURATION",
     "the longest TTL that may be asked for, where no rule of the tokens-file says max_ttl", 100,
     86400000, NULL},
    {"retention", DURATION, AT(retention_ms), "1h", "DURATION",
     "how long a free name is remembered: its last release, its version; the same for all that "
     "share "
     "a Redis",
     1000, 86400000, NULL},
    {"max-wait", DURATION, AT(max_wait_ms), "50s", "DURATION",
     "the longest that a request may wait for a lock or an event", 1000, 3600000, NULL},
    {"max-waiters", COUNT, AT(max_waiters), "10000", "N",
     "requests that may wait for one lock; one more is answered 429", 1, 1000000, NULL},
    {"max-waiters-per-process", COUNT, AT(process_waiters), "0", "N",
     "requests that may wait in this batond, streams too; 0: nine tenths of its connections", 0,
     10000000, NULL},
    {"max-waiters-per-principal", COUNT, AT(principal_waiters), "0", "N",
     "of those, requests of one principal, unless tokens-file has another number; 0: no limit", 0,
     PRINCIPAL_LIMIT_MOST, NULL},
    {"max-streams-per-principal", COUNT, AT(principal_streams), "1000", "N",
     "streams of events of one principal, unless tokens-file has another number; one more is "
     "answered 429; 0: no limit",
     0, PRINCIPAL_LIMIT_MOST, NULL},
    {"max-connection-holds-per-principal", COUNT, AT(principal_connection_holds), "5000", "N",
     "locks of one principal that are held by their connections, unless tokens-file has another "
     "number; one more is answered 429; 0: no limit",
     0, PRINCIPAL_LIMIT_MOST, NULL},
    {"rate-limit", COUNT, AT(rate_limit), "0", "N",
     "requests per second of one principal, unless tokens-file has another number; 0: no limit", 0,
     PRINCIPAL_LIMIT_MOST, NULL},
    {"max-bodies-per-principal", COUNT, AT(principal_bodies), "500", "N",
     "requests of one principal whose bodies may be on their way at once; one more is answered "
     "429; "
     "0: no limit",
     0, PRINCIPAL_LIMIT_MOST, NULL},
    {"claim-window", DURATION, AT(claim_window_ms), "2s", "DURATION",
     "how long a grant waits for its waiter to collect it, before the next one has its turn", 100,
     60000, NULL},
    {"confirm", REPLICAS, AT(replicas), "none", "none|replicas:N",
     "how many replicas of Redis must have a grant before its client is told of it", 0, 8, NULL},
    {"confirm-timeout", DURATION, AT(confirm_timeout_ms), "1s", "DURATION",
     "how long replicas have to confirm; then the grant is taken back, and the answer is 503", 10,
     10000, NULL},
    {"quarantine", QUARANTINE, AT(quarantine_ms), "auto", "auto|off|DURATION",
     "how long nothing is granted once Redis may have lost locks; auto: until those must have "
     "ended",
     QUARANTINE_AUTO, 86400000, NULL},
    {"waiter-lease", DURATION, AT(waiter_lease_ms), "10s", "DURATION",
     "how long waiters keep their place in the queue when their batond has died", 1000, 600000,
     NULL},
    {"drain", DURATION, AT(drain_ms), "5s", "DURATION",
     "how long to serve on after SIGTERM, while /readyz says 503 so that clients go to others; "
     "only "
     "with redis-url",
     0, 600000, NULL},
    {"head-timeout", DURATION, AT(head_timeout_ms), "10s", "DURATION",
     "how long the first line and the headers of a request may take to arrive; slower: 408", 100,
     600000, NULL},
    {"body-timeout", DURATION, AT(body_timeout_ms), "10s", "DURATION",
     "how long the body of a request may take to arrive after them; slower: 408", 100, 600000,
     NULL},
    {"idle-timeout", DURATION, AT(idle_timeout_ms), "75s", "DURATION",
     "how long a connection may be open without a request, and a reply may take to be read", 100,
     86400000, NULL},
    {"max-connections", COUNT, AT(max_connections), "0", "N",
     "connections of this batond; more wait to be accepted; 0: as many as descriptors allow", 0,
     10000000, NULL},
    {"max-connections-per-address", COUNT, AT(max_connections_per_address), "0", "N",
     "connections from one address; one more is answered 429; 0: a quarter of all", 0, 10000000,
     NULL},
    {"trusted-proxies", TEXT, AT(trusted_proxies), "127.0.0.0/8,::1", "NETWORKS",
     "proxies, as addresses and networks: their connections are not counted by address, and whom "
     "they "
     "forward for is logged",
     0, 0, NULL},
    {"log-format", CHOICE, AT(log_format), "json", "json|text",
     "the form of the log, which goes to stderr", 0, 0, LOG_FORMATS},
    {"log-level", CHOICE, AT(log_level), "info", "LEVEL",
     "what is logged at least: debug, info, warn or error", 0, 0, LOG_LEVELS},
    {"access-log", FLAG, AT(access_log), "true", "true|false",
     "log each request, at info; what monitors ask, at debug", 0, 0, NULL},
    {"audit-log", FLAG, AT(audit_log), "true", "true|false",
     "log the begin and the end of each hold, at info", 0, 0, NULL},
    {"tokens-file", TEXT, AT(tokens_file), NULL, "FILE",
     "says who may do what, as JSON, read again on SIGHUP; unset: whoever can connect may do all",
     0, 0, NULL},
    {"tls-cert", TEXT, AT(tls_cert), NULL, "FILE",
     "the certificate (PEM, with what leads to its root) to serve HTTPS with, read again on SIGHUP",
     0, 0, NULL},
    {"tls-key", TEXT, AT(tls_key), NULL, "FILE", "the key (PEM) of tls-cert", 0, 0, NULL},
    {"tls-client-ca", TEXT, AT(tls_client_ca), NULL, "FILE",
     "certificates (PEM) that vouch for those of clients, who are known by their common names", 0,
     0, NULL},
    {"allow-anonymous", FLAG, AT(allow_anonymous), "false", NULL,
     "serve other machines too although nobody has to log in: for a network that is itself closed",
     0, 0, NULL},
    {"allowed-hosts", TEXT, AT(allowed_hosts), "", "NAMES",
     "where nobody has to log in: further names to be called by (the Host of requests), besides "
     "addresses and names without a dot; .example.com is all below it, * any",
     0, 0, NULL},
    {"sandbox", FLAG, AT(sandbox), "false", NULL,
     "keep only the system calls that serving needs; one that is not allowed ends batond", 0, 0,
     NULL},
#undef AT
};

const size_t SETTING_COUNT = sizeof SETTINGS / sizeof SETTINGS[0];

static int settings_default_state_dir(struct settings *settings, struct failure *failure)
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

/* Checks settings against each other, and those whose check needs more than their row. */
static int settings_check(struct settings *settings, struct failure *failure)
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
    if (!cross_site_hosts_are_valid(settings->allowed_hosts))
        return failure_set(
            failure, -EINVAL,
            "--allowed-hosts: \"%.*s\" will not do; expected names without ports and "
            "with commas between, such as locks.example.com,.corp.example, or *",
            SETTING_SHOWN, settings->allowed_hosts);
    if (settings->admin_listen &&
        !settings->admin_listen[0]) { /* how to unset the one that the container image sets */
        free(settings->admin_listen);
        settings->admin_listen = NULL;
    }
    if (!settings->tls_cert != !settings->tls_key)
        return failure_set(failure, -EINVAL,
                           "--tls-cert and --tls-key need each other; give both or none");
    if (settings->tls_client_ca && !settings->tls_cert)
        return failure_set(failure, -EINVAL, "--tls-client-ca needs --tls-cert and --tls-key");
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

void settings_help(FILE *out)
{
    fprintf(out,
            "Usage: batond [--SETTING=VALUE]...\n\n"
            "Serves locks over HTTP and keeps them in Redis: one of its own, or that of redis-url. "
            "Try it:\n"
            "  batond &\n"
            "  curl -X POST 'http://127.0.0.1:7420/locks/demo?ttl=30s'\n\n"
            "Each setting can be given as a flag or as a variable: --max-ttl is BATON_MAX_TTL. A "
            "flag wins.\n"
            "A DURATION is 500ms, 30s, 5m or 2h; without a unit it is seconds.\n\n");
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
            "exit code 0 if so, 1 if not, 2 for a wrong setting or file\n"
            "  --help, -h\n      print this\n  --version\n      print the version\n\n"
            "The HTTP interface is described at /openapi.yaml.\n");
}
