/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A guest of one sector, for the tests of virtual machines: at each tick of the timer (18.2 times a second) it reads sector 0 of its
 * disk, writes what it read to sector 1, sends a byte by its first serial port, and changes 128 pages of its memory. Between ticks it sleeps.
 *   as --32 -o guest.o guest.S && ld -m elf_i386 -Ttext=0x7c00 -e0x7c00 --oformat binary -o disk.img guest.o && truncate -s 1M disk.img */
	.code16
	.text
	xor %ax, %ax
	mov %ax, %ds
	mov %ax, %ss
	mov $0x7c00, %sp
	sti
next:
	movb $0, sector
	mov $0x4200, %ax /* the BIOS's extended read */
	call transfer
	movb $1, sector
	mov $0x4300, %ax /* write */
	call transfer
	mov $0x3f8, %dx
	mov $'.', %al
	out %al, %dx
	mov $0x1000, %bx
touch:	mov %bx, %es
	incw %es:0
	add $0x100, %bx
	cmp $0x9000, %bx
	jb touch
	hlt
	jmp next
transfer:
	mov $packet, %si
	mov $0x80, %dl
	int $0x13
	ret
	.balign 4
packet:
	.byte 16, 0
	.word 1      /* one sector */
	.word 0x8000 /* to this offset */
	.word 0      /* and segment */
sector:
	.quad 0
	.org 510
	.word 0xaa55
