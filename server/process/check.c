#include "server/process/check.h"

#include "api/access/tokens_file.h"
#include "base/monotonic.h"
#include "base/slice.h"
#include "server/http/https.h"
#include "server/net/listener.h"
#include "server/process/prepare.h"

#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { REPLY_LONGEST = 4096 };

/* One question to a batond. */
struct call {
    struct listener place;
    int fd;
    gnutls_session_t tls; /* NULL: plain HTTP */
    gnutls_certificate_credentials_t credentials;
    int64_t until; /* by now_ms */
    char reply[REPLY_LONGEST];
    size_t length;
};

/* What is done next with the socket ends in time. Returns false where there is none left. */
static bool bound(const struct call *call)
{
    int64_t left = call->until - monotonic_ms();
    if (left <= 0)
        return false;
    struct timeval most = {.tv_sec = left / 1000, .tv_usec = left % 1000 * 1000};
    setsockopt(call->fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    setsockopt(call->fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
    return true;
}

static int no_answer(const struct call *call, const char *reason, struct failure *failure)
{
    return failure_set(failure, -EAGAIN, "not ready: %s does not answer: %s", call->place.endpoint,
                       reason);
}

/* "Any address" is one to listen on, and none to connect to. Returns the port, 0 for any. */
static in_port_t prefer_loopback(struct sockaddr_storage *address)
{
    struct sockaddr_in *four = (struct sockaddr_in *)address;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)address;
    if (address->ss_family == AF_INET && four->sin_addr.s_addr == htonl(INADDR_ANY))
        four->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (address->ss_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr))
        six->sin6_addr = in6addr_loopback;
    return address->ss_family == AF_INET6 ? six->sin6_port : four->sin_port;
}

static int reach(struct call *call, struct failure *failure)
{
    const struct listener *place = &call->place;
    call->fd = socket(place->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (call->fd < 0 || !bound(call) ||
        connect(call->fd, (const struct sockaddr *)&place->address, place->length) < 0)
        return no_answer(call, errno == EINPROGRESS ? "it takes too long" : strerror(errno),
                         failure);
    return 0;
}

static int shake_hands(struct call *call, struct failure *failure)
{
    int result = gnutls_certificate_allocate_credentials(&call->credentials);
    if (result == 0)
        result = gnutls_init(&call->tls, GNUTLS_CLIENT | GNUTLS_NO_SIGNAL);
    if (result == 0)
        result = gnutls_set_default_priority(call->tls);
    if (result == 0)
        result = gnutls_credentials_set(call->tls, GNUTLS_CRD_CERTIFICATE, call->credentials);
    if (result == 0) {
        gnutls_transport_set_int(call->tls, call->fd);
        gnutls_handshake_set_timeout(call->tls, CHECK_MS);
        do
            result = gnutls_handshake(call->tls);
        while (result < 0 && !gnutls_error_is_fatal(result) && bound(call));
    }
    return result < 0 ? no_answer(call, gnutls_strerror(result), failure) : 0;
}

static ssize_t exchange_some(struct call *call, const char *request, size_t size)
{
    char *place = call->reply + call->length;
    if (request)
        return call->tls ? gnutls_record_send(call->tls, request, size)
                         : send(call->fd, request, size, MSG_NOSIGNAL);
    return call->tls ? gnutls_record_recv(call->tls, place, size) : read(call->fd, place, size);
}

static int check_ask(struct call *call, struct failure *failure)
{
    static const char REQUEST[] = "GET /readyz HTTP/1.1\r\nHost: localhost\r\n"
                                  "User-Agent: batond-check\r\n"
                                  "Connection: close\r\n\r\n";
    if (!bound(call) || exchange_some(call, REQUEST, sizeof REQUEST - 1) < 0)
        return no_answer(call, "it hangs up", failure);
    while (call->length < REPLY_LONGEST - 1 && bound(call)) {
        ssize_t count = exchange_some(call, NULL, REPLY_LONGEST - 1 - call->length);
        if (count <= 0)
            break; /* the end, or it takes too long: what has come tells */
        call->length += (size_t)count;
    }
    call->reply[call->length] = '\0';
    return 0;
}

/* What follows `key` in the JSON of a problem, up to its quote: it is ours, and has none inside. */
static struct slice member(const char *reply, const char *key)
{
    const char *found = strstr(reply, key);
    const char *text = found ? found + strlen(key) : "";
    return (struct slice){text, strcspn(text, "\"")};
}

static const char *silence(const struct call *call)
{
    if (call->length > 0)
        return "what it says is not HTTP";
    return monotonic_ms() < call->until ? "it hangs up" : "it takes too long";
}

static int judge(const struct call *call, struct failure *failure)
{
    static const char READY[] = "HTTP/1.1 200 ", ANY[] = "HTTP/1.1 ";
    if (strncmp(call->reply, READY, strlen(READY)) == 0)
        return 0;
    if (strncmp(call->reply, ANY, strlen(ANY)) != 0)
        return no_answer(call, silence(call), failure);
    struct slice code = member(call->reply, "\"code\":\"");
    struct slice detail = member(call->reply, "\"detail\":\"");
    return failure_set(failure, -EAGAIN, "not ready: %.*s %.*s: %.*s", 3, call->reply + strlen(ANY),
                       (int)code.length, code.bytes, (int)detail.length, detail.bytes);
}

static void check_end(struct call *call)
{
    if (call->tls)
        gnutls_deinit(call->tls);
    if (call->credentials)
        gnutls_certificate_free_credentials(call->credentials);
    if (call->fd >= 0)
        close(call->fd);
}

/* It would stop a start, and whoever asks before a restart wants to know. */
static int check_redis_url(const struct settings *settings, struct failure *failure)
{
    struct redis_url url;
    int result = prepare_redis_url(settings, &url, failure);
    redis_url_free(&url);
    return result;
}

/* Likewise: one that runs goes on with the files as it has read them. */
static int check_tokens_file(const struct settings *settings, struct failure *failure)
{
    const struct tokens_file_options options = {.path = settings->tokens_file,
                                                .certificates = settings->tls_client_ca != NULL};
    struct principals *principals = NULL;
    if (!settings->tokens_file)
        return 0;
    int result = tokens_file_read(&options, &principals, failure);
    principals_drop(principals);
    return result;
}

static int check_https(const struct settings *settings, struct failure *failure)
{
    const struct https_files files = {.certificate = settings->tls_cert,
                                      .key = settings->tls_key,
                                      .client_ca = settings->tls_client_ca};
    struct https *https = NULL;
    if (!settings->tls_cert)
        return 0;
    int result = https_read(&https, &files, failure);
    https_drop(https);
    return result;
}

/* Where others cannot take the places, if there is such a listener. */
static int check_read_place(struct listener *ret, const struct settings *settings,
                            struct failure *failure)
{
    int result = listener_read(ret, "listen", settings->listen, failure);
    if (result == 0 && settings->admin_listen)
        result = listener_read(ret, "admin-listen", settings->admin_listen, failure);
    return result;
}

int check_readiness(const struct settings *settings, struct failure *failure)
{
    struct call call = {.fd = -1, .until = monotonic_ms() + CHECK_MS};
    int result = check_redis_url(settings, failure);
    if (result == 0)
        result = check_tokens_file(settings, failure);
    if (result == 0)
        result = check_https(settings, failure);
    if (result == 0)
        result = check_read_place(&call.place, settings, failure);
    if (result < 0)
        return result;
    if (prefer_loopback(&call.place.address) == 0)
        return failure_set(failure, -EINVAL, "--check: --%s says any port: say which",
                           call.place.setting);
    result = reach(&call, failure);
    if (result == 0 && settings->tls_cert)
        result = shake_hands(&call, failure);
    if (result == 0)
        result = check_ask(&call, failure);
    if (result == 0)
        result = judge(&call, failure);
    check_end(&call);
    return result;
}
