#include "tests/integration/guarded.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATIENCE_MS = 5000 };

void guarded_open(struct guarded *guarded, const struct file_principal *principals, size_t count,
                  int workers)
{
    char workers_flag[32];
    snprintf(workers_flag, sizeof workers_flag, "--workers=%d", workers);
    guarded_open_with(guarded, principals, count, (const char *const[]){workers_flag, NULL});
}

void guarded_open_with(struct guarded *guarded, const struct file_principal *principals,
                       size_t count, const char *const *arguments)
{
    enum { MOST = 8 };
    char file_flag[160];
    const char *all[MOST + 2] = {file_flag};
    for (size_t i = 0; i < MOST && arguments[i]; i++)
        all[i + 1] = arguments[i];
    temp_dir_make(&guarded->dir);
    snprintf(guarded->file, sizeof guarded->file, "%s/tokens.json", guarded->dir.path);
    snprintf(file_flag, sizeof file_flag, "--tokens-file=%s", guarded->file);
    principals_file_write(guarded->file, principals, count);
    service_open(&guarded->service, NULL, all);
}

void guarded_close(struct guarded *guarded)
{
    service_close(&guarded->service);
    temp_dir_remove(&guarded->dir);
}

static size_t count_of(const char *text, const char *word)
{
    size_t count = 0;
    while ((text = strstr(text, word))) {
        count++;
        text += strlen(word);
    }
    return count;
}

static size_t count_in_log(struct guarded *guarded, const char *word)
{
    char *output = process_output(&guarded->service.batond.process);
    size_t count = count_of(output, word);
    free(output);
    return count;
}

static void reload(struct guarded *guarded, const char *heard)
{
    size_t before = count_in_log(guarded, heard);
    int64_t deadline = clock_ms() + PATIENCE_MS;
    process_signal(&guarded->service.batond.process, SIGHUP);
    while (count_in_log(guarded, heard) == before) {
        if (clock_ms() > deadline)
            fail_msg("batond does not log: %s", heard);
        clock_sleep_ms(2);
    }
}

void guarded_reload(struct guarded *guarded, const struct file_principal *principals, size_t count)
{
    principals_file_write(guarded->file, principals, count);
    reload(guarded, "read again");
}

void guarded_reload_text(struct guarded *guarded, const char *text, const char *heard)
{
    principals_file_put(guarded->file, text, 0600);
    reload(guarded, heard);
}

long asks(struct http_client *client, struct as as, const char *request)
{
    char method[16], authorization[PRINCIPAL_HEADER_TEXT], token[TOKEN_TEXT + 16];
    const char *headers[4] = {NULL};
    const char *target = strchr(request, ' ') + 1;
    size_t count = 0;
    snprintf(method, sizeof method, "%.*s", (int)(target - request - 1), request);
    if (as.principal) {
        principal_header(as.principal, authorization);
        headers[count++] = authorization;
    }
    if (as.token) {
        snprintf(token, sizeof token, "Lock-Token: %s", as.token);
        headers[count++] = token;
    }
    headers[count] = as.header;
    return http_request(
        client,
        &(struct http_call){.method = method, .path = target, .body = as.body, .headers = headers});
}

void asks_for_at(struct http_client *client, struct as as, const char *request, long status,
                 const char *file, int line)
{
    long actual = asks(client, as, request);
    if (actual == status)
        return;
    print_error("%s: %s %s\nexpected %ld, got %ld %s\n%s%s\n",
                as.principal ? as.principal : "nobody", request, as.body ? as.body : "", status,
                actual, client->reply.trouble, client->reply.headers ? client->reply.headers : "",
                client->reply.body);
    _fail(file, line);
}
