#include "server/net/networks.h"

#include "base/memory.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

enum { MAPPED_BITS = 96, ITEM_LONGEST = 60 };

static const uint8_t MAPPED[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

bool ip_is_mapped(const struct ip *ip)
{
    return memcmp(ip->bytes, MAPPED, sizeof MAPPED) == 0;
}

static struct ip ip_map(const struct in_addr *address)
{
    struct ip ip;
    memcpy(ip.bytes, MAPPED, sizeof MAPPED);
    memcpy(ip.bytes + sizeof MAPPED, address, sizeof *address);
    return ip;
}

bool ip_of(const struct sockaddr_storage *address, struct ip *ret)
{
    if (address->ss_family == AF_INET) {
        *ret = ip_map(&((const struct sockaddr_in *)address)->sin_addr);
        return true;
    }
    if (address->ss_family != AF_INET6)
        return false;
    memcpy(ret->bytes, &((const struct sockaddr_in6 *)address)->sin6_addr, IP_BYTES);
    return true;
}

bool ip_read(const char *text, struct ip *ret)
{
    struct in_addr ipv4;
    if (inet_pton(AF_INET, text, &ipv4) != 1)
        return inet_pton(AF_INET6, text, ret->bytes) == 1;
    *ret = ip_map(&ipv4);
    return true;
}

void ip_write(const struct ip *ip, char ret_text[INET6_ADDRSTRLEN])
{
    if (ip_is_mapped(ip))
        inet_ntop(AF_INET, ip->bytes + sizeof MAPPED, ret_text, INET6_ADDRSTRLEN);
    else
        inet_ntop(AF_INET6, ip->bytes, ret_text, INET6_ADDRSTRLEN);
}

/* Whether two addresses begin with the same bits. */
static bool have_in_common(const struct ip *one, const struct ip *other, unsigned bits)
{
    unsigned whole = bits / 8, rest = bits % 8;
    if (memcmp(one->bytes, other->bytes, whole) != 0)
        return false;
    return rest == 0 || (one->bytes[whole] ^ other->bytes[whole]) >> (8 - rest) == 0;
}

bool networks_have(const struct networks *networks, const struct ip *ip)
{
    for (size_t i = 0; i < networks->count; i++)
        if (have_in_common(&networks->items[i].ip, ip, networks->items[i].bits))
            return true;
    return false;
}

static bool has_bits_beyond(const struct network *network)
{
    for (unsigned bit = network->bits; bit < IP_BITS; bit++)
        if (network->ip.bytes[bit / 8] & 0x80 >> bit % 8)
            return true;
    return false;
}

/* Reads the length of a network; `text` is NULL for a single address. */
static bool network_read_bits(const char *text, unsigned most, unsigned *ret)
{
    *ret = most;
    if (!text)
        return true;
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 3 || text[digits])
        return false;
    *ret = (unsigned)atoi(text);
    return *ret <= most;
}

/* Changes the text. Returns NULL, or what is wrong. */
static const char *network_read(struct network *ret, char *text)
{
    char *slash = strchr(text, '/');
    if (slash)
        *slash++ = '\0';
    if (!ip_read(text, &ret->ip))
        return "is not an address";
    unsigned most = strchr(text, ':') ? IP_BITS : IP_BITS - MAPPED_BITS;
    if (!network_read_bits(slash, most, &ret->bits))
        return "has no prefix length after its slash";
    ret->bits += IP_BITS - most;
    return has_bits_beyond(ret) ? "has bits beyond its prefix length" : NULL;
}

static void networks_add(struct networks *networks, const struct network *network)
{
    networks->items =
        memory_checked(realloc(networks->items, (networks->count + 1) * sizeof networks->items[0]));
    networks->items[networks->count++] = *network;
}

int networks_read(struct networks *ret, const char *text, struct failure *failure)
{
    struct networks networks = {0};
    const char *next = text + strspn(text, " ");
    while (*next) {
        char item[ITEM_LONGEST];
        size_t length = strcspn(next, ", ");
        struct network network;
        const char *wrong = "is too long";
        if (length < sizeof item) {
            memcpy(item, next, length);
            item[length] = '\0';
            wrong = network_read(&network, item);
        }
        if (wrong) {
            networks_free(&networks);
            return failure_set(failure, -EINVAL, "\"%.*s\" %s",
                               (int)(length < ITEM_LONGEST ? length : ITEM_LONGEST), next, wrong);
        }
        networks_add(&networks, &network);
        next += length;
        next += strspn(next, " ");
        if (*next == ',')
            next += 1 + strspn(next + 1, " ");
    }
    *ret = networks;
    return 0;
}

void networks_free(struct networks *networks)
{
    free(networks->items);
    *networks = (struct networks){0};
}
