#include "tests/support/http.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { TIMEOUT_MS = 20000 };

static void start_curl(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

struct http_client *http_client_new(const char *base)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start_curl);
    struct http_client *client = calloc(1, sizeof *client);
    snprintf(client->base, sizeof client->base, "%s", base);
    client->curl = curl_easy_init();
    return client;
}

static void forget_reply(struct http_reply *reply)
{
    free(reply->headers);
    free(reply->body);
    json_decref(reply->json);
    *reply = (struct http_reply){.status = 0};
}

void http_client_free(struct http_client *client)
{
    if (!client)
        return;
    forget_reply(&client->reply);
    curl_easy_cleanup(client->curl);
    free(client);
}

static struct curl_slist *header_list(const struct http_call *call)
{
    struct curl_slist *list = curl_slist_append(NULL, "Expect:");
    bool typed = false;
    for (const char *const *header = call->headers; header && *header; header++) {
        typed |= !strncasecmp(*header, "content-type:", 13);
        list = curl_slist_append(list, *header);
    }
    if (call->body && !typed)
        list = curl_slist_append(list, "Content-Type: application/json");
    return list;
}

static void set_up(CURL *curl, const struct http_call *call, const char *url,
                   struct curl_slist *headers, char *trouble)
{
    const char *method = call->method ? call->method : "GET";
    curl_easy_reset(curl);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, call->timeout_ms ? call->timeout_ms : TIMEOUT_MS);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, trouble);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    if (call->body) {
        size_t length = call->length ? call->length : strlen(call->body);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, call->body);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)length);
    }
    if (!strcmp(method, "HEAD"))
        curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
    else
        curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
}

static void set_tls(CURL *curl, const struct http_tls *tls)
{
    if (!tls)
        return;
    curl_easy_setopt(curl, CURLOPT_CAINFO, tls->ca);
    curl_easy_setopt(curl, CURLOPT_SSLCERT, tls->certificate);
    curl_easy_setopt(curl, CURLOPT_SSLKEY, tls->key);
}

long http_request(struct http_client *client, const struct http_call *call)
{
    struct http_reply *reply = &client->reply;
    forget_reply(reply);
    char url[8192];
    bool whole = strstr(call->path, "://");
    snprintf(url, sizeof url, "%s%s", whole ? "" : client->base, call->path);

    size_t header_size;
    FILE *headers = open_memstream(&reply->headers, &header_size);
    FILE *body = open_memstream(&reply->body, &reply->length);
    struct curl_slist *list = header_list(call);
    set_up(client->curl, call, url, list, reply->trouble);
    set_tls(client->curl, client->tls);
    curl_easy_setopt(client->curl, CURLOPT_HEADERDATA, headers);
    curl_easy_setopt(client->curl, CURLOPT_WRITEDATA, body);
    CURLcode code = curl_easy_perform(client->curl);
    curl_slist_free_all(list);
    fclose(headers);
    fclose(body);

    if (code == CURLE_OK)
        curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &reply->status);
    else if (!reply->trouble[0])
        snprintf(reply->trouble, sizeof reply->trouble, "%s", curl_easy_strerror(code));
    reply->json = json_loadb(reply->body, reply->length, JSON_REJECT_DUPLICATES, NULL);
    return reply->status;
}

long http_call(struct http_client *client, const char *method, const char *path, const char *body)
{
    return http_request(client, &(struct http_call){.method = method, .path = path, .body = body});
}

const char *http_header(struct http_client *client, const char *name)
{
    size_t length = strlen(name);
    const char *line = client->reply.headers;
    for (; line && *line; line += strcspn(line, "\n"), line += *line == '\n') {
        if (strncasecmp(line, name, length) != 0 || line[length] != ':')
            continue;
        const char *value = line + length + 1;
        value += strspn(value, " \t");
        int size = (int)strcspn(value, "\r\n");
        snprintf(client->header, sizeof client->header, "%.*s", size, value);
        return client->header;
    }
    return NULL;
}

const char *http_text(const struct http_client *client, const char *member)
{
    return json_string_value(json_object_get(client->reply.json, member));
}

int64_t http_integer(const struct http_client *client, const char *member)
{
    json_t *value = json_object_get(client->reply.json, member);
    return json_is_integer(value) ? json_integer_value(value) : -1;
}
