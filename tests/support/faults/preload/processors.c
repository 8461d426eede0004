/* A machine with PROCESSORS processors, for a program that this is preloaded into. */
#include <dlfcn.h>
#include <unistd.h>

enum { PROCESSORS = 16 };

// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): libc's names are reserved
long sysconf(int name)
{
    long (*real)(int);
    *(void **)&real = dlsym(RTLD_NEXT, "sysconf");
    return name == _SC_NPROCESSORS_ONLN ? PROCESSORS : real(name);
}
