#include "server/http/request_head.h"

#include "server/http/head_check.h"

enum { BREAK = 2 }; /* the length of CR LF */

/* libmicrohttpd 0.9 takes much for the end of a name or a line that is none: a bare LF, a NUL in
 * the midst, a line that is folded. What it hands over then has gaps that cannot be seen in the
 * texts, but they all lie in the buffer in which the request came, its delimiters overwritten: each
 * has to begin where the one before ends. Version 1.0 refuses such requests itself, and lays out
 * its buffer in another way. */
struct seams {
    bool are_known;
    bool are_open;    /* there is a gap */
    const char *next; /* where the next one begins */
};

struct walk {
    struct head_check check;
    struct seams seams;
};

static bool is_0_9(void)
{
    return MHD_get_version()[0] == '0';
}

/* Version 1.0 is as strict as we are where it is asked to. Version 0.9 is not, and where it refuses
 * something, the client gets no reply or two heads of one: head_check does that better.
 */
int request_head_strictness(void)
{
    return is_0_9() ? 0 : 1;
}

static void follow(struct seams *seams, const char *begin, const char *end, size_t delimiter)
{
    seams->are_open |= begin != seams->next;
    seams->next = end + delimiter;
}

static enum MHD_Result request_head_on_field(void *context, enum MHD_ValueKind kind,
                                             const char *name, size_t name_length,
                                             const char *value, size_t value_length)
{
    struct walk *walk = context;
    (void)kind;
    head_check_field(&walk->check, (struct slice){name, name_length},
                     (struct slice){value, value_length});
    follow(&walk->seams, name, value + value_length, BREAK);
    return MHD_YES;
}

size_t request_head_length(struct MHD_Connection *connection)
{
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE)
        ->header_size;
}

const char *request_head_refusal(struct MHD_Connection *connection, const char *target,
                                 const char *url, const char *method, const char *version)
{
    struct walk walk = {.seams = {.are_known = is_0_9(), .next = method}};
    head_check_begin(&walk.check, slice_of(method), slice_of(target), slice_of(version));
    follow(&walk.seams, method, method + strlen(method), 1);
    follow(&walk.seams, url, url + strlen(target), 1);
    follow(&walk.seams, version, version + strlen(version), BREAK);
    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, request_head_on_field, &walk);
    follow(&walk.seams, walk.seams.next, walk.seams.next, BREAK);
    bool has_gap =
        walk.seams.are_open || walk.seams.next != method + request_head_length(connection);
    if (!head_check_passes(&walk.check))
        return walk.check.refusal;
    if (walk.seams.are_known && has_gap)
        return "the request line or a header field has a NUL, a line of it is folded or ends with "
               "LF alone: expected lines that end with CR LF";
    return NULL;
}
