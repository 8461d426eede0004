/* guard.h: the process between baton run and its command. It ends the command and all descendants
 * before the lock ends, whatever happens to the front, the process that renews. Uses only libc. */
#ifndef BATON_CLI_RUN_GUARD_H
#define BATON_CLI_RUN_GUARD_H

#include "cli/run/tree.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { GUARD_DESCRIPTORS = 256 };

struct guard_plan {
    int64_t expires_ns;    /* E: when the lock may end, by CLOCK_BOOTTIME, or GUARD_NEVER */
    int64_t kill_after_ns; /* between the signal and SIGKILL, when the lock is lost */
    int64_t margin_ns;     /* between SIGKILL and E */
    int64_t grace_ns;      /* the same as kill_after_ns for what the command leaves behind */
    int signal;            /* the signal that asks the command to end */
    bool outlives_front;   /* the command goes on if the front is gone */
    bool only_command;     /* ignores what the command leaves behind */
    char *const *command;
    const bool *inherited; /* for each low one: whether the command gets it, and no others */
    sigset_t mask;         /* the command's */
    struct sigaction child_action; /* the command's, for SIGCHLD */
};

enum guard_event {
    GUARD_SILENT,
    GUARD_FAILED, /* nothing has started: `names` says why */
    GUARD_LOST,   /* the command is being ended, since the lock is lost or about to end */
    GUARD_LEFT,   /* the command has ended, and left `names` behind */
    GUARD_VAIN,   /* `names` have not ended so far */
    GUARD_ENDED,  /* nothing is left to wait for */
};

/* A report of the guard. After GUARD_FAILED or GUARD_ENDED the guard ends. */
struct guard_report {
    enum guard_event event;
    int status;       /* the command's, as waitpid(2) gives it */
    bool was_ended;   /* the guard ended it */
    int asked;        /* how many processes got the signal */
    int killed;       /* how many of them needed SIGKILL */
    int64_t ended_ns; /* when the last descendant was gone */
    char names[TREE_NAMES];
};

struct guard {
    pid_t pid;
    int orders;  /* write an int64_t: the new E, GUARD_END, GUARD_KEY, or a signal, negated. The
                  * signal goes to the command; TERM, HUP and INT also to all descendants */
    int reports; /* read struct guard_report; end of file if the guard was killed */
};

#define GUARD_END   INT64_C(0)
#define GUARD_KEY   INT64_MIN /* a key asked the foreground of the terminal to end */
#define GUARD_NEVER (INT64_MAX / 2)

/* Notes which low descriptors are open. libcurl opens more, which it does not close on exec. */
void guard_note_inherited(bool inherited[GUARD_DESCRIPTORS]);

/* Starts the guard and the command. Returns 0, or a negative errno. */
int guard_start(struct guard *ret, const struct guard_plan *plan);

#endif
