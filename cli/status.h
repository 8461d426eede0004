/* status.h: the exit statuses of baton, mostly as in sysexits.h. */
#ifndef BATON_CLI_STATUS_H
#define BATON_CLI_STATUS_H

enum status {
    STATUS_DONE = 0,
    STATUS_FREE = 1,        /* show --quiet: the lock is free */
    STATUS_USAGE = 64,      /* the command line is wrong, or batond refused a parameter */
    STATUS_UNANSWERED = 69, /* no batond answered, or none can grant the lock now */
    STATUS_FAULT = 70,      /* a fault of baton itself or of this machine */
    STATUS_REFUSED = 75,    /* the lock is taken */
    STATUS_LOST = 76,       /* the token holds nothing now */
    STATUS_DENIED = 77,     /* the API key is missing, or has no such right */
    STATUS_CONFIG = 78,     /* a setting or a file is wrong, or a URL is not batond's */
    STATUS_OVERDUE = 124, /* --max-held is over: the command was ended, or renewals have stopped */
};

#endif
