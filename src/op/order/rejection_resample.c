/* SPDX-License-Identifier: Apache-2.0 */
/* rejection_resample.c: leaves elements out by chance, so that classes are as often as wanted. */
#include "base/hash.h"
#include "base/numbering.h"
#include "base/rng.h"
#include "base/type.h"
#include "op/order/order.h"

#include <math.h>
#include <string.h>

enum { MAX_CLASSES = 100000 };

struct rejection_resample {
    const char *field;
    struct stk_numbers target, initial;
    int64_t seed;
};

static const struct stk_param params[] = {
    STK_TEXT_ROW(rejection_resample, field, NULL, STK_REQUIRED,
                 "the class of an element: a whole number from 0"),
    STK_NUMBERS_ROW(rejection_resample, target, NULL, 1, MAX_CLASSES, STK_REQUIRED,
                    "how often each class is wanted, in proportion"),
    STK_NUMBERS_ROW(rejection_resample, initial, NULL, 1, MAX_CLASSES, STK_TAKES_NONE,
                    "how often each class comes, in proportion; none: they are counted"),
    STK_INT_ROW(rejection_resample, seed, STK_NONE, STK__INT_LO, STK__INT_HI, STK_TAKES_NONE,
                "mixed with the run's seed; none is 0"),
    STK_ROWS_END,
};

/* Made by infer, and by scan where classes are counted. */
struct rejection {
    int field, dtype;
    double accept[]; /* by class: the chance to stay */
};

static bool is_class(const struct stk_field *field)
{
    return field->kind == STK_FIXED && field->rank == 0 &&
           (field->dtype == STK_I64 || field->dtype == STK_I32 || field->dtype == STK_U8);
}

static int check_numbers(const char *name, const struct stk_numbers *numbers, struct stk_error *err)
{
    double sum = 0;
    for (int i = 0; i < numbers->n; i++) {
        if (!(numbers->item[i] >= 0) || isinf(numbers->item[i]))
            return stk_fail(err, STK_VALUE, "%s of class %d is %g; it must be a number from 0 on",
                            name, i, numbers->item[i]);
        sum += numbers->item[i];
    }
    if (numbers->n && (!(sum > 0) || isinf(sum)))
        return stk_fail(err, STK_VALUE, "%s adds up to %g; that leaves nothing", name, sum);
    return STK_OK;
}

/* The class that is wanted most for how often it comes is kept whole. */
static int set_accept(const struct rejection_resample *p, const double *initial,
                      struct rejection *rejection, struct stk_error *err)
{
    double most = 0;
    for (int i = 0; i < p->target.n; i++) {
        if (p->target.item[i] > 0 && !(initial[i] > 0))
            return stk_fail(err, STK_VALUE, "class %d is wanted, but no element has it", i);
        rejection->accept[i] = p->target.item[i] > 0 ? p->target.item[i] / initial[i] : 0;
        most = rejection->accept[i] > most ? rejection->accept[i] : most;
    }
    for (int i = 0; i < p->target.n; i++)
        rejection->accept[i] = rejection->accept[i] == most ? 1 : rejection->accept[i] / most;
    return STK_OK;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct rejection_resample *p = inf->params;
    int field = stk_infer_pick(inf, p->field, is_class, "an int64, int32 or uint8 number", err);
    int code = field < 0 ? err->code : check_numbers("target", &p->target, err);
    if (!code)
        code = check_numbers("initial", &p->initial, err);
    if (!code && p->initial.n && p->initial.n != p->target.n)
        code = stk_fail(err, STK_VALUE, "target has %d classes, but initial has %d", p->target.n,
                        p->initial.n);
    if (code)
        return code;
    struct rejection *rejection = stk_arena_alloc(
        inf->arena, sizeof *rejection + (size_t)p->target.n * sizeof *rejection->accept);
    if (!rejection)
        return stk_fail(err, STK_MEMORY, "out of memory");
    rejection->field = field;
    rejection->dtype = inf->in[0]->field[field].dtype;
    stk_infer_pass(inf);
    inf->count = STK_UNKNOWN_COUNT;
    inf->state = rejection;
    return p->initial.n ? set_accept(p, p->initial.item, rejection, err) : STK_OK;
}

static const char *scan_field(const void *given)
{
    const struct rejection_resample *p = given;
    return p->initial.n ? NULL : p->field;
}

/* The bytes of a class number as they lie in a column. */
static uint64_t hash_class(int dtype, int64_t number)
{
    int32_t narrow = (int32_t)number;
    uint8_t byte = (uint8_t)number;
    const void *data = dtype == STK_I64   ? (void *)&number
                       : dtype == STK_I32 ? (void *)&narrow
                                          : &byte;
    return stk__hash_bytes(0, data, stk_dtype_bytes(dtype));
}

static int scan(const void *given, struct stk_arena *arena, const uint64_t *hash, int64_t n,
                void **state, struct stk_error *err)
{
    const struct rejection_resample *p = given;
    struct rejection *rejection = *state;
    double *found = stk_arena_alloc(arena, sizeof *found * (size_t)p->target.n);
    struct stk__numbering numbering = { 0 };
    uint32_t number = 0;
    int code = found ? STK_OK : STK_MEMORY;
    for (int i = 0; i < p->target.n && !code; i++)
        code = stk__numbering_find(&numbering, hash_class(rejection->dtype, i), &number);
    for (int64_t i = 0; i < n && !code; i++) {
        code = stk__numbering_find(&numbering, hash[i], &number);
        if (!code && number < (uint32_t)p->target.n)
            found[number]++;
    }
    stk__numbering_free(&numbering);
    return code ? stk_fail(err, code, "out of memory") : set_accept(p, found, rejection, err);
}

static int64_t read_class(const struct rejection *rejection, const struct stk_rows *rows, int row)
{
    const struct stk_column *column = &rows->in[rejection->field];
    const uint8_t *data = column->data + (size_t)row * column->stride;
    int64_t wide;
    int32_t narrow;
    if (rejection->dtype == STK_I64)
        return memcpy(&wide, data, sizeof wide), wide;
    if (rejection->dtype == STK_I32)
        return memcpy(&narrow, data, sizeof narrow), narrow;
    return *data;
}

static int run(struct stk_rows *rows)
{
    const struct rejection_resample *p = rows->params;
    const struct rejection *rejection = rows->state;
    for (int i = 0; i < rows->n; i++) {
        uint32_t words[4];
        if (rows->mask[i] != STK_LIVE)
            continue;
        int64_t number = read_class(rejection, rows, i);
        if (number < 0 || number >= p->target.n) {
            stk_rows_fail(rows, i, STK_DATA, "field '%.60s' is %lld, but target has %d classes",
                          p->field, (long long)number, p->target.n);
            continue;
        }
        stk_rows_random(rows, i, stk__user_seed(p->seed), 0, words);
        if (!((double)stk__unit_float(words[0]) < rejection->accept[number]))
            rows->mask[i] = STK_DEAD;
    }
    return STK_OK;
}

const struct stk__op stk__op_rejection_resample = {
    .subject = STK__ABOUT_ORDER,
    .decl = { "rejection_resample", 1, "Leave elements out so that classes are as often as wanted.",
              "An element of class c stays with a chance of target[c] / initial[c], scaled so "
              "that the class that is rarest for what is wanted of it stays whole. Whether it "
              "stays depends on the run's seed, `seed`, the element and the epoch. A class that "
              "is no number of the target is a bad element.\n"
              "\n"
              "    image_folder('train').rejection_resample(label, [0.5, 0.5])\n"
              "    range(100).map('y = where(x % 10 == 0, 1, 0)').rejection_resample(y, [1, 1])\n"
              "    lines('words.txt').map('n = min(len(text), 9) // 5')"
              ".rejection_resample(n, [1, 1], initial=[0.7, 0.3])\n"
              "\n"
              "Without `initial` the classes are counted when the dataset is made, which needs an "
              "input that can be read at random. tf.data's rejection_resample also repeats "
              "elements, and yields pairs; this one only leaves elements out. To show rare "
              "elements more than once use balance.",
              params, sizeof(struct rejection_resample) },
    .scan_field = scan_field,
    .scan = scan,
    .flags = STK_OP_FILTER | STK_OP_RANDOM,
    .infer = infer,
    .row = { .run = run },
};
