/* SPDX-License-Identifier: Apache-2.0 */
/* onednn_library.h: oneDNN, opened when somebody first asks for it: the functions that are called,
 * and its engine.
 *
 * A build needs its header alone. A machine without the library, with another major version, or
 * with one whose threads cannot be limited, has none. Our threads are the parallelism: OpenMP is
 * told of one thread while a primitive is made or run, so that it starts none of its own.
 */
#pragma once
#include <oneapi/dnnl/dnnl.h>

#define STK__ONEDNN_FUNCTIONS(DO)                                                                  \
    DO(dnnl_version)                                                                               \
    DO(dnnl_engine_create)                                                                         \
    DO(dnnl_stream_create)                                                                         \
    DO(dnnl_stream_destroy)                                                                        \
    DO(dnnl_memory_desc_init_by_tag)                                                               \
    DO(dnnl_memory_desc_get_size)                                                                  \
    DO(dnnl_memory_create)                                                                         \
    DO(dnnl_memory_destroy)                                                                        \
    DO(dnnl_memory_set_data_handle)                                                                \
    DO(dnnl_dilated_convolution_forward_desc_init)                                                 \
    DO(dnnl_dilated_convolution_backward_data_desc_init)                                           \
    DO(dnnl_dilated_convolution_backward_weights_desc_init)                                        \
    DO(dnnl_primitive_attr_create)                                                                 \
    DO(dnnl_primitive_attr_set_scratchpad_mode)                                                    \
    DO(dnnl_primitive_desc_create)                                                                 \
    DO(dnnl_primitive_desc_destroy)                                                                \
    DO(dnnl_primitive_desc_query)                                                                  \
    DO(dnnl_primitive_desc_query_md)                                                               \
    DO(dnnl_primitive_create)                                                                      \
    DO(dnnl_primitive_execute)                                                                     \
    DO(dnnl_primitive_destroy)

#define STK__ONEDNN_TEXT_OF(x) #x
#define STK__ONEDNN_NAME_OF(major) "libdnnl.so." STK__ONEDNN_TEXT_OF(major)
#define STK__ONEDNN_NAME STK__ONEDNN_NAME_OF(DNNL_VERSION_MAJOR)

struct stk__onednn_library {
#define STK__ONEDNN_FIELD(name) __typeof__(&(name)) name;
    STK__ONEDNN_FUNCTIONS(STK__ONEDNN_FIELD)
    int (*omp_get_max_threads)(void); /* NULL: it has no threads */
    void (*omp_set_num_threads)(int n);
    dnnl_engine_t engine;
    dnnl_primitive_attr_t attributes; /* scratch is handed in */
};

/* NULL: there is none. Any thread. */
const struct stk__onednn_library *stk__onednn_library(void);

/* The calling thread is alone until `end` with what this returned. */
int stk__onednn_begin_alone(const struct stk__onednn_library *lib);
void stk__onednn_end_alone(const struct stk__onednn_library *lib, int before);
