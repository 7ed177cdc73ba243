/* The calls that one text with misses makes: a line per event, "> address" for a call and "< address" for its end.  The core
 * is compiled with -finstrument-functions, and this file without; tests/support/c_journey.py finds the files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "encode/encode.h"
#include "memory/memory.h"
#include "models/bpe/model.h"
#include "models/model.h"

static bool is_recorded;

void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);

void __cyg_profile_func_enter(void *function, void *caller) {
    (void)caller;
    if (is_recorded) printf("> %p\n", function);
}

void __cyg_profile_func_exit(void *function, void *caller) {
    (void)caller;
    if (is_recorded) printf("< %p\n", function);
}

static void must(bbpe_status status) {
    if (status != BBPE_OK) exit(2);
}

static void make_model(bbpe_bpe *model) {
    static const char *const merges[] = {"lo", "low", "es", "est", " low", "er", "in", "ing"};
    enum { MERGES = sizeof merges / sizeof *merges };
    must(bbpe_bpe_init(model, 256 + MERGES, true, false));
    for (uint32_t byte = 0; byte < 256; byte++) must(bbpe_bpe_add_token(model, byte, &(uint8_t){(uint8_t)byte}, 1));
    for (uint32_t i = 0; i < MERGES; i++)
        must(bbpe_bpe_add_token(model, 256 + i, (const uint8_t *)merges[i], strlen(merges[i])));
    must(bbpe_bpe_finalize(model));
}

int main(void) {
    static const char text[] = "the lowest lowering of a long-lasting misunderstanding";
    const char *name;
    const bbpe_scheme *scheme = bbpe_split_row(0, &name);
    bbpe_bpe bpe;
    bbpe_encoder *encoder;
    uint32_t ids[sizeof text + BBPE_ENCODE_SLACK];
    size_t count;
    make_model(&bpe);
    const bbpe_model model = bbpe_model_of_bpe(&bpe);
    bbpe_encode_state *state = bbpe_encode_state_new(bpe.id_count);
    must(bbpe_encoder_new(&encoder, &model, scheme, bbpe_split_select(scheme, BBPE_ISA_AUTO), false));
    is_recorded = true;
    must(bbpe_encode_range(encoder, state, (bbpe_encode_text){text, 1}, 0, sizeof text - 1, ids, &count));
    is_recorded = false;
    bbpe_encoder_delete(encoder);
    bbpe_encode_state_delete(state);
    bbpe_bpe_free(&bpe);
    return 0;
}
