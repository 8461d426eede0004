/* How soon a token is looked up: anybody can have it done, before the 401. */
#include "api/access/tokens_file.h"
#include "api/principals/principals.h"
#include "base/digest.h"
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"

#include <stdio.h>

enum { ROUNDS = 50, MOST_US = 120 };

TEST(nobodys_token_is_soon_distinguished_from_all_there_may_be)
{
    struct principals *principals = principals_new();
    struct principal *principal = principal_new(slice_of("ci"), 0, NULL);
    int64_t least_us = INT64_MAX;
    principals_add(principals, principal);
    for (int i = 0; i < TOKENS_FILE_PRINCIPALS * TOKENS_FILE_TOKENS; i++) {
        char token[32];
        snprintf(token, sizeof token, "token %d", i);
        struct digest digest = digest_of(slice_of(token));
        assert_true(principals_add_token(principals, &digest, principal));
    }
    for (int i = 0; i < ROUNDS; i++) {
        int64_t start = clock_us();
        assert_null(principals_by_token(principals, slice_of("nobody's")));
        int64_t took_us = clock_us() - start;
        least_us = took_us < least_us ? took_us : least_us;
    }
    principals_drop(principals);
    print_message("%d us\n", (int)least_us);
    assert_in_range(least_us, 0, MOST_US);
}
