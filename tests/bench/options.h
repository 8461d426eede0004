/* options.h: what the tool was asked to do. */
#ifndef BATON_TESTS_BENCH_OPTIONS_H
#define BATON_TESTS_BENCH_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

enum { OPTIONS_URLS = 4, OPTIONS_WATCHED = 8 };

struct options {
    const char *urls[OPTIONS_URLS];
    size_t url_count;
    const char *labels[OPTIONS_URLS]; /* what to call them */
    size_t label_count;
    const char *watched[OPTIONS_WATCHED]; /* NAME=PID */
    size_t watched_count;
    const char *redis;
    const char *exchange;
    const char *wait;
    int64_t pid; /* of the batond at the first URL */
    int64_t count;
    int64_t pause_ms;
    int64_t names;
    int64_t waiters;
    int64_t clients;
    int64_t seconds;
    int64_t fresh;
};

/* Reads what stands behind the mode. Ends the program where it cannot. */
void options_read(struct options *options, int argc, char **argv);

/* Prints the table of options. */
void options_help(void);

/* Ends the program unless so many URLs were given; `redis` and `pid` say what else has to be. */
void options_need(const struct options *options, size_t urls, int redis, int pid);

#endif
