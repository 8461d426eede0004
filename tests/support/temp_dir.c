#include "tests/support/temp_dir.h"

#include "tests/support/cmocka.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void temp_dir_make(struct temp_dir *dir)
{
    const char *parent = getenv("TMPDIR");
    int length = snprintf(dir->path, sizeof dir->path, "%s/baton.XXXXXX", parent ? parent : "/tmp");
    if (length >= (int)sizeof dir->path)
        fail_msg("$TMPDIR is too long: %s", parent);
    if (!mkdtemp(dir->path))
        fail_msg("cannot make %s: %s", dir->path, strerror(errno));
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info, (void)kind, (void)place;
    return remove(path);
}

void temp_dir_remove(struct temp_dir *dir)
{
    if (dir->path[0])
        nftw(dir->path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    dir->path[0] = '\0';
}
