/* How the limit of open files is divided. */
#include "server/process/file_limit.h"

#include "tests/support/cmocka.h"

enum { USUAL = 8, ONE = 1 };

/* The lowest limit with which there are as many workers. */
static rlim_t limit_of(size_t workers, bool has_admin_listener)
{
    return 2 * file_limit_others(workers, has_admin_listener);
}

TEST(low_limit_leaves_half_for_connections)
{
    for (int admin = 0; admin < 2; admin++)
        for (size_t workers = 2; workers <= USUAL; workers++) {
            rlim_t limit = limit_of(workers, admin);
            assert_int_equal(file_limit_workers(limit, USUAL, admin), workers);
            assert_int_equal(file_limit_workers(limit - 1, USUAL, admin), workers - 1);
        }
}

TEST(sixteen_processors_start_with_1024_files)
{
    size_t workers = file_limit_workers(1024, USUAL, false);
    assert_in_range(workers, 2, USUAL - 1);
    assert_in_range(file_limit_others(workers, false), 1, 512);
}

TEST(high_limit_lowers_nothing)
{
    assert_int_equal(file_limit_workers(20000, USUAL, true), USUAL);
    assert_int_equal(file_limit_workers(RLIM_INFINITY, 256, true), 256);
}

TEST(one_worker_is_the_least)
{
    assert_int_equal(file_limit_workers(0, USUAL, false), ONE);
    assert_int_equal(file_limit_workers(limit_of(ONE, false) - 1, USUAL, false), ONE);
    assert_int_equal(file_limit_workers(1024, ONE, false), ONE);
}
