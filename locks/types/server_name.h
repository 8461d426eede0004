/* server_name.h: what a worker of batond is called among all that share a Redis. Internal to
 * locks/. */
#ifndef BATON_LOCKS_TYPES_SERVER_NAME_H
#define BATON_LOCKS_TYPES_SERVER_NAME_H

enum {
    PROCESS_LENGTH = 8, /* characters: the process */
    SERVER_LENGTH = 16, /* characters: the process, then 8 for the worker */
};

#endif
