/* fake_redis.h: a server that answers as a Redis does, or as no real one would. */
#ifndef BATON_TESTS_SUPPORT_FAULTS_FAKE_REDIS_H
#define BATON_TESTS_SUPPORT_FAULTS_FAKE_REDIS_H

#include "tests/support/temp_dir.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <uv.h>

/* What it answers, as raw bytes; NULL: nothing at all. */
struct fake_answers {
    const char *welcome; /* sent as soon as somebody connects */
    const char *info;    /* the text of INFO, without its frame; NULL: `info_raw` */
    const char *info_raw;
    const char *load; /* to FUNCTION LOAD */
    const char *eval; /* to FCALL; the key is put in place of %s */
    const char *subscribe;
    const char *ping;
    const char *set; /* NULL: OK, as to other commands */
    int forgets;     /* so many FCALL find no function, before `eval` is sent */
    bool hang_up;    /* close each connection at once */
};

/* It runs on a thread of its own. */
struct fake_redis {
    char url[120];
    atomic_int connections;
    atomic_int commands;
    atomic_int loads;
    int forgotten; /* functions, so far */
    _Atomic(const struct fake_answers *) answers;
    struct temp_dir dir;
    uv_thread_t thread;
    uv_loop_t loop;
    uv_pipe_t listener;
    uv_async_t stop;
};

/* `answers` must outlive the server. */
void fake_redis_start(struct fake_redis *fake, const struct fake_answers *answers);

/* From now on. */
void fake_redis_change(struct fake_redis *fake, const struct fake_answers *answers);

void fake_redis_stop(struct fake_redis *fake);

#endif
