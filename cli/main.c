/* baton: the client of batond on the command line. It knows only the HTTP API. */
#include "cli/client.h"
#include "cli/commands/commands.h"
#include "cli/problem.h"
#include "cli/run/guard.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ANY = 64 }; /* names that one request may have */

static const struct command {
    const char *name, *arguments, *text; /* a space before the arguments */
    unsigned options;
    size_t fewest, most; /* names */
    enum status (*run)(struct context *context);
} COMMANDS[] = {
    {"acquire", " NAME...", "take a lock, or several, and print the token", FOR_ACQUIRE, 1, ANY,
     command_acquire},
    {"run", " NAME... -- COMMAND...", "hold a lock while a command runs", FOR_RUN, 1, ANY,
     command_run},
    {"renew", " NAME...", "set the time that is left of a hold", FOR_RENEW, 1, ANY, command_renew},
    {"release", " NAME...", "end a hold", FOR_RELEASE, 1, ANY, command_release},
    {"show", " NAME...", "show who holds a lock and who waits for it", FOR_SHOW, 1, ANY,
     command_show},
    {"list", " [PREFIX]", "show the held locks whose names begin with PREFIX", FOR_LIST, 0, 1,
     command_list},
    {"watch", " NAME", "show a lock whenever it changes", FOR_OTHERS, 1, 1, command_watch},
    {"whoami", "", "show who you are to batond", FOR_OTHERS, 0, 0, command_whoami},
    {"break", " [NAME]...", "end the holds of all owners", FOR_BREAK, 0, ANY, command_break},
};

enum { COMMAND_COUNT = sizeof COMMANDS / sizeof COMMANDS[0] };

static void print_usage(FILE *to)
{
    fprintf(to, "usage: baton COMMAND [OPTION]... [NAME]...\n       baton help [COMMAND]\n\n"
                "Commands:\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        fprintf(to, "  %s%s\n        %s\n", COMMANDS[i].name, COMMANDS[i].arguments,
                COMMANDS[i].text);
    fprintf(to, "\nOptions of all commands:\n");
    options_print(FOR_OTHERS, to);
    fprintf(to, "  -V, --version\n        print the version\n\n"
                "baton help COMMAND lists the options of a command. BATON_URL, BATON_AUTH_FILE,\n"
                "BATON_CA, BATON_CERT and BATON_KEY stand for options, as variables and as lines\n"
                "of ~/.config/baton/client.conf and /etc/baton/client.conf.\n");
}

static void print_command(const struct command *command)
{
    printf("usage: baton %s [OPTION]...%s\n\nUse it to %s.\n\nOptions:\n", command->name,
           command->arguments, command->text);
    options_print(command->options, stdout);
    puts("\nA DURATION is 500ms, 30s, 1.5m or 2h; without a unit it is seconds.");
}

static void end_by(int signal)
{
    _exit(128 + signal);
}

/* The kernel ignores signals without a handler in the first process of a container. */
static void take_signals_as_first_process(void)
{
    static const int SIGNALS[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT};
    struct sigaction action;
    for (size_t i = 0; getpid() == 1 && i < sizeof SIGNALS / sizeof SIGNALS[0]; i++)
        if (sigaction(SIGNALS[i], NULL, &action) == 0 && action.sa_handler == SIG_DFL)
            sigaction(SIGNALS[i], &(struct sigaction){.sa_handler = end_by}, NULL);
}

/* Prevents that libcurl's connection becomes standard output, if that is closed. */
static void fill_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            /* cppcheck-suppress leakReturnValNotUsed; it stays open, as the lowest that is free */
            open("/dev/full", O_RDWR | O_CLOEXEC);
}

/* Accepts that a group may read the key: it may be for several users. */
static void warn_of_readable_keys(const struct client_settings *settings)
{
    static const enum setting KEYS[] = {SETTING_AUTH_FILE, SETTING_KEY};
    struct stat file;
    for (size_t i = 0; i < sizeof KEYS / sizeof KEYS[0]; i++) {
        const char *path = settings->values[KEYS[i]];
        if (path && stat(path, &file) == 0 && S_ISREG(file.st_mode) && (file.st_mode & S_IROTH))
            problem_print(STATUS_DONE,
                          "every user of this machine can read your key in %s. Take that right "
                          "away: chmod o= %s",
                          path, path);
    }
}

static enum status run_command(const struct command *command, int argc, char **argv)
{
    struct options options;
    struct client_settings settings = {0};
    struct failure failure;
    bool inherited[GUARD_DESCRIPTORS];
    struct context context = {.options = &options, .inherited = inherited};
    enum status status = STATUS_DONE;
    take_signals_as_first_process();
    guard_note_inherited(inherited);
    fill_standard_descriptors();
    if (options_read(&options, command->options, argc, argv, &failure) < 0) {
        status = problem_print(STATUS_USAGE, "%s", failure.text);
    } else if (options.wants_help) {
        print_command(command);
    } else if (options.name_count < command->fewest || options.name_count > command->most) {
        status =
            problem_print(STATUS_USAGE, "%s: baton %s [OPTION]...%s",
                          options.name_count ? "there are too many names" : "a name is missing",
                          command->name, command->arguments);
    } else if (client_settings_read(&settings, &options, &failure) < 0) {
        status = problem_print(STATUS_CONFIG, "%s", failure.text);
    } else {
        warn_of_readable_keys(&settings);
        context.client = client_open(&settings);
        command_name(&context);
        status = command->run(&context);
        json_decref(context.body);
        json_decref(context.locks);
        json_decref(context.table.rows);
        free(context.path);
        client_close(context.client);
    }
    client_settings_free(&settings);
    options_free(&options);
    return status;
}

static const struct command *command_named(const char *word)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(COMMANDS[i].name, word) == 0)
            return &COMMANDS[i];
    return NULL;
}

/* Options may also come before the command: then moves them behind it. */
static enum status run(int argc, char **argv)
{
    struct failure failure;
    bool asks_help = false;
    if (argc > 1 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)) {
        puts("baton " BATON_VERSION);
        return STATUS_DONE;
    }
    int at = options_before_command(argv, &failure);
    if (at < 0)
        return problem_print(STATUS_USAGE, "%s", failure.text);
    for (int i = 1; i <= at && i < argc; i++)
        asks_help |= strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0;
    bool is_help = at < argc && strcmp(argv[at], "help") == 0;
    char *word = argv[at + is_help];
    const struct command *command = word ? command_named(word) : NULL;
    if (word && !command)
        return problem_print(STATUS_USAGE,
                             "\"%s\" is not a command of baton; baton --help lists them", word);
    if (command && !is_help) {
        memmove(argv + 2, argv + 1, (size_t)(at - 1) * sizeof *argv);
        argv[1] = word;
        return run_command(command, argc - 1, argv + 1);
    }
    if (command)
        print_command(command);
    else
        print_usage(asks_help || is_help ? stdout : stderr);
    return asks_help || is_help ? STATUS_DONE : STATUS_USAGE;
}

int main(int argc, char **argv)
{
    enum status status = run(argc, argv);
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == STATUS_DONE)
        status = problem_print(STATUS_FAULT, "cannot write to standard output");
    return (int)status;
}
