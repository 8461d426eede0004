#include "base/siphash.h"

struct state {
    uint64_t v[4];
};

static uint64_t siphash_rotate(uint64_t word, unsigned bits)
{
    return word << bits | word >> (64 - bits);
}

static void siphash_mix(struct state *state, unsigned rounds)
{
    uint64_t *v = state->v;
    while (rounds-- > 0) {
        v[0] += v[1], v[2] += v[3];
        v[1] = siphash_rotate(v[1], 13) ^ v[0], v[3] = siphash_rotate(v[3], 16) ^ v[2];
        v[0] = siphash_rotate(v[0], 32);
        v[2] += v[1], v[0] += v[3];
        v[1] = siphash_rotate(v[1], 17) ^ v[2], v[3] = siphash_rotate(v[3], 21) ^ v[0];
        v[2] = siphash_rotate(v[2], 32);
    }
}

static void siphash_absorb(struct state *state, uint64_t word)
{
    state->v[3] ^= word;
    siphash_mix(state, 2);
    state->v[0] ^= word;
}

/* Up to eight bytes, the lowest first. */
static uint64_t siphash_word(const char *bytes, size_t length)
{
    uint64_t word = 0;
    for (size_t i = 0; i < length; i++)
        word |= (uint64_t)(unsigned char)bytes[i] << (8 * i);
    return word;
}

uint64_t siphash(const struct siphash_key *key, struct slice text)
{
    uint64_t k0 = key->halves[0], k1 = key->halves[1];
    struct state state = {{k0 ^ UINT64_C(0x736f6d6570736575), k1 ^ UINT64_C(0x646f72616e646f6d),
                           k0 ^ UINT64_C(0x6c7967656e657261), k1 ^ UINT64_C(0x7465646279746573)}};
    size_t whole = text.length - text.length % 8;
    for (size_t i = 0; i < whole; i += 8)
        siphash_absorb(&state, siphash_word(text.bytes + i, 8));
    siphash_absorb(&state,
                   siphash_word(text.bytes + whole, text.length % 8) | (uint64_t)text.length << 56);
    state.v[2] ^= 0xff;
    siphash_mix(&state, 4);
    return state.v[0] ^ state.v[1] ^ state.v[2] ^ state.v[3];
}
