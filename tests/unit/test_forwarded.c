/* What header fields say of where a request comes from, and what they cannot say. */
#include "server/http/forwarded.h"
#include "tests/support/cmocka.h"

#include <string.h>

#define TRACE  "4bf92f3577b34da6a3ce929d0e0e4736"
#define PARENT "00f067aa0ba902b7"

static const struct {
    const char *traceparent;
    const char *id;
} TRACES[] = {
    {"00-" TRACE "-" PARENT "-01", TRACE},
    {"00-" TRACE "-" PARENT "-00", TRACE},
    {"00-" TRACE "-" PARENT "-ff", TRACE},
    {"01-" TRACE "-" PARENT "-01", TRACE}, /* of versions that are yet to come */
    {"01-" TRACE "-" PARENT "-01-more", TRACE},
    {"fe-" TRACE "-" PARENT "-01-", TRACE},
    {"", ""},
    {"00", ""},
    {"00-" TRACE "-" PARENT "-01-more", ""},
    {"00-" TRACE "-" PARENT "-01 ", ""},
    {" 00-" TRACE "-" PARENT "-01", ""},
    {"01-" TRACE "-" PARENT "-01more", ""},
    {"00-" TRACE "-" PARENT "-0", ""},
    {"00-" TRACE "-" PARENT, ""},
    {"00-" TRACE "_" PARENT "-01", ""},
    {"00-" TRACE "-" PARENT "_01", ""},
    {"00_" TRACE "-" PARENT "-01", ""},
    {"ff-" TRACE "-" PARENT "-01", ""},
    {"0g-" TRACE "-" PARENT "-01", ""},
    {"00-00000000000000000000000000000000-" PARENT "-01", ""},
    {"00-" TRACE "-0000000000000000-01", ""},
    {"00-4BF92F3577B34DA6A3CE929D0E0E4736-" PARENT "-01", ""},
    {"00-4bf92f3577b34da6a3ce929d0e0e473\"-" PARENT "-01", ""},
    {"00-" TRACE "-00f067aa0ba902bx-01", ""},
    {"00-" TRACE "-" PARENT "-0x", ""},
};

TEST(a_trace_is_taken_as_it_is_or_not_at_all)
{
    for (size_t i = 0; i < LENGTH(TRACES); i++) {
        char id[EXCHANGE_TRACE_ID_LENGTH + 1] = "before";
        forwarded_trace_id(TRACES[i].traceparent, id);
        if (strcmp(id, TRACES[i].id) != 0)
            fail_msg("%s: %s", TRACES[i].traceparent, id);
    }
}

/* Each byte of a good one, replaced by every other: hexadecimal digits in lower case may be others
 * of them, and nothing else may be anything else. */
TEST(no_other_byte_will_do)
{
    static const char GOOD[] = "00-" TRACE "-" PARENT "-01";
    for (size_t at = 0; at < sizeof GOOD - 1; at++) {
        for (int c = 1; c < 256; c++) {
            char text[sizeof GOOD], id[EXCHANGE_TRACE_ID_LENGTH + 1];
            memcpy(text, GOOD, sizeof text);
            text[at] = (char)c;
            bool is_fine = GOOD[at] == '-' ? c == '-' : strchr("0123456789abcdef", c) != NULL;
            forwarded_trace_id(text, id);
            if ((id[0] != '\0') != is_fine)
                fail_msg("byte %zu as %d", at, c);
        }
    }
}

static const struct {
    const char *field;
    const char *address;
} CLIENTS[] = {
    {"192.0.2.7", "192.0.2.7"},
    {"1.1.1.1, 192.0.2.7", "192.0.2.7"},
    {"9.9.9.9,1.1.1.1,192.0.2.7 \t", "192.0.2.7"},
    {"made up\", 2001:db8::1", "2001:db8::1"},
    {"2001:DB8:0::1", "2001:db8::1"},
    {"::ffff:192.0.2.7", "192.0.2.7"},
    {"::ffff:c000:207", "192.0.2.7"},
    {"1.1.1.1:1, 192.0.2.7:51234", "192.0.2.7"},
    {"[2001:db8::1]:443", "2001:db8::1"},
    {"[2001:db8::1]", "2001:db8::1"},
    {"[::ffff:192.0.2.7]:65535", "192.0.2.7"},
    {"[2001:0db8:1111:2222:3333:4444:5555:6666]:65535", "2001:db8:1111:2222:3333:4444:5555:6666"},
    {"", ""},
    {",", ""},
    {"192.0.2.7,", ""},
    {"192.0.2.7 x", ""},
    {"192.0.2.7:", ""},
    {"192.0.2.7:80x", ""},
    {"192.0.2.7:80:80", ""},
    {":80", ""},
    {"[2001:db8::1", ""},
    {"[2001:db8::1]443", ""},
    {"[2001:db8::1]:", ""},
    {"[]:443", ""},
    {"unknown", ""},
    {"192.0.2.7\",\"status\":200", ""},
    {"1111111111111111111111111111111111111111111111111111", ""},
};

TEST(a_client_is_the_last_address)
{
    for (size_t i = 0; i < LENGTH(CLIENTS); i++) {
        char address[INET6_ADDRSTRLEN] = "before";
        forwarded_client(CLIENTS[i].field, address);
        if (strcmp(address, CLIENTS[i].address) != 0)
            fail_msg("%s: %s", CLIENTS[i].field, address);
    }
}
