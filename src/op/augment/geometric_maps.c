/* SPDX-License-Identifier: Apache-2.0 */
/* geometric_maps.c: rotations, affine maps and perspectives with torchvision's parameters. */
#include "op/augment/geometric.h"

#include <math.h>
#include <string.h>

static double radians(double degrees)
{
    return degrees * (3.141592653589793 / 180);
}

/* Rotation, scale and shears in this order of factors: R(angle) * S * SHy * SHx. The linear part
 * has a determinant of one before it is scaled, so its inverse needs no division. */
void stk__affinity_inverse(const struct stk__affinity *affinity, double matrix[6])
{
    double turn = radians(affinity->angle), scale = affinity->scale;
    double shear_x = radians(affinity->shear[0]), shear_y = radians(affinity->shear[1]);
    double x = affinity->center[0], y = affinity->center[1];
    double to_x = x + affinity->translate[0], to_y = y + affinity->translate[1];
    double a = cos(turn - shear_y) / cos(shear_y);
    double b = -(a * tan(shear_x) + sin(turn));
    double c = sin(turn - shear_y) / cos(shear_y);
    double d = cos(turn) - c * tan(shear_x);
    matrix[0] = d / scale;
    matrix[1] = -b / scale;
    matrix[3] = -c / scale;
    matrix[4] = a / scale;
    matrix[2] = x - matrix[0] * to_x - matrix[1] * to_y;
    matrix[5] = y - matrix[3] * to_x - matrix[4] * to_y;
}

/* ---- affine maps and rotations ---- */

static void set_center(struct stk__affinity *affinity, const struct stk__geometry *g,
                       struct stk_numbers center)
{
    affinity->center[0] = center.n ? center.item[0] - g->src_width * 0.5 : 0;
    affinity->center[1] = center.n ? center.item[1] - g->src_height * 0.5 : 0;
}

void stk__geometry_affinity(struct stk__geometry *g, struct stk__affinity affinity,
                            struct stk_numbers center)
{
    double inverse[6];
    set_center(&affinity, g, center);
    stk__affinity_inverse(&affinity, inverse);
    g->height = g->src_height;
    g->width = g->src_width;
    stk__geometry_affine(g, inverse);
}

void stk__geometry_rot90(struct stk__geometry *g, int k)
{
    k = (k % 4 + 4) % 4;
    g->swaps_axes = k % 2;
    /* against the clock: the right column becomes the top row */
    g->x.is_reversed = k == 1 || k == 2;
    g->y.is_reversed = k == 2 || k == 3;
    stk__geometry_fit(g);
}

/* Sizes as torchvision computes them, in float32 and to four places: what is a hair above a whole
 * number is that number. */
static int32_t extent(const float at[4])
{
    float least = at[0], most = at[0];
    for (int i = 1; i < 4; i++) {
        least = at[i] < least ? at[i] : least;
        most = at[i] > most ? at[i] : most;
    }
    const float tolerance = 1e-4f, per = (float)(1.0 / 1e-4);
    return (int32_t)(ceilf(truncf(most * per) * tolerance) -
                     floorf(truncf(least * per) * tolerance));
}

static void expand(struct stk__geometry *g, const double inverse[6])
{
    float half_width = 0.5f * (float)g->src_width, half_height = 0.5f * (float)g->src_height;
    float x[4], y[4];
    for (int i = 0; i < 4; i++) {
        float from_x = i < 2 ? -half_width : half_width;
        float from_y = i == 0 || i == 3 ? -half_height : half_height;
        x[i] = from_x * (float)inverse[0] + from_y * (float)inverse[1] + (float)inverse[2] +
               half_width;
        y[i] = from_x * (float)inverse[3] + from_y * (float)inverse[4] + (float)inverse[5] +
               half_height;
    }
    g->width = extent(x);
    g->height = extent(y);
}

/* Points of an expanded image are counted from the least corner, as torchvision's boxes are; the
 * image itself may lie up to half a pixel to the right and below. */
static void shift_points(struct stk__geometry *g)
{
    double least_x = DBL_MAX, least_y = DBL_MAX;
    for (int i = 0; i < 4; i++) {
        double x = i % 2 ? g->src_width : 0, y = i / 2 ? g->src_height : 0;
        stk__geometry_point(g, &x, &y);
        least_x = x < least_x ? x : least_x;
        least_y = y < least_y ? y : least_y;
    }
    for (int i = 0; i < 3; i++) {
        g->forward[i] -= least_x * g->forward[6 + i];
        g->forward[3 + i] -= least_y * g->forward[6 + i];
    }
}

void stk__geometry_rotate(struct stk__geometry *g, double degrees, struct stk_numbers center,
                          bool expands)
{
    double turn = fmod(degrees, 360);
    turn = turn < 0 ? turn + 360 : turn;
    bool is_square = g->src_height == g->src_width;
    bool is_quarters =
        turn == 0 || turn == 180 || ((turn == 90 || turn == 270) && (expands || is_square));
    if (!center.n && is_quarters) {
        stk__geometry_rot90(g, (int)(turn / 90));
        return;
    }
    struct stk__affinity affinity = { .angle = -turn, .scale = 1 };
    double inverse[6];
    set_center(&affinity, g, center);
    stk__affinity_inverse(&affinity, inverse);
    g->height = g->src_height;
    g->width = g->src_width;
    if (expands)
        expand(g, inverse);
    stk__geometry_affine(g, inverse);
    if (expands)
        shift_points(g);
}

/* ---- perspective ---- */

/* Gauss's elimination with the largest pivot, on eight rows of eight coefficients and a value. */
static bool solve(double m[8][9])
{
    for (int k = 0; k < 8; k++) {
        int best = k;
        for (int i = k + 1; i < 8; i++)
            best = fabs(m[i][k]) > fabs(m[best][k]) ? i : best;
        if (!(fabs(m[best][k]) > 1e-12))
            return false;
        for (int j = 0; j < 9; j++) {
            double swapped = m[k][j];
            m[k][j] = m[best][j];
            m[best][j] = swapped;
        }
        for (int i = 0; i < 8; i++) {
            double factor = i == k ? 0 : m[i][k] / m[k][k];
            for (int j = k; j < 9; j++)
                m[i][j] -= factor * m[k][j];
        }
    }
    return true;
}

bool stk__perspective_solve(const double from[8], const double to[8], double c[8])
{
    double m[8][9];
    for (int i = 0; i < 4; i++) {
        double x = from[2 * i], y = from[2 * i + 1], u = to[2 * i], v = to[2 * i + 1];
        memcpy(m[2 * i], (const double[9]){ x, y, 1, 0, 0, 0, -u * x, -u * y, u }, sizeof *m);
        memcpy(m[2 * i + 1], (const double[9]){ 0, 0, 0, x, y, 1, -v * x, -v * y, v }, sizeof *m);
    }
    if (!solve(m))
        return false;
    for (int i = 0; i < 8; i++)
        c[i] = (double)(float)(m[i][8] / m[i][i]);
    return true;
}
