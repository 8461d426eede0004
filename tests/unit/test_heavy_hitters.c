/* The heavy hitters against an exact count: what they say is within their proven bounds. */
#include "base/heavy_hitters.h"
#include "tests/support/cmocka.h"
#include "tests/support/seed.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 20, EVENTS = 20000, NAMES = 3000, PARTS = 4 };

struct stream {
    uint64_t random;
    uint64_t counts[NAMES];
    uint64_t greatest[NAMES];
    uint64_t total;
    struct heavy_hitters hitters[PARTS];
    struct peaks peaks[PARTS];
};

static struct slice name_of(uint32_t number, char text[16])
{
    snprintf(text, 16, "name%u", number);
    return slice_of(text);
}

/* Names from all alike to a few that come nearly always, in parts that see different ones more. */
static void feed(struct stream *stream, unsigned skew, size_t parts)
{
    for (int i = 0; i < EVENTS; i++) {
        char text[16];
        uint32_t number = NAMES;
        for (unsigned times = 0; times <= skew; times++)
            number = seed_draw(&stream->random, number) + 1;
        number--;
        size_t part = seed_draw(&stream->random, 3) ? number % parts
                                                    : seed_draw(&stream->random, (uint32_t)parts);
        uint64_t weight = 1 + seed_draw(&stream->random, 3),
                 value = seed_draw(&stream->random, 1000000);
        struct slice name = name_of(number, text);
        heavy_hitters_add(&stream->hitters[part], number % 1000, name,
                          weight); /* hashes may be equal */
        peaks_note(&stream->peaks[part], number % 1000, name, value);
        stream->counts[number] += weight;
        stream->total += weight;
        if (stream->greatest[number] < value)
            stream->greatest[number] = value;
    }
}

static uint32_t number_of(const struct ranked *ranked)
{
    char text[RANKED_NAME + 1];
    unsigned number;
    snprintf(text, sizeof text, "%.*s", ranked->length, ranked->name);
    assert_int_equal(sscanf(text, "name%u", &number), 1);
    assert_in_range(number, 0, NAMES - 1);
    return number;
}

/* What is certain of its count. */
static uint64_t least_of(const struct ranked *ranked)
{
    return ranked->value - ranked->error;
}

static void check_counts(const struct stream *stream, size_t parts)
{
    const struct heavy_hitters *all[PARTS];
    bool found[NAMES] = {false};
    size_t count;
    for (size_t i = 0; i < parts; i++)
        all[i] = &stream->hitters[i];
    struct ranked *merged = heavy_hitters_merge(all, parts, &count);
    for (size_t i = 0; i < count; i++) {
        uint32_t number = number_of(&merged[i]);
        uint64_t truth = stream->counts[number];
        assert_false(found[number]);
        found[number] = true;
        assert_true(merged[i].value >= truth);
        assert_true(merged[i].value - merged[i].error <= truth);
        assert_true(merged[i].error <= stream->total / HEAVY_HITTERS_MOST);
        assert_true(i == 0 || least_of(&merged[i - 1]) >= least_of(&merged[i]));
    }
    for (uint32_t i = 0; i < NAMES; i++)
        assert_true(found[i] || stream->counts[i] <= stream->total / HEAVY_HITTERS_MOST);
    free(merged);
}

static int descending(const void *left, const void *right)
{
    uint64_t one = *(const uint64_t *)left, other = *(const uint64_t *)right;
    return one == other ? 0 : one > other ? -1 : 1;
}

/* Of the greatest there are, none is missing, and each is exact. */
static void check_peaks(const struct stream *stream, size_t parts)
{
    const struct peaks *all[PARTS];
    static uint64_t sorted[NAMES];
    size_t count;
    for (size_t i = 0; i < parts; i++)
        all[i] = &stream->peaks[i];
    struct ranked *merged = peaks_merge(all, parts, &count);
    memcpy(sorted, stream->greatest, sizeof sorted);
    qsort(sorted, NAMES, sizeof *sorted, descending);
    assert_true(count >= PEAKS_MOST || sorted[count] == 0);
    for (size_t i = 0; i < count && i < PEAKS_MOST; i++) {
        assert_true(merged[i].value == sorted[i]);
        assert_true(merged[i].value == stream->greatest[number_of(&merged[i])]);
    }
    free(merged);
}

TEST(counts_are_within_their_bounds)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct stream *stream = calloc(1, sizeof *stream);
        size_t parts = round % 2 ? PARTS : 1;
        stream->random = seed_choose() + round;
        feed(stream, round / 2 % 5, parts);
        check_counts(stream, parts);
        check_peaks(stream, parts);
        free(stream);
    }
}

TEST(few_names_are_counted_exactly)
{
    static struct heavy_hitters one, other, empty;
    const struct heavy_hitters *all[] = {&one, &empty, &other};
    size_t count;
    heavy_hitters_add(&one, 1, slice_of("a"), 3);
    heavy_hitters_add(&one, 1, slice_of("b"), 5);
    heavy_hitters_add(&other, 9, slice_of("a"), 4);
    struct ranked *merged = heavy_hitters_merge(all, 3, &count);
    assert_int_equal(count, 2);
    assert_memory_equal(merged[0].name, "a", 1);
    assert_int_equal(merged[0].value, 7);
    assert_int_equal(merged[0].error, 0);
    assert_int_equal(merged[1].value, 5);
    free(merged);
    free(heavy_hitters_merge(all + 1, 1, &count));
    assert_int_equal(count, 0);
}

/* A name that came once inherits the count of the least one, and stands behind those that really
 * came as often. */
TEST(certain_count_decides_the_rank)
{
    static struct heavy_hitters hitters;
    const struct heavy_hitters *all[] = {&hitters};
    size_t count;
    for (uint64_t i = 0; i < HEAVY_HITTERS_MOST; i++) {
        char text[16];
        heavy_hitters_add(&hitters, i, name_of((uint32_t)i, text), 40 + i);
    }
    heavy_hitters_add(&hitters, HEAVY_HITTERS_MOST, slice_of("often"), 1000);
    heavy_hitters_add(&hitters, HEAVY_HITTERS_MOST + 1, slice_of("once"), 1);
    struct ranked *merged = heavy_hitters_merge(all, 1, &count);
    assert_int_equal(count, HEAVY_HITTERS_MOST);
    assert_memory_equal(merged[0].name, "often", 5);
    assert_memory_equal(merged[count - 1].name, "once", 4);
    assert_int_equal(merged[count - 1].value, 42);
    assert_int_equal(merged[count - 1].error, 41);
    free(merged);
}
