#include "redis/cluster/slot_map.h"
#include "tests/support/cmocka.h"

#include <stdlib.h>

static int set_up(void **state)
{
    struct slot_map *map = malloc(sizeof *map);
    assert_non_null(map);
    slot_map_init(map);
    *state = map;
    return 0;
}

static int tear_down(void **state)
{
    free(*state);
    return 0;
}

TEST_WITH(served_slots_are_counted, set_up, tear_down)
{
    struct slot_map *map = *state;
    assert_int_equal(map->uncovered, SLOT_COUNT);
    assert_int_equal(slot_map_owner(map, 7), CLUSTER_NOBODY);
    for (unsigned slot = 0; slot < 10; slot++)
        slot_map_give(map, slot, 3);
    slot_map_give(map, 9, 3);
    slot_map_give(map, 0, CLUSTER_NODES_MOST - 1);
    slot_map_give(map, 1, CLUSTER_NOBODY);
    assert_int_equal(slot_map_count(map, 3), 8);
    assert_int_equal(slot_map_count(map, CLUSTER_NODES_MOST - 1), 1);
    assert_int_equal(slot_map_count(map, 0), 0);
    assert_int_equal(slot_map_count(map, CLUSTER_NOBODY), 0);
    assert_int_equal(map->uncovered, SLOT_COUNT - 9);
    assert_int_equal(slot_map_owner(map, 9), 3);
}

TEST_WITH(the_slots_of_a_node_go_round, set_up, tear_down)
{
    struct slot_map *map = *state;
    assert_int_equal(slot_map_next(map, 1, 0), SLOT_COUNT);
    slot_map_give(map, 5, 1);
    assert_int_equal(slot_map_next(map, 1, 5), 5);
    slot_map_give(map, SLOT_COUNT - 1, 1);
    slot_map_give(map, 6, 2);
    assert_int_equal(slot_map_next(map, 1, 5), SLOT_COUNT - 1);
    assert_int_equal(slot_map_next(map, 1, SLOT_COUNT - 1), 5);
    assert_int_equal(slot_map_next(map, 2, SLOT_COUNT - 1), 6);
}

TEST_WITH(former_node_is_reported_once, set_up, tear_down)
{
    struct slot_map *map = *state;
    slot_map_give(map, 4, 1);
    assert_int_equal(slot_map_take_former(map, 4), CLUSTER_NOBODY);
    slot_map_give(map, 4, 2);
    assert_int_equal(slot_map_take_former(map, 4), 1);
    assert_int_equal(slot_map_take_former(map, 4), CLUSTER_NOBODY);
}

/* Whoever asks seldom hears who served it when it was asked last; not that nothing has changed. */
TEST_WITH(nodes_in_between_are_not_reported, set_up, tear_down)
{
    struct slot_map *map = *state;
    slot_map_give(map, 4, 1);
    slot_map_give(map, 4, CLUSTER_NOBODY);
    assert_int_equal(slot_map_take_former(map, 4), CLUSTER_NOBODY);
    slot_map_give(map, 4, 2);
    slot_map_give(map, 4, 3);
    assert_int_equal(slot_map_take_former(map, 4), 1);
    slot_map_give(map, 4, 2);
    slot_map_give(map, 4, 3);
    assert_int_equal(slot_map_take_former(map, 4), CLUSTER_NOBODY);
}
