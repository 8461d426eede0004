/* temp_dir.h: a directory of a test's own, below $TMPDIR. */
#ifndef BATON_TESTS_SUPPORT_TEMP_DIR_H
#define BATON_TESTS_SUPPORT_TEMP_DIR_H

struct temp_dir {
    char path[80]; /* short, since a Unix socket's path below it may have 107 bytes */
};

/* Makes a new directory (mode 0700). Fails the test if it cannot. */
void temp_dir_make(struct temp_dir *dir);

/* Removes it with all that is in it. Takes a zeroed one too. */
void temp_dir_remove(struct temp_dir *dir);

#endif
