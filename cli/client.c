#include "cli/client.h"

#include "base/memory.h"
#include "base/monotonic.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

enum { REPLY_LONGEST = 16 << 20, HEADER_TEXT = 160, IDLE_MS = 1000, PAUSE_LONGEST_MS = 3600000 };
enum { SELF_SIGNED = 18, UNVERIFIED_LEAF = 21 }; /* OpenSSL: no trusted authority signed it */

struct client {
    const struct client_settings *settings;
    CURLM *multi; /* has the connections; client_wake wakes it */
    CURL *curl;
    int64_t timeout_ms;
    int interrupt; /* -1: none */
    bool is_interrupted;
    size_t current; /* the URL that answered last */
    void (*idle)(void *context);
    void *idle_context;
    char trouble[CURL_ERROR_SIZE];
};

void client_set_timeout(struct client *client, int64_t ms)
{
    client->timeout_ms = ms;
    curl_easy_setopt(client->curl, CURLOPT_CONNECTTIMEOUT_MS, (long)ms);
}

void client_on_idle(struct client *client, void (*idle)(void *context), void *context)
{
    client->idle = idle;
    client->idle_context = context;
}

void client_interrupt_by(struct client *client, int descriptor)
{
    client->interrupt = descriptor;
    client->is_interrupted = false;
}

bool client_is_interrupted(const struct client *client)
{
    return client->is_interrupted;
}

/* Waits for the connections, client_wake, or the time to call `idle`. */
static void client_poll(struct client *client, int64_t ms)
{
    struct curl_waitfd interrupt = {.fd = client->interrupt, .events = CURL_WAIT_POLLIN};
    int longest_ms = client->idle ? IDLE_MS : PAUSE_LONGEST_MS;
    curl_multi_poll(client->multi, &interrupt, client->interrupt >= 0,
                    ms < longest_ms ? (int)ms : longest_ms, NULL);
    if (client->idle)
        client->idle(client->idle_context);
    client->is_interrupted |= interrupt.revents != 0;
}

void client_pause(struct client *client, int64_t ms)
{
    int64_t end_ms = monotonic_ms() + ms;
    while (ms > 0 && !client->is_interrupted) {
        client_poll(client, ms);
        ms = client->idle ? end_ms - monotonic_ms() : 0;
    }
}

void client_wake(struct client *client)
{
    curl_multi_wakeup(client->multi);
}

struct client *client_open(const struct client_settings *settings)
{
    struct client *client = memory_checked(calloc(1, sizeof *client));
    client->settings = settings;
    client->interrupt = -1;
    client->curl = memory_checked(curl_easy_init());
    client->multi = memory_checked(curl_multi_init());
    curl_easy_setopt(client->curl, CURLOPT_PROTOCOLS_STR, "http,https");
    /* Keeps a name of ".." as it is: batond refuses it, and it leads to no other path. */
    curl_easy_setopt(client->curl, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(client->curl, CURLOPT_USERAGENT, "baton/" BATON_VERSION);
    curl_easy_setopt(client->curl, CURLOPT_ERRORBUFFER, client->trouble);
    /* Does not wait for a resolver after a timeout. */
    curl_easy_setopt(client->curl, CURLOPT_QUICK_EXIT, 1L);
    client_set_timeout(client, settings->connect_timeout_ms);
    if (settings->values[SETTING_CA]) /* otherwise the authorities of the machine */
        curl_easy_setopt(client->curl, CURLOPT_CAINFO, settings->values[SETTING_CA]);
    curl_easy_setopt(client->curl, CURLOPT_SSLCERT, settings->values[SETTING_CERT]);
    curl_easy_setopt(client->curl, CURLOPT_SSLKEY, settings->values[SETTING_KEY]);
    if (settings->auth_key) {
        curl_easy_setopt(client->curl, CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
        curl_easy_setopt(client->curl, CURLOPT_XOAUTH2_BEARER, settings->auth_key);
    }
    return client;
}

void client_close(struct client *client)
{
    curl_easy_cleanup(client->curl);
    curl_multi_cleanup(client->multi);
    curl_global_cleanup();
    free(client);
}

char *client_path(const char *name, const char *rest)
{
    char *encoded = memory_checked(curl_easy_escape(NULL, name, 0)), *path = NULL;
    int length = asprintf(&path, "/locks/%s%s", encoded, rest);
    curl_free(encoded);
    return memory_checked(length < 0 ? NULL : path);
}

char *client_query(const char *path, const char *const *fields)
{
    char *query = memory_checked(strdup(path)), *longer;
    for (char between = strchr(path, '?') ? '&' : '?'; fields[0]; fields += 2) {
        if (!fields[1])
            continue;
        char *encoded = memory_checked(curl_easy_escape(NULL, fields[1], 0));
        int length = asprintf(&longer, "%s%c%s=%s", query, between, fields[0], encoded);
        curl_free(encoded);
        free(query);
        query = memory_checked(length < 0 ? NULL : longer);
        between = '&';
    }
    return query;
}

static struct curl_slist *client_headers(const struct request *request)
{
    char header[HEADER_TEXT];
    struct curl_slist *list = curl_slist_append(NULL, "Content-Type: application/json");
    list = curl_slist_append(memory_checked(list), "Expect:");
    if (!request->token)
        return memory_checked(list);
    snprintf(header, sizeof header, "Lock-Token: %s", request->token);
    return memory_checked(curl_slist_append(memory_checked(list), header));
}

/* Sends what is set up, and waits for the answer. Gives up on an answer without an end. */
static CURLcode client_transfer(struct client *client, const atomic_bool *cancelled)
{
    CURLcode code = CURLE_ABORTED_BY_CALLBACK;
    curl_off_t received = 0;
    int running = 1, left;
    curl_multi_add_handle(client->multi, client->curl);
    while (!client->is_interrupted && !(cancelled && *cancelled) && received <= REPLY_LONGEST &&
           curl_multi_perform(client->multi, &running) == CURLM_OK && running) {
        client_poll(client, PAUSE_LONGEST_MS); /* libcurl keeps its own timeouts */
        curl_easy_getinfo(client->curl, CURLINFO_SIZE_DOWNLOAD_T, &received);
    }
    const CURLMsg *message = curl_multi_info_read(client->multi, &left);
    if (message)
        code = message->data.result;
    curl_multi_remove_handle(client->multi, client->curl);
    return code;
}

/* Sets the URL, and how long to wait for the answer. */
static void client_aim(CURL *curl, const struct client_url *url, const char *whole, int64_t ms)
{
    curl_easy_setopt(curl, CURLOPT_URL, whole);
    curl_easy_setopt(curl, CURLOPT_PROXY, url->is_loopback ? "" : NULL);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)ms);
}

/* Sends the request to one URL, and writes the answer. */
static CURLcode client_perform(struct client *client, const struct client_url *url,
                               const struct request *request, FILE *answer)
{
    char *whole = NULL, *sent = request->body ? json_dumps(request->body, JSON_COMPACT) : NULL;
    struct curl_slist *headers = client_headers(request);
    if (asprintf(&whole, "%s%s", url->text, request->path) < 0)
        whole = NULL;
    client->trouble[0] = '\0';
    client_aim(client->curl, url, memory_checked(whole),
               request->wait_ms + (request->slack_ms ? request->slack_ms : client->timeout_ms));
    curl_easy_setopt(client->curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(client->curl, CURLOPT_WRITEDATA, answer);
    curl_easy_setopt(client->curl, CURLOPT_HTTPGET, 1L);
    if (sent)
        curl_easy_setopt(client->curl, CURLOPT_POSTFIELDS, sent);
    curl_easy_setopt(client->curl, CURLOPT_CUSTOMREQUEST, request->method);
    CURLcode code = client_transfer(client, request->cancelled);
    curl_slist_free_all(headers);
    free(sent);
    free(whole);
    return code;
}

/* Adds what is wrong at a URL. If the port is not the URL's, it is a proxy's. */
static void client_add_trouble(const struct client *client, const struct client_url *url,
                               const char *text, const char *advice, struct reply *reply)
{
    size_t length = strlen(reply->trouble);
    char proxy[80] = "", *address = NULL;
    long port = 0;
    curl_easy_getinfo(client->curl, CURLINFO_PRIMARY_IP, &address);
    curl_easy_getinfo(client->curl, CURLINFO_PRIMARY_PORT, &port);
    if (port > 0 && port != url->port)
        snprintf(proxy, sizeof proxy, ", by the proxy %s port %ld", address ? address : "", port);
    snprintf(reply->trouble + length, sizeof reply->trouble - length, "%s%s%s: %s%s",
             length ? "\n" : "", url->text, proxy, text, advice);
}

/* Whether a port that hangs up on TLS answers HTTP. Sends no key and no token. */
static bool client_is_plain(const struct client *client, const struct client_url *url)
{
    CURL *curl = memory_checked(curl_easy_init());
    char *plain = NULL;
    long status = 0;
    if (asprintf(&plain, "http%s/livez", url->text + strlen("https")) < 0)
        plain = NULL;
    client_aim(curl, url, memory_checked(plain), client->timeout_ms);
    curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_cleanup(curl);
    free(plain);
    return status > 0 && status != 400; /* servers of HTTPS answer HTTP by 400 */
}

/* Whether a request fails in the same way until a setting changes. A hang-up on TLS alone does not
 * show that: a balancer without a batond hangs up, too. */
static bool client_is_misled(const struct client *client, const struct client_url *url,
                             CURLcode code, long status)
{
    switch (code) {
    case CURLE_OK: /* a server of another kind answered; proxies answer the other statuses for a
                    * batond that is down */
        return (status < 500 || status == 501) && status != 408 && status != 429;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
        return true;
    case CURLE_SSL_CONNECT_ERROR:
        return (strstr(client->trouble, "SSL routines") &&
                !strstr(client->trouble, "unexpected eof")) ||
               client_is_plain(client, url);
    default:
        return false;
    }
}

/* What to do about a certificate, or about HTTP sent to a port for HTTPS: some servers then answer
 * nothing, others 400. */
static const char *client_advice(const struct client *client, const char *url, CURLcode code,
                                 long status, bool is_misled)
{
    long verified = 0;
    curl_easy_getinfo(client->curl, CURLINFO_SSL_VERIFYRESULT, &verified);
    if (code == CURLE_PEER_FAILED_VERIFICATION && verified >= SELF_SIGNED &&
        verified <= UNVERIFIED_LEAF)
        return ". Name the file of its authority in --ca or BATON_CA.";
    if (strncmp(url, "http://", 7) == 0 &&
        (code == CURLE_GOT_NOTHING || (code == CURLE_OK && status == 400)))
        return ". Is this HTTPS? Then write https:// into the URL.";
    if (code == CURLE_SSL_CONNECT_ERROR && is_misled)
        return ". Is this HTTP? Then write http:// into the URL.";
    return "";
}

/* Asks one URL. If no batond answers there, leaves status 0 and what is wrong. */
static void client_ask(struct client *client, const struct client_url *url,
                       const struct request *request, struct reply *reply)
{
    char text[64], *body = NULL;
    size_t length = 0;
    FILE *answer = memory_checked(open_memstream(&body, &length));
    curl_off_t connected_us = 0, retry_s = 0;
    CURLcode code = client_perform(client, url, request, answer);
    fclose(answer);
    long status = 0;
    curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &status);
    reply->status = status;
    curl_easy_getinfo(client->curl, CURLINFO_PRETRANSFER_TIME_T, &connected_us);
    curl_easy_getinfo(client->curl, CURLINFO_RETRY_AFTER, &retry_s);
    reply->connected |= connected_us > 0;
    reply->retry_ms = retry_s * 1000;
    snprintf(text, sizeof text, "the answer (%ld) is not one of batond", status);
    bool is_read = code == CURLE_OK && reply_read(reply, body, length);
    free(body);
    if (is_read)
        return;
    reply->is_foreign = client_is_misled(client, url, code, status);
    reply->status = 0;
    const char *advice = client_advice(client, url->text, code, status, reply->is_foreign);
    client_add_trouble(client, url,
                       code == CURLE_OK     ? text
                       : client->trouble[0] ? client->trouble
                                            : curl_easy_strerror(code),
                       advice, reply);
}

struct reply client_send(struct client *client, const struct request *request)
{
    const struct client_settings *settings = client->settings;
    struct reply reply = {0};
    for (size_t i = 0; i < settings->url_count; i++) {
        struct reply next = {.connected = reply.connected};
        memcpy(next.trouble, reply.trouble, sizeof next.trouble);
        client_ask(client, &settings->urls[client->current], request, &next);
        next.is_foreign &= i == 0 || reply.is_foreign;
        if (next.status || !reply.status) { /* a batond's answer is worth more than silence */
            json_decref(reply.json);
            reply = next;
        }
        bool is_answered = next.status && reply_status(&next) != STATUS_UNANSWERED;
        if (is_answered || (request->cannot_repeat && next.connected))
            break;
        client->current = (client->current + 1) % settings->url_count;
        if (request->slack_ms)
            break;
    }
    return reply;
}
