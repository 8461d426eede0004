/* file_limit.h: divides the limit of open files between workers, connections and all else. */
#ifndef BATON_SERVER_PROCESS_FILE_LIMIT_H
#define BATON_SERVER_PROCESS_FILE_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>

enum { ADMIN_CONNECTIONS = 64 };

/* How many descriptors are not for connections to listen. */
rlim_t file_limit_others(size_t workers, bool has_admin_listener);

/* The number of workers, from 1 to `most`, that leaves half of the descriptors for connections. */
size_t file_limit_workers(rlim_t limit, size_t most, bool has_admin_listener);

#endif
