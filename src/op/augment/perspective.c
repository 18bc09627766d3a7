/* SPDX-License-Identifier: Apache-2.0 */
/* perspective.c: images seen from another side. */
#include "op/augment/geometric.h"

#include <string.h>

struct perspective {
    struct stk_numbers startpoints, endpoints;
    int interpolation;
    struct stk_numbers fill, coefficients;
    const char *field;
    struct stk__follow_words follow;
};

static const struct stk_param params[] = {
    STK_NUMBERS_ROW(perspective, startpoints, NULL, 8, 8, STK_TAKES_NONE,
                    "x and y of four points, in pixels"),
    STK_NUMBERS_ROW(perspective, endpoints, NULL, 8, 8, STK_TAKES_NONE,
                    "where they are afterwards"),
    STK__WARP_ROWS(perspective, STK__WARP_BILINEAR),
    STK_NUMBERS_ROW(perspective, coefficients, NULL, 8, 8, STK_TAKES_NONE,
                    "of the map back, instead of points"),
    STK_TEXT_ROW(perspective, field, NULL, STK_TAKES_NONE, "the image; none: the only one"),
    STK__FOLLOW_ROWS(perspective),
    STK_ROWS_END,
};

struct state {
    struct stk__geometric geometric;
    double coefficients[8];
};

static bool map(struct stk_rows *rows, int row, struct stk__geometry *g)
{
    const struct state *state = rows->state;
    (void)row;
    stk__geometry_perspective(g, state->coefficients);
    return true;
}

static int find_coefficients(const struct perspective *call, double c[8], struct stk_error *err)
{
    bool has_points = call->startpoints.n && call->endpoints.n;
    bool has_none = !call->startpoints.n && !call->endpoints.n;
    if (call->coefficients.n ? !has_none : !has_points)
        return stk_fail(err, STK_VALUE,
                        "needs startpoints and endpoints, or coefficients and neither of them");
    if (call->coefficients.n)
        memcpy(c, call->coefficients.item, 8 * sizeof *c);
    else if (!stk__perspective_solve(call->endpoints.item, call->startpoints.item, c))
        return stk_fail(err, STK_VALUE,
                        "no perspective takes these startpoints to these endpoints: are three on "
                        "a line?");
    return STK_OK;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct perspective *call = inf->params;
    struct state *state = stk_arena_alloc(inf->arena, sizeof *state);
    if (!state)
        return stk_fail(err, STK_MEMORY, "out of memory");
    struct stk__geometric_words words = { .field = call->field,
                                          .follow = call->follow,
                                          .interpolation = call->interpolation,
                                          .fill = call->fill };
    int code = find_coefficients(call, state->coefficients, err);
    return code ? code : stk__geometric_infer(inf, &words, map, &state->geometric, err);
}

static const char doc[] =
    "Draws images as if seen from another side: four points go to four others, which decides where "
    "all\n"
    "others go; the size stays. Points are x and y of each, one after the other. Instead of "
    "points\n"
    "there can be the eight coefficients of the map from the result back: x = (c0 x + c1 y + c2) / "
    "(c6\n"
    "x + c7 y + 1), y = (c3 x + c4 y + c5) / (c6 x + c7 y + 1). The results are those of\n"
    "torchvision.transforms.v2.functional.perspective on tensors; interpolation (bilinear by "
    "default),\n"
    "fill and the fields that follow are as for rotate.\n"
    "\n"
    "    files('*.jpg').decode().perspective([0, 0, 9, 0, 9, 9, 0, 9], [1, 0, 9, 2, 8, 9, 0, 7])\n";

const struct stk__op stk__op_perspective = {
    .subject = STK__ABOUT_IMAGE_SHAPE,
    .decl = { "perspective", 1, "Draw images as seen from another side.", doc, params,
              sizeof(struct perspective) },
    .flags = STK_OP_HEAVY,
    .infer = infer,
    .row = { .run = stk__geometric_run },
};
