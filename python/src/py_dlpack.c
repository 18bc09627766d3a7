/* SPDX-License-Identifier: Apache-2.0 */
/* py_dlpack.c: arrays to and from other packages as DLPack tensors, of version 1 and of the time
 * before versions. */
#include "ext.h"

#include <stdlib.h>
#include <string.h>

struct dl_device {
    int32_t type, number;
};

struct dl_dtype {
    uint8_t code, bits;
    uint16_t lanes;
};

struct dl_tensor {
    void *data;
    struct dl_device device;
    int32_t rank;
    struct dl_dtype dtype;
    int64_t *shape, *strides; /* strides in values; NULL: one behind the other */
    uint64_t byte_offset;
};

struct dl_managed {
    struct dl_tensor tensor;
    void *context;
    void (*deleter)(struct dl_managed *self);
};

struct dl_versioned {
    struct {
        uint32_t major, minor;
    } version;
    void *context;
    void (*deleter)(struct dl_versioned *self);
    uint64_t flags;
    struct dl_tensor tensor;
};

enum { DL_CPU = 1, DL_CUDA_HOST = 3 };
enum { DL_INT = 0, DL_UINT = 1, DL_FLOAT = 2, DL_BFLOAT = 4, DL_BOOL = 6 };
enum { DL_READ_ONLY = 1, DL_IS_COPIED = 2 };

static const char *const plain_name = "dltensor", *const versioned_name = "dltensor_versioned";

static const struct dl_dtype dtypes[STK_N_DTYPES] = {
    [STK_BOOL] = { DL_BOOL, 8, 1 },    [STK_U8] = { DL_UINT, 8, 1 },
    [STK_I8] = { DL_INT, 8, 1 },       [STK_U16] = { DL_UINT, 16, 1 },
    [STK_I16] = { DL_INT, 16, 1 },     [STK_U32] = { DL_UINT, 32, 1 },
    [STK_I32] = { DL_INT, 32, 1 },     [STK_U64] = { DL_UINT, 64, 1 },
    [STK_I64] = { DL_INT, 64, 1 },     [STK_F16] = { DL_FLOAT, 16, 1 },
    [STK_BF16] = { DL_BFLOAT, 16, 1 }, [STK_F32] = { DL_FLOAT, 32, 1 },
    [STK_F64] = { DL_FLOAT, 64, 1 },
};

/* ---- export ---- */

/* A tensor and what it points to, in one allocation. It keeps the batch, not the Python object, so
 * that it can be deleted by any thread without the GIL. What was restored from a pickle has an
 * owner instead, which waits for a thread with the GIL. */
struct export
{
    struct ext_deferred deferred; /* first: an export is its deferred work */
    union {
        struct dl_managed plain;
        struct dl_versioned versioned;
    };
    struct stk_batch *batch;
    PyObject *owner;
    void *copy;
    int64_t shape[STK_MAX_RANK], strides[STK_MAX_RANK];
};

static void let_owner_go(struct ext_deferred *work)
{
    Py_DECREF(((struct export *)work)->owner);
    free(work);
}

static void export_free(struct export *export)
{
    if (export->owner) {
        export->deferred.finish = let_owner_go;
        ext_defer(&export->deferred);
        return;
    }
    stk_batch_unref(export->batch);
    free(export->copy);
    free(export);
}

static void delete_plain(struct dl_managed *self)
{
    export_free(self->context);
}

static void delete_versioned(struct dl_versioned *self)
{
    export_free(self->context);
}

/* A capsule that nobody consumed. */
static void drop_capsule(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, plain_name)) {
        struct dl_managed *plain = PyCapsule_GetPointer(capsule, plain_name);
        plain->deleter(plain);
    } else if (PyCapsule_IsValid(capsule, versioned_name)) {
        struct dl_versioned *versioned = PyCapsule_GetPointer(capsule, versioned_name);
        versioned->deleter(versioned);
    }
}

static struct export *export_new(const struct ext_array *array, bool is_copy)
{
    struct export *export = calloc(1, sizeof *export);
    void *copy = export && is_copy ? malloc(array->n_bytes ? (size_t)array->n_bytes : 1) : NULL;
    if (!export || (is_copy && !copy)) {
        free(export);
        PyErr_NoMemory();
        return NULL;
    }
    struct stk_batch *batch = ext_batch_of(array->owner);
    export->copy = copy;
    if (copy)
        memcpy(copy, array->data, (size_t)array->n_bytes);
    else if (batch)
        export->batch = stk_batch_ref(batch);
    else
        export->owner = Py_NewRef(array->owner);
    for (int d = 0; d < array->rank; d++) {
        export->shape[d] = array->shape[d];
        export->strides[d] = array->strides[d] / (Py_ssize_t)stk_dtype_bytes(array->dtype);
    }
    return export;
}

PyObject *ext_dlpack_export(struct ext_array *array, bool is_versioned, bool is_copy)
{
    struct export *export = export_new(array, is_copy);
    if (!export)
        return NULL;
    struct dl_tensor tensor = {
        .data = is_copy ? export->copy : array->data,
        .device = { DL_CPU, 0 },
        .rank = array->rank,
        .dtype = dtypes[array->dtype],
        .shape = export->shape,
        .strides = export->strides,
    };
    uint64_t flags = is_copy ? DL_IS_COPIED : array->is_writable ? 0 : DL_READ_ONLY;
    if (is_versioned)
        export->versioned =
            (struct dl_versioned){ { 1, 0 }, export, delete_versioned, flags, tensor };
    else
        export->plain = (struct dl_managed){ tensor, export, delete_plain };
    PyObject *capsule =
        PyCapsule_New(is_versioned ? (void *)&export->versioned : (void *)&export->plain,
                      is_versioned ? versioned_name : plain_name, drop_capsule);
    if (!capsule)
        export_free(export);
    return capsule;
}

/* ---- import ---- */

void ext_dlpack_release(void *managed, bool is_versioned)
{
    struct dl_versioned *versioned = managed;
    struct dl_managed *plain = managed;
    if (is_versioned && versioned->deleter)
        versioned->deleter(versioned);
    else if (!is_versioned && plain->deleter)
        plain->deleter(plain);
}

static int find_dtype(struct dl_dtype wanted)
{
    for (int i = 0; i < STK_N_DTYPES; i++)
        if (dtypes[i].code == wanted.code && dtypes[i].bits == wanted.bits && wanted.lanes == 1)
            return i;
    return -1;
}

static int read_tensor(const struct dl_tensor *tensor, struct ext_tensor *out)
{
    out->dtype = find_dtype(tensor->dtype);
    out->rank = tensor->rank;
    if (tensor->device.type != DL_CPU && tensor->device.type != DL_CUDA_HOST) {
        PyErr_SetString(PyExc_ValueError,
                        "the array is not in the CPU's memory; bring it there first");
        return -1;
    }
    if (out->dtype < 0 || out->rank < 0 || out->rank > STK_MAX_RANK) {
        PyErr_Format(PyExc_TypeError,
                     "no array of this kind (DLPack type %d of %d bits, %d dimensions)",
                     (int)tensor->dtype.code, (int)tensor->dtype.bits, (int)tensor->rank);
        return -1;
    }
    int64_t item_bytes = (int64_t)stk_dtype_bytes(out->dtype), stride = item_bytes;
    for (int d = out->rank - 1; d >= 0; d--) {
        out->shape[d] = tensor->shape[d];
        out->strides[d] = tensor->strides ? tensor->strides[d] * item_bytes : stride;
        stride *= tensor->shape[d];
    }
    out->data = (char *)tensor->data + tensor->byte_offset;
    return 0;
}

/* object.__dlpack__(max_version=(1, 0)), or without it where it is not known. */
static PyObject *ask(PyObject *object)
{
    PyObject *method = PyObject_GetAttrString(object, "__dlpack__"), *capsule = NULL;
    PyObject *none = PyTuple_New(0), *named = Py_BuildValue("{s(ii)}", "max_version", 1, 0);
    if (method && none && named)
        capsule = PyObject_Call(method, none, named);
    if (!capsule && method && none && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        capsule = PyObject_Call(method, none, NULL);
    }
    Py_XDECREF(method);
    Py_XDECREF(none);
    Py_XDECREF(named);
    return capsule;
}

int ext_dlpack_import(PyObject *object, struct ext_tensor *out)
{
    PyObject *capsule = ask(object);
    if (!capsule)
        return -1;
    *out = (struct ext_tensor){ .is_versioned = PyCapsule_IsValid(capsule, versioned_name) };
    const char *name = out->is_versioned ? versioned_name : plain_name;
    void *managed = PyCapsule_GetPointer(capsule, name); /* raises for any other name */
    int rc = managed ? 0 : -1;
    struct dl_versioned *versioned = managed;
    if (!rc && out->is_versioned && versioned->version.major != 1) {
        PyErr_Format(PyExc_BufferError, "DLPack version %u is not known", versioned->version.major);
        rc = -1;
    }
    if (!rc)
        rc = read_tensor(
            out->is_versioned ? &versioned->tensor : &((struct dl_managed *)managed)->tensor, out);
    if (!rc)
        rc = PyCapsule_SetName(capsule,
                               out->is_versioned ? "used_dltensor_versioned" : "used_dltensor");
    if (!rc)
        out->managed = managed;
    Py_DECREF(capsule);
    return rc;
}

static char *copy_from(const struct ext_tensor *from, int d, const char *at, char *to)
{
    size_t bytes = stk_dtype_bytes(from->dtype);
    if (d == from->rank) {
        memcpy(to, at, bytes);
        return to + bytes;
    }
    for (int64_t i = 0; i < from->shape[d]; i++)
        to = copy_from(from, d + 1, at + i * from->strides[d], to);
    return to;
}

void ext_copy_strided(const struct ext_tensor *from, void *to)
{
    copy_from(from, 0, from->data, to);
}
