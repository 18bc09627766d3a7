# SPDX-License-Identifier: Apache-2.0
"""The integer arithmetic behind keys, shuffles and random numbers.

Words are 64 bits and wrap. The numbers these functions give are part of what a chain means: the C
twins are src/base/hash.h, src/base/hash.c, src/base/rng.c and src/kernel/permute.h.
"""

MASK32 = 2**32 - 1
MASK64 = 2**64 - 1
BLOCK_BYTES = 32
WORD_BYTES = 8


def mix(a, b):
    """Two words into one; not commutative."""
    z = (a * 0x9E3779B97F4A7C15 & MASK64) ^ (b + 0xD1B54A32D192ED03 & MASK64)
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK64
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK64
    return z ^ z >> 31


def key_make(source, path, index):
    """The 128-bit key (hi, lo) of a source's row."""
    hi = mix(mix(source, path), index)
    return hi, mix(hi, source ^ path ^ index)


def key_join(a, b):
    """The key of a row made of two rows."""
    return mix(a[0], b[0]), mix(a[1], b[1])


def lane(acc, word):
    acc = (acc ^ word) * 0x9FB21C651E98DF25 & MASK64
    return acc ^ acc >> 32


def hash_bytes(h, data):
    """A word for a string of bytes: four lanes over 32-byte blocks, then words, then the rest."""
    acc = [h ^ 1, h ^ 2, h ^ 3, h ^ 4]
    at = 0
    while len(data) - at >= BLOCK_BYTES:
        for i in range(4):
            acc[i] = lane(acc[i], int.from_bytes(data[at : at + WORD_BYTES], "little"))
            at += WORD_BYTES
    while len(data) - at >= WORD_BYTES:
        acc[0] = lane(acc[0], int.from_bytes(data[at : at + WORD_BYTES], "little"))
        at += WORD_BYTES
    acc[1] = lane(acc[1], int.from_bytes(data[at:], "little"))
    return mix(mix(acc[0], acc[1]), mix(mix(acc[2], acc[3]), len(data)))


def below(word, n):
    """A word as an integer in [0, n)."""
    return word * n >> 64


def philox(counter, key):
    """Philox4x32-10: four 32-bit words for four words of counter and two of key."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = p1 >> 32 ^ c1 ^ k0, p1 & MASK32, p0 >> 32 ^ c3 ^ k1, p0 & MASK32
        k0, k1 = k0 + 0x9E3779B9 & MASK32, k1 + 0xBB67AE85 & MASK32
    return c0, c1, c2, c3


def unit_float(word):
    """A 32-bit word as a float in [0, 1), exact in 24 bits."""
    return (word >> 8) * 2.0**-24


def row_words(key, op_seed, user_seed, index):
    """The index-th four random words of the row with this key, for one random op."""
    hi, lo = key
    k = mix(op_seed, user_seed)
    counter = lo & MASK32, lo >> 32, hi & MASK32, index
    return philox(counter, (k & MASK32, k >> 32))


def scramble(x):
    """The round function of permute: 32 bits to 32 bits."""
    x ^= x >> 16
    x = x * 0x7FEB352D & MASK32
    x ^= x >> 15
    x = x * 0x846CA68B & MASK32
    return x ^ x >> 16


def permute(count, key, position):
    """The image of a position under the keyed permutation of [0, count): a shuffle from the last
    value down for up to 64 values, else six Feistel rounds over the smallest number of bits that
    holds them, until the result is inside."""
    if count <= 64:
        values = list(range(count))
        for i in range(count - 1, 0, -1):
            j = below(mix(key, i), i + 1)
            values[i], values[j] = values[j], values[i]
        return values[position]
    bits = (count - 1).bit_length()
    left_bits = bits // 2
    right_bits = bits - left_bits
    left_mask, right_mask = 2**left_bits - 1, 2**right_bits - 1
    while True:
        left, right = position >> right_bits, position & right_mask
        for i in range(6):
            k = mix(key, i) & MASK32
            if i % 2 == 0:
                left ^= scramble(right + k & MASK32) & left_mask
            else:
                right ^= scramble(left + k & MASK32) & right_mask
        position = left << right_bits | right
        if position < count:
            return position
