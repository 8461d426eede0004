/* The least that an HTTP server on libmicrohttpd and libuv does for a request that waits for
 * something: it reads it, suspends it, resumes it from the loop and sends a fixed text. Prints the
 * port on which it listens. In Baton's own way: epoll, one daemon, one thread, no timeouts. */
#include <arpa/inet.h>
#include <err.h>
#include <microhttpd.h>
#include <stdio.h>
#include <uv.h>

enum { CONNECTIONS = 1000, CONNECTION_MEMORY = 8 * 1024 };

#if MHD_VERSION >= 0x00097707
enum { ONE_THREAD = MHD_USE_NO_THREAD_SAFETY };
#else
enum { ONE_THREAD = 0 };
#endif

/* As long as what Baton answers to an acquire, with as many fields in the head. */
static const char BODY[] =
    "{\"name\":\"1764183030000001\",\"token\":\"0123456789012345678901\",\"mode\":\"exclusive\","
    "\"fence\":1764183030000001,\"ttl_ms\":60000,\"remaining_ms\":60000,\"holds\":1,"
    "\"acquired_at\":\"2026-11-26T18:50:30.000Z\",\"expires_at\":\"2026-11-26T18:51:30.000Z\"}\n";

struct server {
    struct MHD_Daemon *daemon;
    struct MHD_Connection *suspended[CONNECTIONS];
    size_t suspended_count;
    uv_poll_t events;
};

static enum MHD_Result reply(struct MHD_Connection *connection)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(
        sizeof BODY - 1, (void *)(uintptr_t)BODY, MHD_RESPMEM_PERSISTENT);
    MHD_add_response_header(response, "Location", "/locks/1764183030000001");
    MHD_add_response_header(response, "ETag", "\"1764183030000001\"");
    MHD_add_response_header(response, "Content-Type", "application/json");
    MHD_add_response_header(response, "X-Request-Id", "0123456789012345");
    enum MHD_Result queued = MHD_queue_response(connection, MHD_HTTP_CREATED, response);
    MHD_destroy_response(response);
    return queued;
}

/* Called when the head is there, when the request is complete, and after the resume. */
static enum MHD_Result step(void *context, struct MHD_Connection *connection, const char *url,
                            const char *method, const char *version, const char *upload,
                            size_t *upload_length, void **state)
{
    static char steps[] = {0, 1};
    struct server *server = context;
    (void)url, (void)method, (void)version, (void)upload;
    *upload_length = 0;
    if (!*state) {
        *state = &steps[0];
        return MHD_YES;
    }
    if (*state == &steps[1])
        return reply(connection);
    *state = &steps[1];
    server->suspended[server->suspended_count++] = connection;
    MHD_suspend_connection(connection);
    return MHD_YES;
}

/* Resumes what it has suspended, and goes on while the daemon has more to do. */
static void run(uv_poll_t *events, int status, int what)
{
    struct server *server = events->data;
    unsigned long long timeout;
    size_t resumed;
    (void)status, (void)what;
    do {
        MHD_run(server->daemon);
        for (resumed = 0; resumed < server->suspended_count; resumed++)
            MHD_resume_connection(server->suspended[resumed]);
        server->suspended_count = 0;
    } while (resumed > 0 || MHD_get_timeout(server->daemon, &timeout) == MHD_YES);
}

int main(void)
{
    static struct server server;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    server.daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | ONE_THREAD, 0, NULL, NULL, step, &server,
        MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY, MHD_OPTION_END);
    if (!server.daemon)
        errx(1, "libmicrohttpd does not start");
    printf("%d\n", MHD_get_daemon_info(server.daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
    fflush(stdout);
    uv_poll_init(uv_default_loop(), &server.events,
                 MHD_get_daemon_info(server.daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd);
    server.events.data = &server;
    uv_poll_start(&server.events, UV_READABLE, run);
    return uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}
