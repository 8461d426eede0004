#include "server/metrics/process_figures.h"

#include <dirent.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static bool read_cpu(double *ret)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) < 0)
        return false;
    *ret = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    return true;
}

/* The kernel counts memory in pages: all of it, then what is in RAM. */
static bool read_memory(size_t column, double *ret)
{
    unsigned long pages[2];
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file)
        return false;
    int count = fscanf(file, "%lu %lu", &pages[0], &pages[1]);
    fclose(file);
    if (count == 2)
        *ret = (double)pages[column] * (double)sysconf(_SC_PAGESIZE);
    return count == 2;
}

static bool read_virtual(double *ret)
{
    return read_memory(0, ret);
}

static bool read_resident(double *ret)
{
    return read_memory(1, ret);
}

/* Linux 6.2 and later have the count as the size of the directory. Before, this counts the entries,
 * without the descriptor by which it reads the directory. */
static bool read_descriptors(double *ret)
{
    static const char PLACE[] = "/proc/self/fd";
    struct stat about;
    if (stat(PLACE, &about) == 0 && about.st_size > 0) {
        *ret = (double)about.st_size;
        return true;
    }
    DIR *directory = opendir(PLACE);
    if (!directory)
        return false;
    long count = -1;
    for (struct dirent *entry = readdir(directory); entry; entry = readdir(directory))
        count += entry->d_name[0] != '.';
    closedir(directory);
    *ret = (double)count;
    return true;
}

static bool read_descriptors_most(double *ret)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return false;
    *ret = (double)limit.rlim_cur;
    return true;
}

static const struct figure {
    const char *name;
    const char *type;
    const char *help;
    int digits;                /* behind the point */
    bool (*read)(double *ret); /* NULL: when the process began */
} FIGURES[] = {
    {"process_cpu_seconds_total", "counter", "Processor time of the process.", 6, read_cpu},
    {"process_resident_memory_bytes", "gauge", "Memory of the process that is in RAM.", 0,
     read_resident},
    {"process_virtual_memory_bytes", "gauge", "Memory of the process.", 0, read_virtual},
    {"process_open_fds", "gauge", "File descriptors that are open.", 0, read_descriptors},
    {"process_max_fds", "gauge", "File descriptors that may be open.", 0, read_descriptors_most},
    {"process_start_time_seconds", "gauge", "When the process began, since 1970.", 0, NULL},
};

void process_figures_write(FILE *out, time_t started)
{
    for (size_t i = 0; i < sizeof FIGURES / sizeof FIGURES[0]; i++) {
        const struct figure *figure = &FIGURES[i];
        double value = (double)started;
        if (!figure->read || figure->read(&value))
            fprintf(out, "# HELP %s %s\n# TYPE %s %s\n%s %.*f\n", figure->name, figure->help,
                    figure->name, figure->type, figure->name, figure->digits, value);
    }
}
