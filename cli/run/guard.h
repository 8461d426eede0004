/* guard.h: the process between baton run and its command. It ends the command and all descendants
 * before the lock does, whatever happens to the process that renews, the front. libc alone. */
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
    int signal;            /* that asks the command to end */
    bool outlives_front;   /* the command is not ended if the front is */
    bool only_command;     /* what the command leaves behind is left alone */
    char *const *command;
    const bool *inherited;         /* of the first descriptors: the command has those, no others */
    sigset_t mask;                 /* of the command */
    struct sigaction child_action; /* of the command, for SIGCHLD */
};

enum guard_event {
    GUARD_SILENT,
    GUARD_FAILED, /* nothing was started: `names` says why */
    GUARD_LOST,   /* it has begun to end the command, since the lock is lost or about to end */
    GUARD_LEFT,   /* the command has ended, and has left `names` behind */
    GUARD_VAIN,   /* `names` could not be ended so far */
    GUARD_ENDED,  /* nothing is left to wait for */
};

/* What the guard says. With GUARD_FAILED and GUARD_ENDED, it ends. */
struct guard_report {
    enum guard_event event;
    int status;       /* of the command, as waitpid(2) has it */
    bool was_ended;   /* by the guard */
    int asked;        /* how many processes had the signal */
    int killed;       /* how many of them were still there for SIGKILL */
    int64_t ended_ns; /* when the last descendant was gone */
    char names[TREE_NAMES];
};

struct guard {
    pid_t pid;
    int orders;  /* write an int64_t: the new E, GUARD_END, GUARD_KEY, or a signal, negated: the
                    command gets it; if it is TERM, HUP or INT, all descendants do */
    int reports; /* read struct guard_report; the end of the file if the guard was killed */
};

#define GUARD_END   INT64_C(0)
#define GUARD_KEY   INT64_MIN /* the terminal has asked its foreground to end */
#define GUARD_NEVER (INT64_MAX / 2)

/* Notes which of the first descriptors are open. libcurl opens more, which it does not close on
 * exec.
 */
void guard_note_inherited(bool inherited[GUARD_DESCRIPTORS]);

/* Starts the guard and the command. Returns 0, or a negative errno. */
int guard_start(struct guard *ret, const struct guard_plan *plan);

#endif
