#include "redis/cluster/slots.h"

#include "redis/address/url.h"
#include "redis/wire/errors.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_PORT = 65535 };

/* CRC-16/XMODEM, four bits at a time: a table of 32 bytes instead of 512. */
static uint16_t crc16(struct slice text)
{
    static const uint16_t TABLE[] = {0x0000, 0x1021, 0x2042, 0x3063, 0x4084, 0x50a5,
                                     0x60c6, 0x70e7, 0x8108, 0x9129, 0xa14a, 0xb16b,
                                     0xc18c, 0xd1ad, 0xe1ce, 0xf1ef};
    uint16_t crc = 0;
    for (size_t i = 0; i < text.length; i++) {
        uint8_t byte = (uint8_t)text.bytes[i];
        crc = (uint16_t)(crc << 4) ^ TABLE[(crc >> 12) ^ (byte >> 4)];
        crc = (uint16_t)(crc << 4) ^ TABLE[(crc >> 12) ^ (byte & 15)];
    }
    return crc;
}

static struct slice hashed_part(struct slice key)
{
    const char *open = key.length > 0 ? memchr(key.bytes, '{', key.length) : NULL;
    if (!open)
        return key;
    struct slice rest = {open + 1, key.length - (size_t)(open + 1 - key.bytes)};
    const char *close = rest.length > 0 ? memchr(rest.bytes, '}', rest.length) : NULL;
    if (!close || close == rest.bytes)
        return key;
    return (struct slice){rest.bytes, (size_t)(close - rest.bytes)};
}

unsigned slot_of(struct slice key)
{
    return crc16(hashed_part(key)) % SLOT_COUNT;
}

/* Each slot has some number below 130000: tests/unit/test_slots.c checks it. */
void slot_tag(unsigned slot, char text[SLOT_TAG_SIZE])
{
    unsigned number = 0;
    do
        snprintf(text, SLOT_TAG_SIZE, "%u", number++ % 1000000);
    while (crc16(slice_of(text)) % SLOT_COUNT != slot);
}

/* Accepts "?": the node does not know this name yet, but its next answer may have it. */
static bool slots_read_host(const struct value *value, struct slice *ret)
{
    struct slice host;
    *ret = (struct slice){NULL, 0};
    if (!value_text(value, &host) || host.length == 0)
        return true; /* null or empty: the answering node does not know its own name */
    *ret = host;
    return host.length <= REDIS_HOST_LONGEST && !memchr(host.bytes, '\0', host.length);
}

static bool read_node(const struct value *value, struct slot_node *ret)
{
    int64_t port;
    struct slice id = {NULL, 0};
    if (value_count(value) < 2 || !slots_read_host(value_at(value, 0), &ret->host) ||
        !value_integer(value_at(value, 1), &port) || port < 0 || port > LARGEST_PORT)
        return false;
    value_text(value_at(value, 2), &id);
    ret->id = id;
    ret->port = (int)port;
    return id.length <= SLOT_NODE_ID_LONGEST;
}

static bool read_range(const struct value *entry, unsigned *first, unsigned *last,
                       struct slot_node *primary)
{
    int64_t from, to;
    if (!value_integer(value_at(entry, 0), &from) || !value_integer(value_at(entry, 1), &to) ||
        from < 0 || from > to || to >= SLOT_COUNT)
        return false;
    *first = (unsigned)from;
    *last = (unsigned)to;
    return read_node(value_at(entry, 2), primary);
}

bool slots_read(const struct value *reply,
                void (*range)(void *context, unsigned first, unsigned last,
                              const struct slot_node *primary),
                void *context)
{
    unsigned first, last;
    struct slot_node primary;
    for (size_t i = 0; i < value_count(reply); i++)
        if (!read_range(value_at(reply, i), &first, &last, &primary))
            return false;
    for (size_t i = 0; i < value_count(reply); i++)
        if (read_range(value_at(reply, i), &first, &last, &primary))
            range(context, first, last, &primary);
    return true;
}

static bool slots_read_number(const char **text, long most, long *ret)
{
    char *end;
    if (**text < '0' || **text > '9')
        return false;
    *ret = strtol(*text, &end, 10);
    *text = end;
    return *ret <= most;
}

bool redirect_read(const char *error, struct redirect *ret)
{
    bool ask = error_has_code(error, "ASK");
    if (!ask && !error_has_code(error, "MOVED"))
        return false;
    const char *at = error + (ask ? sizeof "ASK" : sizeof "MOVED") - 1;
    long slot, port;
    if (*at++ != ' ' || !slots_read_number(&at, SLOT_COUNT - 1, &slot) || *at++ != ' ')
        return false;
    const char *colon = strrchr(at, ':'); /* an IPv6 address contains colons */
    const char *digits = colon ? colon + 1 : NULL;
    if (!colon || !slots_read_number(&digits, LARGEST_PORT, &port) || *digits || port == 0 ||
        colon - at > REDIS_HOST_LONGEST)
        return false;
    struct slice host = {at, (size_t)(colon - at)};
    *ret = (struct redirect){
        .ask = ask,
        .slot = (unsigned)slot,
        .to = {.host = host.length > 0 ? host : (struct slice){NULL, 0}, .port = (int)port}};
    return true;
}
