/* disconnect_watch.h: tells when a client goes whose request waits, since libmicrohttpd does not
 * look at a suspended connection. */
#ifndef BATON_SERVER_HTTP_DISCONNECT_WATCH_H
#define BATON_SERVER_HTTP_DISCONNECT_WATCH_H

#include <gnutls/gnutls.h>
#include <stdbool.h>
#include <sys/queue.h>
#include <uv.h>

/* The sockets that a worker watches; used on its thread alone. One descriptor of epoll holds them
 * all, so that a waiting request costs two system calls and no handle of the loop. */
struct disconnect_watches;

/* One socket, to be embedded in the record of its request; zeroed before the first use. It must not
 * be freed while it is watched, nor from inside `gone` or any other callback of the loop's polling:
 * what has happened to it may have been read already. */
struct disconnect_watch {
    int fd;
    bool known; /* epoll has it */
    bool watched;
    gnutls_session_t session; /* NULL: what comes is not encrypted */
    /* The other side has closed its end, or the connection has broken. It is not watched any more
     * by then. Called from the loop, never from inside disconnect_watch_start. */
    void (*gone)(struct disconnect_watch *watch);
    LIST_ENTRY(disconnect_watch) others;
};

/* Returns 0 or a negative errno. */
int disconnect_watches_open(struct disconnect_watches **ret, uv_loop_t *loop);

/* Nothing may be watched any more. Calls `closed` from the loop, by which time it is freed. */
void disconnect_watches_close(struct disconnect_watches *watches, void (*closed)(void *context),
                              void *context);

/* From now on, until disconnect_watch_stop. Tells of a hang-up that was before, too. A client of
 * TLS has also gone when it has said goodbye. */
void disconnect_watch_start(struct disconnect_watches *watches, struct disconnect_watch *watch,
                            int fd, gnutls_session_t session,
                            void (*gone)(struct disconnect_watch *watch));

/* Watched no longer; the system call that disconnect_watch_stop makes is put off until then, which
 * has to come while the socket is still open. */
void disconnect_watch_pause(struct disconnect_watch *watch);

/* To be called while the socket is still open. Does nothing where it was not watched. */
void disconnect_watch_stop(struct disconnect_watches *watches, struct disconnect_watch *watch);

/* Tells `gone` to all that are watched, whether or not their clients are there. From a callback of
 * the loop. */
void disconnect_watches_report_all(struct disconnect_watches *watches);

/* Whether the other side has closed its end or said goodbye, by a look at the socket now. */
bool has_disconnected(int fd, gnutls_session_t session);

#endif
