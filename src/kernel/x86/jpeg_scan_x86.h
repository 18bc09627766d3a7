/* SPDX-License-Identifier: Apache-2.0 */
/* jpeg_scan_x86.h: what jpeg_scan_x86.S and jpeg_scan_avx2.c know of each other; the latter checks
 * the numbers. */
#pragma once

#define INDEX_BITS 10
#define TABLE_ENTRY 1024
#define ENTRY_SHIFT 0
#define ENTRY_FIRST 1
#define ENTRY_LAST 2
#define ENTRY_MASK 4
#define ENTRY_VALUE 6
#define STEER_AC 33792 /* of a block, from the block on */
#define STEER_NEXT_DC 33800
#define LOOP_WINDOW 0
#define LOOP_N_BITS 8
#define LOOP_NEXT 16
#define LOOP_TABLE 24
#define LOOP_K 32
#define LOOP_BLOCK 40
#define LOOP_K_START 48
#define LOOP_EXTEND 56
