/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The protocol of lib/records/ring.h for Spin. Every statement is one access to shared memory,
 * with what is local to it; atomic and d_step are what the CPU does in one
 * compare-and-swap. A process may stand still between any two of them, and "reaper"
 * kills producers and the consumer anywhere. Names follow lib/records/ring.c.
 *
 * Checked, over all interleavings:
 *   no published record is lost                 at the end, consumer
 *   none is consumed twice, each producer's in order         effect
 *   no slot is written by two live owners        write
 *   a record is dropped only when the ring is full           look
 *   a retry means that the head has moved on     help
 *   the ring is drained once nobody stalls      at the end, consumer; no invalid end state
 *
 * Each BREAK_* takes away one of the reasons why it is right; ring.sh wants a
 * counterexample for each of them.
 */
#ifndef PRODUCERS
#define PRODUCERS 2
#endif
#ifndef RECORDS
#define RECORDS 2 /* by each producer */
#endif
#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef DEATHS
#define DEATHS 1 /* of producers */
#endif
#ifndef RESTARTS
#define RESTARTS 1 /* of the consumer */
#endif

#define NOBODY 255
#define FREE 0
#define RESERVED 1
#define PUBLISHED 2

#define INDEX(pos) ((pos) % SLOTS)
#define LAP(pos) ((pos) / SLOTS)
#define RECORD(id, n) ((id) * RECORDS + (n))

/* the file */
byte head, tail;
byte lap[SLOTS], state[SLOTS], owner[SLOTS]; /* the word */
byte data[SLOTS];

/* what the daemon keeps, durable: position + 1 of the last effect */
byte durable;

/* ghosts: not part of the protocol, only of what is said about it */
bool alive[PRODUCERS], ended[PRODUCERS];
byte over;                             /* producers that have ended */
byte writer[SLOTS];                    /* who is between reserve and publish */
byte reserved, freed;                  /* positions */
bool published[PRODUCERS * RECORDS];
byte consumed[PRODUCERS * RECORDS];
byte next_of[PRODUCERS];               /* record that may come next from each */
bool kill_consumer;

/* compare-and-swap of head from pos to pos + 1 */
inline help()
{
	d_step {
#ifndef BREAK_NO_HELP
		if
		:: head == pos -> head = pos + 1
		:: else
		fi;
#endif
		assert(head > pos);
	}
}

proctype producer(byte id)
{
	byte n, pos, s, l;

	{
		do
		:: n < RECORDS ->
retry:
			pos = head;
			/* look: one load of the word */
			d_step {
				s = state[INDEX(pos)];
				l = lap[INDEX(pos)];
				assert(l >= LAP(pos) || reserved - freed == SLOTS);
			}
			if
			:: l < LAP(pos) -> goto next /* full: dropped */
			:: l > LAP(pos) || (l == LAP(pos) && s != FREE) -> help(); goto retry
			:: l == LAP(pos) && s == FREE
			fi;
			/* reserve */
#ifdef BREAK_PLAIN_RESERVE
			d_step {
				state[INDEX(pos)] = RESERVED; lap[INDEX(pos)] = LAP(pos);
				owner[INDEX(pos)] = id; reserved++;
				s = RESERVED;
			}
#else
			d_step {
				if
				:: state[INDEX(pos)] == FREE && lap[INDEX(pos)] == LAP(pos) ->
					state[INDEX(pos)] = RESERVED;
					owner[INDEX(pos)] = id;
					reserved++;
					s = RESERVED
				:: else
				fi
			}
#endif
			if
			:: s != RESERVED -> goto retry
			:: else
			fi;
			d_step {
				if
				:: head == pos -> head = pos + 1
				:: else
				fi
			}
			/* write: begins ... */
			d_step {
				assert(writer[INDEX(pos)] == NOBODY);
				writer[INDEX(pos)] = id;
				data[INDEX(pos)] = NOBODY
			}
			/* ... and ends; in between the slot holds half a record */
			d_step {
				assert(writer[INDEX(pos)] == id);
				data[INDEX(pos)] = RECORD(id, n);
				writer[INDEX(pos)] = NOBODY
			}
			/* publish */
			d_step {
				if
				:: state[INDEX(pos)] == RESERVED && lap[INDEX(pos)] == LAP(pos) &&
				   owner[INDEX(pos)] == id ->
					state[INDEX(pos)] = PUBLISHED;
					published[RECORD(id, n)] = true
#ifdef BREAK_SKIP_BY_TIMEOUT
				:: else /* torn */
#else
				:: else -> assert(false) /* only the dead are skipped */
#endif
				fi
			}
next:
			n++
		:: else -> break
		od;
		skip;
		d_step { over++; ended[id] = true }
	} unless {
		!alive[id]
	}
}

/* Frees the slot of pos for the next lap, if its word is still what it was. */
inline free_slot()
{
	d_step {
		if
#ifdef BREAK_PLAIN_SKIP
		:: true ->
#else
		:: state[INDEX(pos)] == s && lap[INDEX(pos)] == l ->
#endif
			state[INDEX(pos)] = FREE;
			lap[INDEX(pos)] = l + 1;
			freed++;
			s = FREE
		:: else
		fi
	}
}

/* What a record does: durable together with its position. */
inline effect()
{
	d_step {
		if
#ifdef BREAK_EFFECT_WITHOUT_POSITION
		:: true ->
#else
		:: pos + 1 > durable ->
#endif
			assert(d != NOBODY && published[d]);
			assert(consumed[d] == 0);
			consumed[d]++;
			assert(d % RECORDS >= next_of[d / RECORDS]);
			next_of[d / RECORDS] = d % RECORDS + 1;
			durable = pos + 1
		:: else
		fi;
		d = 0
	}
}

/* nothing at tail that can be taken */
#define IDLE                                                                              \
	(lap[INDEX(tail)] == LAP(tail) &&                                                  \
	 (state[INDEX(tail)] == FREE ||                                                    \
	  (state[INDEX(tail)] == RESERVED && alive[owner[INDEX(tail)]])))

proctype consumer()
{
	byte pos, s, l, p, d, i;

again:
	{
		do
		:: lap[INDEX(tail)] > LAP(tail) || state[INDEX(tail)] != FREE ->
			pos = tail;
			d_step {
				s = state[INDEX(pos)];
				l = lap[INDEX(pos)];
				p = owner[INDEX(pos)];
				/* older than tail: a slot that nobody would ever free */
				assert(l >= LAP(pos))
			}
			if
			:: l > LAP(pos) -> tail = pos + 1 /* died before moving it */
			:: l == LAP(pos) && s == RESERVED ->
				/* asked of the kernel, after the word was read */
				if
#ifdef BREAK_SKIP_BY_TIMEOUT
				:: true ->
#else
				:: !alive[p] ->
#endif
					free_slot();
					if
					:: s == FREE -> tail = pos + 1
					:: else /* had published before it went */
					fi
#ifndef BREAK_SKIP_BY_TIMEOUT
				:: else
#endif
				fi
			:: l == LAP(pos) && s == PUBLISHED ->
				d = data[INDEX(pos)];
#ifdef BREAK_RELEASE_BEFORE_EFFECT
				free_slot(); tail = pos + 1; effect();
#else
				effect();
#ifdef BREAK_TAIL_FIRST
				tail = pos + 1; free_slot();
#else
				free_slot(); tail = pos + 1;
#endif
#endif
			:: else
			fi;
			d_step { pos = 0; s = 0; l = 0; p = 0; d = 0 }
		:: over == PRODUCERS && IDLE -> break
		od
	} unless {
		atomic {
			kill_consumer -> kill_consumer = false;
			pos = 0; s = 0; l = 0; p = 0; d = 0;
			goto again
		}
	}
	skip; /* a loop may not end at a d_step */
	/* all who published have ended, so all that they published has come */
	d_step {
		assert(reserved == freed && tail == reserved);
		i = 0;
		do
		:: i < PRODUCERS * RECORDS ->
			assert(consumed[i] == published[i]);
			i++
		:: else -> break
		od
	}
}

proctype reaper()
{
	byte deaths, restarts, id, i;

	do
	:: deaths < DEATHS ->
		select(id : 0 .. (PRODUCERS - 1));
		skip;
		d_step {
			if
			:: alive[id] ->
				alive[id] = false;
				over = over + (ended[id] -> 0 : 1);
				i = 0;
				do
				:: i < SLOTS ->
					if
					:: writer[i] == id -> writer[i] = NOBODY
					:: else
					fi;
					i++
				:: else -> break
				od;
				i = 0
			:: else
			fi;
			deaths++;
			id = 0
		}
	:: restarts < RESTARTS -> d_step { kill_consumer = true; restarts++ }
	:: true -> break
	od
}

init
{
	byte i;

	atomic {
		for (i : 0 .. (SLOTS - 1)) {
			writer[i] = NOBODY
		}
		for (i : 0 .. (PRODUCERS - 1)) {
			alive[i] = true;
			run producer(i)
		}
		run consumer();
		run reaper()
	}
}
