#include "redis/embedded/embedded.h"

#include "base/memory.h"
#include "base/monotonic.h"
#include "redis/address/url.h"
#include "redis/embedded/starter.h"
#include "redis/embedded/state_directory.h"
#include "redis/preflight.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    START_WAIT_MS = 30000,
    STOP_WAIT_MS = 5000,
    STEP_MS = 20,
    ANSWER_WAIT_MS = 1000,
    FIRST_FREE_FD = 4,
    /* The pause before batond starts redis-server again. */
    PAUSE_SHORTEST_MS = 500,
    PAUSE_LONGEST_MS = 10000,
    LIVES_LONG_MS = 30000, /* redis-server that ran for longer restarts after the shortest pause */
    /* Exit codes of a child that could not run redis-server. */
    EXIT_NO_PROGRAM = 127,
    EXIT_UNWRITABLE = 128, /* plus the errno */
};

static const char SOCKET_NAME[] = "redis.sock";

struct embedded {
    char directory[PATH_MAX];
    char server[PATH_MAX]; /* redis-server's path */
    char *url;
    bool closed; /* its directory was open to a group, which has lost its rights */
    int lock;
    pid_t batond;
    pid_t child;             /* 0: none runs */
    uint64_t started_ms;     /* by monotonic_ms */
    int pause_ms;            /* before the next start */
    struct failure why;      /* why the child last ended */
    struct starter *starter; /* NULL: this process starts redis-server itself */
};

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* The directory */

static int check_socket_path(const char *directory, struct failure *failure)
{
    struct sockaddr_un address;
    size_t most = sizeof address.sun_path - sizeof SOCKET_NAME - 1;
    if (strlen(directory) <= most)
        return 0;
    return failure_set(failure, -ENAMETOOLONG,
                       "the state directory's path has %zu bytes, but a Unix socket in it allows "
                       "at most %zu. Choose a shorter path with --state-dir.",
                       strlen(directory), most);
}

static int open_directory(struct embedded *embedded, const char *path, struct failure *failure)
{
    int result = state_directory_open(path, embedded->directory, &embedded->closed, failure);
    return result < 0 ? result : check_socket_path(embedded->directory, failure);
}

/* The lock */

/* The process id in the file; 0: the file has none. */
static long lock_holder(int lock)
{
    char text[32] = "";
    ssize_t length = pread(lock, text, sizeof text - 1, 0);
    return length > 0 ? strtol(text, NULL, 10) : 0;
}

/* After a crash of the last batond, its redis-server holds the lock for a moment until it ends. */
static int take_lock(int lock, int patience_ms)
{
    for (int waited = 0; flock(lock, LOCK_EX | LOCK_NB) < 0; waited += STEP_MS) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return -errno;
        if (waited >= patience_ms)
            return -EBUSY;
        pause_ms(STEP_MS);
    }
    return 0;
}

static int lock_directory(struct embedded *embedded, bool waits, struct failure *failure)
{
    char path[PATH_MAX + 8];
    snprintf(path, sizeof path, "%s/" STATE_DIRECTORY_LOCK, embedded->directory);
    embedded->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (embedded->lock < 0)
        return failure_set(failure, -errno, "cannot open %s: %s", path, strerror(errno));
    int result = take_lock(embedded->lock, waits ? EMBEDDED_PATIENCE_MS : 0);
    if (result == -EBUSY)
        return failure_set(failure, -EBUSY,
                           "the state directory %s is in use by process %ld. Stop that process, or "
                           "choose another directory with --state-dir.",
                           embedded->directory, lock_holder(embedded->lock));
    if (result < 0)
        return failure_set(failure, result, "cannot lock %s: %s", path, strerror(-result));
    if (ftruncate(embedded->lock, 0) < 0 || dprintf(embedded->lock, "%ld\n", (long)getpid()) < 0)
        return failure_set(failure, -errno, "cannot write %s: %s", path, strerror(errno));
    return 0;
}

/* redis-server */

static bool is_program(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode) && access(path, X_OK) == 0;
}

static int find_server(struct embedded *embedded, struct failure *failure)
{
    const char *at = getenv("PATH");
    while (at && *at) {
        size_t length = strcspn(at, ":");
        int written = snprintf(embedded->server, sizeof embedded->server, "%.*s/redis-server",
                               (int)length, at);
        if (length > 0 && written < (int)sizeof embedded->server && is_program(embedded->server))
            return 0;
        at += length + (at[length] == ':');
    }
    return failure_set(failure, -ENOENT,
                       "there is no redis-server in PATH. Install it (Debian: apt-get install "
                       "redis-server), or set --redis-url to a Redis that runs elsewhere.");
}

/* The child between fork and exec. batond may have had other threads, so these functions may do
 * only what a signal handler may. */

static void child_reset_signals(void)
{
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Keeps descriptors 0 to 2 and the lock, as number 3, and closes all others. */
static bool child_arrange_files(int lock)
{
    int log = open("redis.log", O_WRONLY | O_CREAT | O_APPEND, 0600);
    int null = open("/dev/null", O_RDWR);
    if (log < 0)
        log = null;
    int kept = fcntl(lock, F_DUPFD, FIRST_FREE_FD);
    if (null < 0 || kept < 0 || dup2(null, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0)
        return false;
    if (dup2(kept, FIRST_FREE_FD - 1) < 0)
        return false;
    closefrom(FIRST_FREE_FD);
    return true;
}

/* Becomes redis-server. */
static void child_run(const void *context)
{
    /* Paths are relative to the state directory, so they need no quoting for Redis. */
    static const char *const ARGUMENTS[] = {
        "redis-server",
        "--port",
        "0",
        "--unixsocket",
        SOCKET_NAME,
        "--unixsocketperm",
        "700",
        "--appendonly",
        "yes",
        "--appendfsync",
        "always",
        "--save",
        "",
        "--maxmemory",
        "0",
        "--maxmemory-policy",
        "noeviction",
        "--daemonize",
        "no",
        NULL,
    };
    const struct embedded *embedded = context;
    /* SIGKILL rather than SIGTERM: a busy server cannot delay it. It loses no data, because
     * redis-server syncs its append-only file at every write. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != embedded->batond) /* batond ended before prctl */
        _exit(1);
    /* Gets a session of its own: Ctrl-C in a terminal must end batond only, which still needs Redis
     * for the requests under way. */
    setsid();
    child_reset_signals();
    /* Redis stores tokens, and other users may be able to read the directory. */
    umask(077);
    if (chdir(embedded->directory) < 0)
        _exit(EXIT_UNWRITABLE + errno);
    int error = state_directory_try_to_write();
    if (error)
        _exit(EXIT_UNWRITABLE + error);
    if (child_arrange_files(embedded->lock))
        execv(embedded->server, (char *const *)ARGUMENTS);
    _exit(EXIT_NO_PROGRAM);
}

static int spawn(struct embedded *embedded, struct failure *failure)
{
    pid_t child = embedded->starter ? starter_start(embedded->starter) : fork();
    int error = embedded->starter ? -child : errno;
    if (child == 0)
        child_run(embedded);
    if (child < 0)
        return failure_set(failure, -error, "cannot start redis-server: %s", strerror(error));
    embedded->child = child;
    embedded->started_ms = (uint64_t)monotonic_ms();
    return 0;
}

static void describe_end(struct embedded *embedded, int status)
{
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    if (WIFSIGNALED(status))
        failure_set(&embedded->why, 0, "a signal ended it: %s", strsignal(WTERMSIG(status)));
    else if (code > EXIT_UNWRITABLE)
        failure_set(&embedded->why, 0, "cannot write to %s: %s", embedded->directory,
                    strerror(code - EXIT_UNWRITABLE));
    else
        failure_set(&embedded->why, 0, "it ended with exit code %d%s. See %s/redis.log.", code,
                    state_directory_is_full(embedded->directory) ? ", and the disk is full" : "",
                    embedded->directory);
}

/* The pause grows if redis-server has run only for a short time: its trouble may last. */
static void lengthen_pause(struct embedded *embedded)
{
    bool was_long = (uint64_t)monotonic_ms() - embedded->started_ms >= LIVES_LONG_MS;
    int longer = was_long ? PAUSE_SHORTEST_MS : 2 * embedded->pause_ms;
    if (longer < PAUSE_SHORTEST_MS)
        longer = PAUSE_SHORTEST_MS;
    embedded->pause_ms = longer > PAUSE_LONGEST_MS ? PAUSE_LONGEST_MS : longer;
}

static int await_answer(struct embedded *embedded, struct failure *failure)
{
    struct redis_url url;
    int result = redis_url_parse(embedded->url, &url, failure);
    if (result < 0)
        return result;
    struct failure why = {""};
    uint64_t deadline = (uint64_t)monotonic_ms() + START_WAIT_MS;
    while ((uint64_t)monotonic_ms() < deadline) {
        result = preflight_run(&single_kind, &url, ANSWER_WAIT_MS, &why);
        if (result != -EAGAIN)
            break;
        if (embedded_has_ended(embedded)) {
            why = embedded->why;
            result = -EPROTO;
            break;
        }
        pause_ms(STEP_MS);
    }
    redis_url_free(&url);
    if (result < 0)
        failure_set(failure, result, "redis-server does not serve: %s", why.text);
    return result;
}

static char *make_url(const char *directory)
{
    /* Characters that have another meaning in a URL. */
    static const char SPECIAL[] = "%?#";
    char *url =
        memory_checked(malloc(sizeof "unix:///" + strlen(directory) * 3 + sizeof SOCKET_NAME));
    char *at = stpcpy(url, "unix://");
    for (const char *from = directory; *from; from++) {
        if (strchr(SPECIAL, *from))
            at += sprintf(at, "%%%02X", (unsigned char)*from);
        else
            *at++ = *from;
    }
    *at++ = '/';
    strcpy(at, SOCKET_NAME);
    return url;
}

int embedded_start(struct embedded **ret, const char *state_dir, bool waits,
                   struct failure *failure)
{
    struct embedded *embedded = memory_checked(calloc(1, sizeof *embedded));
    embedded->lock = -1;
    embedded->batond = getpid();
    int result = find_server(embedded, failure);
    if (result == 0)
        result = open_directory(embedded, state_dir, failure);
    if (result == 0)
        result = lock_directory(embedded, waits, failure);
    embedded->url = result == 0 ? make_url(embedded->directory) : NULL;
    if (result == 0)
        result = spawn(embedded, failure);
    if (result == 0)
        result = await_answer(embedded, failure);
    if (result < 0) {
        embedded_stop(embedded);
        return result;
    }
    *ret = embedded;
    return 0;
}

int embedded_keep_starter(struct embedded *embedded, struct failure *failure)
{
    return starter_open(&embedded->starter, child_run, embedded, failure);
}

const char *embedded_url(const struct embedded *embedded)
{
    return embedded->url;
}

const char *embedded_closed(const struct embedded *embedded)
{
    return embedded->closed ? embedded->directory : NULL;
}

bool embedded_has_ended(struct embedded *embedded)
{
    int status;
    if (embedded->child == 0 || waitpid(embedded->child, &status, WNOHANG) != embedded->child)
        return false;
    embedded->child = 0;
    describe_end(embedded, status);
    lengthen_pause(embedded);
    return true;
}

const char *embedded_why(const struct embedded *embedded)
{
    return embedded->why.text;
}

int embedded_pause_ms(const struct embedded *embedded)
{
    return embedded->pause_ms;
}

int embedded_restart(struct embedded *embedded, struct failure *failure)
{
    if (embedded->child != 0)
        return failure_set(failure, -EALREADY, "redis-server is already running");
    return spawn(embedded, failure);
}

static void end_child(struct embedded *embedded)
{
    kill(embedded->child, SIGTERM);
    for (int waited = 0; waited < STOP_WAIT_MS; waited += STEP_MS) {
        if (embedded_has_ended(embedded))
            return;
        pause_ms(STEP_MS);
    }
    kill(embedded->child, SIGKILL);
    waitpid(embedded->child, NULL, 0);
    embedded->child = 0;
}

void embedded_stop(struct embedded *embedded)
{
    if (!embedded)
        return;
    starter_close(embedded->starter);
    if (embedded->child != 0)
        end_child(embedded);
    if (embedded->lock >= 0)
        close(embedded->lock);
    free(embedded->url);
    free(embedded);
}
