/* status.h: the exit statuses of baton, as sysexits.h has most of them. */
#ifndef BATON_CLI_STATUS_H
#define BATON_CLI_STATUS_H

enum status {
    STATUS_DONE = 0,
    STATUS_FREE = 1,        /* of show --quiet: nobody holds the lock */
    STATUS_USAGE = 64,      /* the command line, or batond found a parameter wrong */
    STATUS_UNANSWERED = 69, /* no batond answered, or nobody can be granted the lock now */
    STATUS_FAULT = 70,      /* of baton itself, or of this machine */
    STATUS_REFUSED = 75,    /* somebody else has the lock */
    STATUS_LOST = 76,       /* the token holds nothing any more */
    STATUS_DENIED = 77,     /* the API key is missing, or has no such right */
    STATUS_CONFIG = 78,     /* a setting, a file, or a URL that is no batond's */
    STATUS_OVERDUE = 124,   /* of --max-held: the command was ended, or the renewals are */
};

#endif
