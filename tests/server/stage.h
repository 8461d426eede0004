/* stage.h: the HTTP server in a thread of its own, with an API that does what a test tells it. */
#ifndef BATON_TESTS_SERVER_STAGE_H
#define BATON_TESTS_SERVER_STAGE_H

#include "server/http/http.h"

#include <pthread.h>
#include <stdatomic.h>

/* What the API of a stage does is in the target:
 *   GET /now           answers at once
 *   GET /turn          answers in the next turn of the loop (PARKED)
 *   GET /park/N        takes place N until the test answers it (PARKED)
 *   GET /wait/N        the same, for as long as the client stays (WAITING)
 *   GET /grant/N       the same, and the answer is a grant
 *   GET /large         answers at once with STAGE_LARGE bytes, more than all sockets keep
 *   GET /several       answers at once with a stream that is complete: "all at once"
 * The places are numbered from 0. */
enum { STAGE_PLACES = 3000, STAGE_TEXT = 200000, STAGE_LARGE = 32 << 20 };

struct stage {
    struct metrics metrics; /* whose alignment is the greatest */
    struct http *http;
    struct connection_limits *connection_limits;
    struct api api;
    struct exchange *parked;
    struct exchange *places[STAGE_PLACES]; /* the loop's thread alone */
    uv_loop_t loop;
    uv_async_t call;
    uv_timer_t turn;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t done;
    void (*job)(struct stage *stage, void *context); /* guarded by the mutex, as the context is */
    void *context;
    int port;
    atomic_int waiting;     /* places taken */
    atomic_int hung_up;     /* times that the API was told so */
    atomic_int undelivered; /* grants that came back */
    atomic_int emptied;     /* times that a stream was told to be drained */
    atomic_bool drained;
    atomic_bool deaf; /* waits on when it is drained */
    atomic_bool closed;
    bool finishing;
};

void stage_open(struct stage *stage, unsigned connections);

/* Fixtures of cmocka: `stage` of TEST_ON_STAGE is one with room for thousands of connections, on
 * which nobody waits in the end. A test may close it. */
int stage_setup(void **state);
int stage_teardown(void **state);
#define TEST_ON_STAGE(name) TEST_ON(struct stage *stage, name, stage_setup, stage_teardown)

/* The same with bounds that a test is about; stage_open has the default deadlines. */
struct stage_bounds {
    unsigned connections, each_address;
    int64_t head_ms, body_ms, idle_ms;
};
void stage_open_within(struct stage *stage, const struct stage_bounds *bounds);

/* Closes the server as a worker does on SIGTERM, in the background; stage_end waits for it, for
 * `timeout_ms` at most, and returns whether it came to its end. stage_close is both. */
void stage_begin_closing(struct stage *stage);
bool stage_end(struct stage *stage, int timeout_ms);
void stage_close(struct stage *stage);

/* The first of these as part of a job. */
void stage_close_here(struct stage *stage);

/* Runs a job on the loop's thread and waits until it has returned. */
void stage_do(struct stage *stage, void (*job)(struct stage *stage, void *context), void *context);

/* Waits until so many places are taken, or so many hang-ups were told, or streams found drained.
 * Fails the test if they do not come to be. */
void stage_await_waiting(struct stage *stage, int count);
void stage_await_hung_up(struct stage *stage, int count);
void stage_await_emptied(struct stage *stage, int count);

/* What an operation does with the exchange in a place; nothing where it has gone. The last ones are
 * for use in a job. */
void stage_answer(struct stage *stage, int place, const char *text);
void stage_stream(struct stage *stage, int place, const char *first);
void stage_write(struct stage *stage, int place, const char *text);
void stage_finish(struct stage *stage, int place);

/* Whether a stream has something written that is not sent yet, because its client does not read. */
bool stage_has_unsent(struct stage *stage, int place);

void stage_answer_here(struct stage *stage, int place, const char *text);
void stage_finish_here(struct stage *stage, int place);
void stage_write_here(struct stage *stage, int place, const char *text);

#endif
