/* small_disk.h: a file system of a mebibyte on a folder, which is soon full. */
#ifndef BATON_TESTS_SUPPORT_FAULTS_SMALL_DISK_H
#define BATON_TESTS_SUPPORT_FAULTS_SMALL_DISK_H

#include <stdbool.h>

/* Mounts it on an existing folder, for this process and those that it starts. False where that is
 * not allowed: only root may. It goes with the process. */
bool small_disk_mount(const char *folder);

void small_disk_unmount(const char *folder);

/* Fills it up, by a file in it; and takes that away again. */
void small_disk_fill(const char *folder);
void small_disk_empty(const char *folder);

#endif
