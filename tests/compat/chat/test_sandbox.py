"""The environment of chat templates: what whole templates write and use of their budget, and who may not run them."""

from __future__ import annotations

import functools
import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
from fresh import run

import bbpe
from bbpe.spec.chat_templates import ChatTemplate

pytest.importorskip("jinja2")
budget = pytest.importorskip("bbpe.compat.chat.budget")
sandbox = pytest.importorskip("bbpe.compat.chat.sandbox")
tracing = pytest.importorskip("bbpe.compat.chat.tracing")

#: Templates, what they write, and the characters and steps that this takes.
USED: list[tuple[str, str, int, int]] = [
    ("ab", "ab", 2, 1), ("{{ 'ab' ~ 'cd' }}", "abcd", 8, 1), ("{{ 5 }}", "5", 331, 2),
    ("{{ [1,2] }}", "[1, 2]", 958, 4),
    ("{{ 'a' in 'abc' }}", "True", 324, 4), ("{{ 'a' == 'b' }}", "False", 325, 4),
    ("{% for x in 'abc' if x != 'b' %}{{ x }}{% endfor %}", "ac", 2, 12), ("{{ {'a': 1} }}", "{'a': 1}", 894, 4),
    ("{{ (1, 2) }}", "(1, 2)", 1018, 7), ("{{ 'abc'[1:] }}", "bc", 4, 1),
    ("{% autoescape true %}{{ '<' ~ 'b' }}{% endautoescape %}", "&lt;b", 17, 2),
    ("{{ ('<b>' | safe).format() }}", "<b>", 30, 3), ("{{ ('{}' | safe).format('<') }}", "&lt;", 23, 3),
    ("{{ '{!r:>9}'.format('a') }}", "      'a'", 40, 2), ("{{ '{a}'.format_map({'a': 1}) }}", "1", 340, 3),
    ("{{ 'abc' | upper }}", "ABC", 12, 2), ("{{ ['b', 'a'] | sort }}", "['a', 'b']", 1714, 59),
    ("{{ 'a' is eq 'a' }}", "True", 324, 5), ("{{ 1 is odd }}", "True", 324, 3),
    ("{{ range(3) | list }}", "[0, 1, 2]", 1349, 11), ("{{ strftime_now('%%') }}", "%", 541, 3),
    ("{{ lipsum(n=1, html=false, min=1, max=2) | length > 0 }}", "True", 484, 8), ("{{ dict(a=1).a }}", "1", 353, 4),
    ("{{ dict.fromkeys('ab') }}", "{'a': None, 'b': None}", 1422, 8),
    ("{% set ns = namespace(a=1) %}{{ ns }}", "<Namespace {'a': 1}>", 312, 5),
    ("{% macro m(x) %}{{ x }}{% endmacro %}{{ m('a') }}{{ m(x='b') }}", "ab", 58, 7),
    ("{% generation %}ab{% endgeneration %}", "ab", 4, 3),
]  # fmt: skip


@pytest.mark.parametrize(("template", "text", "characters", "steps"), USED, ids=[row[0] for row in USED])
def test_what_a_template_writes_and_uses(
    template: str, text: str, characters: int, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []

    class Kept(budget.RenderBudget):  # type: ignore[misc, name-defined]
        def __init__(self, given: object) -> None:
            super().__init__(given)
            made.append(self)

    monkeypatch.setattr(sandbox, "RenderBudget", Kept)
    assert sandbox.render(ChatTemplate(template), {}) == text
    (used,) = made
    assert (used._characters - used.characters, used._steps - used.steps) == (characters, steps)
    assert used.calls == 100  # each call has given its own back
    with pytest.raises(LookupError):
        budget.current()


def test_a_template_of_as_many_characters_as_the_limit_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for most, is_refused in ((23, False), (22, True)):
        monkeypatch.setattr(budget, "LIMITS", budget.Limits(source=most))
        template = ChatTemplate(f"{{{{ 1 }}}}\n{most}{'x' * 13}")
        if is_refused:
            with pytest.raises(bbpe.VocabularyError, match=r"^chat template: line 2: .* it has more than 22 cha"):
                sandbox.render(template, {})
        else:
            assert sandbox.render(template, {}) == f"1\n{most}{'x' * 13}"


def test_what_is_said_of_a_limit_and_of_a_failure() -> None:
    said = r"^chat template: line 1: the template has a range of more than 100,000 numbers; such work is out"
    with pytest.raises(bbpe.VocabularyError, match=said):
        sandbox.render(ChatTemplate("{{ range(100001) }}"), {})
    assert sandbox.render(ChatTemplate("{{ range(100000) | last }}"), {}) == "99999"
    said = r"^chat template: line 2: the template fails with these messages: ZeroDivisionError: "
    with pytest.raises(bbpe.VocabularyError, match=said):
        sandbox.render(ChatTemplate("\n{{ 1 / 0 }}"), {})
    with pytest.raises(bbpe.VocabularyError, match=r"^chat template: line 1: only users speak$"):
        sandbox.render(ChatTemplate("{{ raise_exception('only users speak') }}"), {})
    said = "^chat template: line 1: the template is malformed: "
    compiled = [functools.partial(sandbox.compile_in, made) for made in (sandbox._ENVIRONMENT, tracing._ENVIRONMENT)]
    for read in (sandbox.variables_of, lambda template: sandbox.render(template, {}), *compiled):
        with pytest.raises(bbpe.VocabularyError, match=said):
            read(ChatTemplate("{% if %}"))
        with pytest.raises(LookupError):
            budget.current()
    assert sandbox.variables_of(ChatTemplate("{{ a }}{% set b = 1 %}{{ b }}{% if c %}{% endif %}")) == {"a", "c"}


def test_after_warming_up_no_template_is_compiled_any_more() -> None:
    source = "{% for message in messages %}{{ message.content }}warm{% endfor %}"
    tok = bbpe.train_from_iterator(["low"], 257).with_roles(chat_template=source)
    tok.warm_up()
    before = sandbox._compiled.cache_info()
    chat = [{"role": "user", "content": "low"}]
    assert tok.apply_chat_template(chat) == "lowwarm"
    assert tok.decode(tok.encode_chat(chat).ids) == "lowwarm"
    after = sandbox._compiled.cache_info()
    assert after.misses == before.misses
    assert after.hits > before.hits


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (None, r"^chat templates need the package jinja2, version 3\.1\.6 or later: pip install 'bbpe\[chat\]'$"),
        ("3.1.5", "; found 3.1.5, whose sandbox templates can leave$"), ("3.0", "; found 3.0, "),
        ("2.99.9", r"; found 2\.99\.9, "),
        ("3.1.6", None), ("3.2rc1", None), ("4.0", None),
    ],
)  # fmt: skip
def test_an_old_jinja2_is_refused(found: str | None, said: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.spec_from_file_location("bbpe.compat.chat.sandbox_anew", sandbox.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    if found is None:
        monkeypatch.setitem(sys.modules, "jinja2", None)
    else:
        monkeypatch.setattr("importlib.metadata.version", lambda name: found)
    if said is None:
        spec.loader.exec_module(module)
        assert module.render(ChatTemplate("{{ 1 }}"), {}) == "1"
    else:
        with pytest.raises(ImportError, match=said) as caught:
            spec.loader.exec_module(module)
        assert caught.value.__suppress_context__ is (found is None)


def test_without_jinja2_every_call_says_how_to_get_it(tmp_path: Path) -> None:
    printed = run(
        """
        import sys

        sys.modules["jinja2"] = None
        import bbpe

        tok, chat = bbpe.train_from_iterator(["low"], 257), [{"role": "user", "content": "low"}]
        calls = (tok.apply_chat_template, chat), (tok.encode_chat, chat), (tok.encode_chat_batch, [chat])
        for call, given in calls:
            try:
                call(given, chat_template="{{ 1 }}")
            except ImportError as error:
                print(error)
        """,
        tmp_path,
    )
    assert printed == "chat templates need the package jinja2, version 3.1.6 or later: pip install 'bbpe[chat]'\n" * 3
