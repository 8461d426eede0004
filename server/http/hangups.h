/* hangups.h: tells when a client goes whose request waits, since libmicrohttpd does not look at a
 * suspended connection. */
#ifndef BATON_SERVER_HTTP_HANGUPS_H
#define BATON_SERVER_HTTP_HANGUPS_H

#include <gnutls/gnutls.h>
#include <stdbool.h>
#include <sys/queue.h>
#include <uv.h>

/* The sockets that a worker watches; used on its thread alone. One descriptor of epoll holds them
 * all, so that a waiting request costs two system calls and no handle of the loop. */
struct hangups;

/* One socket, to be embedded in the record of its request; zeroed before the first use. It must not
 * be freed while it is watched, nor from inside `gone` or any other callback of the loop's polling:
 * what has happened to it may have been read already. */
struct hangup {
    int fd;
    bool known; /* epoll has it */
    bool watched;
    gnutls_session_t session; /* NULL: what comes is not encrypted */
    /* The other side has closed its end, or the connection has broken. It is not watched any more
     * by then. Called from the loop, never from inside hangups_watch. */
    void (*gone)(struct hangup *hangup);
    LIST_ENTRY(hangup) others;
};

/* Returns 0 or a negative errno. */
int hangups_open(struct hangups **ret, uv_loop_t *loop);

/* Nothing may be watched any more. Calls `closed` from the loop, by which time it is freed. */
void hangups_close(struct hangups *hangups, void (*closed)(void *context), void *context);

/* From now on, until hangups_forget. Tells of a hang-up that was before, too. A client of TLS has
 * also gone when it has said goodbye. */
void hangups_watch(struct hangups *hangups, struct hangup *hangup, int fd, gnutls_session_t session,
                   void (*gone)(struct hangup *hangup));

/* Watched no longer; the system call that hangups_forget makes is put off until then, which has to
 * come while the socket is still open. */
void hangups_ignore(struct hangup *hangup);

/* To be called while the socket is still open. Does nothing where it was not watched. */
void hangups_forget(struct hangups *hangups, struct hangup *hangup);

/* Tells `gone` to all that are watched, whether or not their clients are there. From a callback of
 * the loop. */
void hangups_tell_all(struct hangups *hangups);

/* Whether the other side has closed its end or said goodbye, by a look at the socket now. */
bool hangups_has_gone(int fd, gnutls_session_t session);

#endif
