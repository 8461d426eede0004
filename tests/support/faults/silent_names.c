#include "tests/support/faults/silent_names.h"

#include "tests/support/clock.h"
#include "tests/support/cmocka.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FIRST = 77, LAST = 254, ADDRESS_TEXT = 16 }; /* of 127.0.0.x: each test has one of its own */

const struct silent_site silent_sites[SILENT_SITES] = {
    {"redis://plain.example:6379", "plain"},
    {"redis+sentinel://watch1.example,watch2.example,watch3.example/primary", "watch"},
    {"redis+cluster://shard1.example,shard2.example", "shard"},
    {"redis+quorum://member1.example,member2.example,member3.example", "member"},
};

static bool listens(int fd, char address[ADDRESS_TEXT])
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(53)};
    for (int last = FIRST; last <= LAST; last++) {
        snprintf(address, ADDRESS_TEXT, "127.0.0.%d", last);
        assert_int_equal(inet_pton(AF_INET, address, &own.sin_addr), 1);
        if (bind(fd, (const struct sockaddr *)&own, sizeof own) == 0)
            return true;
    }
    return false;
}

static bool is_the_only_one(const char *address, const struct temp_dir *dir)
{
    char path[100];
    snprintf(path, sizeof path, "%s/resolv.conf", dir->path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "nameserver %s\noptions timeout:1 attempts:1\n", address);
    fclose(file);
    return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount(path, "/etc/resolv.conf", NULL, MS_BIND, NULL) == 0;
}

bool silent_names_open(struct silent_names *names)
{
    char address[ADDRESS_TEXT];
    names->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    temp_dir_make(&names->dir);
    if (listens(names->fd, address) && is_the_only_one(address, &names->dir))
        return true;
    close(names->fd);
    temp_dir_remove(&names->dir);
    return false;
}

void silent_names_close(struct silent_names *names)
{
    umount2("/etc/resolv.conf", MNT_DETACH);
    close(names->fd);
    temp_dir_remove(&names->dir);
}

void silent_names_await(const struct silent_names *names, const char *label)
{
    char query[512];
    struct pollfd asked = {.fd = names->fd, .events = POLLIN};
    for (int64_t until = clock_ms() + CLOCK_HANG_MS; clock_ms() < until;) {
        if (poll(&asked, 1, CLOCK_HANG_MS) != 1)
            break;
        ssize_t length = recv(names->fd, query, sizeof query, 0);
        if (length > 0 && memmem(query, (size_t)length, label, strlen(label)))
            return;
    }
    fail_msg("nobody asks for %s", label);
}
