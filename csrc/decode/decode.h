/* Ids to bytes and text: what callers of this folder include. */
#ifndef BBPE_DECODE_H
#define BBPE_DECODE_H

#include "decode/id_array.h"
#include "decode/stop_strings.h"
#include "decode/token_bytes.h"
#include "decode/token_text.h"

#endif
