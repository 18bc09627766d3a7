/* SPDX-License-Identifier: Apache-2.0 */
/* wino_points_6.h: points for output tiles of 6×6: 0, ±1/2, ±1, ±2, ∞.
 *
 * Of those tried they were the most exact: results are within 1e-5 of the sum of the terms' sizes, four times as far
 * off as with wino_points_4.h, and far below what rounding to half precision does.
 */
#pragma once

enum { PAIRS = 3 };
static const float power[PAIRS][6] = { { 1, 1 / 2.f, 1 / 4.f, 1 / 8.f, 1 / 16.f, 1 / 32.f },
                                       { 1, 1, 1, 1, 1, 1 },
                                       { 1, 2, 4, 8, 16, 32 } };
/* What a product of x² - p² has in front of 1, x², …: of all pairs, and of all but one. */
static const float all_squares[PAIRS + 1] = { -1, 21 / 4.f, -21 / 4.f, 1 };
static const float other_squares[PAIRS][PAIRS] = { { 4, -5, 1 },
                                                   { 1, -17 / 4.f, 1 },
                                                   { 1 / 4.f, -5 / 4.f, 1 } };
static const float part_zero = -1;
static const float part_of[PAIRS] = { 32 / 45.f, -2 / 9.f, 1 / 90.f };
