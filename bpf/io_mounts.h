/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_BPF_IO_MOUNTS_H
#define CEEMS_BPF_IO_MOUNTS_H

/* Which cell of a unit's slot a file's mount has: see lib/records/io_cells.h. Part of
 * io.bpf.c. */
#include "bpf/calls.h"
#include "bpf/task_slot.h"
#include "lib/records/io_cells.h"

/* Set by the opener before it loads this; a power of two. */
const volatile unsigned cell_count = 1;

MAPPED_ARRAY_MAP(io_mounts, struct io_mount);

struct row {
	__u64 entry[IO_ROW];
};

MAPPED_ARRAY_MAP(io_rows, struct row);

MAPPED_ARRAY_MAP(io_free, __u64);

MAPPED_ARRAY_MAP(io_control, struct io_control);

#define CELL_NONE 0xffffffffu
#define ADD(counter, n) __sync_fetch_and_add(&(counter), (n))

#define S_IFREG 0100000
#define FMODE_CREATED (1u << 20)
#define NAME_BYTES 128u
#define PATH_PARTS 24

static struct mount *mount_of(struct file *file)
{
	__u64 mnt = (__u64)BPF_CORE_READ(file, f_path.mnt);

	return (struct mount *)(mnt - bpf_core_field_offset(struct mount, mnt));
}

/* File systems of the kernel itself, whatever path they are mounted on */
static bool is_kernel_own(__u64 magic)
{
	switch (magic) {
	case 0x9fa0:     /* proc */
	case 0x62656572: /* sysfs */
	case 0x27e0eb:   /* cgroup */
	case 0x63677270: /* cgroup2 */
	case 0x64626720: /* debugfs */
	case 0x74726163: /* tracefs */
	case 0x73636673: /* securityfs */
	case 0xcafe4a11: /* bpf */
	case 0x62656570: /* configfs */
	case 0xde5e81e4: /* efivarfs */
	case 0x6165676c: /* pstore */
		return true;
	}
	return false;
}

/* Memory that looks like a file (memfd_create, shared memory) has a mount that no
 * namespace has. */
static bool is_counted(struct mount *mount, struct inode *inode)
{
	__u64 ns = (__u64)BPF_CORE_READ(mount, mnt_ns);

	return ns < (__u64)-ERRNO_MAX &&
	       !is_kernel_own(BPF_CORE_READ(inode, i_sb, s_magic));
}

/* A mount that comes where another was removed may have its number and address again,
 * but never its unique number. */
static __u32 mark_of(struct mount *mount)
{
	__u64 id = bpf_core_field_exists(struct mount, mnt_id_unique)
			   ? BPF_CORE_READ(mount, mnt_id_unique)
			   : (__u64)mount ^ (__u64)BPF_CORE_READ(mount, mnt_id) << 40;
	__u32 mark = (__u32)((id * 0x9e3779b97f4a7c15ull) >> 32);

	return mark > IO_MARK_TAKEN ? mark : mark + IO_MARK_TAKEN + 1;
}

struct walk {
	struct mount *mount;
	struct dentry *dentry;
	struct io_mount *to;
	__u32 used;
};

/* One step of write_names(); 1 is the end. */
static long write_name(__u32 i, struct walk *w)
{
	struct mount *mount = w->mount;
	struct dentry *dentry = w->dentry;
	__u32 used = w->used;

	if (dentry == BPF_CORE_READ(mount, mnt.mnt_root)) {
		struct mount *parent = BPF_CORE_READ(mount, mnt_parent);
		if (parent == mount) {
			w->to->cut = 0;
			return 1;
		}
		w->dentry = BPF_CORE_READ(mount, mnt_mountpoint);
		w->mount = parent;
		return 0;
	}
	if (used > IO_NAMES_BYTES - NAME_BYTES)
		return 1;
	long n = bpf_probe_read_kernel_str(w->to->names + used, NAME_BYTES,
					   BPF_CORE_READ(dentry, d_name.name));
	if (n <= 0 || n >= NAME_BYTES)
		return 1;
	w->used = used + (__u32)n;
	w->dentry = BPF_CORE_READ(dentry, d_parent);
	return 0;
}

/* From the folder that it is mounted on up to the root of its mount namespace */
static void write_names(struct io_mount *to, struct mount *mount)
{
	struct walk w = {mount, BPF_CORE_READ(mount, mnt.mnt_root), to, 0};

	to->cut = 1;
	/* which the verifier looks at once, as it would not at a loop of ours */
	bpf_loop(PATH_PARTS, write_name, &w, 0);
	to->bytes = (unsigned short)w.used;
}

/* Any CPU may take one at any time. */
static __u32 take_cell(void)
{
	__u32 zero = 0;
	struct io_control *c = bpf_map_lookup_elem(&io_control, &zero);

	if (!c)
		return CELL_NONE;
	for (int i = 0; i < 16; i++) {
		__u64 head = *(volatile __u64 *)&c->cell_head;
		__u32 at = head & (cell_count - 1);
		if (head == *(volatile __u64 *)&c->cell_tail)
			break;
		__u64 *cell = bpf_map_lookup_elem(&io_free, &at);
		if (!cell)
			break;
		__u32 taken = (__u32) * (volatile __u64 *)cell;
		if (__sync_val_compare_and_swap(&c->cell_head, head, head + 1) == head)
			return taken;
	}
	ADD(c->no_cell, 1);
	return CELL_NONE;
}

static __u32 find_cell(const struct row *row, __u32 mark)
{
	for (__u32 i = 0; i < IO_ROW; i++) {
		__u64 entry = row->entry[i];
		if ((__u32)(entry >> 32) == mark)
			return (__u32)entry - 1;
	}
	return CELL_NONE;
}

#define TAKEN ((__u64)IO_MARK_TAKEN << 32)

/* Global, as make_cell(), so that the verifier looks at each of them once, not for each
 * way to it and out of it */
__noinline __u32 take_place(struct row *row)
{
	if (!row)
		return IO_ROW;
	for (__u32 i = 0; i < IO_ROW; i++) {
		if (!row->entry[i] &&
		    !__sync_val_compare_and_swap(&row->entry[i], 0, TAKEN))
			return i;
	}
	return IO_ROW;
}

/* First a place in the row, then a cell: a cell that was taken is always in a row, from
 * which ceemsd gives it back. Two CPUs may make one each for the same mount; ceemsd
 * adds them up. CELL_NONE: no place, or no cell. mount: a number, as global functions
 * take. */
__noinline __u32 make_cell(struct row *row, __u32 mark, __u64 mount, bool counted)
{
	struct io_mount *to = NULL;
	__u32 cell = IO_CELL_IGNORED, at = take_place(row);

	if (!row || at >= IO_ROW)
		return CELL_NONE;
	__u64 *entry = &row->entry[at & (IO_ROW - 1)];
	if (counted) {
		cell = take_cell();
		to = bpf_map_lookup_elem(&io_mounts, &cell);
		if (!to) {
			__sync_val_compare_and_swap(entry, TAKEN, 0);
			return CELL_NONE;
		}
		to->bytes = to->cut = 0;
		write_names(to, (struct mount *)mount);
	}
	/* a barrier, too: whoever sees the entry sees the names */
	__sync_val_compare_and_swap(entry, TAKEN, (__u64)mark << 32 | (cell + 1));
	return cell;
}

static __u32 cell_of_file(__u32 slot, struct file *file)
{
	struct row *row = bpf_map_lookup_elem(&io_rows, &slot);

	if (!row)
		return IO_CELL_IGNORED;
	if (!file)
		return cell_count + slot;
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	if ((BPF_CORE_READ(inode, i_mode) & S_IFMT) != S_IFREG)
		return IO_CELL_IGNORED;
	struct mount *mount = mount_of(file);
	__u32 mark = mark_of(mount), cell = find_cell(row, mark);
	if (cell != CELL_NONE)
		return cell;
	bool counted = is_counted(mount, inode);
	cell = make_cell(row, mark, (__u64)mount, counted);
	if (cell != CELL_NONE)
		return cell;
	return counted ? cell_count + slot : IO_CELL_IGNORED;
}

#endif
