#include "cli/client_settings.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/slice.h"

#include <curl/curl.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char SYSTEM_FILE[] = "/etc/baton/client.conf";
static const char SPACE[] = " \t\r\n\v\f";
static const char DEFAULT_URL[] = "http://127.0.0.1:7420";

enum { AUTH_LONGEST = 4096, CONF_LONGEST = 65536, PATH_TEXT = 4096 };

static const char *const VARIABLES[SETTING_COUNT] = {
    [SETTING_URL] = "BATON_URL", [SETTING_AUTH_FILE] = "BATON_AUTH_FILE",
    [SETTING_CA] = "BATON_CA",   [SETTING_CERT] = "BATON_CERT",
    [SETTING_KEY] = "BATON_KEY",
};

/* The value as meant, by the rule of base/slice.h, and without spaces around it. */
static struct slice value_of(const char *text)
{
    struct slice value = slice_skip_mark(slice_of(text ? text : ""));
    size_t front = strspn(value.bytes, SPACE);
    value = (struct slice){value.bytes + front, value.length - front};
    while (value.length > 0 && strchr(SPACE, value.bytes[value.length - 1]))
        value.length--;
    return value;
}

/* A shell removes the quotes of an option (`source` is NULL then). A file does not, nor does
 * docker's --env-file. */
static int values_set(char *values[SETTING_COUNT], enum setting setting, const char *text,
                      const char *source, struct failure *failure)
{
    struct slice value = value_of(text);
    if (value.length == 0)
        return 0;
    if (source && strchr("\"'", value.bytes[0]))
        return failure_set(failure, -EINVAL,
                           "%s: the value of %s is in quotes. Write it without quotes.", source,
                           VARIABLES[setting]);
    free(values[setting]);
    values[setting] = memory_checked(strndup(value.bytes, value.length));
    return 0;
}

/* A line is NAME=VALUE, a comment after #, or blank. */
static int values_read_line(char *values[SETTING_COUNT], char *line, const char *path, int number,
                            struct failure *failure)
{
    char source[PATH_TEXT + 32];
    snprintf(source, sizeof source, "%s, line %d", path, number);
    line += strspn(line, SPACE);
    size_t length = strcspn(line, "=");
    if (!line[0] || line[0] == '#')
        return 0;
    for (enum setting i = 0; line[length] && i < SETTING_COUNT; i++)
        if (slice_equals((struct slice){line, length}, VARIABLES[i]))
            return values_set(values, i, line + length + 1, source, failure);
    return failure_set(failure, -EINVAL,
                       "%s: not a setting of baton. Write NAME=VALUE, where NAME is BATON_URL, "
                       "BATON_AUTH_FILE, BATON_CA, BATON_CERT or BATON_KEY.",
                       source);
}

/* A missing file is no mistake. */
static int values_read_file(char *values[SETTING_COUNT], const char *path, struct failure *failure)
{
    char *text = NULL, *rest, *line;
    const struct file_options options = {
        .setting = "client.conf", .path = path, .longest = CONF_LONGEST};
    if (access(path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    int result = file_read(&options, &text, NULL, failure);
    rest = text;
    for (int number = 1; result == 0 && (line = strsep(&rest, "\n")); number++)
        result = values_read_line(values, line, path, number, failure);
    free(text);
    return result;
}

static int values_read_user_file(char *values[SETTING_COUNT], struct failure *failure)
{
    char path[PATH_TEXT];
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    bool has_config = config && config[0] == '/';
    const char *folder = has_config ? config : home;
    if (!folder || folder[0] != '/')
        return 0;
    int length =
        snprintf(path, sizeof path, "%s%s/baton/client.conf", folder, has_config ? "" : "/.config");
    return length < PATH_TEXT ? values_read_file(values, path, failure) : 0;
}

static int values_read(char *values[SETTING_COUNT], const struct options *options,
                       struct failure *failure)
{
    values_set(values, SETTING_URL, DEFAULT_URL, NULL, failure);
    int result = values_read_file(values, SYSTEM_FILE, failure);
    if (result == 0)
        result = values_read_user_file(values, failure);
    for (enum setting i = 0; result == 0 && i < SETTING_COUNT; i++) {
        result = values_set(values, i, getenv(VARIABLES[i]), "the environment", failure);
        values_set(values, i, options->settings[i], NULL, failure);
    }
    return result;
}

static bool host_is_loopback(const char *host)
{
    return (strncmp(host, "127.", 4) == 0 && !host[strspn(host, "0123456789.")]) ||
           strcmp(host, "[::1]") == 0 || strcasecmp(host, "localhost") == 0 ||
           fnmatch("*.localhost", host, FNM_CASEFOLD) == 0;
}

/* Returns what is wrong with a URL, in the words of libcurl, which will use it; NULL: nothing. */
static const char *url_read(struct client_url *url)
{
    char *host = NULL, *port = NULL;
    CURLU *parts = memory_checked(curl_url());
    CURLUcode code = curl_url_set(parts, CURLUPART_URL, url->text, 0);
    if (code == CURLUE_OK)
        code = curl_url_get(parts, CURLUPART_HOST, &host, 0);
    if (code == CURLUE_OK)
        code = curl_url_get(parts, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT);
    url->port = port ? strtol(port, NULL, 10) : 0;
    url->is_loopback = host && host_is_loopback(host);
    curl_free(host);
    curl_free(port);
    curl_url_cleanup(parts);
    for (const char *at = url->text; *at; at++)
        if (*at <= ' ' || *at > '~' || strchr("?#", *at))
            return "it has a character that does not belong there";
    return code != CURLUE_OK ? curl_url_strerror(code) : NULL;
}

/* A URL with /locks, as for curl, would make another lock of each name. */
static int client_settings_add_url(struct client_settings *settings, char *url,
                                   struct failure *failure)
{
    static const char LOCKS[] = "/locks";
    const size_t behind = sizeof LOCKS - 1;
    struct client_url read = {.text = url};
    bool is_http = strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0;
    size_t length = strlen(url);
    if (strchr(url, '@'))
        return failure_set(failure, -EINVAL,
                           "a URL of batond has no user and no password. Write the API key into "
                           "the file of --auth-file.");
    const char *trouble = is_http ? url_read(&read) : "";
    if (trouble)
        return failure_set(failure, -EINVAL,
                           "\"%s\" is not a URL of batond%s%s. Write http://HOST:PORT or "
                           "https://HOST:PORT into --url or BATON_URL.",
                           url, trouble[0] ? ": " : "", trouble);
    while (url[length - 1] == '/')
        length--;
    if (length > behind && !memcmp(url + length - behind, LOCKS, behind))
        return failure_set(failure, -EINVAL,
                           "\"%s\" ends in /locks, which baton adds itself. Write %.*s into --url "
                           "or BATON_URL.",
                           url, (int)(length - behind), url);
    if (settings->url_count == SETTINGS_URLS)
        return failure_set(failure, -EINVAL, "there are more than %d URLs in --url or BATON_URL",
                           SETTINGS_URLS);
    url[length] = '\0';
    settings->urls[settings->url_count++] = read;
    return 0;
}

/* A file that libcurl cannot read would look like a batond that does not answer. */
static int client_settings_check_files(const struct client_settings *settings,
                                       struct failure *failure)
{
    static const char *const OPTIONS[SETTING_COUNT] = {
        [SETTING_CA] = "ca", [SETTING_CERT] = "cert", [SETTING_KEY] = "key"};
    for (enum setting i = 0; i < SETTING_COUNT; i++)
        if (OPTIONS[i] && settings->values[i] && access(settings->values[i], R_OK) != 0)
            return failure_set(failure, -EINVAL, "--%s: cannot read %s: %s", OPTIONS[i],
                               settings->values[i], strerror(errno));
    return 0;
}

static int client_settings_read_key(struct client_settings *settings, const char *path,
                                    struct failure *failure)
{
    const struct file_options options = {
        .setting = "auth-file", .path = path, .longest = AUTH_LONGEST};
    int result = file_read(&options, &settings->auth_key, NULL, failure);
    if (result < 0)
        return result;
    char *line = settings->auth_key + strspn(settings->auth_key, SPACE);
    line[strcspn(line, "\r\n")] = '\0';
    struct slice key = value_of(line);
    memmove(settings->auth_key, key.bytes, key.length);
    settings->auth_key[key.length] = '\0';
    return settings->auth_key[0]
               ? 0
               : failure_set(failure, -EINVAL,
                             "--auth-file: %s is empty. Write your API key into it.", path);
}

int client_settings_read(struct client_settings *settings, const struct options *options,
                         struct failure *failure)
{
    char *url;
    *settings = (struct client_settings){.connect_timeout_ms = options->connect_timeout_ms};
    int result = values_read(settings->values, options, failure);
    char *rest = settings->values[SETTING_URL];
    while (result == 0 && (url = strsep(&rest, " ,\t\r\n")))
        result = url[0] ? client_settings_add_url(settings, url, failure) : 0;
    if (result == 0 && settings->url_count == 0)
        result = failure_set(failure, -EINVAL, "--url: there is no URL in it");
    if (result == 0)
        result = client_settings_check_files(settings, failure);
    if (result == 0 && settings->values[SETTING_AUTH_FILE])
        result = client_settings_read_key(settings, settings->values[SETTING_AUTH_FILE], failure);
    return result;
}

void client_settings_free(struct client_settings *settings)
{
    for (enum setting i = 0; i < SETTING_COUNT; i++)
        free(settings->values[i]);
    if (settings->auth_key)
        explicit_bzero(settings->auth_key, strlen(settings->auth_key));
    free(settings->auth_key);
    *settings = (struct client_settings){0};
}
