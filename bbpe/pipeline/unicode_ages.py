"""The characters for which the Unicode data of HF's `tokenizers` differs from Python's.

`tokenizers` 0.23 normalizes by Unicode 9.0, finds punctuation by an even older table, and lower-cases by Unicode 17.
Python has the Unicode version of its release: 14.0 for 3.11.  The tables list all characters up to Unicode 17 that the
two treat differently; tests/pipeline/test_normalizing.py compares every code point where `tokenizers` is installed.
"""

from __future__ import annotations


def code_point_ranges(text: str) -> tuple[tuple[int, int], ...]:
    """Return the ranges, with both ends, that hexadecimal numbers such as "41-5A 5F" describe."""
    pairs = (item.split("-") for item in text.split())
    return tuple((int(pair[0], 16), int(pair[-1], 16)) for pair in pairs)


def _moved(text: str) -> dict[int, int]:
    moved: dict[int, int] = {}
    for item in text.split():
        points, _, to = item.partition(":")
        ((first, last),) = code_point_ranges(points)
        moved.update({point: int(to, 16) + point - first for point in range(first, last + 1)})
    return moved


def character_class(ranges: tuple[tuple[int, int], ...]) -> str:
    """Return ranges of code points as a regex character class."""
    return "[" + "".join(f"\\U{first:08X}-\\U{last:08X}" for first, last in ranges) + "]"


#: Characters newer than Unicode 9.0 that a normal form changes, reorders or joins; Unicode 9.0 leaves them alone.
NEWER_THAN_9 = code_point_ranges(
    """
    7FD 897-89F 8CA-8D3 9FE C3C D3B-D3C EBA 1715 1ABF-1ADD 1AE0-1AEB 1DF6-1DFA 32FF A7F1-A7F4 A82C AB69 105C9
    105D2 105DA 105E4 10781-10785 10787-107B0 107B2-107BA 10D24-10D27 10D69-10D6D 10EAB-10EAC 10EFA-10EFB
    10EFD-10EFF 10F46-10F50 10F82-10F85 11070 1133B 11382-11385 1138B 1138E 11390-11391 113B8 113BB 113C2 113C5
    113C7-113C9 113CE-113D0 1145E 11839-1183A 11930 11935 11938 1193D-1193E 11943 119E0 11A34 11A47 11A99 11D42
    11D44-11D45 11D97 11F41-11F42 1611E-16129 1612F 16D63 16D67-16D6A 16FF0-16FF1 1CCD6-1CCF9 1E030-1E06D 1E08F
    1E130-1E136 1E2AE 1E2EC-1E2EF 1E4EC-1E4EF 1E5EE-1E5EF 1E6E3 1E6E6 1E6EE-1E6EF 1E6F5 1F16C 1FBF0-1FBF9
    """
)

#: Marks newer than Unicode 9.0, and two characters that were marks only in 9.0.
MARKS_NEWER_THAN_9 = code_point_ranges(
    """
    7FD 897-89F 8CA-8D3 9FE AFA-AFF B55 C04 C3C CF3 D00 D3B-D3C D81 EBA ECE 1715 180F 1ABF-1ADD 1AE0-1AEB 1CF7
    1DF6-1DFA A82C A8FF 10D24-10D27 10D69-10D6D 10EAB-10EAC 10EFA-10EFF 10F46-10F50 10F82-10F85 11070
    11073-11074 110C2 11145-11146 111C9 111CE-111CF 11241 1133B 113B8-113C0 113C2 113C5 113C7-113CA 113CC-113D0
    113D2 113E1-113E2 1145E 1182C-1183A 11930-11935 11937-11938 1193B-1193E 11940 11942-11943 119D1-119D7
    119DA-119E0 119E4 11A01-11A0A 11A33-11A39 11A3B-11A3E 11A47 11A51-11A5B 11A8A-11A99 11B60-11B67 11D31-11D36
    11D3A 11D3C-11D3D 11D3F-11D45 11D47 11D8A-11D8E 11D90-11D91 11D93-11D97 11EF3-11EF6 11F00-11F01 11F03
    11F34-11F3A 11F3E-11F42 11F5A 13440 13447-13455 1611E-1612F 16F4F 16F7F-16F87 16FE4 16FF0-16FF1 1CF00-1CF2D
    1CF30-1CF46 1E08F 1E130-1E136 1E2AE 1E2EC-1E2EF 1E4EC-1E4EF 1E5EE-1E5EF 1E6E3 1E6E6 1E6EE-1E6EF 1E6F5
    """
)
MARKS_ONLY_IN_9 = code_point_ranges("1CF2-1CF3")

#: Punctuation missing from HF's table, and characters that are punctuation only in HF's table.
PUNCTUATION_NEWER = code_point_ranges(
    """
    61D 9FD A76 C77 C84 1B4E-1B4F 1B7D-1B7F 2E43-2E4F 2E52-2E5D 2E60-2E63 10D6E 10EAD 10ED0 10F55-10F59
    10F86-10F89 113D4-113D5 113D7-113D8 1144B-1144F 1145A-1145B 1145D 11660-1166C 116B9 1183B 11944-11946 119E2
    11A3F-11A46 11A9A-11A9C 11A9E-11AA2 11B00-11B09 11BE1 11C41-11C45 11C70-11C71 11EF7-11EF8 11F43-11F4F 11FFF
    12FF1-12FF2 16D6D-16D6F 16E97-16E9A 16FE2 1E5FF 1E95E-1E95F
    """
)
PUNCTUATION_OLDER = code_point_ranges("166D 111C9")

#: Lower case of letters newer than Unicode 14.
LOWER_NEWER_THAN_14 = _moved(
    """
    1C89:1C8A A7CB:264 A7CC:A7CD A7CE:A7CF A7D2:A7D3 A7D4:A7D5 A7DA:A7DB A7DC:19B 10D50-10D65:10D70
    16EA0-16EB8:16EBB
    """
)

#: Numbers of Unicode 17, by which the pre-tokenizer `Digits` splits; regexes of `tokenizers` follow Unicode 16.
NUMBERS_OF_17 = code_point_ranges("11DE0-11DE9 16FF4-16FF6")

#: Nonspacing marks that HF's BERT normalizer does not drop, and characters that only it drops as nonspacing marks.
NONSPACING_NEWER = code_point_ranges(
    """
    7FD 897-89F 8CA-8E1 9FE AFA-AFF B55 C04 C3C D00 D3B-D3C D81 EBA ECE 180F 1885-1886 1ABF-1ADD 1AE0-1AEB
    1DF6-1DFB A82C A8C5 A8FF A9BD 10D24-10D27 10D69-10D6D 10EAB-10EAC 10EFA-10EFF 10F46-10F50 10F82-10F85 11070
    11073-11074 110C2 111C9 111CF 1123E 11241 1133B 113BB-113C0 113CE 113D0 113D2 113E1-113E2 11438-1143F
    11442-11444 11446 1145E 1182F-11837 11839-1183A 1193B-1193C 1193E 11943 119D4-119D7 119DA-119DB 119E0
    11A01-11A0A 11A33-11A38 11A3B-11A3E 11A47 11A51-11A56 11A59-11A5B 11A8A-11A96 11A98-11A99 11B60 11B62-11B64
    11B66 11C30-11C36 11C38-11C3D 11C3F 11C92-11CA7 11CAA-11CB0 11CB2-11CB3 11CB5-11CB6 11D31-11D36 11D3A
    11D3C-11D3D 11D3F-11D45 11D47 11D90-11D91 11D95 11D97 11EF3-11EF4 11F00-11F01 11F36-11F3A 11F40 11F42 11F5A
    13440 13447-13455 1611E-16129 1612D-1612F 16F4F 16FE4 1CF00-1CF2D 1CF30-1CF46 1E000-1E006 1E008-1E018
    1E01B-1E021 1E023-1E024 1E026-1E02A 1E08F 1E130-1E136 1E2AE 1E2EC-1E2EF 1E4EC-1E4EF 1E5EE-1E5EF 1E6E3 1E6E6
    1E6EE-1E6EF 1E6F5 1E944-1E94A
    """
)
NONSPACING_OLDER = code_point_ranges("1734 1171E")

#: Format characters that HF's BERT normalizer does not drop.
FORMAT_NEWER = code_point_ranges("890-891 8E2 110CD 13430-1343F")
