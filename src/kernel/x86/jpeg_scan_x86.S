/* SPDX-License-Identifier: Apache-2.0 */
/* jpeg_scan_x86.S: the loop of jpeg.h over the bits of a scan, for x86-64 with BMI2.
 *
 *     void stk__jpeg_loop_x86(struct stk__jpeg_loop *loop)      System V calling convention
 *     void stk__jpeg_skip_loop_x86(struct stk__jpeg_loop *loop)
 *
 * The loop goes from lookup to lookup without caring where blocks end: an end of block selects the
 * next table, block and k by conditional moves. What is rare leaves it: AC symbols that have to be
 * taken by their codes come back, others, and damage, are for the caller. So is, by the same means,
 * the end of the chunk, whose last block is followed by a table without entries. What limits it is
 * the way from the window over `step` to the next window and table, about seven cycles; everything
 * else has to fit in beside that. Skipping stores the window of the DC symbol as the first eight bytes
 * of each block, and others behind them; it has no use for entries, which fall out of the first
 * cache level between short runs.
 *
 * A refill leaves 64 bits, of which 56 or more are counted. A lookup drops 21 at most, a symbol by
 * its code 26: one of each leaves enough for the index of a third, whose own bits a refill brings.
 */
#include "kernel/x86/jpeg_scan_x86.h"

#define WINDOW   %rbx
#define N_BITS   %rsi
#define N_BITS_d %esi
#define NEXT     %rdi
#define TABLE    %r8
#define ENTRY    %r9
#define K        %r10
#define BLOCK    %r11
#define BITS     %r12
#define BITS_d   %r12d
#define EXTEND   %r13
#define K_START  %r14
#define SHIFT    %rbp

	.text

/* The step of the next index to eax, its advance to KY, its bits from WINDOW to BITS. `is_full`:
 * with a refill. */
	.macro TAKE_STEP KY is_full
	shrx	SHIFT, WINDOW, %rcx
	movzbl	(TABLE, %rcx), %eax
	lea	TABLE_ENTRY(TABLE, %rcx, 8), ENTRY
	movzbl	TABLE_ADVANCE(TABLE, %rcx), %r\KY\()d
	mov	STEER_AC(BLOCK), TABLE
	.if \is_full
	and	$63, N_BITS_d
	mov	(NEXT), %rdx
	bswap	%rdx
	shrx	N_BITS, %rdx, BITS
	mov	N_BITS_d, %ecx
	xor	$63, %ecx
	shr	$3, %ecx
	add	%rcx, NEXT
	or	$56, N_BITS_d
	or	WINDOW, BITS
	.else
	mov	WINDOW, BITS
	.endif
	shlx	%rax, BITS, WINDOW
	sub	%rax, N_BITS
	.endm

/* A lookup. KX: the number of the register of its k; KY: of the next one's. */
	.macro LOOK_UP KX KY is_full skips
	TAKE_STEP \KY \is_full
	.if \skips
	movzbl	(%r\KX), %ecx
	.else
	movzbl	ENTRY_FIRST(ENTRY), %ecx
	movzbl	(%r\KX, %rcx), %ecx
	.endif
	add	%r\KX, %r\KY
	cmpb	$64, %r\KY\()b
	jae	.Lrare\skips\is_full
.Lback\skips\is_full:
	.if \skips
	mov	BITS, (BLOCK, %rcx, 2)
	.else
	movzwl	ENTRY_VALUE(ENTRY), %edx
	movw	%dx, (BLOCK, %rcx, 2)
	movzbl	ENTRY_SHIFT(ENTRY), %ecx
	shrx	%rcx, BITS, BITS
	movzwl	ENTRY_MASK(ENTRY), %ecx
	and	%ecx, BITS_d
	add	%rcx, BITS
	movzbl	(%r\KY), %edx
	movzwl	(EXTEND, BITS, 2), %ecx
	movw	%cx, (BLOCK, %rdx, 2)
	.endif
	and	$0x80, %eax
	cmovnz	STEER_NEXT_DC(BLOCK), TABLE
	cmovnz	K_START, %r\KY
	add	%rax, BLOCK
	.endm

/* The last coefficient of a block without an end of block behind it ends the block, too. */
	.macro RARE KX KY is_full skips
.Lrare\skips\is_full:
	cmpb	$64, %r\KY\()b
	jne	1f
	test	$0x80, %al
	jnz	1f
	or	$0x80, %eax
	jmp	.Lback\skips\is_full
1:	mov	%r\KX, K
	jmp	.Lone\skips
	.endm

/* More bits for the window; scratch: rcx, rdx. */
	.macro REFILL
	mov	(NEXT), %rdx
	bswap	%rdx
	shrx	N_BITS, %rdx, %rdx
	or	%rdx, WINDOW
	mov	N_BITS_d, %ecx
	xor	$63, %ecx
	shr	$3, %ecx
	add	%rcx, NEXT
	or	$56, N_BITS_d
	.endm

	.macro	LOOP name skips
	.globl	\name
	.hidden	\name
	.type	\name, @function
	.p2align 6
\name:
	.cfi_startproc
	push	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbx, 0
	push	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	push	%r12
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r12, 0
	push	%r13
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r13, 0
	push	%r14
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r14, 0
	push	%r15
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r15, 0
	push	%rdi
	.cfi_adjust_cfa_offset 8
	mov	LOOP_WINDOW(%rdi), WINDOW
	mov	LOOP_N_BITS(%rdi), N_BITS
	mov	LOOP_TABLE(%rdi), TABLE
	mov	LOOP_K(%rdi), K
	mov	LOOP_BLOCK(%rdi), BLOCK
	mov	LOOP_K_START(%rdi), K_START
	mov	LOOP_EXTEND(%rdi), EXTEND
	mov	LOOP_NEXT(%rdi), NEXT
	mov	$(64 - INDEX_BITS), %ebp
	.p2align 6
.Lloop\skips:
	LOOK_UP	10 15 0 \skips
	LOOK_UP	15 10 1 \skips
	jmp	.Lloop\skips
	RARE	10 15 0 \skips
	RARE	15 10 1 \skips

/* As if the lookup had not been made; then one AC symbol, as stk__jpeg_symbol takes it. Its length is
 * one more than there are lengths at which all codes are below these bits; a search for it would
 * leave at a place that cannot be predicted. */
.Lone\skips:
	add	%rax, N_BITS
	and	$63, N_BITS_d
	mov	BITS, WINDOW
	REFILL
	cmp	K_START, K
	je	.Lleave\skips
	mov	STEER_AC(BLOCK), TABLE
	mov	TABLE_CODE(TABLE), ENTRY
	mov	WINDOW, %rdx
	shr	$48, %rdx
	lea	1(%rdx), %ecx
	vmovd	%ecx, %xmm0
	vpbroadcastd %xmm0, %xmm0
	vpcmpgtd CODE_END + 4(ENTRY), %xmm0, %xmm1
	vpcmpgtd CODE_END + 20(ENTRY), %xmm0, %xmm2
	vpcmpgtd CODE_END + 36(ENTRY), %xmm0, %xmm3
	vpcmpgtd CODE_END + 52(ENTRY), %xmm0, %xmm4
	vpackssdw %xmm2, %xmm1, %xmm1
	vpackssdw %xmm4, %xmm3, %xmm3
	vpacksswb %xmm3, %xmm1, %xmm1
	vpmovmskb %xmm1, %eax
	popcnt	%eax, %eax
	inc	%eax
	cmp	$16, %eax
	ja	.Lleave\skips
	mov	$16, %ecx
	sub	%eax, %ecx
	shrx	%ecx, %edx, %edx
	add	CODE_OFFSET(ENTRY, %rax, 4), %edx
	movzbl	CODE_SYMBOL(ENTRY, %rdx), %edx
	mov	%edx, %ecx
	and	$15, %ecx
	shr	$4, %edx
	lea	1(K, %rdx), %r15
	test	%ecx, %ecx
	jz	.Lzeros\skips
	cmp	$MAX_AC_BITS, %ecx
	ja	.Lleave\skips
	cmpb	$64, %r15b
	ja	.Lleave\skips
	shlx	%rax, WINDOW, BITS
	sub	%rax, N_BITS
	sub	%rcx, N_BITS
	shlx	%rcx, BITS, WINDOW
	mov	%ecx, %eax
	neg	%eax
	shrx	%rax, BITS, BITS
	mov	$-1, %eax
	shlx	%ecx, %eax, %eax
	not	%eax
	add	%eax, BITS_d
	movzwl	(EXTEND, BITS, 2), %ecx
	movzbl	(%r15), %eax
	movw	%cx, (BLOCK, %rax, 2)
.Lstored\skips:
	mov	%r15, K
	cmpb	$64, %r15b
	jne	.Lloop\skips
.Lended\skips:
	mov	STEER_NEXT_DC(BLOCK), TABLE
	mov	K_START, K
	add	$128, BLOCK
	jmp	.Lloop\skips

/* The end of the block, or 16 zeros. */
.Lzeros\skips:
	cmp	$15, %edx
	jne	1f
	cmpb	$64, %r15b
	ja	.Lleave\skips
1:	shlx	%rax, WINDOW, WINDOW
	sub	%rax, N_BITS
	cmp	$15, %edx
	je	.Lstored\skips
	jmp	.Lended\skips

.Lleave\skips:
	mov	NEXT, %rcx
	pop	%rdi
	.cfi_adjust_cfa_offset -8
	mov	WINDOW, LOOP_WINDOW(%rdi)
	mov	N_BITS, LOOP_N_BITS(%rdi)
	mov	%rcx, LOOP_NEXT(%rdi)
	mov	K, LOOP_K(%rdi)
	mov	BLOCK, LOOP_BLOCK(%rdi)
	pop	%r15
	.cfi_adjust_cfa_offset -8
	.cfi_restore %r15
	pop	%r14
	.cfi_adjust_cfa_offset -8
	.cfi_restore %r14
	pop	%r13
	.cfi_adjust_cfa_offset -8
	.cfi_restore %r13
	pop	%r12
	.cfi_adjust_cfa_offset -8
	.cfi_restore %r12
	pop	%rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbp
	pop	%rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbx
	ret
	.cfi_endproc
	.size	\name, . - \name
	.endm

	LOOP	stk__jpeg_loop_x86 0
	LOOP	stk__jpeg_skip_loop_x86 1
	.section .note.GNU-stack, "", @progbits
