/* SPDX-License-Identifier: Apache-2.0 */
/* fingerprint.c: one function for each range of lengths, as the hash is defined; numbers are read
 * with the low byte first. */
#include "base/fingerprint.h"

#define K0 0xc3a5c85c97cb3127u
#define K1 0xb492b66fbe98f273u
#define K2 0x9ae16a3b2f90404fu

struct pair {
    uint64_t first, second;
};

static uint64_t load(const uint8_t *at, int bytes)
{
    uint64_t value = 0;
    for (int i = bytes - 1; i >= 0; i--)
        value = value << 8 | at[i];
    return value;
}

static uint64_t word(const uint8_t *at)
{
    return load(at, 8);
}

static uint64_t turn(uint64_t value, int bits)
{
    return value >> bits | value << (64 - bits);
}

static uint64_t fold(uint64_t value)
{
    return value ^ value >> 47;
}

static uint64_t join(uint64_t a, uint64_t b, uint64_t factor)
{
    uint64_t once = fold((a ^ b) * factor);
    return fold((b ^ once) * factor) * factor;
}

static uint64_t up_to_16(const uint8_t *at, size_t n)
{
    uint64_t factor = K2 + 2 * n;
    if (n >= 8) {
        uint64_t a = word(at) + K2, b = word(at + n - 8);
        return join(turn(b, 37) * factor + a, (turn(a, 25) + b) * factor, factor);
    }
    if (n >= 4)
        return join(n + (load(at, 4) << 3), load(at + n - 4, 4), factor);
    if (!n)
        return K2;
    uint64_t a = at[0] + ((uint64_t)at[n / 2] << 8), b = n + ((uint64_t)at[n - 1] << 2);
    return fold(a * K2 ^ b * K0) * K2;
}

/* Both ends of a longer text; the second word is for those that go on. */
static struct pair ends(const uint8_t *at, size_t n, uint64_t first_factor)
{
    uint64_t factor = K2 + 2 * n;
    uint64_t a = word(at) * first_factor, b = word(at + 8);
    uint64_t c = word(at + n - 8) * factor, d = word(at + n - 16) * K2;
    return (struct pair){ turn(a + b, 43) + turn(c, 30) + d, a + turn(b + K2, 18) + c };
}

static uint64_t up_to_32(const uint8_t *at, size_t n)
{
    struct pair outer = ends(at, n, K1);
    return join(outer.first, outer.second, K2 + 2 * n);
}

static uint64_t up_to_64(const uint8_t *at, size_t n)
{
    uint64_t factor = K2 + 2 * n;
    struct pair outer = ends(at, n, K2);
    uint64_t mixed = join(outer.first, outer.second, factor);
    uint64_t a = word(at + 16) * factor, b = word(at + 24);
    uint64_t c = (outer.first + word(at + n - 32)) * factor;
    uint64_t d = (mixed + word(at + n - 24)) * factor;
    return join(turn(a + b, 43) + turn(c, 30) + d, a + turn(b + word(at) * K2, 18) + c, factor);
}

static struct pair stir(const uint8_t *at, uint64_t a, uint64_t b)
{
    a += word(at);
    b = turn(b + a + word(at + 24), 21);
    uint64_t before = a;
    a += word(at + 8) + word(at + 16);
    b += turn(a, 44);
    return (struct pair){ a + word(at + 24), b + before };
}

struct mill {
    uint64_t x, y, z;
    struct pair v, w;
};

/* 64 bytes; the last ones with a factor and weights of their own. */
static void grind(struct mill *m, const uint8_t *at, uint64_t factor, uint64_t weight)
{
    m->x = turn(m->x + m->y + m->v.first + word(at + 8), 37) * factor;
    m->y = turn(m->y + m->v.second + word(at + 48), 42) * factor;
    m->x ^= m->w.second * weight;
    m->y += m->v.first * weight + word(at + 40);
    m->z = turn(m->z + m->w.first, 33) * factor;
    m->v = stir(at, m->v.second * factor, m->x + m->w.first);
    m->w = stir(at + 32, m->z + m->w.second, m->y + word(at + 16));
    uint64_t z = m->z;
    m->z = m->x;
    m->x = z;
}

static uint64_t any_length(const uint8_t *at, size_t n)
{
    enum { SEED = 81, BLOCK = 64 };
    struct mill m = { .x = SEED, .y = SEED * K1 + 113 };
    size_t n_blocks = (n - 1) / BLOCK, rest = (n - 1) % BLOCK;
    m.z = fold(m.y * K2 + 113) * K2;
    m.x = m.x * K2 + word(at);
    for (size_t i = 0; i < n_blocks; i++)
        grind(&m, at + i * BLOCK, K1, 1);
    uint64_t factor = K1 + ((m.z & 0xff) << 1);
    m.w.first += rest;
    m.v.first += m.w.first;
    m.w.first += m.v.first;
    grind(&m, at + n - BLOCK, factor, 9);
    return join(join(m.v.first, m.w.first, factor) + fold(m.y) * K0 + m.z,
                join(m.v.second, m.w.second, factor) + m.x, factor);
}

uint64_t stk__fingerprint(const uint8_t *data, size_t bytes)
{
    if (bytes <= 16)
        return up_to_16(data, bytes);
    if (bytes <= 32)
        return up_to_32(data, bytes);
    return bytes <= 64 ? up_to_64(data, bytes) : any_length(data, bytes);
}
