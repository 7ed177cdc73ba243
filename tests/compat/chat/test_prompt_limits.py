"""The limits of chat templates, lowered so far that harmless templates pass them, and the errors of templates.

Every template here ends at once without limits too.
"""

from __future__ import annotations

import re
import tracemalloc
from pathlib import Path

import pytest
from seeds import then_full

import bbpe

pytest.importorskip("jinja2")
budget = pytest.importorskip("bbpe.compat.chat.budget")

CHAT = [{"role": "user", "content": "see"}, {"role": "assistant", "content": None}]
FEW_CHARACTERS = budget.Limits(characters=4000, characters_per_given=1, numbers=300)
FEW_OTHERS = budget.Limits(steps=1500, steps_per_given=1, calls=20, numbers=300, bits=256, source=3000)
# a list within lists, which is 2 ** 10 times as long as a text as it is in memory
DEEP = (
    "{% set ns = namespace(a=['x'], b=['x']) %}{% for i in range(10) %}{% set ns.a = [ns.a, ns.a] %}"
    "{% set ns.b = [ns.b, ns.b] %}{% endfor %}"
)
GROW = "{%% set ns = namespace(a='x') %%}{%% for i in range(14) %%}{%% set ns.a = %s %%}{%% endfor %%}"
MADE = {
    "text * n": "{{ 'ab' * 9000 }}", "n * text": "{{ 9000 * 'ab' }}", "list * n": "{{ ([1] * 9000) | length }}",
    "a + a": GROW % "ns.a + ns.a",
    "a ~ a": GROW % "ns.a ~ ns.a",
    "list + list": GROW.replace("'x'", "['x']") % "ns.a + ns.a",
    "slices": "{% set t = 'x' * 900 %}{% set ns = namespace(a=[]) %}{% for i in range(9) %}"
    "{% set ns.a = ns.a + [t[1:]] %}"
    "{% endfor %}",
    "literals": "{% set ns = namespace(a=[]) %}{% for i in range(99) %}{% set ns.a = [ns.a, 1, 2, 3, 4] %}{% endfor %}",
    "dicts": "{% for i in range(99) %}{% set a = {'a': 1, 'b': 2, 'c': 3} %}{% endfor %}",
    "printf width": "{{ '%9000d' % 1 }}",
    "printf precision": "{{ '%.9000f' % 1.0 }}",
    "printf *": "{{ '%*d' % (9000, 1) }}",
    "printf key": "{{ '%(a)9000d' % {'a': 1} }}", "printf often": "{{ ('%(a)s' * 99) % {'a': 'x' * 99} }}",
    "bytes %": "{{ ('%9000d'.encode() % 1) | length }}", "|format": "{{ '%9000d' | format(1) }}",
    "format": "{{ '{:9000}'.format(1) }}", "format nested": "{{ '{:{}}'.format(1, 9000) }}",
    "format precision": "{{ '{:.9000f}'.format(1.0) }}", "format_map": "{{ '{a:9000}'.format_map({'a': 1}) }}",
    "format often": "{{ ('{0}' * 99).format('x' * 99) }}", "format !r": DEEP + "{{ '{!r}'.format(ns.a) }}",
    "|center": "{{ 'a' | center(9000) }}", "center": "{{ 'a'.center(9000) }}", "ljust": "{{ 'a'.ljust(9000) }}",
    "rjust": "{{ 'a'.rjust(9000) }}",
    "zfill": "{{ 'a'.zfill(9000) }}",
    "bytes": "{{ 'a'.encode().zfill(9000) | length }}",
    "expandtabs": "{{ '\\t'.expandtabs(9000) }}", "|indent": "{{ 'a\\nb' | indent(9000) }}",
    "|indent text": "{{ ('a\\n' * 90) | indent('x' * 90) }}",
    "|wordwrap": "{{ ('a' * 90) | wordwrap(1, true, 'x' * 90) }}",
    "|batch": "{{ [1] | batch(9000, 'x') | list }}", "|slice": "{{ [1] | slice(9000) | list | length }}",
    "|join": "{{ (['a'] * 90) | join('x' * 90) }}", "join": "{{ ('x' * 90).join(['a'] * 90) }}",
    "|replace": "{{ ('a' * 90) | replace('a', 'b' * 90) }}", "replace": "{{ ('a' * 90).replace('a', 'b' * 90) }}",
    "|replace nothing": "{{ ('a' * 90) | replace('', 'b' * 90) }}",
    "translate": "{{ ('a' * 90).translate({97: 'x' * 90}) }}",
    "|tojson indent": "{{ [[[1]]] | tojson(indent=9000) }}",
    "|tojson between": "{{ [1, 2] | tojson(separators=('x' * 3900, ':')) }}",
    "|urlize": "{{ ('http://a.b ' * 9) | urlize(target='x' * 90) }}", "|xmlattr": "{{ {'a': '<' * 900} | xmlattr }}",
    "|escape": "{{ ('<' * 900) | e }}",
    "|urlencode": "{{ ('é' * 900) | urlencode }}",
    "|upper": "{{ ('ß' * 1900) | upper }}",
    "autoescape": "{% autoescape true %}{{ ('<' * 900) ~ ('a' | safe) }}{% endautoescape %}",
    "markup": "{{ ('a' | safe) + ('<' * 900) }}", "markup %": "{{ ('%s' | safe) % ('<' * 900,) }}",
    "|sum": "{{ ([[1] * 9] * 9) | sum(start=[]) | length }}",
    "|list": "{{ 'x' * 900 }}{{ ('x' * 900) | list | length }}",
    "split": "{{ ('a ' * 900).split() | length }}", "to_bytes": "{{ (5).to_bytes(9000, 'big') | length }}",
    "fromkeys": "{{ dict.fromkeys(range(290)) | length }}", "lipsum": "{{ lipsum(9) }}",
    "strftime": "{{ strftime_now('%Y' * 9) }}",
    "text of a list": DEEP + "{{ ns.a }}",
    "|tojson": DEEP + "{{ ns.a | tojson }}",
    "|pprint": DEEP + "{{ ns.a | pprint }}",
    "|string": DEEP + "{{ ns.a | string }}",
    "~ list": DEEP + "{{ ns.a ~ '' }}",
    "% list": DEEP + "{{ '%s' % (ns.a,) }}",
    "|join list": DEEP + "{{ ns.a | join }}",
    "==": DEEP + "{{ ns.a == ns.b }}",
    "in": DEEP + "{{ ns.a in [ns.b] }}",
    "is eq": DEEP + "{{ ns.a is eq ns.b }}",
    "|sort": DEEP + "{{ [ns.a, ns.b] | sort }}",
    "|map|sort": DEEP + "{{ [ns.a, ns.b] | map('default') | sort }}",
    "|unique": DEEP + "{{ [ns.a, ns.b] | unique | list }}",
    "tuples": DEEP.replace("['x']", "('x',)").replace("[ns.a, ns.a]", "(ns.a, ns.a)") + "{{ {ns.a: 1} }}",
    "namespaces": "{% set ns = namespace(a=1) %}{% for i in range(10) %}{% set m = namespace() %}"
    "{% set m.x = [ns.a, ns.a] %}"
    "{% set ns.a = m %}{% endfor %}{{ ns.a }}",
    "output": "{% for a in range(99) %}" + "x" * 99 + "{% endfor %}",
    "set block": "{% set q %}{% for a in range(99) %}" + "x" * 99 + "{% endfor %}{% endset %}",
    "macro": "{% macro m() %}{% for a in range(99) %}" + "x" * 99 + "{% endfor %}{% endmacro %}{% set q = m() %}",
    "call block": "{% macro m() %}{{ caller() }}{% endmacro %}{% for i in range(99) %}"
    "{% call m() %}" + "x" * 99 + "{% endcall %}"
    "{% endfor %}",
    "filter block": "{% for i in range(99) %}{% filter upper %}" + "x" * 99 + "{% endfilter %}{% endfor %}",
}  # fmt: skip
STEPS = {
    "loops": "{% for a in range(99) %}{% for b in range(99) %}{% endfor %}{% endfor %}",
    "conditions of loops": "{% for a in range(99) %}{% for b in range(99) if false %}{% endfor %}{% endfor %}",
    "what a filter leaves out": "{% for i in range(99) %}"
    "{{ range(99) | reject('odd') | select('odd') | first }}{% endfor %}",
    "attributes": "{% for i in range(99) %}{{ range(99) | selectattr('x') | first }}{% endfor %}",
    "searches": "{% set t = 'x' * 30000 %}{% for i in range(99) %}{% if 'y' in t %}{% endif %}{% endfor %}",
    "searches by methods": "{% set t = 'x' * 30000 %}{% for i in range(99) %}{{ t.find('y') }}{{ t.count('y') }}"
    "{{ t.endswith('y') }}{% endfor %}",
    "comparisons": "{% set t = 'x' * 30000 %}{% for i in range(99) %}{{ t == t }}{% endfor %}",
    "calls": "{% set c = cycler(1, 2) %}{% for i in range(99) %}{% for j in range(9) %}{{ c.next() }}"
    "{% endfor %}{% endfor %}",
    "conditions": "{% for i in range(290) %}{% for j in (1, 2) %}{% if i %}{% if i %}{% if i %}{% if i %}"
    "{% if i %}{% endif %}{% endif %}{% endif %}"
    "{% endif %}{% endif %}{% endfor %}{% endfor %}",
}  # fmt: skip
OTHERS = {
    "calls macros within each other more than 20": {
        "macros": "{% macro m(n) %}{{ m(n - 1) if n }}{% endmacro %}{{ m(30) }}",
        "blocks": "{% set ns = namespace(n=30) %}{% block a %}{% set ns.n = ns.n - 1 %}{{ self.a() if ns.n }}"
        "{% endblock %}",
        "loops": DEEP.replace("[ns.a, ns.a]", "[ns.a]").replace("range(10)", "range(30)")
        + "{% for a in ns.a recursive %}{{ loop(a) if a is not string }}{% endfor %}",
    },
    "more than 20 filters": {
        "filters": "{% set ns = namespace(a=['x']) %}{% for i in range(30) %}"
        "{% set ns.a = ns.a | map('upper') %}{% endfor %}"
    },
    "has a range of more than 300 numbers": {
        "range": "{{ range(301) }}", "down": "{{ range(600, 0, -1) }}", "large": "{{ range(0, 2 ** 90) }}"
    },
    "integers of more than 256 bits": {
        "**": "{{ 9 ** 999 }}", "|round": "{{ 1.5 | round(300, 'floor') }}", "%": "{{ (2 ** 200) % (2 ** 200) }}",
        "|int": "{{ ('f' * 99) | int(0, 16) }}", "from_bytes": "{{ (1).from_bytes('abc'.encode() * 99, 'big') }}",
        "*": "{% set ns = namespace(a=3) %}{% for i in range(9) %}{% set ns.a = ns.a * ns.a %}{% endfor %}",
    },
    "it has more than 3,000 characters": {"source": "{{ 1 }}" + "x" * 3000},
}  # fmt: skip
PASSED = {
    f"{words}: {name}": (limits, words, template)
    for limits, kinds in (
        (FEW_CHARACTERS, {"makes texts and lists of more than": MADE}),
        (FEW_OTHERS, {"takes more than": STEPS, **OTHERS}),
    )
    for words, rows in kinds.items()
    for name, template in rows.items()
}


@pytest.fixture(scope="module")
def tok() -> bbpe.Tokenizer:
    return bbpe.train_from_iterator(["low lower"], 260)


@pytest.mark.parametrize("turn", then_full([0], [1]))
@pytest.mark.parametrize("name", PASSED)
def test_a_template_ends_before_it_passes_a_limit(
    tok: bbpe.Tokenizer, monkeypatch: pytest.MonkeyPatch, name: str, turn: int
) -> None:
    """One way to render after the other takes the next template; with the full tests the other one does."""
    (limits, words, template), number = PASSED[name], list(PASSED).index(name)
    call = (tok.apply_chat_template, tok.encode_chat)[(number + turn) % 2]
    call(CHAT, chat_template="{{ 1 }}")  # the environment is made
    with monkeypatch.context() as patched:
        patched.setattr(budget, "LIMITS", limits)
        tracemalloc.start()
        try:
            with pytest.raises(bbpe.VocabularyError) as caught:
                call(CHAT, chat_template="\n" + template)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert re.match(rf"chat template: line [12]: .*{words}", str(caught.value)), caught.value
    assert peak < 4 << 20


@pytest.mark.parametrize(
    "call",
    [
        "'\\t'.expandtabs(-90000)", "lipsum(-90000)", "lipsum(1, true, 20, -90000)", "lipsum(0, max='nan' | float)",
        "'a'.center(-90000)", "'a' | center(-90000)", "'a\nb' | indent(-90000)", "'a' * -90000", "[1] * -90000",
        "[1] | batch(-90000, 1) | list", "[1] | slice(-90000) | list", "(5).to_bytes(-90000)", "'%*d' % (-3000, 1)",
        "'a'.split('a', -90000)", "'a' | replace('a', 'b', -90000)", "[[1]] | tojson(indent=-90000)",
        "'a' | wordwrap(-90000)", "range(-90000)", "1 ** -90000", "1.5 | round(-60)",
    ],
)  # fmt: skip
def test_no_argument_pays_back(tok: bbpe.Tokenizer, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    """After a call with a negative number, or with no number, a template still has no more than before."""
    monkeypatch.setattr(budget, "LIMITS", FEW_CHARACTERS)
    with pytest.raises(bbpe.VocabularyError):
        tok.apply_chat_template(CHAT, chat_template=f"{{% set made = {call} %}}{{{{ 'x' * 9000 }}}}")


@pytest.mark.parametrize("name", ["tojson", "text"])
def test_what_is_given_may_be_large(tok: bbpe.Tokenizer, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The limits grow with the messages."""
    monkeypatch.setattr(budget, "LIMITS", budget.Limits(characters=1000, steps=100))
    long = [{"role": "user", "content": "see " * 9000}] * 20
    template = {
        "text": "{% for m in messages %}{{ m.content }}{{ m.content.strip() | upper }}{% endfor %}",
        "tojson": "{{ messages | tojson(indent=4) }}",
    }[name]
    assert len(tok.apply_chat_template(long, chat_template=template)) > 700_000
    with pytest.raises(bbpe.VocabularyError, match="makes texts and lists"):
        tok.apply_chat_template(CHAT, chat_template="{{ 'x' * 999999 }}")


RAW = {
    "ZeroDivisionError": "{{ 1 / 0 }}",
    "ZeroDivisionError of %": "{{ 1 % 0 }}",
    "TypeError": "{{ messages[0].content + 1 }}",
    "TypeError of a None": "{{ none + 'x' }}",
    "TypeError of a call": "{{ 5() }}",
    "TypeError of arguments": "{{ 'a' | center(1, 2, 3) }}",
    "TypeError of an order": "{{ [1, 'a'] | sort }}", "TypeError of a comparison": "{{ 1 < 'a' }}",
    "TypeError of a key": "{{ {[]: 1} }}", "TypeError of JSON": "{{ namespace() | tojson }}",
    "TypeError of a loop": "{% for a in 5 %}{% endfor %}",
    "TypeError of an unpacking": "{% for a, b in [1] %}{% endfor %}",
    "TypeError of include": "{% include 'x' %}", "TypeError of import": "{% import 'x' as y %}",
    "TypeError of extends": "{% extends 'x' %}", "TypeError of a date": "{{ strftime_now(5) }}",
    "ValueError": "{{ '%q' % 1 }}",
    "ValueError of a range": "{{ range(1, 2, 0) }}",
    "ValueError of an integer": "{{ 10 ** 5000 }}",
    "ValueError of a format": "{{ '{:q}'.format(1) }}",
    "OverflowError": "{{ 10.0 ** 400 }}",
    "KeyError": "{{ '{x}'.format(a=1) }}",
    "IndexError": "{{ '{5}'.format(1) }}",
    "LookupError": "{{ 'a'.encode('nope') }}",
    "UnicodeEncodeError": "{{ 'é'.encode('ascii') }}",
    "UndefinedError": "{{ a.b.c }}",
    "UndefinedError of a method": "{{ (1).foo() }}",
    "SecurityError": "{{ ''.__class__.__mro__ }}",
    "SecurityError of a change": "{{ messages.append(1) }}",
    "SecurityError of a namespace": "{% set ns = namespace(_a=1) %}",
    "SecurityError of an attribute": "{% set ns = namespace() %}{% set ns._a = 1 %}",
    "SyntaxError": "{% break %}", "SyntaxError of nesting": "{% for a in [1] %}" * 21 + "{% endfor %}" * 21,
    "RecursionError": "{{ " + "(" * 900 + "1" + ")" * 900 + " }}",
    "RecursionError of names": "{{ a" + ".b" * 1500 + " }}",
    "malformed": "{% if %}",
    "malformed: end": "{% for a in [1] %}",
    "No test named": "{{ 1 is nope }}",
    "No filter named": "{{ 1 | nope }}",
    "no such": "{{ raise_exception('no such role') }}",
}  # fmt: skip


@pytest.mark.parametrize("template", RAW.values(), ids=RAW)
def test_what_a_template_raises_is_an_error_of_the_package(
    tok: bbpe.Tokenizer, request: pytest.FixtureRequest, template: str
) -> None:
    kind = request.node.callspec.id.split(" of ")[0].split(":")[0]
    with pytest.raises(bbpe.VocabularyError) as caught:
        tok.apply_chat_template(CHAT, chat_template="{{ messages | length }}\n\n" + template)
    assert re.match(rf"chat template: line 3: .*{kind}", str(caught.value)), caught.value


def test_the_line_is_that_of_a_macro(tok: bbpe.Tokenizer) -> None:
    template = "{% macro m(x) %}\n\n{{ x + 1 }}\n{% endmacro %}\n\n{{ m('a') }}"
    with pytest.raises(bbpe.VocabularyError, match=r"chat template: line 3: .*TypeError"):
        tok.apply_chat_template(CHAT, chat_template=template)
    with pytest.raises(bbpe.VocabularyError, match=r"chat template: line 4: .*SyntaxError"):
        tok.apply_chat_template(CHAT, chat_template="{% if 1 %}\n{% endif %}\na\n{% continue %}\n\n{{ 1 }}")


def test_the_error_names_the_file(tmp_path: Path) -> None:
    bbpe.train_from_iterator(["low"], 256).save(tmp_path / "tokenizer.json")
    (tmp_path / "chat_template.jinja").write_text("\n{{ 1 / 0 }}")
    (tmp_path / "additional_chat_templates").mkdir()
    (tmp_path / "additional_chat_templates" / "tool_use.jinja").write_text("{{ tools + 1 }}")
    tok = bbpe.load(tmp_path)
    with pytest.raises(bbpe.VocabularyError, match=r"chat template of chat_template.jinja: line 2: .*ZeroDivision"):
        tok.apply_chat_template(CHAT)
    words = r"chat template of additional_chat_templates/tool_use.jinja: line 1: .*TypeError"
    for call in (tok.apply_chat_template, tok.count_messages):
        with pytest.raises(bbpe.VocabularyError, match=words):
            call(CHAT, [{"name": "f"}])


def test_an_interruption_is_no_error_of_the_template(tok: bbpe.Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(budget.RenderBudget, "take", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tok.apply_chat_template(CHAT, chat_template="{{ 'a' * 3 }}")
