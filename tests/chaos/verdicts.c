#include "tests/chaos/verdicts.h"

#include "tests/support/clock.h"
#include "tests/support/cmocka.h"

#include <stdlib.h>
#include <string.h>

enum {
    LATE_US = 500000, /* batond takes Redis for away after 800 ms */
    AFTERMATH_US = 2000000,
    PACE_MS = 20,
    SHOWN = 5,
};

static void *watch_redis(void *context)
{
    struct verdicts *verdicts = context;
    while (!verdicts->stop) {
        int64_t begun = clock_us();
        freeReplyObject(redis_process_command(&verdicts->stage->redis, "PING"));
        clock_sleep_ms(PACE_MS);
        int64_t ended = clock_us();
        if (ended - begun < LATE_US || verdicts->stall_count == VERDICTS_STALLS)
            continue;
        verdicts->stalls[verdicts->stall_count].from = begun;
        verdicts->stalls[verdicts->stall_count++].to = ended + AFTERMATH_US;
    }
    return NULL;
}

void verdicts_begin(struct verdicts *verdicts, struct stage *stage)
{
    verdicts->stage = stage;
    pthread_mutex_init(&verdicts->lock, NULL);
    if (pthread_create(&verdicts->watchman, NULL, watch_redis, verdicts))
        abort();
}

void verdicts_note(struct verdicts *verdicts, enum way way, const char *text)
{
    bool starved =
        strstr(text, "store_unavailable") != NULL || strstr(text, "\"no_replica\"") != NULL;
    pthread_mutex_lock(&verdicts->lock);
    if (verdicts->failures < VERDICTS_KEPT) {
        verdicts->kept[verdicts->failures].starved = starved;
        verdicts->kept[verdicts->failures].at = clock_us();
        verdicts->kept[verdicts->failures].way = way;
    }
    verdicts->failures++;
    if (!starved && verdicts->shown++ < SHOWN)
        print_error("by way %d: %s\n", (int)way, text);
    pthread_mutex_unlock(&verdicts->lock);
}

static bool is_explained(const struct verdicts *verdicts, int64_t at)
{
    for (size_t i = 0; i < verdicts->stall_count; i++)
        if (at >= verdicts->stalls[i].from && at <= verdicts->stalls[i].to)
            return true;
    return false;
}

static void print_fronts(const struct stage *stage)
{
    for (int i = 0; i < 2; i++) {
        char *log = process_output(&stage->front[i].process);
        size_t length = strlen(log), most = 3000;
        print_error("front %d: %s\n", i, log + (length > most ? length - most : 0));
        free(log);
    }
}

size_t verdicts_end(struct verdicts *verdicts)
{
    size_t unexplained = 0, by[WAYS] = {0};
    verdicts->stop = true;
    pthread_join(verdicts->watchman, NULL);
    for (size_t i = 0; i < verdicts->failures; i++) {
        bool kept = i < VERDICTS_KEPT;
        if (kept && verdicts->kept[i].starved && is_explained(verdicts, verdicts->kept[i].at))
            continue;
        by[kept ? verdicts->kept[i].way : BY_HAPROXY]++;
        unexplained++;
    }
    if (verdicts->stall_count > 0)
        print_message("%zu times the machine kept Redis waiting, and %zu requests failed of it\n",
                      verdicts->stall_count, verdicts->failures - unexplained);
    for (int i = 0; i < WAYS && unexplained > 0; i++)
        print_error("by way %d: %zu failed\n", i, by[i]);
    if (unexplained > 0)
        print_fronts(verdicts->stage);
    return unexplained;
}
