#include "server/process/check.h"

#include "base/monotonic.h"
#include "base/slice.h"
#include "redis/store.h"
#include "server/process/prepare.h"

#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { REPLY_LONGEST = 4096, CHECK_MORE_MS = 2200 };

/* One request to a batond. */
struct probe {
    struct listener listener;
    int fd;
    gnutls_session_t tls; /* NULL: plain HTTP */
    gnutls_certificate_credentials_t credentials;
    int64_t until; /* by monotonic_ms */
    char reply[REPLY_LONGEST];
    size_t length;
};

/* Longer than batond takes to notice a silent Redis. */
static int check_ms(const struct process *process)
{
    return (int)process->settings.redis_timeout_ms + CHECK_MORE_MS;
}

/* Limits the next use of the socket to the time that is left. Returns false if no time is left. */
static bool check_limit_time(const struct probe *probe)
{
    int64_t left = probe->until - monotonic_ms();
    if (left <= 0)
        return false;
    struct timeval most = {.tv_sec = left / 1000, .tv_usec = left % 1000 * 1000};
    setsockopt(probe->fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    setsockopt(probe->fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
    return true;
}

static int check_no_answer(const struct probe *probe, const char *reason, struct failure *failure)
{
    return failure_set(failure, -EAGAIN, "not ready: %s does not answer: %s",
                       probe->listener.endpoint, reason);
}

/* Replaces "any address" by loopback: a client cannot connect to it. Returns the port; 0: any. */
static in_port_t check_prefer_loopback(struct sockaddr_storage *address)
{
    struct sockaddr_in *four = (struct sockaddr_in *)address;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)address;
    if (address->ss_family == AF_INET && four->sin_addr.s_addr == htonl(INADDR_ANY))
        four->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (address->ss_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr))
        six->sin6_addr = in6addr_loopback;
    return address->ss_family == AF_INET6 ? six->sin6_port : four->sin_port;
}

static int check_connect(struct probe *probe, struct failure *failure)
{
    const struct listener *listener = &probe->listener;
    probe->fd = socket(listener->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (probe->fd < 0 || !check_limit_time(probe) ||
        connect(probe->fd, (const struct sockaddr *)&listener->address, listener->length) < 0)
        return check_no_answer(probe, errno == EINPROGRESS ? "it takes too long" : strerror(errno),
                               failure);
    return 0;
}

static int check_shake_hands(struct probe *probe, struct failure *failure)
{
    int result = gnutls_certificate_allocate_credentials(&probe->credentials);
    if (result == 0)
        result = gnutls_init(&probe->tls, GNUTLS_CLIENT | GNUTLS_NO_SIGNAL);
    if (result == 0)
        result = gnutls_set_default_priority(probe->tls);
    if (result == 0)
        result = gnutls_credentials_set(probe->tls, GNUTLS_CRD_CERTIFICATE, probe->credentials);
    if (result == 0) {
        gnutls_transport_set_int(probe->tls, probe->fd);
        int64_t left = probe->until - monotonic_ms();
        gnutls_handshake_set_timeout(probe->tls, left > 0 ? (unsigned)left : 1);
        do
            result = gnutls_handshake(probe->tls);
        while (result < 0 && !gnutls_error_is_fatal(result) && check_limit_time(probe));
    }
    return result < 0 ? check_no_answer(probe, gnutls_strerror(result), failure) : 0;
}

static ssize_t check_transfer(struct probe *probe, const char *request, size_t size)
{
    char *place = probe->reply + probe->length;
    if (request)
        return probe->tls ? gnutls_record_send(probe->tls, request, size)
                          : send(probe->fd, request, size, MSG_NOSIGNAL);
    return probe->tls ? gnutls_record_recv(probe->tls, place, size) : read(probe->fd, place, size);
}

static int check_ask(struct probe *probe, struct failure *failure)
{
    static const char REQUEST[] = "GET /readyz HTTP/1.1\r\nHost: localhost\r\n"
                                  "User-Agent: batond-check\r\n"
                                  "Connection: close\r\n\r\n";
    if (!check_limit_time(probe) || check_transfer(probe, REQUEST, sizeof REQUEST - 1) < 0)
        return check_no_answer(probe, "it closes the connection", failure);
    while (probe->length < REPLY_LONGEST - 1 && check_limit_time(probe)) {
        ssize_t count = check_transfer(probe, NULL, REPLY_LONGEST - 1 - probe->length);
        if (count <= 0)
            break; /* the end, or a timeout: the reply so far shows which */
        probe->length += (size_t)count;
    }
    probe->reply[probe->length] = '\0';
    return 0;
}

/* The text after `key` in the JSON of a problem, up to the next quote: our texts have no quotes. */
static struct slice check_find_text(const char *reply, const char *key)
{
    const char *found = strstr(reply, key);
    const char *text = found ? found + strlen(key) : "";
    return (struct slice){text, strcspn(text, "\"")};
}

static const char *check_silence(const struct probe *probe)
{
    if (probe->length > 0)
        return "its answer is not HTTP";
    return monotonic_ms() < probe->until ? "it closes the connection" : "it takes too long";
}

static int check_judge(const struct probe *probe, struct failure *failure)
{
    static const char READY[] = "HTTP/1.1 200 ", ANY[] = "HTTP/1.1 ";
    if (strncmp(probe->reply, READY, strlen(READY)) == 0)
        return 0;
    if (strncmp(probe->reply, ANY, strlen(ANY)) != 0)
        return check_no_answer(probe, check_silence(probe), failure);
    struct slice code = check_find_text(probe->reply, "\"code\":\"");
    struct slice detail = check_find_text(probe->reply, "\"detail\":\"");
    return failure_set(failure, -EAGAIN, "not ready: %.*s %.*s: %.*s", 3,
                       probe->reply + strlen(ANY), (int)code.length, code.bytes, (int)detail.length,
                       detail.bytes);
}

static void check_end(struct probe *probe)
{
    if (probe->tls)
        gnutls_deinit(probe->tls);
    if (probe->credentials)
        gnutls_certificate_free_credentials(probe->credentials);
    if (probe->fd >= 0)
        close(probe->fd);
}

/* Prefers admin-listen, because lock requests cannot use up its connections. */
static int check_readiness(const struct process *process, struct failure *failure)
{
    const struct settings *settings = &process->settings;
    struct probe probe = {.listener = settings->admin_listen ? process->admin : process->listener,
                          .fd = -1,
                          .until = monotonic_ms() + check_ms(process)};
    if (check_prefer_loopback(&probe.listener.address) == 0)
        return failure_set(failure, -EINVAL,
                           "--check: --%s has port 0, which stands for any port. Name the port "
                           "that batond listens on.",
                           probe.listener.setting);
    int result = check_connect(&probe, failure);
    if (result == 0 && settings->tls_cert)
        result = check_shake_hands(&probe, failure);
    if (result == 0)
        result = check_ask(&probe, failure);
    if (result == 0)
        result = check_judge(&probe, failure);
    check_end(&probe);
    return result;
}

/* What Redis says against `redis-keeps`. The batond that is asked has logged it as well. */
static void check_redis_keeps_all(const struct process *process)
{
    struct failure warning = {0};
    if (process->redis_url.keeps_all &&
        store_preflight(&process->redis_url, check_ms(process), &warning) == 0 && warning.text[0])
        fprintf(stderr, "warning: %s\n", warning.text);
}

int check_run(struct process *process, struct failure *failure)
{
    bool asks = process->settings.check == CHECK_READY;
    int result = prepare_read(process, failure);
    if (result == 0 && asks)
        result = check_readiness(process, failure);
    if (result == 0 && asks)
        check_redis_keeps_all(process);
    if (result == 0)
        puts(asks ? "ready" : "the settings are fine");
    return result;
}
