#include "tests/bench/modes.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static const struct mode {
    const char *name;
    void (*run)(const struct options *options, struct figures *figures);
    const char *help;
} MODES[] = {
    {"handover", mode_handover, "how long a hand-over takes; each --url in turn, beside BLPOP"},
    {"park", mode_park, "what parked clients cost; a second --url stays empty, to compare with"},
    {"contend", mode_contend, "whether many are granted one lock in order, by MONITOR"},
    {"pairs", mode_pairs, "what each connection asks by itself, as fast as it is answered"},
    {"contest", mode_contest, "when each of many clients asked, was granted and released"},
};

enum { MODE_COUNT = sizeof MODES / sizeof *MODES };

static int help(void)
{
    puts("Makes load for batond and measures it: load MODE OPTION...\n"
         "Exit status: 0, 1 where a figure is beyond what is asked of it, 2 where it failed.\n");
    for (size_t i = 0; i < MODE_COUNT; i++)
        printf("  %-9s %s\n", MODES[i].name, MODES[i].help);
    puts("");
    options_help();
    return 0;
}

static void allow_many_connections(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--help") == 0)
        return help();
    for (size_t i = 0; i < MODE_COUNT; i++) {
        if (argc < 2 || strcmp(argv[1], MODES[i].name) != 0)
            continue;
        struct figures figures = {0};
        struct options options;
        options_read(&options, argc - 1, argv + 1);
        allow_many_connections();
        MODES[i].run(&options, &figures);
        return figures.missed > 0;
    }
    fputs("load: no such mode; see load --help\n", stderr);
    return 2;
}
