#include "tests/history/asking.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_LENGTH = 1200, THREADS_MOST = 128 };

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
