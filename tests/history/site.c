#include "tests/history/site.h"

#include "tests/support/cmocka.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FLAGS_MOST = 8, PATH_LENGTH = 1200, THREADS_MOST = 128 };

void site_start(struct site *site, const char *const *flags)
{
    memset(site, 0, sizeof *site);
    redis_process_start(&site->redis, NULL);
    const char *arguments[FLAGS_MOST + 2] = {"--workers=2"};
    for (size_t count = 1; flags && *flags && count <= FLAGS_MOST; flags++)
        arguments[count++] = *flags;
    for (int i = 0; i < SITE_SERVERS; i++) {
        batond_process_start(
            &site->batond[i],
            &(struct batond_options){.redis_url = site->redis.url, .arguments = arguments});
        site->http[i] = http_client_new(site->batond[i].url);
    }
}

int site_stop(struct site *site)
{
    int code = 0;
    for (int i = 0; i < SITE_SERVERS; i++) {
        http_client_free(site->http[i]);
        code |= batond_process_stop(&site->batond[i]);
    }
    redis_process_stop(&site->redis);
    return code;
}

int site_set_up(void **state)
{
    struct site *site = calloc(1, sizeof *site);
    *state = site;
    site_start(site, NULL);
    return 0;
}

int site_tear_down(void **state)
{
    int code = site_stop(*state);
    free(*state);
    return code;
}

int site_clean(void **state)
{
    struct site *site = *state;
    redis_process_flush(&site->redis);
    return 0;
}

__attribute__((format(printf, 4, 0))) static long request(struct http_client *http,
                                                          const char *token, const char *method,
                                                          const char *format, va_list arguments)
{
    char path[PATH_LENGTH], header[200];
    vsnprintf(path, sizeof path, format, arguments);
    snprintf(header, sizeof header, "Lock-Token: %s", token ? token : "");
    const char *const headers[] = {header, NULL};
    return http_request(
        http,
        &(struct http_call){.method = method, .path = path, .headers = token ? headers : NULL});
}

long ask(struct http_client *http, const char *method, const char *path, ...)
{
    va_list arguments;
    va_start(arguments, path);
    long status = request(http, NULL, method, path, arguments);
    va_end(arguments);
    return status;
}

long ask_with(struct http_client *http, const char *token, const char *method, const char *path,
              ...)
{
    va_list arguments;
    va_start(arguments, path);
    long status = request(http, token, method, path, arguments);
    va_end(arguments);
    return status;
}

char *token_of(const struct http_client *http)
{
    const char *token = http_text(http, "token");
    assert_non_null(token);
    return strdup(token);
}

int64_t holder_integer(const struct http_client *http, const char *member)
{
    json_t *holder = json_array_get(json_object_get(http->reply.json, "holders"), 0);
    json_t *value = json_object_get(holder, member);
    return json_is_integer(value) ? json_integer_value(value) : -1;
}

struct worker {
    pthread_t thread;
    pthread_barrier_t *start;
    void (*work)(void *item);
    void *item;
};

static void *run(void *context)
{
    struct worker *worker = context;
    pthread_barrier_wait(worker->start);
    worker->work(worker->item);
    return NULL;
}

void side_by_side(size_t count, void (*work)(void *item), void *items, size_t size)
{
    struct worker workers[THREADS_MOST];
    pthread_barrier_t start;
    assert_in_range(count, 1, THREADS_MOST);
    pthread_barrier_init(&start, NULL, (unsigned)count);
    for (size_t i = 0; i < count; i++) {
        workers[i] =
            (struct worker){.start = &start, .work = work, .item = (char *)items + i * size};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, run, &workers[i]), 0);
    }
    for (size_t i = 0; i < count; i++)
        pthread_join(workers[i].thread, NULL);
    pthread_barrier_destroy(&start);
}
