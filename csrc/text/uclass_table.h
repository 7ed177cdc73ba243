/* The class of every code point, in two stages of 128 code points a block.
 * python csrc/text/uclass_generate.py   (unicodedata2 16.0.0) */
#ifndef BBPE_UCLASS_TABLE_H
#define BBPE_UCLASS_TABLE_H

#include "base/bits.h"

#define BBPE_UNICODE_VERSION "16.0.0"
#define BBPE_UCLASS_AFTER 3 /* bytes after each table that may be read */
#define BBPE_UCLASS_BLOCK 128
#define BBPE_CLASS_UPPER 0
#define BBPE_CLASS_LOWER 1
#define BBPE_CLASS_CASELESS 2
#define BBPE_CLASS_HAN_LETTER 3
#define BBPE_CLASS_HAN_RARE 4
#define BBPE_CLASS_KANA_LETTER 5
#define BBPE_CLASS_MARK 6
#define BBPE_CLASS_HAN_MARK 7
#define BBPE_CLASS_KANA_MARK 8
#define BBPE_CLASS_PUNCT 9
#define BBPE_CLASS_OTHER 10
#define BBPE_CLASS_HAN_SYMBOL 11
#define BBPE_CLASS_KANA_SYMBOL 12
#define BBPE_CLASS_KANA_OTHER 13
#define BBPE_CLASS_NUMBER 14
#define BBPE_CLASS_HAN_NUMBER 15
#define BBPE_CLASS_SPACE 16
#define BBPE_CLASS_NEWLINE 17
#define BBPE_CLASS_BLANK 18

extern BBPE_HIDDEN const uint8_t bbpe_uclass_block[8704 + BBPE_UCLASS_AFTER];
extern _Alignas(64) BBPE_HIDDEN const uint8_t bbpe_uclass_value[32640 + BBPE_UCLASS_AFTER];

#endif
