/* settings.h: the settings of batond, from flags, variables and defaults. */
#ifndef BATON_SERVER_SETTINGS_SETTINGS_H
#define BATON_SERVER_SETTINGS_SETTINGS_H

#include "base/failure.h"
#include "server/log/log.h"
#include "server/net/networks.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* What batond checks instead of serving. */
enum check { CHECK_NOTHING, CHECK_CONFIG, CHECK_READY };

/* What a restarted Redis keeps, as the operator says. */
enum redis_keeps { REDIS_KEEPS_UNKNOWN, REDIS_KEEPS_ALL };

struct settings {
    char *listen;       /* ADDRESS:PORT; listener_init parses it */
    bool has_listen;    /* it was given, so it is not the default */
    char *admin_listen; /* the same; NULL: no such listener */
    char *redis_url;    /* NULL for the embedded Redis */
    char *redis_user;   /* this and the next seven: NULL if not given; see redis/address/access.h */
    char *redis_password;
    char *redis_sentinel_user;
    char *redis_sentinel_password;
    char *redis_ca;
    char *redis_cert;
    char *redis_key;
    char *redis_server_name;
    int64_t redis_timeout_ms;
    char *state_dir; /* of the embedded Redis */
    char *key_prefix;
    int64_t workers; /* 0: half the processors */
    int64_t default_ttl_ms;
    int64_t max_ttl_ms;
    int64_t max_held_ms; /* 0: none */
    int64_t retention_ms;
    int64_t max_wait_ms;
    int64_t max_waiters;                /* of one name */
    int64_t process_waiters;            /* 0: nine tenths of the connections */
    int64_t principal_waiters;          /* 0: no limit */
    int64_t rate_limit;                 /* requests per second of a principal; 0: no limit */
    int64_t principal_streams;          /* of events; 0: no limit */
    int64_t principal_connection_holds; /* 0: no limit */
    int64_t principal_bodies;           /* bodies of a principal under way; 0: no limit */
    int64_t claim_window_ms;
    int64_t replicas;      /* that must confirm each grant; 0: none */
    int64_t quarantine_ms; /* or QUARANTINE_AUTO, _OFF */
    enum redis_keeps redis_keeps;
    int64_t confirm_timeout_ms; /* for the replicas */
    int64_t waiter_lease_ms;
    int64_t drain_ms;
    int64_t head_timeout_ms;
    int64_t body_timeout_ms;
    int64_t idle_timeout_ms;
    int64_t max_connections;             /* 0: as many as descriptors allow */
    int64_t max_connections_per_address; /* 0: a quarter of all */
    char *trusted_proxies;               /* as given */
    struct networks trusted;             /* the same, parsed */
    enum log_format log_format;
    enum log_level log_level;
    bool access_log, audit_log;
    char *tokens_file; /* NULL: no login */
    char *tls_cert;    /* this and the next two: NULL if not given; see server/http/https.h */
    char *tls_key;
    char *tls_client_ca;
    bool allow_anonymous;
    char *allowed_hosts; /* values of Host without a login; see api/http/cross_site.h */
    bool sandbox;        /* filter system calls */
    bool wants_help;     /* --help was given: batond checks nothing else */
    bool wants_version;
    enum check check; /* --check was given: batond reads all settings as for serving */
    char *new_token;  /* the name given with --new-token: batond checks nothing else; or NULL */
};

/* Reads flags over variables over defaults. Returns 0, or -EINVAL with a failure that names the
 * setting, what it was given and what is expected. */
int settings_read(struct settings *ret, int argc, char **argv, struct failure *failure);

/* Overwrites the secrets, which are empty texts from then on. Call this once the secrets were
 * copied. */
void settings_forget_secrets(struct settings *settings);

/* Overwrites the secrets and frees what settings_read allocated. Takes a zeroed struct, too. */
void settings_free(struct settings *settings);

/* Prints the table of settings, for --help. */
void settings_help(FILE *out);

#endif
