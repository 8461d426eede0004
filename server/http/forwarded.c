#include "server/http/forwarded.h"

#include <arpa/inet.h>

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

void forwarded_client(const char *forwarded_for, char ret_address[INET6_ADDRSTRLEN])
{
    const char *comma = strrchr(forwarded_for, ',');
    const char *last = comma ? comma + 1 : forwarded_for;
    unsigned char address[sizeof(struct in6_addr)];
    last += strspn(last, " \t");
    size_t length = strcspn(last, " \t");
    ret_address[0] = '\0';
    if (length >= INET6_ADDRSTRLEN || last[length + strspn(last + length, " \t")])
        return;
    memcpy(ret_address, last, length);
    ret_address[length] = '\0';
    if (inet_pton(AF_INET, ret_address, address) != 1 &&
        inet_pton(AF_INET6, ret_address, address) != 1)
        ret_address[0] = '\0';
}
