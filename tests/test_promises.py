"""The promises of the documentation have tests: for each sentence, those that fail when it is broken.

A sentence that is added to "Promises" in docs/reliability.md, or one with "always", "never", "at most" or "exactly" in
the pages below, fails here until it is in the table.  One promise is tested here: types of results.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from option_rows import ROWS
from two_values import is_there

ROOT = Path(__file__).resolve().parents[1]
STRONG = re.compile(r"\b(?:always|never|at most|exactly)\b", re.IGNORECASE)
#: The beginning of a sentence, and tests of what it says.
RELIABILITY: dict[str, tuple[str, ...]] = {
    "A loaded vocabulary gives the ids": (
        "encoding/test_parity.py::test_hard_strings_as_tiktoken", "pipeline/test_random_files.py::test_random_files"),
    "If bbpe cannot do that": ("formats/test_unknown_fields.py::test_tokenizer_json",),
    "bbpe never approximates silently": ("formats/test_oniguruma.py::test_constructs_that_mean_something_else",),
    "Every byte string encodes": (
        "encoding/test_encode.py::test_every_kind_of_text", "encoding/test_decode.py::test_decoding_any_sequence"),
    "A tokenizer with a normalizer is": ("pipeline/test_normalizing.py::test_random_texts_as_hf",),
    "Threads, batches, streams": (
        "encoding/test_matrix.py::test_ids_are_equal_in_every_mode", "encoding/test_threads.py::test_one_text",
        "encoding/test_stream_decoder.py::test_joined_output_is_the_text",
        "counting/test_count.py::test_threads_change_nothing",
        "counting/test_count.py::test_spilling_changes_nothing",
        "counting/test_checkpoint.py::test_another_way_may_go_on"),
    "Caches have fixed limits": ("core/test_cache_memory.py::test_the_limit_holds",),
    "`max_memory` applies to the whole process": (
        "counting/test_max_memory.py::test_the_process_stays_within_its_memory",
        "counting/test_max_memory.py::test_an_endless_line_is_named", "counting/test_max_memory.py::test_cells"),
    "Work that does not fit ends in an error": (
        "counting/test_count.py::test_merging_that_does_not_fit_is_refused_before_it_starts",),
    "If the system sets a lower limit": (
        "test_budget.py::test_the_lowest_limit_holds", "test_budget.py::test_errors_name_the_limit_that_holds"),
    "A count that would overflow": ("counting/test_counts.py::test_a_count_beyond_64_bits_is_refused",),
    "bbpe writes a file under a temporary name": ("test_files.py::test_a_file_is_on_the_disk_before_its_name_is",),
    "After Ctrl-C, a kill": (
        "cli/test_kill.py::test_a_process_killed_at_a_step_leaves_whole_files",
        "cli/test_interrupt.py::test_ctrl_c_at_any_moment_of_a_command"),
    "The new file has the mode": (
        "test_files.py::test_the_mode_is_kept_and_nobody_else_may_read_meanwhile",
        "test_files.py::test_the_owner_is_kept"),
    "bbpe does not replace a read-only file": ("test_files.py::test_a_read_only_file_is_refused",),
    "Nor does it replace a file with hard links": ("test_files.py::test_a_file_with_other_names_is_refused",),
    "A command rejects an output": ("cli/test_cli_outputs.py::test_an_output_that_is_an_input_is_refused",),
    "A checkpoint folder must be new": (
        "counting/test_checkpoint_folder.py::test_a_folder_that_is_not_ours_is_refused_and_left_alone",
        "counting/test_checkpoint_folder.py::test_what_is_left_over_of_ours_goes_and_everything_else_stays"),
    "Counts files and checkpoints have digests": (
        "counting/test_counts_files.py::test_a_digest_does_not_depend_on_batches",
        "counting/test_checkpoint_damage.py::test_a_change_without_its_digest_is_found"),
    "A changed bit raises": (
        "counting/test_counts_files.py::test_flipped_bits_change_no_count",
        "counting/test_checkpoint_damage.py::test_flipped_bits_change_no_count"),
    "A second count on the same checkpoint": (
        "counting/test_checkpoint_folder.py::test_a_second_count_is_refused_whoever_begins_it",),
    "Later processes load a vocabulary": ("tables/test_store.py::test_the_folder_of_the_user",),
    "The file belongs to the user alone": (
        "tables/test_store.py::test_the_folder_of_the_user",
        "tables/test_store.py::test_a_damaged_file_is_ignored_and_written_anew"),
    "bbpe ignores a damaged file": (
        "tables/test_store.py::test_a_damaged_file_is_ignored_and_written_anew",
        "tables/test_store.py::test_what_others_can_write_to_is_not_used"),
    "File names depend on contents only": (
        "tables/test_store.py::test_another_key_for_everything_that_changes_a_tokenizer",),
    "bbpe reads the files and does not map": ("tables/test_store.py::test_a_file_in_use_may_be_cut_or_written_to",),
    "If the name of a file says nothing": (
        "corpus/test_contents.py::test_json_lines_are_read_as_such",
        "corpus/test_contents.py::test_parquet_is_read_as_such"),
    "It rejects archives, tables, WARC": (
        "corpus/test_kinds.py::test_contents_of_what_is_no_text_are_refused",
        "corpus/test_kinds.py::test_utf16_and_utf32_are_refused",
        "counting/test_jobs.py::test_a_file_of_another_size_is_an_error_wherever_it_is_read"),
    "An error for bad input names": ("test_messages.py::test_messages",),
    "Only `bbpe fetch` downloads": ("published/test_encodings.py::test_only_two_modules_know_the_network",),
    "It uses https": (
        "published/test_fetch.py::test_only_https",
        "published/test_fetch.py::test_a_server_that_takes_its_time"),
    "bbpe loads the same bytes": ("published/test_fetch.py::test_a_file_that_is_exchanged_once_it_is_checked",),
}  # fmt: skip
STRONG_ONES: dict[str, tuple[str, ...]] = {
    "never on an option": ("test_promises.py::test_the_type_of_a_result_depends_on_no_option",),
    "`chunk` cuts a text into parts of at most n tokens": ("encoding/test_chunk.py::test_chunks_fit_and_join",),
    "A token never covers white space": ("encoding/test_offsets.py::test_offsets_after_pre_tokenizers",),
    "Between calls bbpe keeps at most one idle thread": (
        "core/test_limits.py::test_without_more_threads_those_that_are_there_do_it",),
    "idle threads never delay exit": ("test_worker_threads.py::test_threads_that_wait_do_not_delay_the_end",),
    "Keys are exact, so a hit is always right": (
        "encoding/test_threads.py::test_eight_threads_share_a_tokenizer_and_its_caches",),
    "`stream_decoder` always agree": ("encoding/test_decode_edges.py::test_all_ways_agree",),
    "bbpe never guesses whether": (
        "corpus/test_corpus.py::test_a_text_is_no_name",
        "corpus/test_contents.py::test_what_takes_texts_takes_no_records"),
    "needs a `vocab_size` of at most 65,536": ("encoding/test_encode.py::test_numpy_results",),
    "implements four of them exactly": (
        "training/test_train.py::test_random_corpora", "training/test_word_ties.py::test_all_small_texts"),
    "exactly the same as with unlimited memory": ("counting/test_count.py::test_spilling_changes_nothing",),
    "It never leaves anything out": (
        "counting/test_max_memory.py::test_an_endless_word_is_refused_with_its_place",),
    "never leaves a half-written file": ("cli/test_interrupt.py::test_ctrl_c_at_any_moment_of_a_command",),
    "may make counting slower, never wrong": ("counting/test_count.py::test_any_kind_of_text",),
}  # fmt: skip


def promises() -> list[str]:
    """The sentences of the section "Promises", without the titles of their paragraphs."""
    page = (ROOT / "docs/reliability.md").read_text("utf-8")
    section = page.partition("## Promises\n")[2].partition("\n## ")[0]
    items = re.findall(r"^\* \*\*[^*]+\*\* (.*?)(?=^\* |\Z)", section, re.MULTILINE | re.DOTALL)
    return [sentence for item in items for sentence in re.split(r"(?<=[.])\s+(?=[A-Z`b])", " ".join(item.split()))]


def strong_sentences() -> list[str]:
    found: list[str] = []
    for name in ("SECURITY.md", "docs/encoding.md", "docs/training.md"):
        text = re.sub(r"^```.*?^```$", "", (ROOT / name).read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
        for paragraph in re.split(r"\n\s*\n|\n(?=\* )", text):
            for sentence in re.split(r"(?<=[.;:])\s+", " ".join(paragraph.split())):
                found += [sentence] if STRONG.search(sentence) else []
    return found


def test_every_promise_has_tests() -> None:
    sentences = promises()
    assert len(sentences) > 25
    for sentence in sentences:
        assert sum(sentence.startswith(known) for known in RELIABILITY) == 1, f"no test is named for: {sentence}"
    for sentence in strong_sentences():
        assert any(known in sentence for known in STRONG_ONES), f"no test is named for: {sentence}"
    pages = " ".join([*sentences, *strong_sentences()])
    for table in (RELIABILITY, STRONG_ONES):
        for known, tests in table.items():
            assert known in pages, f"no page says: {known}"
            assert [test for test in tests if not is_there(test)] == []


TYPED = ("encode", "decode", "count", "fits", "truncate", "chunk")
NAMES = [name for name in ROWS if name.startswith(tuple(f"Tokenizer.{each}" for each in TYPED))]


@pytest.mark.parametrize("name", NAMES)
def test_the_type_of_a_result_depends_on_no_option(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.jsonl").write_text('{"text": "see", "more": "my"}\n')
    row, found = ROWS[name], set[type]()
    for option, two in row.options.items():
        for value in (two.first, two.second):
            given: dict[str, Any] = {**row.given, **two.more, option: value}
            try:
                found.add(type(row.call(**{key: each for key, each in given.items() if each is not ...})))
            except ValueError:  # a value that is refused
                continue
    assert len(found) == 1
