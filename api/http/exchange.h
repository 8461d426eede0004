/* exchange.h: one HTTP request and its reply, as the API sees them, free of any HTTP library. */
#ifndef BATON_API_HTTP_EXCHANGE_H
#define BATON_API_HTTP_EXCHANGE_H

#include "api/http/dump.h"
#include "api/http/fields.h"
#include "api/principals/principal.h"
#include "locks/locks.h"

enum {
    /* 64 names of 255 bytes, all that is beyond ASCII escaped as JSON allows it. */
    EXCHANGE_BODY_LONGEST = 65536,
    EXCHANGE_FIELD_COST = 64, /* bytes that each header field takes beside its text, about */
    EXCHANGE_REQUEST_ID_LENGTH = 64,
    EXCHANGE_TRACE_ID_LENGTH = 32,
    EXCHANGE_HEADERS = 8,
    EXCHANGE_HEADER_TEXT = 1024,
    EXCHANGE_STREAM_LONGEST = 64 * 1024, /* bytes unsent before a client is taken for gone */
};

struct api;
struct ownership;
struct route;

struct header {
    const char *name;
    const char *value;
};

/* A hold that the answer tells of. */
struct grant {
    struct slice name;
    int64_t fence;
    struct attempt attempt; /* "" where there is none */
    bool is_new;            /* by this request; else the token had it already */
};

/* What goes back. `body` is either constant or owned by the exchange. */
struct reply {
    unsigned status; /* 0 until answered */
    const char *content_type;
    const char *body;
    size_t length;
    struct header headers[EXCHANGE_HEADERS];
    size_t header_count;
};

/* A reply that goes on: what was written and not yet sent, `length` bytes behind those that were
 * taken. There is memory for it only while there is something unsent. */
struct stream {
    bool is_stream; /* the reply is one */
    bool finished;  /* nothing more will be written */
    bool overflown; /* the client does not read: it is to be taken for gone */
    char *bytes;
    size_t taken;
    size_t length;
    size_t room;
};

/* Belongs to the server, which zeroes it, fills the first part, calls api_admit and, with the body,
 * api_handle, sends the reply and ends with exchange_clear. While an exchange is parked, it must
 * stay. */
struct exchange {
    const char *method;
    const char *target; /* as it stood in the request line */
    struct slice body;
    const char *content_type; /* header fields; NULL where absent */
    const char *content_encoding;
    const char *accept;
    const char *lock_token;
    const char *if_none_match;
    const char *last_event_id;
    const char *host;
    const char *origin;
    const char *fetch_site; /* Sec-Fetch-Site */
    const char *authorization;
    const char *certificate;  /* the common name of the client's certificate, which was verified */
    bool lock_token_repeated; /* there is another Lock-Token field */
    bool authorization_repeated; /* there is another Authorization field */
    bool is_from_script;         /* a page asks that deals with 401 itself: X-Requested-With */
    bool has_body;               /* one is announced */
    bool is_admin;               /* health and figures may be asked for, and nothing else */
    char request_id[EXCHANGE_REQUEST_ID_LENGTH + 1];
    char trace_id[EXCHANGE_TRACE_ID_LENGTH + 1]; /* of the trace that it is a part of, or "" */
    /* Called from the loop when a parked exchange has its reply. */
    void (*answered)(struct exchange *exchange);
    /* Whether the client is still connected, by a look at its socket. */
    bool (*is_connected)(struct exchange *exchange);
    /* A stream has more to send, or is complete. */
    void (*streamed)(struct exchange *exchange);

    struct reply reply;
    struct stream stream; /* in place of a body, where `is_stream` is set */

    /* Set by an operation that returns WAITING or answers with a stream, as long as there is
     * anything to let go of: the client has gone. The operation lets go of all that it waits for
     * and answers no more; the server ends the exchange. exchange_clear calls it where nobody has.
     */
    void (*hung_up)(struct exchange *exchange);
    /* May be set by an operation that answers with a stream: all that it wrote has been sent, so it
     * may look for more. Called from inside the HTTP library: it must not write yet. */
    void (*drained)(struct exchange *exchange);

    /* The API's own. */
    struct api *api;
    const struct route *route; /* NULL where none fits */
    /* Who asks: a reference of the exchange's own, so that it lasts however long the request waits
     * and whatever is read on SIGHUP. NULL while nobody has asked who it is, and for the routes
     * that are for everybody. */
    struct principal *principal;
    bool drops_body;        /* the operation takes none: what comes is to be counted, not kept */
    bool receives;          /* among those whose bodies are on their way, until limits_received */
    bool counted;           /* among those that wait, until limits_leave */
    struct slice name_sent; /* the segment of the path that stands for {name}; absent without */
    char name_bytes[NAME_LENGTH];
    struct slice name;
    struct parameters parameters;
    bool wants_text;           /* acquire: the bare token */
    bool wants_events;         /* watching: as text/event-stream */
    struct slice stored_token; /* what the locks know the token and the owner as: ownership.h */
    struct slice stored_owner;
    struct ownership *ownership;
    char made_token[TOKEN_SHORTEST + 1];
    char made_owner[TOKEN_SHORTEST + 1];
    struct grant grant;   /* what the answer tells of */
    struct grant *grants; /* the same where several names were acquired */
    size_t grant_count;
    int64_t queued_us; /* since when it waits, of the monotonic clock; 0: it does not */
    struct slice queued_name;
    uint64_t heard; /* when its turn had come, as of struct locks_reply */
    /* Of what happened, for whoever writes down how the request went. */
    struct {
        int64_t fence; /* 0: none */
        bool waited;
        int64_t waited_us;
    } noted;
    void *below;     /* what it waits for; hung_up knows what that is */
    int64_t keep_ms; /* for how long the place of an undelivered grant is kept */
    json_t *json;    /* the request's body, or a list while it is made */
    size_t skipped;  /* locks that the list leaves out because they cannot be read */
    char *decoded;   /* the query's values */
    char *meta;      /* as it was sent, without the space between */
    char *owned_body;
    char header_text[EXCHANGE_HEADER_TEXT];
    size_t header_text_length;
};

/* Adds a header field, its value written as printf does. */
void reply_header(struct exchange *exchange, const char *name, const char *value, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with a value as it is, which is copied. */
void reply_header_text(struct exchange *exchange, const char *name, struct slice value);

/* Each of these answers the exchange. The document and the owned body, which goes to free(3), are
 * taken over; the text is copied; the constant must last for ever. */
void reply_json(struct exchange *exchange, unsigned status, const char *content_type,
                json_t *document);
void reply_owned(struct exchange *exchange, unsigned status, const char *content_type, char *body);
void reply_text(struct exchange *exchange, unsigned status, const char *text);
void reply_constant(struct exchange *exchange, unsigned status, const char *content_type,
                    const char *body, size_t length);
void reply_nothing(struct exchange *exchange, unsigned status);

/* Answers with a stream: status and headers now, the body as it comes. exchange_resume sends it on
 * its way; what is written before that goes with it. */
void exchange_stream(struct exchange *exchange, unsigned status, const char *content_type);

/* Appends to the stream; the bytes are copied. From the loop only, and not after hung_up. */
void exchange_write(struct exchange *exchange, const char *bytes, size_t length);

/* For the server: moves at most so many bytes from the front of the stream into the buffer. Returns
 * how many. */
size_t exchange_take(struct exchange *exchange, char *buffer, size_t size);

/* For the server: the stream is empty, and its client has been sent all of it. */
void exchange_drained(struct exchange *exchange);

/* The stream ends when what was written has been sent. */
void exchange_finish(struct exchange *exchange);

/* Whether the client of an exchange is still there, as the locks ask it. */
bool exchange_is_connected(void *exchange);

#endif
