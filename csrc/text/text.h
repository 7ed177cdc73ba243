/* Texts as bytes and characters: what callers of this folder include. */
#ifndef BBPE_TEXT_H
#define BBPE_TEXT_H

#include "base/utf8.h"
#include "text/arrow.h"
#include "text/base64.h"
#include "text/characters.h"
#include "text/graphemes.h"
#include "text/json.h"
#include "text/json_lines.h"
#include "text/offsets.h"
#include "text/search.h"
#include "text/text_column.h"
#include "text/transcode.h"
#include "text/uclass.h"

#endif
