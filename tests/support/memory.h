/* memory.h: what another process has in its memory. */
#ifndef BATON_TESTS_SUPPORT_MEMORY_H
#define BATON_TESTS_SUPPORT_MEMORY_H

#include <stddef.h>
#include <sys/types.h>

enum { MEMORY_PLACES = 1024 };

/* How often `needle` stands in the writable memory of the process; `places` says where, for people.
 * Needs root where the process is not dumpable. Fails the test where it cannot look. */
size_t memory_count(pid_t pid, const char *needle, char places[MEMORY_PLACES]);

#endif
