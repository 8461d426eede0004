#include "tests/cli/beat.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAUSE_US = 100, GENERATION_BEATS = 50 };

const char *const beat_trees[BEAT_TREES] = {
    [BEAT_PLAIN] = "plain",
    [BEAT_SETSID] = "setsid",
    [BEAT_DOUBLE_FORK] = "double fork",
    [BEAT_IGNORES_TERM] = "ignores TERM",
    [BEAT_FORKS] = "keeps forking",
};

struct beat_page *beat_map(const char *path)
{
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, sizeof(struct beat_page)) < 0)
        abort();
    void *page = mmap(NULL, sizeof(struct beat_page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (page == MAP_FAILED)
        abort();
    close(file);
    return page;
}

static void beat_once(struct beat_page *page, int run)
{
    struct timespec now;
    int64_t none = 0, last = page->runs[run].last;
    clock_gettime(CLOCK_BOOTTIME, &now);
    int64_t ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    atomic_compare_exchange_strong(&page->runs[run].first, &none, ns);
    while (last < ns && !atomic_compare_exchange_weak(&page->runs[run].last, &last, ns)) {
    }
}

static void beat_until_over(struct beat_page *page, int run)
{
    page->runs[run].processes++;
    while (!page->is_over) {
        beat_once(page, run);
        usleep(PAUSE_US);
    }
    _exit(0);
}

/* Each process lives for some beats, and then its child does. */
static void beat_by_generations(struct beat_page *page, int run)
{
    while (!page->is_over) {
        page->runs[run].processes++;
        for (int i = 0; i < GENERATION_BEATS; i++) {
            beat_once(page, run);
            usleep(PAUSE_US);
        }
        if (fork() > 0)
            _exit(0);
    }
    _exit(0);
}

/* A child that its parent does not wait for, with a session of its own in one of two cases. */
static void beat_in_child(struct beat_page *page, int run, bool has_session)
{
    pid_t pid = fork();
    if (pid != 0)
        return;
    if (has_session)
        setsid();
    else if (fork() > 0)
        _exit(0);
    beat_until_over(page, run);
}

int beat_main(const char *path, int run, enum beat_tree tree)
{
    struct beat_page *page = beat_map(path);
    if (run == 1) {
        beat_once(page, run);
        return 0;
    }
    if (tree == BEAT_IGNORES_TERM)
        signal(SIGTERM, SIG_IGN);
    if (tree == BEAT_SETSID || tree == BEAT_IGNORES_TERM)
        beat_in_child(page, run, true);
    if (tree == BEAT_DOUBLE_FORK)
        beat_in_child(page, run, false);
    if (tree == BEAT_FORKS && fork() == 0)
        beat_by_generations(page, run);
    beat_until_over(page, run);
    return 0;
}
