/* exchange.h: one HTTP request and its reply, as the API sees them, free of any HTTP library. */
#ifndef BATON_API_HTTP_EXCHANGE_H
#define BATON_API_HTTP_EXCHANGE_H

#include "api/http/dump.h"
#include "api/http/fields.h"
#include "api/principals/principal.h"
#include "locks/locks.h"

enum {
    /* Room for 64 names of 255 bytes, with every character beyond ASCII escaped. */
    EXCHANGE_BODY_LONGEST = 65536,
    EXCHANGE_DROPPED_BODY_KEPT = 16, /* bytes of a dropped body: `null` counts as none */
    EXCHANGE_FIELD_COST = 64, /* bytes of memory for each header field beside its text, roughly */
    EXCHANGE_REQUEST_ID_LENGTH = 64,
    EXCHANGE_TRACE_ID_LENGTH = 32,
    EXCHANGE_HEADERS = 8,
    EXCHANGE_HEADER_TEXT = 1024,
    EXCHANGE_STREAM_LONGEST = 64 * 1024, /* unsent bytes at which the client counts as gone */
};

struct api;
struct ownership;
struct route;

struct header {
    const char *name;
    const char *value;
};

/* A hold in the reply. */
struct grant {
    struct slice name;
    int64_t fence;
    struct attempt attempt; /* "" without one */
    bool is_new;            /* this request made it; else the token had it already */
};

/* The reply. `body` is constant, or the exchange owns it. */
struct reply {
    unsigned status; /* 0 until answered */
    const char *content_type;
    const char *body;
    size_t length;
    struct header headers[EXCHANGE_HEADERS];
    size_t header_count;
};

/* The unsent bytes of a streamed reply: `length` bytes, after the first `taken` ones. `bytes` is
 * allocated only while some are unsent. */
struct stream {
    bool is_stream; /* the reply is a stream */
    bool finished;  /* nothing more will be written */
    bool overflown; /* the client does not read: the server treats it as gone */
    char *bytes;
    size_t taken;
    size_t length;
    size_t room;
};

/* The head of the request, as the server read it. Texts live as long as the exchange; NULL if the
 * request does not have the field. */
struct request_head {
    const char *method;
    const char *target; /* as the request line has it */
    const char *content_type;
    const char *content_encoding;
    const char *accept;
    const char *lock_token;
    const char *if_none_match;
    const char *last_event_id;
    const char *host;
    const char *origin;
    const char *fetch_site; /* Sec-Fetch-Site */
    const char *authorization;
    const char *client;          /* its IP address, or the one that a trusted proxy names */
    const char *certificate;     /* the common name in the client's verified certificate */
    bool lock_token_repeated;    /* the request has more than one Lock-Token field */
    bool authorization_repeated; /* the request has more than one Authorization field */
    bool has_x_lock_token;       /* X-Lock-Token, which batond does not read */
    bool has_idempotency_key;    /* Idempotency-Key, which batond does not read */
    bool is_from_script;         /* X-Requested-With: a page's script handles 401 itself */
    bool has_body;               /* the head announces a body */
    bool is_admin;               /* came in at admin-listen, which serves health and metrics only */
    char request_id[EXCHANGE_REQUEST_ID_LENGTH + 1];
    char trace_id[EXCHANGE_TRACE_ID_LENGTH + 1]; /* "": no trace */
};

/* The token and the owner as the locks keep them: see ownership.h. */
struct exchange_holder {
    struct slice token;
    struct slice owner;
    struct ownership *ownership;
    char made_token[TOKEN_SHORTEST + 1];
};

/* The wait for a lock, if there is one. */
struct exchange_wait {
    int64_t queued_us; /* when the wait began, by the monotonic clock; 0: it does not wait */
    struct slice queued_name;
    uint64_t notified_at; /* when its turn came: struct locks_reply */
    int64_t keep_ms;      /* how long to keep the place of an undelivered grant */
    /* For the request's line in the log. */
    struct {
        int64_t fence; /* 0: none */
        bool waited;
        int64_t waited_us;
    } noted;
};

/* Memory that lives until exchange_clear. */
struct exchange_memory {
    json_t *json;  /* the request's body, or a list that is being built */
    char *decoded; /* the decoded values of the query */
    char *meta;    /* the client's text without the white space */
    char *owned_body;
    char header_text[EXCHANGE_HEADER_TEXT];
    size_t header_text_length;
};

/* The server owns an exchange. It zeroes it, fills the first part, calls api_admit and, with the
 * body, api_handle. Then it sends the reply and calls exchange_clear. A parked exchange must not
 * move. */
struct exchange {
    struct request_head head;
    struct slice body;
    /* Called from the loop when a parked exchange has its reply. */
    void (*answered)(struct exchange *exchange);
    /* Checks the client's socket: whether it is still connected. */
    bool (*is_connected)(struct exchange *exchange);
    /* Called when a stream has more to send, or is complete. */
    void (*streamed)(struct exchange *exchange);

    struct reply reply;
    struct stream stream; /* replaces the body if `is_stream` is set */

    /* An operation that returns WAITING or answers with a stream sets this while it has something
     * to release. The server calls it when the client has gone, and exchange_clear if it is still
     * set. The operation then releases all that it waits for and does not answer; the server ends
     * the exchange. */
    void (*hung_up)(struct exchange *exchange);
    /* An operation that answers with a stream may set this. Called when all that it wrote has been
     * sent, so that it can continue. The HTTP library is the caller, so do not write from here. */
    void (*drained)(struct exchange *exchange);

    /* The rest belongs to the API. */
    struct api *api;
    const struct route *route; /* NULL if no route fits */
    /* The caller. The exchange holds a reference, so that a SIGHUP does not free it while the
     * request waits. NULL before credentials_check, and for routes open to everybody. */
    struct principal *principal;
    bool drops_body; /* the operation takes no body: the server counts the bytes, and keeps them
                      * only up to EXCHANGE_DROPPED_BODY_KEPT; after more, `body.bytes` is NULL */
    bool receives;   /* counts among the bodies being received, until limits_received */
    bool counted;    /* counts among the waiting requests, until limits_leave */
    struct slice name_sent; /* the path's segment for {name}; absent if the route has none */
    char name_bytes[NAME_LENGTH];
    struct slice name;
    struct parameters parameters;
    bool wants_text;   /* the reply is one line for people; to acquire: the bare token */
    bool wants_events; /* watching: the reply is text/event-stream */
    struct exchange_holder holder;
    struct grant grant;   /* the hold in the reply */
    struct grant *grants; /* the same if several names were acquired */
    size_t grant_count;
    struct exchange_wait wait;
    void *below;    /* the operation's own state; hung_up knows its type */
    size_t skipped; /* damaged locks, which the list leaves out */
    struct exchange_memory kept;
};

/* Adds a header field, its value written as printf does. */
void reply_header(struct exchange *exchange, const char *name, const char *value, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with a value as it is, which is copied. */
void reply_header_text(struct exchange *exchange, const char *name, struct slice value);

/* Each of these answers the exchange. They take over the document, the body and the text (for
 * free(3)). The constant body must stay valid for ever. */
void reply_json(struct exchange *exchange, unsigned status, const char *content_type,
                json_t *document);
void reply_owned(struct exchange *exchange, unsigned status, const char *content_type, char *body);
void reply_text(struct exchange *exchange, unsigned status, char *text);
void reply_constant(struct exchange *exchange, unsigned status, const char *content_type,
                    const char *body, size_t length);
void reply_nothing(struct exchange *exchange, unsigned status);

/* Answers with a stream: status and headers now, the body as it comes. exchange_resume starts
 * sending, with what was written until then. */
void exchange_stream(struct exchange *exchange, unsigned status, const char *content_type);

/* Appends to the stream and copies the bytes. Call it from the loop only, and not after hung_up. */
void exchange_write(struct exchange *exchange, const char *bytes, size_t length);

/* For the server: moves up to `size` bytes from the front of the stream into the buffer. Returns
 * how many. */
size_t exchange_take(struct exchange *exchange, char *buffer, size_t size);

/* For the server: call this when everything written so far has been sent. Calls `drained`. */
void exchange_drained(struct exchange *exchange);

/* The stream ends when what was written has been sent. */
void exchange_finish(struct exchange *exchange);

/* Whether the client is still connected, in the form of struct acquirer's callback. */
bool exchange_is_connected(void *exchange);

#endif
