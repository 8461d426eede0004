/* silent_names.h: a name server that hears what is asked and never answers. */
#ifndef BATON_TESTS_SUPPORT_FAULTS_SILENT_NAMES_H
#define BATON_TESTS_SUPPORT_FAULTS_SILENT_NAMES_H

#include "tests/support/temp_dir.h"

#include <stdbool.h>

struct silent_names {
    struct temp_dir dir;
    int fd; /* readable once it was asked */
};

/* For this process and those that it starts, it is the only one from now on. False where that is
 * not permitted. */
bool silent_names_open(struct silent_names *names);
void silent_names_close(struct silent_names *names);

/* Waits until it is asked for a name with this label. Fails the test where it is not. */
void silent_names_await(const struct silent_names *names, const char *label);

enum { SILENT_SITES = 4 };

/* Redis by names that this server is asked for, in each way, with a label that no other has. */
extern const struct silent_site {
    const char *url, *label;
} silent_sites[SILENT_SITES];

#endif
