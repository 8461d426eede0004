/* Networks as they are written, and the addresses in them. */
#include "server/net/networks.h"
#include "tests/support/cmocka.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

static struct ip ip_from(const char *text)
{
    struct sockaddr_storage address = {0};
    struct sockaddr_in *ipv4 = (struct sockaddr_in *)&address;
    struct sockaddr_in6 *ipv6 = (struct sockaddr_in6 *)&address;
    struct ip ip;
    if (inet_pton(AF_INET, text, &ipv4->sin_addr) == 1)
        address.ss_family = AF_INET;
    else if (inet_pton(AF_INET6, text, &ipv6->sin6_addr) == 1)
        address.ss_family = AF_INET6;
    else
        fail_msg("%s is not an address", text);
    assert_true(ip_of(&address, &ip));
    return ip;
}

static const struct belonging {
    const char *networks;
    const char *address;
    bool belongs;
} BELONGINGS[] = {
    {"", "127.0.0.1", false},
    {"127.0.0.0/8,::1", "127.255.255.254", true},
    {"127.0.0.0/8,::1", "128.0.0.0", false},
    {"127.0.0.0/8,::1", "126.255.255.255", false},
    {"127.0.0.0/8,::1", "::1", true},
    {"127.0.0.0/8,::1", "::2", false},
    {"127.0.0.0/8,::1", "::ffff:127.0.0.1", true}, /* IPv4 by way of a socket of IPv6 */
    {"::ffff:127.0.0.0/104", "127.0.0.1", true},
    {"10.1.2.3", "10.1.2.3", true},
    {"10.1.2.3", "10.1.2.2", false},
    {"10.1.2.3/32", "10.1.2.3", true},
    {"10.1.2.2/31", "10.1.2.3", true},
    {"10.1.2.2/31", "10.1.2.4", false},
    {"172.16.0.0/12", "172.31.255.255", true},
    {"172.16.0.0/12", "172.32.0.0", false},
    {"0.0.0.0/0", "203.0.113.9", true},
    {"0.0.0.0/0", "2001:db8::1", false},
    {"::/0", "2001:db8::1", true},
    {"::/0", "203.0.113.9", true},
    {"2001:db8::/33", "2001:db8:7fff::1", true},
    {"2001:db8::/33", "2001:db8:8000::1", false},
    {"  10.0.0.0/8 , 192.0.2.0/24 ", "192.0.2.255", true},
    {"192.0.2.0/24,10.0.0.0/8", "10.9.9.9", true},
};

TEST(an_address_belongs_to_a_network_by_its_first_bits)
{
    for (size_t i = 0; i < LENGTH(BELONGINGS); i++) {
        const struct belonging *it = &BELONGINGS[i];
        struct networks networks;
        struct ip ip = ip_from(it->address);
        assert_int_equal(networks_read(&networks, it->networks, NULL), 0);
        if (networks_have(&networks, &ip) != it->belongs)
            fail_msg("%s in %s is not %d", it->address, it->networks, it->belongs);
        networks_free(&networks);
    }
}

static const struct wrong {
    const char *text;
    const char *said;
} WRONG[] = {
    {"localhost", "\"localhost\" is not an address"},
    {"127.0.0.1:80", "\"127.0.0.1:80\" is not an address"},
    {"[::1]", "\"[::1]\" is not an address"},
    {"10.0.0", "\"10.0.0\" is not an address"},
    {"010.0.0.1", "\"010.0.0.1\" is not an address"}, /* octal for some, decimal for others */
    {"10.0.0.0/33", "\"10.0.0.0/33\" has no prefix length"},
    {"10.0.0.0/", "\"10.0.0.0/\" has no prefix length"},
    {"10.0.0.0/-1", "has no prefix length"},
    {"10.0.0.0/8/8", "has no prefix length"},
    {"10.0.0.0/0008", "has no prefix length"},
    {"::/129", "\"::/129\" has no prefix length"},
    {"10.0.0.5/8", "\"10.0.0.5/8\" has bits beyond"},
    {"2001:db8::1/64", "\"2001:db8::1/64\" has bits beyond"},
    {"10.0.0.1,,10.0.0.2", "\"\" is not an address"},
    {",", "\"\" is not an address"},
    {"::1,x", "\"x\" is not an address"},
    {"0000000000000000000000000000000000000000000000000000000000001", "is too long"},
};

TEST(text_that_is_no_network_is_quoted)
{
    for (size_t i = 0; i < LENGTH(WRONG); i++) {
        struct networks networks = {NULL, 99};
        struct failure failure = {""};
        if (networks_read(&networks, WRONG[i].text, &failure) != -EINVAL)
            fail_msg("%s is read", WRONG[i].text);
        if (!strstr(failure.text, WRONG[i].said))
            fail_msg("\"%s\" does not say \"%s\"", failure.text, WRONG[i].said);
        assert_int_equal(networks.count, 99); /* untouched */
    }
}

TEST(an_address_of_something_else_has_no_ip)
{
    struct sockaddr_storage address = {.ss_family = AF_UNIX};
    struct ip ip;
    assert_false(ip_of(&address, &ip));
}
