#include "tests/support/faults/small_disk.h"

#include "tests/support/cmocka.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <unistd.h>

bool small_disk_mount(const char *folder)
{
    return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("small", folder, "tmpfs", 0, "size=1m,mode=0700") == 0;
}

void small_disk_unmount(const char *folder)
{
    assert_int_equal(umount2(folder, MNT_DETACH), 0);
}

static void name_filler(const char *folder, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/filler", folder);
}

void small_disk_fill(const char *folder)
{
    static const char BLOCK[4096] = {1};
    char path[PATH_MAX];
    name_filler(folder, path);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    while (write(fd, BLOCK, sizeof BLOCK) > 0)
        ;
    assert_int_equal(errno, ENOSPC);
    close(fd);
}

void small_disk_empty(const char *folder)
{
    char path[PATH_MAX];
    name_filler(folder, path);
    assert_int_equal(unlink(path), 0);
}
