/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_BPF_PYTHON_H
#define CEEMS_BPF_PYTHON_H

/* Frames of CPython (struct profile_python). A thread is found in the interpreter's
 * list by its pthread_self(), which is where its thread-local memory is or just below
 * (THREAD_SELF_BELOW), as pystate.c fills PyThreadState.thread_id. What a code object
 * is called is copied when it is seen first: a moment later it may be gone, with its
 * process. */

#define PYTHON_THREADS_MAX 256
#define PYTHON_ADDRESS 0x0000fffffffffff0ull

/* Code whose names have been sent */
struct python_key {
	__u64 word;
	__u32 process, generation;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, struct python_key);
	__type(value, __u8);
} python_known SEC(".maps");

MAPPED_ARRAY_MAP(pythons, struct profile_python);
PERCPU_ARRAY_MAP(python_scratch, struct python_code);

struct python_walk {
	struct profile_sample *sample;
	const struct profile_python *python;
	__u64 at;      /* thread, then frame */
	__u64 pointer; /* of the thread */
	__u32 first, count, generation, found;
};

static __always_inline bool read_user(void *to, __u32 size, __u64 at)
{
	return bpf_probe_read_user(to, size, (void *)at) == 0;
}

/* The end of a text where it is longer: of a path that tells more */
static __always_inline void copy_python_text(const struct profile_python *p,
					     __u64 object, char *to)
{
	__u64 len = 0, skip = 0;

	to[0] = '\0';
	if (!object || !read_user(&len, sizeof(len), object + p->text_len))
		return;
	if (len > PYTHON_TEXT_BYTES - 1) {
		skip = len - (PYTHON_TEXT_BYTES - 1);
		len = PYTHON_TEXT_BYTES - 1;
	}
	len &= PYTHON_TEXT_BYTES - 1;
	if (bpf_probe_read_user(to, (__u32)len, (void *)(object + p->text + skip)) == 0)
		to[len] = '\0';
}

static __noinline int send_python_code(struct python_walk *w, __u64 code, __u64 word)
{
	__u32 zero = 0;
	struct python_code *c = bpf_map_lookup_elem(&python_scratch, &zero);
	const struct profile_python *p = w ? w->python : NULL;
	__u64 text = 0;

	if (!c || !p)
		return 0;
	struct python_key key = {
		.word = word,
		.process = w->sample->process,
		.generation = w->generation,
	};
	if (bpf_map_lookup_elem(&python_known, &key))
		return 0;
	c->head = (struct sample_head){
		.cgroup = w->sample->cgroup,
		.process = w->sample->process,
		.kind = PROFILE_PYTHON,
	};
	c->word = word;
	if (!read_user(&text, sizeof(text), code + p->code_name))
		return 0;
	copy_python_text(p, text, c->name);
	if (!read_user(&text, sizeof(text), code + p->code_file))
		return 0;
	copy_python_text(p, text, c->file);
	__u8 one = 1;
	if (bpf_ringbuf_output(&samples, c, sizeof(*c), BPF_RB_NO_WAKEUP) == 0)
		bpf_map_update_elem(&python_known, &key, &one, BPF_ANY);
	return 0;
}

/* Another object may be at the address of one that is gone: its name and line are a
 * part of the number. */
static __always_inline __u64 python_word(const struct profile_python *p, __u64 code)
{
	__u64 name = 0;
	__u32 line = 0;

	if (!read_user(&name, sizeof(name), code + p->code_name) ||
	    !read_user(&line, sizeof(line), code + p->code_line))
		return 0;
	__u64 check = (name >> 4 ^ name >> 20 ^ (__u64)line * 31) & 0xffff;
	return (code & PYTHON_ADDRESS) | check << 48;
}

static long walk_python_frame(__u32 i, void *arg)
{
	struct python_walk *w = arg;
	const struct profile_python *p = w->python;
	__u64 code = 0, previous = 0;
	__u8 entry = 0;

	if (!w->at || w->count >= SAMPLE_PYTHON_MAX ||
	    !read_user(&code, sizeof(code), w->at + p->frame_code) ||
	    !read_user(&previous, sizeof(previous), w->at + p->frame_previous))
		return 1;
	if (p->entry != PYTHON_ENTRY_EACH &&
	    !read_user(&entry, sizeof(entry), w->at + p->frame_entry))
		return 1;
	w->at = previous;
	if (p->entry == PYTHON_ENTRY_SHIM && entry >= p->shim_owner) {
		__u32 last = w->first + w->count - 1;
		if (w->count && last < SAMPLE_PCS_MAX)
			w->sample->pcs[last] |= PYTHON_WORD_ENTRY;
		return 0;
	}
	code &= ~(__u64)p->code_tags;
	__u64 word = python_word(p, code);
	if (!word)
		return 1;
	(void)send_python_code(w, code, word);
	__u32 n = w->first + w->count;
	if (n >= SAMPLE_PCS_MAX)
		return 1;
	if (p->entry == PYTHON_ENTRY_EACH || (p->entry == PYTHON_ENTRY_FLAG && entry))
		word |= PYTHON_WORD_ENTRY;
	w->sample->pcs[n] = word;
	w->count++;
	return 0;
}

static long look_at_python_thread(__u32 i, void *arg)
{
	struct python_walk *w = arg;
	__u64 self = 0;

	if (!w->at || !read_user(&self, sizeof(self), w->at + w->python->thread_id))
		return 1;
	if (w->pointer - self <= THREAD_SELF_BELOW) {
		w->found = 1;
		return 1;
	}
	if (!read_user(&w->at, sizeof(w->at), w->at + w->python->thread_next))
		w->at = 0;
	return 0;
}

/* Appends the frames of the thread's Python, innermost first; base: of the mapping that
 * its interpreter is in. */
static __noinline int walk_python(struct profile_sample *s, __u32 python, __u64 base,
				  __u64 pointer)
{
	__u32 index = python - 1;
	struct profile_control *c = get_control();
	struct python_walk w = {.sample = s, .pointer = pointer};

	if (!s || !c)
		return 0;
	w.python = bpf_map_lookup_elem(&pythons, &index);
	if (!w.python || !pointer)
		return 0;
	const struct profile_python *p = w.python;
	w.first = s->kernel_frames + s->frames;
	w.generation = c->python_generation;
	if (!read_user(&w.at, sizeof(w.at), base + p->interpreters) || !w.at ||
	    !read_user(&w.at, sizeof(w.at), w.at + p->interpreter_threads))
		return 0;
	bpf_loop(PYTHON_THREADS_MAX, look_at_python_thread, &w, 0);
	if (!w.found || !read_user(&w.at, sizeof(w.at), w.at + p->thread_frame))
		return 0;
	if (p->has_cframe && !read_user(&w.at, sizeof(w.at), w.at + p->cframe_frame))
		return 0;
	bpf_loop(2 * SAMPLE_PYTHON_MAX, walk_python_frame, &w, 0);
	s->python_frames = (__u8)w.count;
	return 0;
}

#endif
