/* record.h: what is known of one request; for server/http/request.c, which takes it through its
 * steps, and server/http/sending.c, which sends its reply. */
#ifndef BATON_SERVER_HTTP_RECORD_H
#define BATON_SERVER_HTTP_RECORD_H

#include "server/http/request.h"

#include <netinet/in.h>

/* Made with the request line, freed when libmicrohttpd has done with it. */
struct record {
    struct exchange exchange; /* the first member: the API hands this back */
    struct daemon_context *daemon;
    struct MHD_Connection *connection;
    struct client *client;
    struct disconnect_watch watch;
    bool begun;
    bool too_large;
    bool refused; /* the connection is not to be trusted any further, or a body is not read */
    bool unheard; /* the library has refused it before its handler was called */
    bool written; /* the reply, in whatever way libmicrohttpd ends the request */
    bool suspended;
    bool waiting; /* suspended for long: counted as such */
    bool waited;
    bool streaming; /* the head of a stream is on its way, and what follows is read when written */
    bool gone;      /* the client has hung up, and the API knows */
    uint64_t complete; /* when the request was, by uv_hrtime; 0: it was refused before */
    char *body;
    size_t received;                      /* of the body, kept or not */
    size_t sent;                          /* of a stream */
    char forwarded_for[INET6_ADDRSTRLEN]; /* "" unless a trusted proxy says so */
    char target[];
};

static inline struct request_context *context_of(const struct record *record)
{
    return record->daemon->shared;
}

/* From inside libmicrohttpd's callbacks alone. Who is suspended waits by right. */
void request_suspend(struct record *record);

/* The client is watched: where it hangs up, the API is told and the connection ends. */
void request_watch(struct record *record);

#endif
