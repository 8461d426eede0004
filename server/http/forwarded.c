#include "server/http/forwarded.h"

#include "server/net/networks.h"

/* version "-" trace-id "-" parent-id "-" flags, all in lower case hexadecimal */
enum {
    VERSION = 0,
    VERSION_DIGITS = 2,
    TRACE = 3,
    PARENT = 36,
    PARENT_DIGITS = 16,
    FLAGS = 53,
    FLAGS_DIGITS = 2,
    TRACEPARENT_LENGTH = 55, /* of version 00; a later one may go on after another "-" */
};

static const struct part {
    size_t at, digits;
    const char *never; /* the value that is not allowed */
} PARTS[] = {
    {VERSION, VERSION_DIGITS, "ff"},
    {TRACE, EXCHANGE_TRACE_ID_LENGTH, "00000000000000000000000000000000"},
    {PARENT, PARENT_DIGITS, "0000000000000000"},
    {FLAGS, FLAGS_DIGITS, NULL},
};

static bool traceparent_part_is_valid(const struct part *part, const char *text)
{
    if (part->never && memcmp(text + part->at, part->never, part->digits) == 0)
        return false;
    for (size_t i = 0; i < part->digits; i++)
        if (!strchr("0123456789abcdef", text[part->at + i]))
            return false;
    return part->at == 0 || text[part->at - 1] == '-';
}

static bool traceparent_ends_well(const char *text, size_t length)
{
    if (length == TRACEPARENT_LENGTH)
        return true;
    return memcmp(text, "00", VERSION_DIGITS) != 0 && text[TRACEPARENT_LENGTH] == '-';
}

void forwarded_trace_id(const char *traceparent, char ret_id[EXCHANGE_TRACE_ID_LENGTH + 1])
{
    size_t length = strlen(traceparent);
    ret_id[0] = '\0';
    if (length < TRACEPARENT_LENGTH || !traceparent_ends_well(traceparent, length))
        return;
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++)
        if (!traceparent_part_is_valid(&PARTS[i], traceparent))
            return;
    memcpy(ret_id, traceparent + TRACE, EXCHANGE_TRACE_ID_LENGTH);
    ret_id[EXCHANGE_TRACE_ID_LENGTH] = '\0';
}

/* Cuts a port off 192.0.2.7:443 and [2001:db8::1]:443, and the brackets. Changes the text. Returns
 * NULL if what follows the address is not a port. */
static const char *forwarded_cut_port(char *text)
{
    char *end = strchr(text, text[0] == '[' ? ']' : ':');
    if (!end || (*end == ':' && strchr(end + 1, ':'))) /* the second is IPv6 without brackets */
        return text;
    const char *port = *end == ']' ? end + 1 : end;
    bool has_port = port[0] == ':' && port[1] && !port[1 + strspn(port + 1, "0123456789")];
    const char *address = *end == ']' ? text + 1 : text;
    if (*port && !has_port)
        return NULL;
    *end = '\0';
    return address;
}

void forwarded_client(const char *forwarded_for, char ret_address[INET6_ADDRSTRLEN])
{
    char text[INET6_ADDRSTRLEN + sizeof "[]:65535"];
    struct ip ip;
    const char *comma = strrchr(forwarded_for, ',');
    const char *last = comma ? comma + 1 : forwarded_for;
    last += strspn(last, " \t");
    size_t length = strcspn(last, " \t");
    ret_address[0] = '\0';
    if (length >= sizeof text || last[length + strspn(last + length, " \t")])
        return;
    memcpy(text, last, length);
    text[length] = '\0';
    const char *address = forwarded_cut_port(text);
    if (address && ip_read(address, &ip))
        ip_write(&ip, ret_address);
}
