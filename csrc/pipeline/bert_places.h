/* Where each id comes from in a text as it is, to which the encoder applies BERT's rules itself (models/normalise/bert.h).
 *
 * Each character of the text becomes none or some of the normalized text whatever is around it, so a walk over the text counts the
 * bytes that tokens stand for.  Text of ASCII is as long as what it becomes, and most tokens are one step in it.  Marks that
 * are sorted and not dropped come from other characters, by the rules of normal forms: the walk cannot tell from which. */
#ifndef BBPE_BERT_PLACES_H
#define BBPE_BERT_PLACES_H

#include "pipeline/token_lengths.h"

/* Let lengths be those of such an encoder; the rules are those of models/normalise/bert.h. */
void bbpe_token_lengths_set_bert(bbpe_token_lengths *self, unsigned rules);
/* Write the places of the ids of text[0..n) in bytes, or with `in_chars` in characters, counted from `*first` on; `*first` is then
 * where the text ends.  False when the walk cannot tell, or the ids do not stand for the text. */
bool bbpe_bert_places(const bbpe_token_lengths *lengths, const uint8_t *text, size_t n, const uint32_t *ids, size_t count,
                     bool in_chars, size_t *first, bbpe_place *places);

#endif
