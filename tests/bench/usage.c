#include "tests/bench/usage.h"

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static FILE *open_proc(pid_t pid, const char *file)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    FILE *stream = fopen(path, "re");
    if (!stream)
        err(2, "%s", path);
    return stream;
}

int64_t usage_cpu_ms(pid_t pid)
{
    char line[1024] = "";
    FILE *stat = open_proc(pid, "stat");
    const char *read = fgets(line, sizeof line, stat);
    fclose(stat);
    const char *name_end = read ? strrchr(line, ')') : NULL; /* the name may have blanks in it */
    int64_t user, kernel;
    if (!name_end ||
        sscanf(name_end, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNd64 " %" SCNd64,
               &user, &kernel) != 2)
        errx(2, "/proc/%d/stat makes no sense", (int)pid);
    return (user + kernel) * 1000 / sysconf(_SC_CLK_TCK);
}

int64_t usage_resident_kib(pid_t pid)
{
    char line[256];
    int64_t kib = -1;
    FILE *status = open_proc(pid, "status");
    while (kib < 0 && fgets(line, sizeof line, status))
        if (sscanf(line, "VmRSS: %" SCNd64, &kib) != 1)
            kib = -1;
    fclose(status);
    if (kib < 0)
        errx(2, "/proc/%d/status tells no VmRSS", (int)pid);
    return kib;
}
