#include "server/process/sandbox.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

int sandbox_harden(struct failure *failure)
{
    const struct rlimit none = {0, 0};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
        setrlimit(RLIMIT_CORE, &none) < 0)
        return failure_set(failure, -errno, "cannot turn off core dumps and new privileges: %s",
                           strerror(errno));
    return 0;
}

#ifdef HAVE_SECCOMP

#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sockios.h>
#include <sched.h>
#include <seccomp.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* Calls that are allowed with any arguments. Only some versions of the libraries, or plug-ins of
 * the resolver, use all of them. */
static const int ALLOWED[] = {
    /* serving */
    SCMP_SYS(accept4),
    SCMP_SYS(read),
    SCMP_SYS(readv),
    SCMP_SYS(recvfrom),
    SCMP_SYS(recvmsg),
    SCMP_SYS(write),
    SCMP_SYS(writev),
    SCMP_SYS(sendto),
    SCMP_SYS(sendmsg),
    SCMP_SYS(sendmmsg),
    SCMP_SYS(shutdown),
    SCMP_SYS(close),
    SCMP_SYS(setsockopt),
    SCMP_SYS(getsockopt),
    SCMP_SYS(getsockname),
    SCMP_SYS(getpeername),
    SCMP_SYS(connect),
    SCMP_SYS(bind),
    /* loops */
    SCMP_SYS(epoll_create1),
    SCMP_SYS(epoll_ctl),
    SCMP_SYS(epoll_wait),
    SCMP_SYS(epoll_pwait),
    SCMP_SYS(epoll_pwait2),
    SCMP_SYS(poll),
    SCMP_SYS(ppoll),
    SCMP_SYS(select),
    SCMP_SYS(pselect6),
    SCMP_SYS(eventfd2),
    SCMP_SYS(pipe2),
    SCMP_SYS(fcntl),
    SCMP_SYS(fcntl64),
    SCMP_SYS(dup),
    /* memory and threads */
    SCMP_SYS(brk),
    SCMP_SYS(munmap),
    SCMP_SYS(mremap),
    SCMP_SYS(madvise),
    SCMP_SYS(futex),
    SCMP_SYS(set_robust_list),
    SCMP_SYS(rseq),
    SCMP_SYS(sched_yield),
    SCMP_SYS(sched_getaffinity),
    SCMP_SYS(getcpu),
    SCMP_SYS(gettid),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
    SCMP_SYS(restart_syscall),
    /* signals, and the embedded Redis' end */
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(sigaltstack),
    SCMP_SYS(wait4),
    SCMP_SYS(waitid),
    /* time and randomness */
    SCMP_SYS(clock_gettime),
    SCMP_SYS(clock_getres),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(nanosleep),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(time),
    SCMP_SYS(getrandom),
    /* files that are read: again on SIGHUP, or by the resolver */
    SCMP_SYS(fstat),
    SCMP_SYS(stat),
    SCMP_SYS(lstat),
    SCMP_SYS(newfstatat),
    SCMP_SYS(fstatat64),
    SCMP_SYS(statx),
    SCMP_SYS(lseek),
    SCMP_SYS(pread64),
    SCMP_SYS(access),
    SCMP_SYS(faccessat),
    SCMP_SYS(faccessat2),
    SCMP_SYS(readlink),
    SCMP_SYS(readlinkat),
    SCMP_SYS(getdents64),
    SCMP_SYS(fstatfs),
    SCMP_SYS(statfs),
    /* facts about the process */
    SCMP_SYS(getpid),
    SCMP_SYS(getppid),
    SCMP_SYS(getuid),
    SCMP_SYS(geteuid),
    SCMP_SYS(getgid),
    SCMP_SYS(getegid),
    SCMP_SYS(getrlimit),
    SCMP_SYS(getrusage),
    SCMP_SYS(uname),
    SCMP_SYS(sysinfo),
};

enum { OPEN_WRITES = O_ACCMODE | O_CREAT | O_TRUNC };

/* Calls that are allowed if the masked bits of each argument have the value. */
static const struct condition {
    int call;
    struct {
        unsigned argument;
        uint64_t mask;
        uint64_t value;
    } is[2]; /* a mask of 0 ends the list */
} CONDITIONS[] = {
    /* a thread, not a process */
    {SCMP_SYS(clone), {{0, CLONE_THREAD | CLONE_VM, CLONE_THREAD | CLONE_VM}}},
    /* to Redis and for the resolver, which learns of addresses by NETLINK_ROUTE */
    {SCMP_SYS(socket), {{0, UINT32_MAX, AF_UNIX}}},
    {SCMP_SYS(socket), {{0, UINT32_MAX, AF_INET}, {1, 0xf, SOCK_STREAM}}},
    {SCMP_SYS(socket), {{0, UINT32_MAX, AF_INET}, {1, 0xf, SOCK_DGRAM}}},
    {SCMP_SYS(socket), {{0, UINT32_MAX, AF_INET6}, {1, 0xf, SOCK_STREAM}}},
    {SCMP_SYS(socket), {{0, UINT32_MAX, AF_INET6}, {1, 0xf, SOCK_DGRAM}}},
    {SCMP_SYS(socket), {{0, UINT32_MAX, AF_NETLINK}, {2, UINT32_MAX, NETLINK_ROUTE}}},
    /* files are only read */
    {SCMP_SYS(open), {{1, OPEN_WRITES, O_RDONLY}}},
    {SCMP_SYS(openat), {{2, OPEN_WRITES, O_RDONLY}}},
    /* no memory that can be both written and run; a library that is loaded late needs none */
    {SCMP_SYS(mmap), {{2, PROT_WRITE | PROT_EXEC, 0}}},
    {SCMP_SYS(mmap), {{2, PROT_WRITE | PROT_EXEC, PROT_WRITE}}},
    {SCMP_SYS(mmap), {{2, PROT_WRITE | PROT_EXEC, PROT_EXEC}}},
    {SCMP_SYS(mprotect), {{2, PROT_EXEC, 0}}},
    /* queries of descriptors */
    {SCMP_SYS(ioctl), {{1, UINT32_MAX, FIONREAD}}},
    {SCMP_SYS(ioctl), {{1, UINT32_MAX, FIONBIO}}},
    {SCMP_SYS(ioctl), {{1, UINT32_MAX, TCGETS}}},
    {SCMP_SYS(ioctl), {{1, UINT32_MAX, SIOCOUTQ}}},
    /* limits are read, not set */
    {SCMP_SYS(prlimit64), {{2, UINT64_MAX, 0}}},
    {SCMP_SYS(prctl), {{0, UINT32_MAX, PR_SET_NAME}}},
    /* to end the embedded Redis */
    {SCMP_SYS(kill), {{1, UINT32_MAX, SIGTERM}}},
    {SCMP_SYS(kill), {{1, UINT32_MAX, SIGKILL}}},
};

/* Refused with ENOSYS: callers have a fallback. clone3 hides its flags from a filter. */
static const int MISSING[] = {SCMP_SYS(clone3), SCMP_SYS(io_uring_setup)};

/* Global, since a signal handler gets no context. */
static const struct log *sandbox_log;

static void sandbox_on_blocked(int number, siginfo_t *about, void *context)
{
    (void)context;
    /* The heap and the time zone make allowed calls only, so no lock of theirs is held here. */
    char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, about->si_syscall);
    log_last_words(sandbox_log, LOG_ERROR,
                   "the sandbox has blocked a system call, so batond ends; if this was no attack, "
                   "report it, and set --sandbox=false until it is mended",
                   "call", name ? name : "?", NULL);
    signal(number, SIG_DFL);
    raise(number);
}

static int sandbox_report_blocked(const struct log *log)
{
    struct sigaction action = {.sa_sigaction = sandbox_on_blocked, .sa_flags = SA_SIGINFO};
    sandbox_log = log;
    return sigaction(SIGSYS, &action, NULL) < 0 ? -errno : 0;
}

static int sandbox_allow_if(scmp_filter_ctx filter, const struct condition *condition)
{
    struct scmp_arg_cmp comparisons[2];
    unsigned count = 0;
    for (; count < 2 && condition->is[count].mask; count++)
        comparisons[count] = SCMP_CMP64(condition->is[count].argument, SCMP_CMP_MASKED_EQ,
                                        condition->is[count].mask, condition->is[count].value);
    return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, condition->call, count, comparisons);
}

static int sandbox_fill(scmp_filter_ctx filter)
{
    int result = 0;
    for (size_t i = 0; result == 0 && i < sizeof ALLOWED / sizeof *ALLOWED; i++)
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, ALLOWED[i], 0);
    for (size_t i = 0; result == 0 && i < sizeof CONDITIONS / sizeof *CONDITIONS; i++)
        result = sandbox_allow_if(filter, &CONDITIONS[i]);
    for (size_t i = 0; result == 0 && i < sizeof MISSING / sizeof *MISSING; i++)
        result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), MISSING[i], 0);
    if (result == 0) /* abort and raise */
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
                                  SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid(), 0));
    return result;
}

int sandbox_check(struct failure *failure)
{
    (void)failure;
    return 0;
}

/* Loads the filter for all threads and frees it. `result` is the outcome of filling the filter. */
static int sandbox_load(scmp_filter_ctx filter, int result, struct failure *failure)
{
    if (result == 0)
        result = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
    if (result == 0)
        result = seccomp_load(filter);
    seccomp_release(filter);
    if (result < 0)
        failure_set(failure, result, "--sandbox: the kernel refuses the filter of system calls: %s",
                    strerror(-result));
    return result;
}

int sandbox_prepare(struct failure *failure)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    if (!filter)
        return failure_set(failure, -ENOMEM, "no memory");
    return sandbox_load(
        filter, seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(io_uring_setup), 0),
        failure);
}

int sandbox_enter(const struct log *log, struct failure *failure)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_TRAP);
    if (!filter)
        return failure_set(failure, -ENOMEM, "no memory");
    int result = sandbox_report_blocked(log);
    return sandbox_load(filter, result < 0 ? result : sandbox_fill(filter), failure);
}

#else

int sandbox_check(struct failure *failure)
{
    return failure_set(failure, -ENOTSUP,
                       "--sandbox: batond was built without libseccomp (or with a sanitizer). "
                       "Install libseccomp-dev and build batond again, or leave the setting out.");
}

int sandbox_prepare(struct failure *failure)
{
    return sandbox_check(failure);
}

int sandbox_enter(const struct log *log, struct failure *failure)
{
    (void)log;
    return sandbox_check(failure);
}

#endif
