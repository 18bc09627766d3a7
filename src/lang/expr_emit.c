/* SPDX-License-Identifier: Apache-2.0 */
/* expr_emit.c: registers and instructions of an expression, and how they become a program. */
#include "base/memory/arena.h"
#include "base/type.h"
#include "lang/expr_build.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct stk__expr_value stk__expr_fail(struct stk__expr_builder *b, int code, uint32_t at,
                                      const char *format, ...)
{
    char cause[STK_ERROR_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(cause, sizeof cause, format, args);
    va_end(args);
    if (!b->rc)
        b->rc = stk_fail(b->err, code, "at column %u: %s", at + 1, cause);
    return (struct stk__expr_value){ 0 };
}

struct stk__expr_builder *stk__expr_begin(const char *text, const struct stk_type *type,
                                          struct stk_arena *arena, struct stk_error *err)
{
    struct stk__expr_builder *b = calloc(1, sizeof *b);
    struct stk_type *copy = stk_arena_alloc(arena, sizeof *copy);
    if (!b || !copy) {
        free(b);
        return NULL;
    }
    *copy = *type;
    b->text = text;
    b->type = copy;
    b->arena = arena;
    b->err = err;
    b->n_names = type->n_fields;
    for (int f = 0; f < type->n_fields; f++)
        b->name[f] = (struct stk__expr_name){ .name = type->field[f].name, .to = f };
    stk__expr_domain_index(b, &(struct stk__expr_domain){ .field = -1 });
    return b;
}

static bool has_room(struct stk__expr_builder *b, int n)
{
    if (n == STK__EXPR_LIMIT)
        stk__expr_fail(b, STK_VALUE, 0,
                       "the expression is too long; split it into several calls of map");
    return !b->rc;
}

int16_t stk__expr_domain_index(struct stk__expr_builder *b, const struct stk__expr_domain *domain)
{
    struct stk__expr_domain d = *domain;
    d.width = d.field < 0;
    for (int i = 0; i < d.rank; i++)
        d.width *= d.shape[i];
    for (int i = 0; i < b->n_domains; i++) {
        const struct stk__expr_domain *old = &b->domain[i];
        if (old->field == d.field && old->rank == d.rank &&
            !memcmp(old->shape, d.shape, (size_t)d.rank * sizeof *d.shape))
            return (int16_t)i;
    }
    if (!has_room(b, b->n_domains))
        return 0;
    b->domain[b->n_domains] = d;
    return (int16_t)b->n_domains++;
}

static int16_t new_reg(struct stk__expr_builder *b, struct stk__expr_reg reg)
{
    for (int i = 0; reg.source != STK__EXPR_LOCAL && i < b->n_regs; i++) {
        const struct stk__expr_reg *old = &b->reg[i];
        if (old->source == reg.source && old->dtype == reg.dtype && old->index == reg.index &&
            old->bits == reg.bits)
            return (int16_t)i;
    }
    if (!has_room(b, b->n_regs))
        return 0;
    b->reg[b->n_regs] = reg;
    return (int16_t)b->n_regs++;
}

struct stk__expr_value stk__expr_field(struct stk__expr_builder *b, int field)
{
    const struct stk_field *f = &b->type->field[field];
    if (f->kind == STK_BYTES || f->kind == STK_RAGGED)
        return (struct stk__expr_value){ .form = STK__EXPR_BYTES, .reg = (int16_t)field };
    struct stk__expr_domain domain = { .field = f->kind == STK_SHAPED ? field : -1,
                                       .rank = f->rank };
    memcpy(domain.shape, f->shape, sizeof domain.shape);
    struct stk__expr_reg reg = { .source = STK__EXPR_COLUMN, .dtype = f->dtype };
    reg.domain = stk__expr_domain_index(b, &domain);
    reg.index = (int16_t)field;
    return stk__expr_array(b, new_reg(b, reg));
}

int16_t stk__expr_constant(struct stk__expr_builder *b, int dtype, int64_t integer, double real)
{
    struct stk__expr_reg reg = { .source = STK__EXPR_CONST, .dtype = (uint8_t)dtype };
    float single = (float)real;
    if (dtype == STK_F64)
        memcpy(&reg.bits, &real, sizeof real);
    else if (dtype == STK_F32)
        memcpy(&reg.bits, &single, sizeof single);
    else if (stk__dtype_kind(dtype) == 'f')
        return stk__expr_convert(b, stk__expr_constant(b, STK_F32, integer, real), dtype);
    else
        memcpy(&reg.bits, &integer, stk_dtype_bytes(dtype)); /* little-endian: the low bytes */
    return new_reg(b, reg);
}

static int16_t append(struct stk__expr_builder *b, struct stk__expr_instr instr, int dtype,
                      int domain)
{
    if (b->rc || !has_room(b, b->n_instrs))
        return 0;
    struct stk__expr_reg dst = { .source = STK__EXPR_LOCAL, .dtype = (uint8_t)dtype };
    dst.domain = (int16_t)domain;
    instr.domain = (int16_t)domain;
    instr.dst = instr.code == STK__EXPR_NONZERO ? -1 : new_reg(b, dst);
    b->instr[b->n_instrs++] = instr;
    return instr.dst;
}

int16_t stk__expr_emit(struct stk__expr_builder *b, struct stk__expr_instr instr, int dtype,
                       int domain)
{
    for (int i = 0; i < b->n_instrs; i++) {
        const struct stk__expr_instr *old = &b->instr[i];
        if (old->code == instr.code && old->dtype == instr.dtype && old->to == instr.to &&
            old->domain == domain && old->a == instr.a && old->b == instr.b && old->c == instr.c &&
            old->imm == instr.imm && old->text == instr.text)
            return old->dst;
    }
    return append(b, instr, dtype, domain);
}

static int16_t convert_step(struct stk__expr_builder *b, int16_t reg, int dtype)
{
    struct stk__expr_instr instr = { .code = STK__EXPR_CONVERT, .a = reg, .b = -1, .c = -1 };
    instr.dtype = b->reg[reg].dtype;
    instr.to = (uint8_t)dtype;
    return instr.dtype == dtype ? reg : stk__expr_emit(b, instr, dtype, b->reg[reg].domain);
}

int16_t stk__expr_convert(struct stk__expr_builder *b, int16_t reg, int dtype)
{
    int from = b->reg[reg].dtype;
    bool is_half = from == STK_F16 || from == STK_BF16 || dtype == STK_F16 || dtype == STK_BF16;
    if (is_half && from != dtype)
        reg = convert_step(b, reg, STK_F32);
    return convert_step(b, reg, dtype);
}

/* ---- the program ---- */

/* The register of an output: computed in place, unless it is an input, a constant or an output
 * already. */
static int16_t place_output(struct stk__expr_builder *b, const struct stk__expr_value *x, int index)
{
    int16_t reg = x->reg;
    if (x->form == STK__EXPR_INT)
        reg = stk__expr_constant(b, STK_I64, x->integer, 0);
    if (x->form == STK__EXPR_REAL)
        reg = stk__expr_constant(b, STK_F32, 0, x->real);
    if (b->rc)
        return 0;
    if (b->reg[reg].source != STK__EXPR_LOCAL) {
        uint8_t dtype = b->reg[reg].dtype;
        struct stk__expr_instr copy = {
            .code = STK__EXPR_CONVERT, .dtype = dtype, .to = dtype, .a = reg, .b = -1, .c = -1
        };
        reg = append(b, copy, dtype, b->reg[reg].domain);
    }
    b->reg[reg].source = STK__EXPR_OUT;
    b->reg[reg].index = (int16_t)index;
    return reg;
}

static int place_outputs(struct stk__expr_builder *b, struct stk__expr_output *output)
{
    int n = 0;
    for (int i = 0; i < b->n_names && !b->rc; i++) {
        if (!b->name[i].is_assigned)
            continue;
        int16_t reg = place_output(b, &b->name[i].value, n);
        const struct stk__expr_domain *domain = &b->domain[b->reg[reg].domain];
        struct stk_field *field = &output[n].field;
        field->name = b->name[i].name;
        field->kind = domain->field < 0 ? STK_FIXED : STK_SHAPED;
        field->dtype = b->reg[reg].dtype;
        field->rank = (uint8_t)domain->rank;
        memcpy(field->shape, domain->shape, sizeof field->shape);
        output[n].to = b->name[i].to;
        output[n++].reg = reg;
    }
    return n;
}

static void make_loops(struct stk__expr_builder *b)
{
    for (int i = 0; i < b->n_instrs; i++) {
        const struct stk__expr_instr *instr = &b->instr[i];
        bool is_by_row = instr->code >= STK__EXPR_SUM;
        struct stk__expr_loop *last = b->n_loops ? &b->loop[b->n_loops - 1] : NULL;
        if (last && !is_by_row && !last->is_by_row && last->domain == instr->domain)
            last->n++;
        else
            b->loop[b->n_loops++] =
                (struct stk__expr_loop){ (int16_t)i, 1, instr->domain, is_by_row };
        b->loop_of[i] = (uint8_t)(b->n_loops - 1);
    }
}

/* The registers an instruction reads; fields and absent operands are -1. */
static void operands_of(const struct stk__expr_instr *instr, int16_t reg[3])
{
    bool reads_fields = instr->code == STK__EXPR_LEN || instr->code == STK__EXPR_SAME;
    reg[0] = reads_fields ? -1 : instr->a;
    reg[1] = reads_fields ? -1 : instr->b;
    reg[2] = reads_fields ? -1 : instr->c;
}

/* Decides which results outlive their loop (FULL) and shares slots among the others. */
static void place_locals(struct stk__expr_builder *b)
{
    int16_t last_use[STK__EXPR_LIMIT], made[STK__EXPR_LIMIT], read[3];
    bool is_free[STK__EXPR_LIMIT] = { false };
    for (int i = 0; i < b->n_instrs; i++) {
        if (b->instr[i].dst >= 0)
            made[b->instr[i].dst] = last_use[b->instr[i].dst] = (int16_t)i;
        if (b->instr[i].code >= STK__EXPR_SUM && b->reg[b->instr[i].dst].source == STK__EXPR_LOCAL)
            b->reg[b->instr[i].dst].source = STK__EXPR_FULL;
        operands_of(&b->instr[i], read);
        for (int k = 0; k < 3; k++) {
            if (read[k] < 0 || b->reg[read[k]].source != STK__EXPR_LOCAL)
                continue;
            last_use[read[k]] = (int16_t)i;
            if (b->loop_of[made[read[k]]] != b->loop_of[i])
                b->reg[read[k]].source = STK__EXPR_FULL;
        }
    }
    for (int i = 0; i < b->n_instrs; i++) {
        int16_t dst = b->instr[i].dst, slot = 0;
        if (dst >= 0 && b->reg[dst].source == STK__EXPR_LOCAL) {
            while (slot < b->n_slots && !is_free[slot])
                slot++;
            b->n_slots += slot == b->n_slots;
            is_free[slot] = false;
            b->reg[dst].index = slot;
        }
        for (int r = 0; r < b->n_regs; r++)
            if (b->reg[r].source == STK__EXPR_LOCAL && last_use[r] == i && made[r] <= i)
                is_free[b->reg[r].index] = true;
    }
}

static const uint8_t *constant_block(struct stk__expr_builder *b, const struct stk__expr_reg *reg,
                                     int n)
{
    size_t bytes = stk_dtype_bytes(reg->dtype);
    uint8_t *block = stk_arena_alloc(b->arena, bytes * (size_t)n);
    for (int i = 0; block && i < n; i++)
        memcpy(block + (size_t)i * bytes, &reg->bits, bytes);
    if (!block)
        b->rc = stk__out_of_memory(b->err);
    return block;
}

static void size_program(struct stk__expr_builder *b, struct stk__expr_program *program)
{
    enum { GUESS = 256 * 256 };
    size_t widest_bytes = 1;
    int64_t widest = 1;
    bool has_full = false, is_by_row = false;
    for (int i = 0; i < b->n_domains; i++) {
        is_by_row |= b->domain[i].field >= 0;
        widest = b->domain[i].width > widest ? b->domain[i].width : widest;
    }
    for (int i = 0; i < b->n_regs; i++) {
        const struct stk__expr_reg *reg = &b->reg[i];
        const struct stk__expr_domain *domain = &b->domain[reg->domain];
        size_t bytes = stk_dtype_bytes(reg->dtype);
        bool is_shaped = domain->field >= 0;
        widest_bytes = bytes > widest_bytes ? bytes : widest_bytes;
        has_full |= reg->source == STK__EXPR_FULL;
        if (reg->source == STK__EXPR_FULL || (reg->source == STK__EXPR_OUT && is_shaped))
            program->scratch_bytes += bytes * (is_shaped ? GUESS : (size_t)domain->width);
    }
    program->block_values = STK__EXPR_BLOCK_BYTES / (int)widest_bytes;
    program->block_rows = !has_full ? INT64_MAX : program->block_values / widest;
    if (!program->block_rows || is_by_row)
        program->block_rows = 1;
    for (int i = 0; i < b->n_regs && !b->rc; i++)
        if (b->reg[i].source == STK__EXPR_CONST)
            b->reg[i].block = constant_block(b, &b->reg[i], program->block_values);
}

static const void *keep(struct stk__expr_builder *b, const void *array, int n, size_t size)
{
    void *copy = stk_arena_alloc(b->arena, (size_t)n * size + 1);
    if (copy)
        memcpy(copy, array, (size_t)n * size);
    else
        b->rc = stk__out_of_memory(b->err);
    return copy;
}

const struct stk__expr_program *stk__expr_finish(struct stk__expr_builder *b)
{
    struct stk__expr_output output[STK_MAX_FIELDS + 1] = { { { 0 }, 0, 0 } };
    struct stk__expr_program *program = NULL;
    int n_outputs = b->rc ? 0 : place_outputs(b, output);
    if (b->rc)
        return NULL;
    make_loops(b);
    place_locals(b);
    program = stk_arena_alloc(b->arena, sizeof *program);
    if (!program) {
        b->rc = stk__out_of_memory(b->err);
        return NULL;
    }
    size_program(b, program);
    program->type = b->type;
    program->n_regs = b->n_regs;
    program->n_instrs = b->n_instrs;
    program->n_domains = b->n_domains;
    program->n_checks = b->n_checks;
    program->n_loops = b->n_loops;
    program->n_outputs = n_outputs;
    program->n_slots = b->n_slots;
    program->reg = keep(b, b->reg, b->n_regs, sizeof *b->reg);
    program->instr = keep(b, b->instr, b->n_instrs, sizeof *b->instr);
    program->domain = keep(b, b->domain, b->n_domains, sizeof *b->domain);
    program->check = keep(b, b->check, b->n_checks, sizeof *b->check);
    program->loop = keep(b, b->loop, b->n_loops, sizeof *b->loop);
    program->output = keep(b, output, n_outputs, sizeof *output);
    return b->rc ? NULL : program;
}

int stk__expr_for_field(const struct stk_type *type, int field, int dtype, const double *scale,
                        struct stk_arena *arena, const struct stk__expr_program **out,
                        struct stk_error *err)
{
    struct stk__expr_builder *b = stk__expr_begin("", type, arena, err);
    if (!b)
        return stk__out_of_memory(err);
    int16_t reg = stk__expr_field(b, field).reg, domain = b->reg[reg].domain;
    if (scale) {
        struct stk__expr_instr instr = { .code = STK__EXPR_MUL, .dtype = STK_F32, .c = -1 };
        instr.a = stk__expr_convert(b, reg, STK_F32);
        instr.b = stk__expr_constant(b, STK_F32, 0, scale[0]);
        instr.a = stk__expr_emit(b, instr, STK_F32, domain);
        instr.code = STK__EXPR_ADD;
        instr.b = stk__expr_constant(b, STK_F32, 0, scale[1]);
        reg = stk__expr_emit(b, instr, STK_F32, domain);
    }
    b->name[field].value = stk__expr_array(b, stk__expr_convert(b, reg, dtype));
    b->name[field].is_assigned = true;
    *out = stk__expr_finish(b);
    int rc = b->rc;
    free(b);
    return rc;
}
