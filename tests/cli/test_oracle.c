/* The promise of baton run, seen from outside: a second run waits for the lock of the first, and
 * something goes wrong with the first. No process of the first tree has done anything after the
 * second command began. The oracle knows no internals but which process is which.
 *
 * BATON_ORACLE_RUNS says how many runs, each with another fault, tree and environment. They mostly
 * wait for the lock to end, so several lanes of them go side by side: processes of this program,
 * each with a Redis and a batond of its own. */
#include "cli/status.h"
#include "tests/cli/beat.h"
#include "tests/cli/story.h"
#include "tests/support/faults/preloaded.h"
#include "tests/support/faults/silent_names.h"

#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SHORT_FORM = 14, LANES = 4, LONGER_THAN_TTL_MS = 3500, SEVERAL_TTLS_MS = 12000 };

struct oracle;

static void end_tree(struct oracle *oracle);
static void kill_batond(struct oracle *oracle);
static void freeze_batond(struct oracle *oracle);
static void freeze_redis(struct oracle *oracle);
static void break_lock(struct oracle *oracle);

enum { FAULTS = 14 };

/* Signals for each process of the first run, and what else goes wrong. */
static const struct fault {
    const char *name;
    void (*other)(struct oracle *oracle);
    int front, guard, command;
    bool is_beside; /* the first run has a batond of its own */
    bool has_names; /* and a second one, whose name nobody resolves */
    bool goes_on;   /* the lock is renewed, and the command goes on */
    bool is_open;   /* the manual says that it is not covered */
} KINDS[FAULTS] = {
    {.name = "nothing", .other = end_tree},
    {.name = "STOP of front", .front = SIGSTOP},
    {.name = "KILL of front", .front = SIGKILL},
    {.name = "STOP of guard", .guard = SIGSTOP, .goes_on = true},
    {.name = "KILL of guard", .guard = SIGKILL},
    {.name = "STOP of command", .command = SIGSTOP, .goes_on = true},
    {.name = "KILL of command", .command = SIGKILL, .other = end_tree},
    {.name = "STOP of front and guard", .front = SIGSTOP, .guard = SIGSTOP},
    {.name = "STOP of front, KILL of guard", .front = SIGSTOP, .guard = SIGKILL},
    {.name = "batond killed", .other = kill_batond, .is_beside = true},
    {.name = "batond frozen", .other = freeze_batond, .is_beside = true},
    {.name = "Redis frozen", .other = freeze_redis},
    {.name = "resolver dead", .other = kill_batond, .is_beside = true, .has_names = true},
    {.name = "break", .other = break_lock, .is_open = true},
};

enum place { BY_PIPE, BY_PTY, BY_CRON, AS_PID_1, PLACES };

/* Around a command, which the environment variable RUN has. */
static const struct {
    const char *name, *command;
} PLACED[PLACES] = {
    [BY_PIPE] = {"pipe", "exec bash -c \"exec $RUN\" > >(cat)"},
    [BY_PTY] = {"pty", "exec script -qec \"$RUN\" /dev/null"},
    [BY_CRON] = {"cron", "exec env -i HOME=\"$HOME\" PATH=/usr/bin:/bin BATON_URL=\"$BATON_URL\" "
                         "setsid -w sh -c \"exec $RUN\" </dev/null"},
    [AS_PID_1] = {"PID 1", "exec unshare --pid --fork --mount-proc sh -c \"exec $RUN\""},
};

struct tally {
    int runs, overlaps;
    int64_t least_ns;
};

struct oracle {
    struct story *story;
    struct beat_page *page;
    char page_path[120], program[400], name[40];
    struct batond_process beside;
    struct terminal first, second;
    struct silent_names names;
    bool has_names, has_namespaces, has_struck;
    struct tally tallies[FAULTS];
};

static pid_t parent_of(pid_t pid, char name[32])
{
    char path[64];
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%*d (%31[^)]) %*c %d", name, &parent) != 2)
        parent = 0;
    if (file)
        fclose(file);
    return parent;
}

/* The first child with this name (NULL: any), or the process itself if it has the name. 0: none. */
static pid_t child_of(pid_t parent, const char *name)
{
    pid_t found = 0;
    DIR *proc = opendir("/proc");
    assert_non_null(proc);
    for (const struct dirent *entry; (entry = readdir(proc));) {
        char own[32] = "";
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (!isdigit((unsigned char)entry->d_name[0]) || parent_of(pid, own) != parent)
            continue;
        if ((!name || strcmp(own, name) == 0) && (!found || pid < found))
            found = pid;
    }
    closedir(proc);
    return found;
}

static pid_t front_of(pid_t root)
{
    char name[32] = "";
    while (root && (parent_of(root, name), strcmp(name, "baton") != 0))
        root = child_of(root, NULL);
    return root;
}

static bool has_begun(void *context)
{
    const struct oracle *oracle = context;
    return oracle->page->runs[0].processes >= 1 && oracle->page->runs[0].last;
}

/* All processes of the tree that begin by themselves. */
static bool tree_has_begun(void *context)
{
    const struct oracle *oracle = context;
    return oracle->page->runs[0].processes >= 2;
}

static bool second_has_begun(void *context)
{
    const struct oracle *oracle = context;
    return oracle->page->runs[1].first != 0;
}

static bool second_waits_or_has_begun(void *context)
{
    const struct oracle *oracle = context;
    struct http_client *client = oracle->story->service.client;
    char path[80];
    snprintf(path, sizeof path, "/locks/%s", oracle->name);
    return second_has_begun(context) || (http_call(client, "GET", path, NULL) == 200 &&
                                         http_integer(client, "queue_length") == 1);
}

/* If the machine stands still for the TTL before the tree has begun, `baton run` ends it, and it
 * begins anew. */
static void start_first(struct oracle *oracle, const char *run, enum beat_tree tree)
{
    bool (*begun)(void *context) = tree == BEAT_PLAIN ? has_begun : tree_has_begun;
    int64_t deadline = clock_ms() + CLOCK_HANG_MS;
    terminal_start(&oracle->first, run);
    while (!begun(oracle)) {
        if (clock_ms() > deadline)
            fail_msg("the tree has not begun; last: %s", oracle->first.output);
        if (!process_wait(&oracle->first.process, 5))
            continue;
        print_message("ended before it began (%d): ", terminal_await(&oracle->first));
        print_message("%s\n", oracle->first.output);
        memset(&oracle->page->runs[0], 0, sizeof oracle->page->runs[0]);
        terminal_start(&oracle->first, run);
    }
}

static void start_second(struct oracle *oracle)
{
    char run[700];
    snprintf(run, sizeof run, "exec $BATON run -q --ttl=3s %s -- %s --beat %s 1 0", oracle->name,
             oracle->program, oracle->page_path);
    terminal_start(&oracle->second, run);
}

/* It begins anew as the first one does. Once it has begun, it may lose its lock in the same way. */
static void await_second(struct oracle *oracle)
{
    int64_t deadline = clock_ms() + CLOCK_HANG_MS;
    int code = terminal_await(&oracle->second);
    while (!second_has_begun(oracle)) {
        if (clock_ms() > deadline)
            fail_msg("the second tree has not begun; last: %s", oracle->second.output);
        print_message("ended before it began (%d): %s\n", code, oracle->second.output);
        start_second(oracle);
        code = terminal_await(&oracle->second);
    }
    if (code != STATUS_LOST)
        terminal_says(&oracle->second, code, 0, NULL, __FILE__, __LINE__);
}

static void oracle_start(struct oracle *oracle, const struct fault *fault, enum beat_tree tree,
                         enum place place, const char *careless)
{
    char run[700], url[200];
    const struct service *service = &oracle->story->service;
    struct batond_options options = {.redis_url = service->redis.url};
    if (fault->is_beside)
        batond_process_start(&oracle->beside, &options);
    snprintf(url, sizeof url, "%s%s", fault->is_beside ? oracle->beside.url : service->batond.url,
             fault->has_names ? ",http://nobody.baton.example:7420" : "");
    terminal_open(&oracle->first, url);
    terminal_open(&oracle->second, service->batond.url);
    snprintf(run, sizeof run, "export RUN=\"$BATON run --ttl=3s %s -- %s --beat %s 0 %d\"; %s%s",
             oracle->name, oracle->program, oracle->page_path, (int)tree, careless,
             PLACED[place].command);
    start_first(oracle, run, tree);
    start_second(oracle);
    assert_true(clock_wait_until(second_waits_or_has_begun, oracle, CLOCK_HANG_MS));
}

static void end_tree(struct oracle *oracle)
{
    oracle->page->is_over = true;
}

static void kill_batond(struct oracle *oracle)
{
    process_kill(&oracle->beside.process);
}

static void freeze_batond(struct oracle *oracle)
{
    process_signal(&oracle->beside.process, SIGSTOP);
}

static void freeze_redis(struct oracle *oracle)
{
    const struct process *redis = &oracle->story->service.redis.process;
    process_signal(redis, SIGSTOP);
    clock_sleep_ms(LONGER_THAN_TTL_MS);
    process_signal(redis, SIGCONT);
}

static void break_lock(struct oracle *oracle)
{
    char request[80];
    snprintf(request, sizeof request, "DELETE /locks/%s?force=true", oracle->name);
    answers(oracle->story->service.client, request, NULL, 200, NULL);
}

/* On a machine that is too busy to renew a lock of 3 s, the first run may have ended by itself:
 * then nothing is left to strike, and the gap counts as it is. */
static void oracle_strike(struct oracle *oracle, const struct fault *fault)
{
    pid_t front = front_of(oracle->first.process.pid), guard = front ? child_of(front, "baton") : 0,
          command = guard ? child_of(guard, NULL) : 0;
    oracle->has_struck = command && !second_has_begun(oracle);
    if (!oracle->has_struck) {
        char *output = process_output(&oracle->first.process);
        printf("ended before: %s\n", output);
        free(output);
        return;
    }
    kill(front, fault->front); /* 0: none */
    kill(guard, fault->guard);
    kill(command, fault->command);
    if (fault->other)
        fault->other(oracle);
    if (!fault->goes_on)
        return;
    clock_sleep_ms(LONGER_THAN_TTL_MS);
    kill(command, SIGCONT);
    end_tree(oracle);
}

/* Whether no process of the first tree is left. A zombie counts for none: it has no command line.
 */
static bool first_tree_is_gone(void *context)
{
    const struct oracle *oracle = context;
    char wanted[600], path[300], line[600];
    bool lives = false;
    DIR *proc = opendir("/proc");
    assert_non_null(proc);
    int length = snprintf(wanted, sizeof wanted, "%s%c--beat%c%s%c0", oracle->program, '\0', '\0',
                          oracle->page_path, '\0');
    for (const struct dirent *entry; !lives && (entry = readdir(proc));) {
        snprintf(path, sizeof path, "/proc/%s/cmdline", entry->d_name);
        FILE *file = isdigit((unsigned char)entry->d_name[0]) ? fopen(path, "re") : NULL;
        lives = file && fread(line, 1, (size_t)length + 1, file) == (size_t)length + 1 &&
                memcmp(line, wanted, (size_t)length + 1) == 0;
        if (file)
            fclose(file);
    }
    closedir(proc);
    return !lives;
}

/* Leaves nothing running, and nothing of the lock. */
static void oracle_clear(struct oracle *oracle, const struct fault *fault)
{
    oracle->page->is_over = true;
    if (fault->is_beside) {
        process_signal(&oracle->beside.process, SIGCONT);
        batond_process_stop(&oracle->beside);
    }
    terminal_close(&oracle->first);
    terminal_close(&oracle->second);
    /* What is left would go on in the page of the next run. */
    assert_true(clock_wait_until(first_tree_is_gone, oracle, CLOCK_HANG_MS));
}

static int64_t gap_of(const struct beat_page *page)
{
    return page->runs[1].first - page->runs[0].last;
}

/* A process that lives on beats again. */
static bool first_tree_has_shown_itself(void *context)
{
    const struct oracle *oracle = context;
    return gap_of(oracle->page) < 0 || first_tree_is_gone(context);
}

/* Returns the first beat of the second tree less the last one of the first. Processes that were
 * stopped are continued before the lock ends, and may renew it after all. */
static int64_t oracle_run(struct oracle *oracle, const struct fault *fault, enum beat_tree tree,
                          enum place place, const char *careless)
{
    static int count;
    memset(oracle->page, 0, sizeof *oracle->page);
    snprintf(oracle->name, sizeof oracle->name, "oracle-%d", ++count);
    oracle_start(oracle, fault, tree, place, careless);
    oracle_strike(oracle, fault);
    if (!process_wait(&oracle->second.process, SEVERAL_TTLS_MS)) {
        printf("the first run has overcome it\n");
        end_tree(oracle);
    }
    await_second(oracle);
    assert_true(clock_wait_until(first_tree_has_shown_itself, oracle, CLOCK_HANG_MS));
    int64_t gap_ns = gap_of(oracle->page);
    oracle_clear(oracle, fault);
    return gap_ns;
}

static void print_tallies(const struct tally tallies[FAULTS])
{
    print_message("%-30s %6s %9s %14s\n", "fault", "runs", "overlaps", "least gap, ms");
    for (int fault = 0; fault < FAULTS; fault++)
        if (tallies[fault].runs)
            print_message("%-30s %6d %9d %14.1f%s\n", KINDS[fault].name, tallies[fault].runs,
                          tallies[fault].overlaps, (double)tallies[fault].least_ns / 1e6,
                          KINDS[fault].is_open ? "  (not covered)" : "");
}

static void tally_run(struct oracle *oracle, int number)
{
    int kind = number % FAULTS;
    const struct fault *fault = &KINDS[kind];
    enum beat_tree tree = (enum beat_tree)((number + number / FAULTS) % BEAT_TREES);
    enum place place = (enum place)((number + number / (FAULTS * BEAT_TREES)) % PLACES);
    struct tally *tally = &oracle->tallies[kind];
    if ((place == AS_PID_1 && !oracle->has_namespaces) || (fault->has_names && !oracle->has_names))
        return;
    printf("%d: %s, %s, %s\n", number, fault->name, beat_trees[tree], PLACED[place].name);
    fflush(stdout);
    int64_t gap_ns = oracle_run(oracle, fault, tree, place, "");
    tally->least_ns = tally->runs == 0 || gap_ns < tally->least_ns ? gap_ns : tally->least_ns;
    tally->runs++;
    tally->overlaps += gap_ns < 0;
    if (gap_ns < 0)
        printf("overlaps: %.1f ms\n", (double)gap_ns / 1e6);
}

/* Not where the root of this process is no mount point. */
static bool namespaces_are_allowed(const char *dir)
{
    const char *const arguments[] = {"unshare", "--pid", "--fork", "--mount-proc", "true", NULL};
    struct process unshare;
    char log[120];
    snprintf(log, sizeof log, "%s/unshare.log", dir);
    process_start(&unshare, arguments, NULL, log);
    assert_true(process_wait(&unshare, CLOCK_HANG_MS));
    return process_exit_code(&unshare) == 0;
}

static int oracle_open(void **state)
{
    struct oracle *oracle = calloc(1, sizeof *oracle);
    if (!oracle || story_open((void **)&oracle->story) != 0)
        abort();
    *state = oracle;
    oracle->has_namespaces = namespaces_are_allowed(oracle->story->terminal.dir.path);
    ssize_t length = readlink("/proc/self/exe", oracle->program, sizeof oracle->program - 1);
    assert_true(length > 0);
    snprintf(oracle->page_path, sizeof oracle->page_path, "%s/page",
             oracle->story->terminal.dir.path);
    oracle->page = beat_map(oracle->page_path);
    return 0;
}

/* The path of this program is of the namespace of mounts that silent_names_open leaves. The lanes
 * have the new one, too. */
static int oracle_open_with_names(void **state)
{
    oracle_open(state);
    struct oracle *oracle = *state;
    oracle->has_names = silent_names_open(&oracle->names);
    return 0;
}

static int oracle_close(void **state)
{
    struct oracle *oracle = *state;
    munmap(oracle->page, sizeof *oracle->page);
    story_close((void **)&oracle->story);
    free(oracle);
    return 0;
}

static int oracle_close_with_names(void **state)
{
    struct oracle *oracle = *state;
    if (oracle->has_names)
        silent_names_close(&oracle->names);
    return oracle_close(state);
}

/* What `PROGRAM --lane TALLIES FIRST RUNS NAMES` does: each run from the first one on that is this
 * lane's. The faults go round fastest, so that a few runs have them all. */
static int lane_main(const char *path, int first, int runs, bool has_names)
{
    void *state = NULL;
    oracle_open(&state);
    struct oracle *oracle = state;
    oracle->has_names = has_names;
    for (int i = first; i < runs; i += LANES)
        tally_run(oracle, i);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(oracle->tallies, sizeof oracle->tallies, 1, file), 1);
    fclose(file);
    return oracle_close(&state);
}

struct lane {
    struct process process;
    char path[120], log[120];
};

static void lane_start(struct lane *lane, const struct oracle *oracle, int number, int runs)
{
    char first[12], count[12];
    const char *dir = oracle->story->terminal.dir.path;
    snprintf(lane->path, sizeof lane->path, "%s/tallies.%d", dir, number);
    snprintf(lane->log, sizeof lane->log, "%s/lane.%d", dir, number);
    snprintf(first, sizeof first, "%d", number);
    snprintf(count, sizeof count, "%d", runs);
    const char *const arguments[] = {
        oracle->program, "--lane", lane->path, first, count, oracle->has_names ? "1" : "0", NULL};
    process_start(&lane->process, arguments, NULL, lane->log);
}

/* Adds what the lane has counted. */
static void lane_finish(struct lane *lane, struct tally tallies[FAULTS], int runs)
{
    struct tally counted[FAULTS] = {{0}};
    bool has_ended = process_wait(&lane->process, (runs + 1) * CLOCK_HANG_MS);
    char *output = process_output(&lane->process);
    if (!has_ended || process_exit_code(&lane->process) != 0)
        fail_msg("%s", output);
    FILE *file = fopen(lane->path, "re");
    assert_non_null(file);
    assert_int_equal(fread(counted, sizeof counted, 1, file), 1);
    fclose(file);
    for (int i = 0; i < FAULTS; i++) {
        if (counted[i].overlaps && !KINDS[i].is_open)
            print_error("%s\n", output);
        if (tallies[i].runs == 0 || (counted[i].runs && counted[i].least_ns < tallies[i].least_ns))
            tallies[i].least_ns = counted[i].least_ns;
        tallies[i].runs += counted[i].runs;
        tallies[i].overlaps += counted[i].overlaps;
    }
    free(output);
}

static void no_beat_of_the_first_tree_comes_after_one_of_the_second(void **state)
{
    struct lane lanes[LANES];
    struct tally tallies[FAULTS] = {{0}};
    const char *wanted = getenv("BATON_ORACLE_RUNS");
    int runs = wanted ? (int)strtol(wanted, NULL, 10) : SHORT_FORM;
    for (int i = 0; i < LANES; i++)
        lane_start(&lanes[i], *state, i, runs);
    for (int i = 0; i < LANES; i++)
        lane_finish(&lanes[i], tallies, runs);
    print_tallies(tallies);
    for (int i = 0; i < FAULTS; i++)
        assert_true(KINDS[i].is_open || tallies[i].overlaps == 0);
}

/* The oracle sees what the promise rests on: without it, trees overlap. */
static void run_that_lacks_a_means_overlaps(void **state)
{
    static const struct {
        const char *means;
        struct fault fault;
        enum beat_tree tree;
    } CARELESS[] = {
        {"waker", {.front = SIGSTOP, .guard = SIGSTOP}, BEAT_PLAIN},
        {"subreaper", {.guard = SIGKILL}, BEAT_SETSID},
        {"pipe", {.front = SIGKILL}, BEAT_PLAIN},
    };
    struct oracle *oracle = *state;
    struct temp_dir dir;
    char library[100];
    const char *batond = getenv("BATON_TEST_BATOND");
    if (!batond || strstr(batond, "/address/") || strstr(batond, "/thread/"))
        skip(); /* a sanitizer wants to be loaded first */
    temp_dir_make(&dir);
    snprintf(library, sizeof library, "%s/careless.so", dir.path);
    preloaded_build("careless_run.c", library, dir.path);
    for (size_t i = 0; i < LENGTH(CARELESS); i++) {
        char careless[200];
        snprintf(careless, sizeof careless, "export LD_PRELOAD=%s CARELESS_RUN=%s; ", library,
                 CARELESS[i].means);
        int64_t gap_ns;
        do {
            gap_ns = oracle_run(oracle, &CARELESS[i].fault, CARELESS[i].tree, BY_PIPE, careless);
        } while (!oracle->has_struck);
        print_message("without its %s: %.1f ms\n", CARELESS[i].means, (double)gap_ns / 1e6);
        assert_true(gap_ns < 0);
    }
    temp_dir_remove(&dir);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_beat_of_the_first_tree_comes_after_one_of_the_second),
        cmocka_unit_test(run_that_lacks_a_means_overlaps),
    };
    if (argc == 5 && strcmp(argv[1], "--beat") == 0)
        return beat_main(argv[2], (int)strtol(argv[3], NULL, 10),
                         (enum beat_tree)strtol(argv[4], NULL, 10));
    if (argc == 6 && strcmp(argv[1], "--lane") == 0)
        return lane_main(argv[2], (int)strtol(argv[3], NULL, 10), (int)strtol(argv[4], NULL, 10),
                         argv[5][0] == '1');
    return cmocka_run_group_tests(tests, oracle_open_with_names, oracle_close_with_names);
}
