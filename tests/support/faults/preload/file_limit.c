/* A limit of open files as some container engines have it: 1,073,741,816. For a program that this
 * is preloaded into: the limit of the machine stays as it is, so whoever walks through all
 * descriptors that there may be takes minutes. */
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): libc's names are reserved
#undef _FILE_OFFSET_BITS // with 64, libc's headers take the one function for the other
#include <dlfcn.h>
#include <sys/resource.h>
#include <unistd.h>

enum { LIMIT = 1073741816 };

static void find(const char *name, void *function)
{
    *(void **)function = dlsym(RTLD_NEXT, name);
}

/* A program uses the one or the other, by how it was compiled. */
int getrlimit(__rlimit_resource_t resource, struct rlimit *limits)
{
    int (*real)(__rlimit_resource_t, struct rlimit *);
    find("getrlimit", (void *)&real);
    if (resource != RLIMIT_NOFILE)
        return real(resource, limits);
    *limits = (struct rlimit){LIMIT, LIMIT};
    return 0;
}

int getrlimit64(__rlimit_resource_t resource, struct rlimit64 *limits)
{
    int (*real)(__rlimit_resource_t, struct rlimit64 *);
    find("getrlimit64", (void *)&real);
    if (resource != RLIMIT_NOFILE)
        return real(resource, limits);
    *limits = (struct rlimit64){LIMIT, LIMIT};
    return 0;
}

int setrlimit(__rlimit_resource_t resource, const struct rlimit *limits)
{
    int (*real)(__rlimit_resource_t, const struct rlimit *);
    find("setrlimit", (void *)&real);
    return resource == RLIMIT_NOFILE ? 0 : real(resource, limits);
}

int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *limits)
{
    int (*real)(__rlimit_resource_t, const struct rlimit64 *);
    find("setrlimit64", (void *)&real);
    return resource == RLIMIT_NOFILE ? 0 : real(resource, limits);
}

long sysconf(int name)
{
    long (*real)(int);
    find("sysconf", (void *)&real);
    return name == _SC_OPEN_MAX ? LIMIT : real(name);
}
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
