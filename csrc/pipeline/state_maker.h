/* States of an automaton that has too many of them to make them all: a search makes the entries it comes to.
 *
 * A state is a list of threads, in the order in which a backtracking search tries them.  A thread is three times a node, plus
 * its duty.  `bbpe/splitting/automaton_states.py` makes whole automatons of the same nodes, and says what they mean.
 *
 *     rows 0 and 1 | states, beginning with the first ones | states before which a match ends
 *                                                          first_ending
 *
 * A search keeps its states in memory of one size.  When that is full they are dropped, except the first ones and the one that
 * the search is in.  So time is linear in the text, and memory is bounded.  The maker is immutable and borrows its arrays. */
#ifndef BBPE_PIPELINE_STATE_MAKER_H
#define BBPE_PIPELINE_STATE_MAKER_H

#include "base/common.h"

enum {
    BBPE_STATE_UNMADE = 1,     /* in place of an entry, */
    BBPE_STATE_UNMADE_END = 3, /* and of one at the end of the text: it is not made yet */
    BBPE_STATE_MATCH = 0,      /* the node at which a match ends, */
    BBPE_STATE_WAITING = 1,    /* and that at which one has ended before the last line feed */
    BBPE_STATE_SEARCH_START = -2,
};

typedef struct {
    int32_t chosen; /* the set of characters that it reads, or -1; set 0 is the line feed */
    int32_t found;  /* it waits for a lookaround: twice its number, and one more if that is negative; for the place where the
                       search begins: BBPE_STATE_SEARCH_START; or -1 */
    int32_t behind, ahead; /* it waits for a condition on the character before, or on the next one: its number, or -1 */
    int32_t ends_line;     /* it waits for the end of the text, or the line feed there */
    int32_t follow, follow_end; /* those after it, in the order in which they are tried: a part of `follow` */
} bbpe_state_node;

typedef struct {
    const bbpe_state_node *nodes;
    const int32_t *follow;
    const uint8_t *within; /* by set and class: whether the set has it */
    const uint8_t *holds;  /* by condition on the next character, and class or end: whether it is true */
    const uint32_t *befores;       /* by class: the conditions on the character before that are true after it, as bits */
    const uint32_t *first_befores; /* by first state: those that are true before it, and whether the search begins there; then */
    const uint8_t *first_refuses;  /* whether it refuses an empty match */
    size_t node_count, follow_count, first_count;
    uint32_t width, row, entries, first_ending; /* as of the automaton; `row`: of all choices of lookarounds */
    uint32_t most_states;
    int32_t start; /* the first node */
    uint32_t behind_count;
    uint64_t identity; /* another for each maker, as one may be where another was */
    bool marks; /* a lookaround's: a match may begin anywhere, and each place where one ends counts */
} bbpe_state_maker;

typedef struct {
    uint32_t threads, count, before;
    bool refuses, ends;
} bbpe_made_state;

/* The states of one search; zeroed before the first use. */
typedef struct {
    const bbpe_state_maker *maker;
    uint64_t identity; /* of the maker */
    uint32_t *entries;
    bbpe_made_state *states; /* by row */
    uint32_t *slots;         /* rows by hash, 0 for none */
    size_t slot_count;
    uint32_t next[2]; /* the first entry of the next state before which no match ends, and of the next other one */
    int32_t *threads, *stack, *found, *moved;
    size_t used, capacity;
    uint32_t *seen; /* by thread, the round in which it was met last */
    uint32_t round;
    size_t count, drops; /* states now, and how often all were dropped */
} bbpe_made_states;

void bbpe_made_states_free(bbpe_made_states *self);

/* Begin with the first states of a maker, unless the states are its already. */
bbpe_status bbpe_made_states_begin(bbpe_made_states *self, const bbpe_state_maker *maker);

/* Make an entry of the row that begins at `*state`, and set `*state` to where the row is now. */
bbpe_status bbpe_made_states_make(bbpe_made_states *self, uint32_t *state, uint32_t column);

#endif
