#include "locks/quarantine/numbers.h"

static int64_t numbers_greater(int64_t one, int64_t other)
{
    return one > other ? one : other;
}

/* Scripts compute the same (scripts/shared/02-call.lua): scripts/test_model compares both. */
int64_t numbers_at(const struct numbers *numbers, int64_t time)
{
    int64_t number = numbers->level > time ? (time + numbers->level) / 2 : time;
    return numbers_greater(number, numbers->floor);
}

void numbers_learn(struct numbers *numbers, int64_t floor, int64_t level)
{
    numbers->floor = numbers_greater(numbers->floor, floor);
    numbers->level = numbers_greater(numbers->level, level);
}

void numbers_raise(struct numbers *numbers, int64_t number, int64_t time)
{
    numbers_learn(numbers, number, number + (number - time));
}
