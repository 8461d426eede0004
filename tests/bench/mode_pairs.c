#include "tests/bench/exchange.h"
#include "tests/bench/modes.h"
#include "tests/bench/run.h"
#include "tests/bench/samples.h"
#include "tests/bench/usage.h"

#include "tests/support/clock.h"

#include <err.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

enum { EVENTS = 64, REPLY_MS = 20000, WARM_UP = 5 /* the first part of so many does not count */ };

struct asker {
    struct caller caller;
    struct values values;
    size_t step;   /* that it waits for the answer of */
    int64_t asked; /* when, in ns */
};

/* What one step came to. */
struct outcome {
    struct samples ns;
    size_t wrong; /* answers, of all */
};

struct pairs {
    struct exchange exchange;
    struct run run;
    struct outcome outcomes[EXCHANGE_STEPS];
    struct asker *askers;
    size_t count;
    unsigned names;
    bool fresh;
    bool counting;
    int epoll;
};

/* Base64 of something, too, as etcd wants its names. */
static void choose_name(struct pairs *pairs, struct asker *asker)
{
    snprintf(asker->values.of[VALUE_NAME], EXCHANGE_VALUE, "bench%08x%011u", pairs->run.id,
             pairs->names++);
}

static void send_step(struct pairs *pairs, struct asker *asker)
{
    char request[EXCHANGE_MOST];
    if (asker->step == pairs->exchange.once) {
        run_token(&pairs->run, pairs->run.next++, asker->values.of[VALUE_TOKEN]);
        if (pairs->fresh)
            choose_name(pairs, asker);
    }
    size_t length = exchange_ask(&pairs->exchange, asker->step, &asker->values, request);
    asker->asked = clock_ns();
    int result = caller_send_made(&asker->caller, request, length);
    if (result < 0)
        errx(2, "cannot send: %s", strerror(-result));
}

static void count(struct pairs *pairs, struct asker *asker, bool right, int64_t answered)
{
    struct outcome *outcome = &pairs->outcomes[asker->step];
    if (!right && outcome->wrong++ == 0)
        warnx("step %zu was answered: %s", asker->step, asker->caller.reply);
    if (pairs->counting && right)
        samples_add(&outcome->ns, answered - asker->asked);
}

/* Takes what has come; with a whole answer, goes on to the next step. Returns whether it was one.
 */
static bool serve(struct pairs *pairs, struct asker *asker)
{
    int result = caller_take(&asker->caller);
    if (result == 0)
        return false;
    if (result < 0)
        errx(2, "a connection was lost: %s", strerror(-result));
    int64_t answered = clock_ns();
    bool right = exchange_check(&pairs->exchange, asker->step, &asker->caller, &asker->values);
    count(pairs, asker, right, answered);
    if (++asker->step == pairs->exchange.count)
        asker->step = pairs->exchange.once;
    return true;
}

/* Connects, and asks what is to be asked once. */
static void prepare(struct pairs *pairs, struct asker *asker, const struct sockaddr_in *server)
{
    int result = caller_open(&asker->caller, server);
    if (result < 0)
        errx(2, "cannot connect: %s", strerror(-result));
    asker->caller.redis = pairs->exchange.redis;
    choose_name(pairs, asker);
    while (asker->step < pairs->exchange.once) {
        send_step(pairs, asker);
        do {
            struct pollfd news = {.fd = asker->caller.fd, .events = POLLIN};
            if (poll(&news, 1, REPLY_MS) < 1)
                errx(2, "no answer");
        } while (!serve(pairs, asker));
    }
    struct epoll_event interest = {.events = EPOLLIN, .data.ptr = asker};
    if (epoll_ctl(pairs->epoll, EPOLL_CTL_ADD, asker->caller.fd, &interest) < 0)
        err(2, "epoll_ctl");
}

/* Takes the answers that have come. Returns how many; with `go_on`, who got one asks again. */
static size_t serve_all(struct pairs *pairs, bool go_on)
{
    struct epoll_event events[EVENTS];
    size_t served = 0;
    int n = epoll_wait(pairs->epoll, events, EVENTS, REPLY_MS);
    if (n < 1)
        errx(2, "no answer for %d s", REPLY_MS / 1000);
    for (int i = 0; i < n; i++) {
        if (!serve(pairs, events[i].data.ptr))
            continue;
        served++;
        if (go_on)
            send_step(pairs, events[i].data.ptr);
    }
    return served;
}

static void work(struct pairs *pairs, int64_t ms)
{
    int64_t end = clock_ns() + ms * 1000000;
    while (clock_ns() < end)
        serve_all(pairs, true);
}

/* Nothing of this is under way when the next contender has its turn. */
static void await_last_answers(struct pairs *pairs)
{
    pairs->counting = false;
    for (size_t left = pairs->count; left > 0;)
        left -= serve_all(pairs, false);
}

static void finish(struct pairs *pairs)
{
    for (size_t i = 0; i < pairs->count; i++)
        caller_close(&pairs->askers[i].caller);
    for (size_t i = 0; i < pairs->exchange.count; i++)
        samples_clear(&pairs->outcomes[i].ns);
    free(pairs->askers);
    close(pairs->epoll);
    exchange_clear(&pairs->exchange);
}

/* CPU time in us of the processes with that name; "client" is this one. */
static double cpu_us(const struct options *options, const char *name)
{
    struct rusage own;
    int64_t ms = 0;
    size_t length = strlen(name);
    for (size_t i = 0; i < options->watched_count; i++)
        if (strncmp(options->watched[i], name, length) == 0 && options->watched[i][length] == '=')
            ms += usage_cpu_ms(atoi(options->watched[i] + length + 1));
    if (strcmp(name, "client") != 0)
        return (double)ms * 1000;
    getrusage(RUSAGE_SELF, &own);
    return (double)(own.ru_utime.tv_sec + own.ru_stime.tv_sec) * 1e6 +
           (double)(own.ru_utime.tv_usec + own.ru_stime.tv_usec);
}

static const char *const PROCESSES[] = {"server", "store", "client"};

enum { PROCESS_COUNT = sizeof PROCESSES / sizeof *PROCESSES };

static void report_latency(struct outcome *outcome, const char *name)
{
    char figure[64];
    if (outcome->ns.count == 0)
        return;
    snprintf(figure, sizeof figure, "%s median", name);
    figure_record(figure, "us", (double)samples_percentile(&outcome->ns, 50) / 1000);
    snprintf(figure, sizeof figure, "%s p99", name);
    figure_record(figure, "us", (double)samples_percentile(&outcome->ns, 99) / 1000);
}

static void report(struct pairs *pairs, double seconds, const double *cpu)
{
    size_t requests = 0, wrong = 0, once = pairs->exchange.once;
    for (size_t i = 0; i < pairs->exchange.count; i++) {
        requests += pairs->outcomes[i].ns.count;
        wrong += pairs->outcomes[i].wrong;
    }
    if (requests == 0)
        errx(2, "nothing was answered as expected");
    figure_record("throughput", "a second", (double)pairs->outcomes[once].ns.count / seconds);
    report_latency(&pairs->outcomes[once], "acquire");
    if (pairs->exchange.count > once + 1)
        report_latency(&pairs->outcomes[once + 1], "release");
    for (size_t i = 0; i < PROCESS_COUNT; i++) {
        char figure[64];
        snprintf(figure, sizeof figure, "CPU %s", PROCESSES[i]);
        if (cpu[i] > 0)
            figure_record(figure, "us a request", cpu[i] / (double)requests);
    }
    figure_record("failures", "answers", (double)wrong);
}

static void measure(struct pairs *pairs, const struct options *options)
{
    double before[PROCESS_COUNT], used[PROCESS_COUNT];
    work(pairs, options->seconds * 1000 / WARM_UP);
    for (size_t i = 0; i < PROCESS_COUNT; i++)
        before[i] = cpu_us(options, PROCESSES[i]);
    pairs->counting = true;
    int64_t start = clock_ns();
    work(pairs, options->seconds * 1000);
    double seconds = (double)(clock_ns() - start) / 1e9;
    for (size_t i = 0; i < PROCESS_COUNT; i++)
        used[i] = cpu_us(options, PROCESSES[i]) - before[i];
    await_last_answers(pairs);
    report(pairs, seconds, used);
}

void mode_pairs(const struct options *options, struct figures *figures)
{
    (void)figures;
    options_need(options, 1, 0, 0);
    if (!options->exchange || options->clients == 0)
        errx(2, "this needs --exchange and --clients");
    struct sockaddr_in server;
    struct pairs pairs = {.count = (size_t)options->clients,
                          .fresh = options->fresh,
                          .epoll = epoll_create1(EPOLL_CLOEXEC),
                          .askers = calloc((size_t)options->clients, sizeof *pairs.askers)};
    if (!pairs.askers)
        err(2, "pairs");
    run_begin(&pairs.run);
    exchange_read(&pairs.exchange, options->exchange, options->urls[0], &server);
    for (size_t i = 0; i < pairs.count; i++)
        prepare(&pairs, &pairs.askers[i], &server);
    for (size_t i = 0; i < pairs.count; i++)
        send_step(&pairs, &pairs.askers[i]);
    measure(&pairs, options);
    finish(&pairs);
}
