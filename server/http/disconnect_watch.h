/* disconnect_watch.h: detects that the client of a suspended connection has disconnected, which
 * libmicrohttpd does not. */
#ifndef BATON_SERVER_HTTP_DISCONNECT_WATCH_H
#define BATON_SERVER_HTTP_DISCONNECT_WATCH_H

#include <gnutls/gnutls.h>
#include <stdbool.h>
#include <sys/queue.h>
#include <uv.h>

/* The sockets that a worker watches, on its thread alone. All are in one epoll descriptor, so a
 * waiting request costs two system calls and no handle of the loop. */
struct disconnect_watches;

/* One socket. Embed it, zeroed. Do not free it while it is watched, nor from inside `gone` or
 * another polling callback of the loop: its event may have been read already. */
struct disconnect_watch {
    int fd;
    bool known; /* epoll has it */
    bool watched;
    gnutls_session_t session; /* NULL: no TLS */
    /* The other side has closed its end, or the connection is broken. The watch has stopped by
     * then. Called from the loop, never from inside disconnect_watch_start. */
    void (*gone)(struct disconnect_watch *watch);
    LIST_ENTRY(disconnect_watch) others;
};

/* Returns 0 or a negative errno. */
int disconnect_watches_open(struct disconnect_watches **ret, uv_loop_t *loop);

/* Stop every watch first. Calls `closed` from the loop, after freeing the record. */
void disconnect_watches_close(struct disconnect_watches *watches, void (*closed)(void *context),
                              void *context);

/* Watches until disconnect_watch_stop. Also reports an earlier disconnect. A TLS client also counts
 * as disconnected once it has sent close_notify. */
void disconnect_watch_start(struct disconnect_watches *watches, struct disconnect_watch *watch,
                            int fd, gnutls_session_t session,
                            void (*gone)(struct disconnect_watch *watch));

/* Stops reporting without a system call. Call disconnect_watch_stop while the socket is still
 * open. */
void disconnect_watch_pause(struct disconnect_watch *watch);

/* Call this while the socket is still open. Does nothing if the socket was not watched. */
void disconnect_watch_stop(struct disconnect_watches *watches, struct disconnect_watch *watch);

/* Calls `gone` for every watch, even if the client is still connected. Call this from the loop. */
void disconnect_watches_report_all(struct disconnect_watches *watches);

/* Checks the socket now: has the other side closed its end or sent close_notify? */
bool has_disconnected(int fd, gnutls_session_t session);

#endif
