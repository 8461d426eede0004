/* Connections counted: in all, by address, and by several threads. */
#include "server/net/connection_limits.h"
#include "tests/support/cmocka.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>

enum { EACH = 3, MOST = 10, THREADS = 4, ROUNDS = 20000, SEVERAL = 5000 };

static struct networks trusted;

static int setup(void **state)
{
    assert_int_equal(networks_read(&trusted, "127.0.0.0/8,::1", NULL), 0);
    *state = connection_limits_new(MOST, EACH, &trusted);
    return 0;
}

static int teardown(void **state)
{
    connection_limits_free(*state);
    networks_free(&trusted);
    return 0;
}

static struct sockaddr_storage from(const char *text)
{
    struct sockaddr_storage address = {0};
    struct sockaddr_in *ipv4 = (struct sockaddr_in *)&address;
    struct sockaddr_in6 *ipv6 = (struct sockaddr_in6 *)&address;
    if (inet_pton(AF_INET, text, &ipv4->sin_addr) == 1) {
        address.ss_family = AF_INET;
    } else {
        assert_int_equal(inet_pton(AF_INET6, text, &ipv6->sin6_addr), 1);
        address.ss_family = AF_INET6;
    }
    return address;
}

static bool enters(struct connection_limits *limits, const char *text, struct source_address **ret)
{
    struct sockaddr_storage address = from(text);
    return connection_limits_enter(limits, &address, ret);
}

TEST_WITH(places_are_as_many_as_there_are, setup, teardown)
{
    for (int i = 0; i < MOST; i++)
        assert_true(connection_limits_reserve(*state));
    assert_false(connection_limits_reserve(*state));
    assert_false(connection_limits_reserve(*state)); /* which took none */
    assert_int_equal(connection_limits_open(*state), MOST);
    connection_limits_release(*state);
    assert_true(connection_limits_reserve(*state));
    assert_false(connection_limits_reserve(*state));
}

TEST_WITH(an_address_has_its_share_and_no_more, setup, teardown)
{
    struct source_address *all[EACH], *other, *none;
    for (int i = 0; i < EACH; i++)
        assert_true(enters(*state, "192.0.2.1", &all[i]));
    assert_false(enters(*state, "192.0.2.1", &none));
    assert_false(enters(*state, "::ffff:192.0.2.1", &none)); /* the same one */
    assert_true(enters(*state, "192.0.2.2", &other));
    connection_limits_leave(*state, other);
    connection_limits_leave(*state, all[1]);
    assert_true(enters(*state, "192.0.2.1", &all[1]));
    assert_false(enters(*state, "192.0.2.1", &none));
    for (int i = 0; i < EACH; i++)
        connection_limits_leave(*state, all[i]);
}

TEST_WITH(in_ipv6_it_is_a_network_of_64_bits, setup, teardown)
{
    struct source_address *all[EACH], *other, *none;
    assert_true(enters(*state, "2001:db8:0:1::1", &all[0]));
    assert_true(enters(*state, "2001:db8:0:1::2", &all[1]));
    assert_true(enters(*state, "2001:db8:0:1:ffff:ffff:ffff:ffff", &all[2]));
    assert_false(enters(*state, "2001:db8:0:1::3", &none));
    assert_true(enters(*state, "2001:db8:0:2::1", &other));
    connection_limits_leave(*state, other);
    for (int i = 0; i < EACH; i++)
        connection_limits_leave(*state, all[i]);
}

TEST_WITH(trusted_address_is_not_counted, setup, teardown)
{
    struct source_address *address;
    for (int i = 0; i < 2 * EACH; i++) {
        assert_true(enters(*state, i % 2 ? "127.0.0.1" : "::1", &address));
        assert_null(address);
        connection_limits_leave(*state, address);
    }
}

TEST_WITH(many_addresses_are_distinguished, setup, teardown)
{
    static struct source_address *all[SEVERAL][EACH];
    struct source_address *none;
    char text[32];
    for (int round = 0; round <= EACH; round++) {
        for (int i = 0; i < SEVERAL; i++) {
            snprintf(text, sizeof text, "10.%d.%d.1", i / 256, i % 256);
            assert_int_equal(enters(*state, text, round < EACH ? &all[i][round] : &none),
                             round < EACH);
        }
    }
    for (int i = 0; i < SEVERAL; i++)
        for (int round = 0; round < EACH; round++)
            connection_limits_leave(*state, all[i][round]);
}

/* Never more than the share at once, and nothing is left when all have gone. */
static void *come_and_go(void *context)
{
    struct source_address *address;
    for (int i = 0; i < ROUNDS; i++) {
        if (connection_limits_reserve(context)) {
            if (enters(context, "198.51.100.7", &address))
                connection_limits_leave(context, address);
            connection_limits_release(context);
        }
    }
    return NULL;
}

TEST_WITH(workers_count_together, setup, teardown)
{
    pthread_t threads[THREADS];
    struct source_address *all[EACH], *none;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, *state), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(connection_limits_open(*state), 0);
    for (int i = 0; i < EACH; i++)
        assert_true(enters(*state, "198.51.100.7", &all[i]));
    assert_false(enters(*state, "198.51.100.7", &none));
    for (int i = 0; i < EACH; i++)
        connection_limits_leave(*state, all[i]);
}
