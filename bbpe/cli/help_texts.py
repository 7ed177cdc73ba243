"""What `--help` shows: commands in groups, a usage line that fits a terminal, and examples that work.

    usage: bbpe train [OPTIONS] -o PATH --vocab-size N [FILE ...]

The formatter completes the description of an option with facts that the parser knows: its default, its choices, and
whether it may be given repeatedly.  So a description says only what the option is for.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from typing import Any

_WIDEST, _NARROWEST, _HELP_AT = 100, 60, 30
#: Choices that need more columns than these are listed in the description, and not beside the option.
_CHOICES = 28
_ENDS = (
    "`bbpe COMMAND --help` lists the options of a command, with examples.",
    "In Python, help(bbpe) is a tour. Guide: docs/command-line.md in the sources.",
)

#: Examples by command: what each does, and the words to type.
EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "demo": (
        ("Train on Python's own sources and look at the result.", "bbpe demo"),
        ("Keep the tokenizer.", "bbpe demo -o tokenizer.json"),
    ),
    "train": (
        ("Learn 32,000 tokens from all text files of a folder.",
         "bbpe train corpus/ --vocab-size 32k -o tokenizer.json"),
        ("Write a folder that a model can use, with an end-of-text token and one for padding.",
         'bbpe train corpus/ --vocab-size 32k --eos-token "<|end|>" --pad-token "<|pad|>" -o model/'),
        ("Learn a Unigram model, as SentencePiece does.",
         "bbpe train corpus/ --model unigram --vocab-size 8k -o unigram.model"),
    ),
    "count": (
        ("Count the pretokens of files once, to train from them many times.", "bbpe count corpus/ -o counts.parquet"),
        ("Count in at most 4 GB, and resume after a crash.",
         "bbpe count corpus/ --max-memory 4GB --checkpoint state -o counts.parquet"),
    ),
    "counts merge": (
        ("Add up the counts of two days.", "bbpe counts merge monday.parquet tuesday.parquet -o counts.parquet"),
        ("Count the second file twice.",
         "bbpe counts merge monday.parquet tuesday.parquet --weight 1 --weight 2 -o counts.parquet"),
    ),
    "counts show": (
        ("Show the size of the corpus and its most common pretokens.", "bbpe counts show counts.parquet"),
        ("Show the 50 most common pretokens.", "bbpe counts show counts.parquet --top 50"),
    ),
    "extend": (
        ("Learn 10,000 more tokens from your own text.",
         "bbpe extend corpus/ -t tokenizer.json --add 10k -o larger.json"),
        ("Learn tokens of several words.",
         "bbpe extend corpus/ -t tokenizer.json --pattern none --max-words 4 --add 1k -o larger.json"),
    ),
    "prune": (
        ("Keep only the tokens that a text uses.", "bbpe prune -t tokenizer.json --used-in en.txt -o smaller.json"),
        ("Drop the last merges, and save the new id of each old one.",
         "bbpe prune -t tokenizer.json --keep 30k --map new_ids.npy -o smaller.json"),
    ),
    "tokens": (
        ("Count the tokens of files.", "bbpe tokens -t tokenizer.json en.txt zh.txt"),
        ("Compare two tokenizers, folder by folder.",
         "bbpe tokens -t tokenizer.json -t other.json --by folder corpus/"),
        ("Cut a text into chunks of at most 512 tokens.",
         "bbpe tokens -t tokenizer.json --chunk 512 --json en.txt"),
    ),
    "encode": (
        ("Write the ids of a text.", "bbpe encode -t tokenizer.json en.txt"),
        ("Write one line of ids for each line of text.", "bbpe encode -t tokenizer.json --lines en.txt"),
        ("Save the ids of all files of a folder as one array.",
         "bbpe encode -t tokenizer.json corpus/ --numpy ids.npy"),
    ),
    "decode": (
        ("Turn ids back into text.", "bbpe decode -t tokenizer.json ids.txt"),
        ("Decode an array of NumPy.", "bbpe decode -t tokenizer.json ids.npy"),
    ),
    "shard": (
        ("Encode a corpus for training. After a crash, run the same command again.",
         'bbpe shard corpus/ -t tokenizer.json --eos "<|end|>" -o out/web'),
        ("Make the plan, and show what it will take on a cluster.",
         'bbpe shard corpus/ -t tokenizer.json --eos "<|end|>" -o out/plan --plan-only'),
        ("Write every 64th part, as one of 64 tasks.", "bbpe shard -o out/plan --part 0/64"),
    ),
    "shards status": (
        ("Show which parts are done.", "bbpe shards status out/web"),
        ("Look again every minute until all is done.", "bbpe shards status out/web --watch 60"),
    ),
    "shards verify": (
        ("Read all files and list their faults.", "bbpe shards verify out/web"),
        ("Encode one part in ten again, too.", "bbpe shards verify out/web --sample 0.1"),
    ),
    "shards merge": (
        ("Merge shards in random order.", "bbpe shards merge out/web out/code --shuffle 42 -o out/all"),
        ("Mix 70 % of one source and 30 % of another.",
         "bbpe shards merge out/web:0.7 out/code:0.3 --tokens 10B -o out/mix"),
    ),
    "shards convert": (
        ("Write the ids of a folder of bbpe for another program.",
         "bbpe shards convert out/web --from bbpe --to parquet -o out/parquet"),
        ("Encode the texts of shards by another tokenizer.",
         "bbpe shards convert out/web --from bbpe --to olmo --retokenize other.json -o out/other"),
    ),
    "shards blend": (
        ("Print Megatron's --data-path for two sources.", "bbpe shards blend out/web:0.7 out/code:0.3"),
        ("Print the paths and the weights as JSON.", "bbpe shards blend out/web:0.7 out/code:0.3 --json"),
    ),
    "shards show": (
        ("Show what shards hold.", "bbpe shards show out/web"),
        ("Show the text and the ids of document 1.", "bbpe shards show out/web 1"),
    ),
    "convert": (
        ("Write a SentencePiece model as a tokenizer.json.", "bbpe convert unigram.model unigram.json"),
        ("Prove on your text that the ids stay the same.",
         "bbpe convert tokenizer.json copy.json --verify en.txt zh.txt"),
    ),
    "inspect": (
        ("Show what a tokenizer is, and what is unusual in it.", "bbpe inspect tokenizer.json"),
        ("Write all facts as JSON.", "bbpe inspect tokenizer.json --json"),
        ("Show what bbpe finds on this machine.", "bbpe inspect --machine"),
    ),
    "lint": (
        ("Find what is wrong with a vocabulary.", "bbpe lint -t tokenizer.json"),
        ("Find the tokens that your text does not use, too.", "bbpe lint -t tokenizer.json corpus/"),
        ("Fail on warnings, as a check in CI.", "bbpe lint -t tokenizer.json --strict"),
    ),
    "eval": (
        ("Compare two tokenizers on two languages.", "bbpe eval -t tokenizer.json -t other.json en.txt zh.txt"),
        ("Measure smaller vocabularies of the same tokenizer.",
         "bbpe eval -t tokenizer.json --sizes 4k,8k,16k en.txt"),
    ),
    "compare": (
        ("Show how two tokenizers differ.", "bbpe compare tokenizer.json other.json"),
        ("Show how they differ on your text, as a page.",
         "bbpe compare tokenizer.json other.json en.txt --html page.html"),
    ),
    "view": (
        ("Write a page with the tokens of two files.", "bbpe view -t tokenizer.json en.txt zh.txt -o page.html"),
        ("Show two tokenizers side by side.",
         "bbpe view -t tokenizer.json -t other.json en.txt -o page.html"),
    ),
    "show": (
        ("Show the tokens of a text in colour.", 'bbpe show "tokenizers are fun" -t tokenizer.json'),
        ("Show step by step how merges make them.", 'bbpe show "tokenizers" -t tokenizer.json --trace'),
    ),
    "serve": (
        ("Open a playground in the browser.", "bbpe serve -t tokenizer.json"),
        ("Compare two tokenizers there, at any free port.", "bbpe serve -t tokenizer.json -t other.json --port 0"),
    ),
    "fetch": (
        ("Download the vocabulary of GPT-4o, once.", "bbpe fetch o200k_base"),
        ("Download it by the name of the model.", "bbpe fetch gpt-4o --folder vocabs"),
    ),
    "bench": (
        ("Measure the speed on your own text.", "bbpe bench en.txt -t tokenizer.json"),
        ("Compare it with that of other libraries, ids included.",
         "bbpe bench en.txt -t tokenizer.json --against tiktoken,tokenizers"),
    ),
    "completion": (
        ("Complete commands, options and names in bash.",
         "bbpe completion bash > ~/.local/share/bash-completion/completions/bbpe"),
        ("Complete them in fish.", "bbpe completion fish > ~/.config/fish/completions/bbpe.fish"),
    ),
}  # fmt: skip


class HelpFormatter(argparse.HelpFormatter):
    """Formats the help of a command."""

    def __init__(self, prog: str, **options: Any) -> None:
        super().__init__(prog, **{"width": _WIDEST, **options, "max_help_position": _HELP_AT})

    def _format_usage(self, usage: Any, actions: Iterable[argparse.Action], groups: Any, prefix: Any) -> str:
        """Return a line with the options that are required, and the other arguments; or `usage`.

        argparse passes a line that it made before where it hides arguments, to read options among them.
        """
        if usage is not None:
            return f"usage: {usage.strip()}\n\n"
        words = [self._prog, "[OPTIONS]"]
        given = list(actions)
        for action in given:
            if action.required and action.option_strings:
                words.append(f"{action.option_strings[0]} {self._values(action)}")
        for action in given:
            if isinstance(action, argparse._SubParsersAction):
                words += [str(action.metavar), "..."]
            elif not action.option_strings:
                words.append(self._values(action))
        return f"usage: {' '.join(words)}\n\n"

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings:
            return super()._format_action_invocation(action)
        names = ", ".join(action.option_strings)
        return names if action.nargs == 0 else f"{names} {self._values(action)}"

    def _values(self, action: argparse.Action) -> str:
        if action.metavar is None and action.choices is not None and action.option_strings:
            short = f"{{{','.join(map(str, action.choices))}}}"
            return short if len(short) <= _CHOICES else "NAME"
        default = action.dest.upper() if action.option_strings else action.dest
        return self._format_args(action, default)

    def _format_args(self, action: argparse.Action, default_metavar: str) -> str:
        if action.nargs == argparse.ONE_OR_MORE:
            return f"{self._metavar_formatter(action, default_metavar)(1)[0]} ..."
        return super()._format_args(action, default_metavar)

    def _expand_help(self, action: argparse.Action) -> str:
        """Return the description, and after it the choices, the default and whether the option is repeatable."""
        text = super()._expand_help(action)
        facts = []
        if action.option_strings and action.choices is not None and self._values(action) == "NAME":
            facts.append(f"one of: {', '.join(map(str, action.choices))}")
        has_default = action.default not in (None, argparse.SUPPRESS, [], ()) and action.nargs != 0
        if has_default and action.option_strings and "[default:" not in text:
            facts.append(f"default: {action.default}")
        if isinstance(action, argparse._AppendAction):
            facts.append("repeatable")
        return " ".join([text, *(f"[{fact}]" for fact in facts)])


def columns() -> int:
    """Return the columns of help: those of the terminal, but neither few nor many."""
    import shutil  # which takes as long as all of the parser, and most commands show no help

    return min(max(shutil.get_terminal_size().columns - 2, _NARROWEST), _WIDEST)


def examples(prog: str) -> str:
    """Return the examples of a command, empty if it has none."""
    lines = [f"  # {what}\n  {words}\n" for what, words in EXAMPLES.get(prog.removeprefix("bbpe "), ())]
    return "\nExamples:\n" + "\n".join(lines) if lines else ""


def overview(description: str, groups: Mapping[str, Mapping[str, str]]) -> str:
    """Return the help of the program: its commands, a group after the other."""
    import textwrap

    width = columns()
    parts = [textwrap.fill(description, width), "\n\nusage: bbpe COMMAND [OPTIONS]\n"]
    for title, commands in groups.items():
        parts.append(f"\n{title}:\n")
        for name, summary in commands.items():
            lines = textwrap.wrap(summary, width - 14)
            parts.append(f"  {name:<12}" + f"\n{'':14}".join(lines) + "\n")
    parts.append("\nOptions:\n  -h, --help    Show this help, or that of a command, and exit.\n")
    parts.append("  -V, --version Show the version and exit.\n")
    return "".join([*parts, "\n", *(textwrap.fill(end, width) + "\n" for end in _ENDS)])
