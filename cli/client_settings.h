/* client_settings.h: the URLs of batond and the credentials, from options, variables and files. */
#ifndef BATON_CLI_CLIENT_SETTINGS_H
#define BATON_CLI_CLIENT_SETTINGS_H

#include "base/failure.h"
#include "cli/options.h"

enum { SETTINGS_URLS = 8 };

struct client_url {
    const char *text; /* a part of the value, without a slash at the end */
    long port;
    bool is_loopback; /* on this machine: no proxy is used */
};

struct client_settings {
    char *values[SETTING_COUNT];           /* NULL: none */
    struct client_url urls[SETTINGS_URLS]; /* at least one */
    size_t url_count;
    char *auth_key; /* NULL: none */
    int64_t connect_timeout_ms;
};

/* Reads all settings. An option overrides a variable, a variable the user's file, and that the
 * system's. Returns 0, or -EINVAL with a failure. Free `settings` in either case. */
int client_settings_read(struct client_settings *settings, const struct options *options,
                         struct failure *failure);

void client_settings_free(struct client_settings *settings);

#endif
