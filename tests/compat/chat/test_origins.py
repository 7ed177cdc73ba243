"""Texts keep the origins of their characters, and a text from outside never becomes a trusted one."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("jinja2")

from markupsafe import Markup

from bbpe.compat.chat import sandbox, tracing
from bbpe.compat.chat.origins import (
    HEADER,
    SHIFT,
    TRUSTED,
    UNKNOWN,
    Traced,
    common_origin,
    joined,
    literal,
    origin_of_message,
    runs_of,
    traced,
)
from bbpe.core.traced import part, with_flag
from bbpe.errors import VocabularyError
from bbpe.spec.chat_templates import ChatTemplate

#: Each origin has characters of its own, so that a character tells where it is from; blanks are of any.
ALPHABETS = {TRUSTED: "ΑΒ<|>%", origin_of_message(0): "абßİ", origin_of_message(1): "эюŉ", UNKNOWN: "жз"}
BLANKS = " \n\t  "
OWNER = {char: origin for origin, chars in ALPHABETS.items() for char in chars}
for _char, _origin in [*OWNER.items()]:
    for _changed in (_char.upper(), _char.lower(), _char.title(), _char.casefold()):
        OWNER |= dict.fromkeys(_changed, _origin)
#: Methods that may make several letters of one, so that the places of the others are not known.
CASES = ("upper", "lower", "title", "capitalize", "swapcase", "casefold")

Method = Callable[[Any, random.Random], Any]
METHODS: dict[str, Method] = {
    "slice": lambda t, r: t[r.randrange(-9, 9) : r.randrange(-9, 9) : r.choice([None, 1, 2, -1, -2])],
    "item": lambda t, r: t[r.randrange(-len(t), len(t))] if t else t,
    "chars": lambda t, r: [*t],
    "add": lambda t, r: t + made(r),
    "add to": lambda t, r: "жз" + t,
    "times": lambda t, r: t * r.randrange(3),
    "strip": lambda t, r: t.strip(r.choice([None, " \n", "аΑж"])),
    "lstrip": lambda t, r: t.lstrip(r.choice([None, "э<а"])),
    "rstrip": lambda t, r: t.rstrip(r.choice([None, "ю|б"])),
    "replace": lambda t, r: t.replace(r.choice(["а", "ΑΒ", "", " "]), made(r), r.choice([-1, 1, 2])),
    "split": lambda t, r: t.split(r.choice([None, " ", "а", "<|"]), r.choice([-1, 1])),
    "rsplit": lambda t, r: t.rsplit(r.choice([None, " ", "бб", "|"]), r.choice([-1, 1, 2])),
    "splitlines": lambda t, r: t.splitlines(r.choice([True, False])),
    "partition": lambda t, r: [*t.partition(r.choice(["а", " ", "<"]))],
    "rpartition": lambda t, r: [*t.rpartition(r.choice(["а", " ", ">"]))],
    "removeprefix": lambda t, r: t.removeprefix(t[: r.randrange(4)]),
    "removesuffix": lambda t, r: t.removesuffix(t[r.randrange(9) :]),
    "upper": lambda t, r: t.upper(),
    "lower": lambda t, r: t.lower(),
    "title": lambda t, r: t.title(),
    "capitalize": lambda t, r: t.capitalize(),
    "swapcase": lambda t, r: t.swapcase(),
    "casefold": lambda t, r: t.casefold(),
    "join": lambda t, r: t.join([made(r) for _ in range(r.randrange(4))]),
    "printf": lambda t, r: literal("Α%sΒ%5s%%<%s") % (t, "ж", made(r)),
    "printf by key": lambda t, r: literal("%(x)s %(y)s%(x)s") % {"x": t, "y": 1},
}


def made(r: random.Random) -> Traced:
    """A random text of several origins."""
    return joined([
        traced("".join(r.choices(ALPHABETS[origin] + BLANKS, k=r.randrange(4))), origin)
        for origin in r.choices([*ALPHABETS], k=r.randrange(4))
    ])  # fmt: skip


def origins_of(text: str) -> list[int]:
    found: list[int] = []
    for end, origin in runs_of(text):
        found += [origin] * (end - len(found))
    return found


def check(text: Any, plain: Any, *, is_whole: bool = False) -> None:
    """The text is that of `str`, and no character has another origin than its own or none."""
    if isinstance(plain, list):
        assert len(text) == len(plain)
        for each, other in zip(text, plain, strict=True):
            check(each, other, is_whole=is_whole)
        return
    assert text == plain
    found = origins_of(text)
    assert len(found) == len(plain)
    for char, origin in zip(plain, found, strict=True):
        if char in OWNER:
            owner = OWNER[char]
            # letters of which several were made may leave a text with the message that all of it is of
            others = [other for other in ALPHABETS if owner == TRUSTED or other == UNKNOWN]
            may_be = [owner] if is_whole else [owner, *others]
            assert origin in may_be, (text, char, origin)


@pytest.mark.parametrize("name", METHODS)
def test_a_method_keeps_origins(name):
    for seed in range(150):
        text = made(random.Random(seed))
        plain = METHODS[name](str.__getitem__(text, slice(None)), random.Random(seed + 1))
        check(METHODS[name](text, random.Random(seed + 1)), plain, is_whole=name not in (*CASES, "printf"))


def test_sums_of_other_values_are_refused_as_by_str():
    with pytest.raises(TypeError, match="can only concatenate str"):
        literal("a") + 1
    with pytest.raises(TypeError, match="unsupported operand"):
        1 + literal("a")
    with pytest.raises(TypeError, match="sequence item 1: expected str"):
        literal("a").join(["a", 1])


def test_texts_that_lose_their_origin_are_not_trusted():
    text = traced("a", origin_of_message(3))
    assert [runs_of(str.center(text, 5)), runs_of(f"{text:>3}")] == [((5, UNKNOWN),), ((3, UNKNOWN),)]
    assert Traced("a")._origins == UNKNOWN
    assert with_flag(literal("<a>"), 4)._origins == TRUSTED | 4
    assert str(text) is text
    assert runs_of(part(literal("abc"), 2, 2)) == ((0, TRUSTED),)


def test_the_origin_of_several_values():
    steps: list[int] = []
    two = {literal("k"): traced("x", origin_of_message(2)), literal("n"): [1, None, 2.5, literal("t")]}
    assert common_origin([two], steps.append) == origin_of_message(2)
    assert len(steps) == 9
    header = traced("r", origin_of_message(2, HEADER))
    assert common_origin([two, header], steps.append) == origin_of_message(2)
    assert common_origin([header], steps.append) == origin_of_message(2, HEADER)
    for other in (0, 1, 3, 6):  # one of several messages
        assert common_origin([two, traced("y", origin_of_message(other))], steps.append) == UNKNOWN
        assert common_origin([traced("y", origin_of_message(other)), two], steps.append) == UNKNOWN
    assert common_origin([two, "lost"], steps.append) == UNKNOWN
    assert common_origin([literal("a"), 1], steps.append) == TRUSTED
    assert common_origin([1], steps.append) == common_origin([object()], steps.append) == UNKNOWN


STYLES = {
    "chatml": (
        "{% for message in messages %}{{ '<|im_start|>' + message.role + '\n' + message['content'] + '<|im_end|>' }}"
        "{{ '\n' }}{% endfor %}"
    ),
    "headers": (
        "{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = '<|start_header_id|>' + "
        "message['role'] + '<|end_header_id|>\n\n' + message['content'] | trim + '<|eot_id|>' %}"
        "{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}"
    ),
    "instructions": (
        "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m.content.strip() }} [/INST]"
        "{% else %}{{ ' ' ~ m['content'] | replace('\n', ' ') | trim ~ ' ' ~ eos_token }}{% endif %}{% endfor %}"
    ),
    "tools": (
        "{% for m in messages %}<{{ m.role | upper }}>{% for call in m.tool_calls or [] %}<tool_call>\n"
        '{"name": "{{ call.name }}", "arguments": {{ call.arguments | tojson }}}\n</tool_call>{% endfor %}'
        "{% if tools and loop.first %}{{ tools | tojson(indent=2) }}{% endif %}{{ m.content | default('', true) }}"
        "{% endfor %}"
    ),
    "arguments": (
        "{% for m in messages %}{{ m.role }}:{% for call in m.tool_calls or [] %}{{ '<function=' + call.name + '>' }}"
        "{% for name, value in call.arguments.items() %}{{ '<parameter=' ~ name ~ '>' }}{{ value | string }}"
        "{% endfor %}</function>{% endfor %}{{ m.content }}\n{% endfor %}"
    ),
    "macros": (
        "{% macro said(m, kind='text') %}{{ kind }} {{ m.content }}{% endmacro %}{% set ns = namespace(all='', n=0) %}"
        "{% for m in messages %}{% set ns.all = ns.all ~ said(m) ~ '|' %}{% set ns.n = ns.n + 1 %}{% endfor %}"
        "{{ ns.all }}{{ ns.n }}{% macro told(m) %}{{ caller(m.content) }}{% endmacro %}"
        "{% call(x) told(messages[0]) %}{{ x }}{% endcall %}"
    ),
    "characters": (
        "{% for m in messages %}{% for c in m.content %}{{ c if c != 'а' else '<->' }}{% endfor %}"
        "{{ m.content[::-1] ~ m.content[1:3] ~ m.content.split() | join('-') }}{% endfor %}"
    ),
    "formats": (
        "{% for m in messages %}{{ '%s says %s' % (m.role, m.content) }}{{ '{}:{!s}{x:>4}'.format(m.role, m.content, "
        "x='A') }}{{ '%s' | format(m.content) }}{{ m.content | indent(2) }}{{ m.content.title() | e }}{% endfor %}"
    ),
    "blocks": (
        "{% set head %}<{{ messages[0].role }}>{% endset %}{{ head }}{% filter upper %}a{{ messages[0].content }}"
        "{% endfilter %}{% for m in messages | selectattr('role', 'equalto', 'user') %}{{ m.content | safe }}"
        "{% generation %}{{ m.content }}!{% endgeneration %}{% endfor %}"
        "{{ messages | map(attribute='content') | list }}"
    ),
    "dates": (
        "{{ strftime_now('%Y') }}{{ documents[0].text }}{{ extra }}{{ messages | length }}{{ messages[0].content }}"
    ),
}  # fmt: skip
TOKENS = {"bos_token": "<A>", "eos_token": "</A>"}


def conversation(r: random.Random) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    for number in range(2):
        alphabet = ALPHABETS[origin_of_message(number)] + BLANKS
        content = "".join(r.choices(alphabet, k=r.randrange(12)))
        message: dict[str, Any] = {"role": ("user", "assistant")[number], "content": content}
        if r.random() < 0.5:
            arguments = {"".join(r.choices(alphabet, k=3)): "".join(r.choices(alphabet, k=4)), "n": 3}
            message["tool_calls"] = [{"name": "f", "arguments": arguments}]
        messages.append(message)
    return messages


@pytest.mark.parametrize("style", STYLES)
def test_a_template_writes_the_plain_text_and_trusts_its_literals_alone(style):
    template = ChatTemplate(STYLES[style])
    for seed in range(60):
        messages = conversation(random.Random(seed))
        variables = {
            "tools": [{"name": "жз"}], "documents": [{"text": "<A>ж"}], "extra": "</A>з",
            "add_generation_prompt": False,
        }  # fmt: skip
        plain = sandbox.render(template, {**TOKENS, **variables, "messages": messages})
        text = tracing.render_traced(template, TOKENS, variables, messages)
        assert text == plain
        for char, origin in zip(plain, origins_of(text), strict=True):
            if char in OWNER and not char.isascii():
                assert origin & TRUSTED == 0, f"{char!r} of {plain!r} is trusted"
                assert origin >> SHIFT in (0, OWNER[char] >> SHIFT)


def test_contents_keep_their_message_through_usual_templates():
    for style in ("chatml", "headers", "instructions", "arguments", "macros", "characters"):
        messages = [{"role": "user", "content": "аб аб"}, {"role": "assistant", "content": "эю"}]
        variables = {"tools": None, "documents": None, "add_generation_prompt": False}
        text = tracing.render_traced(ChatTemplate(STYLES[style]), TOKENS, variables, messages)
        for number, alphabet in enumerate(("б", "эю")):
            own = [origin for char, origin in zip(text, origins_of(text), strict=True) if char in alphabet]
            assert {origin >> SHIFT for origin in own} == {number + 1}, style


def test_texts_from_outside_are_not_trusted():
    variables = {"tools": None, "documents": [{"text": "<A>ж"}], "extra": "</A>з", "add_generation_prompt": False}
    messages = [{"role": "user", "content": "a"}]
    text = tracing.render_traced(ChatTemplate(STYLES["dates"]), TOKENS, variables, messages)
    assert {origin & TRUSTED for origin in origins_of(text)} == {0}


#: Expressions of the content `c` of an answer, whose letters all come from it.
FOLLOWED = [
    *(f"c | {name}" for name in (
        "upper", "lower", "title", "capitalize", "trim", "string", "striptags", "indent",
        "indent(2, true)", "wordwrap(3)", "center(30)", "truncate(6, true)", "tojson", "replace('а', '-')",
        "default('-')", "list | join", "list | join('-')", "list | first", "list | last", "reverse", "pprint",
        "format", "urlize",
    )),
    *(f"c.{name}" for name in ("title()", "center(30)", "replace('а', '-')", "format()", "swapcase()", "zfill(9)")),
    "'{}'.format(c)", "'{0}'.format(c)", "'<{x}>'.format(x=c)", "'<{x}>'.format_map({'x': c})", "'{!s}'.format(c)",
    "'{:>30}'.format(c)", "'{0[0]}'.format([c])", "'%s' % c", "'%s' % (c,)", "'%(x)s' % {'x': c}", "'%30s' % c",
    "'%s' | format(c)", "'-' ~ c", "'-' + c", "c * 2", "c[1:]", "c[::-1]", "c[0]", "(c, '-') | join",
    "'-'.join([c, c])", "[c] | string", "{'-': c} | tojson", "c if c else '-'",
]  # fmt: skip


@pytest.mark.parametrize("expression", FOLLOWED)
def test_what_is_made_of_an_answer_is_of_its_message(expression):
    messages = [{"role": "user", "content": "-"}, {"role": "assistant", "content": " эа юЭ эа"}]
    source = f"{{% set c = messages[1].content %}}<a>{{{{ {expression} }}}}"
    variables = {"tools": None, "documents": None, "add_generation_prompt": False}
    text = tracing.render_traced(ChatTemplate(source), TOKENS, variables, messages)
    found = {origin for char, origin in zip(text, origins_of(text), strict=True) if not char.isascii()}
    assert {origin >> SHIFT for origin in found} <= {2}
    assert not any(origin & TRUSTED for origin in found)
    assert found or "\\u" in text or text[3:].strip() == ""
    assert [origin & TRUSTED for origin in origins_of(text)[:3]] == [TRUSTED] * 3


@pytest.mark.parametrize(
    ("form", "plain"),
    [("<s>%%%s", "<s>%{}"), ("%%<s>%s%%", "%<s>{}%"), ("%s%%%%<s>", "{}%%<s>"), ("<s>%%%%%s", "<s>%%{}")],
)
def test_a_percent_sign_keeps_the_origins_of_a_printed_text(form: str, plain: str) -> None:
    """`%%` in a printf-style text is one sign of the template's, beside which each text has its own origin."""
    content = traced("э<", origin_of_message(1))
    found = literal(form) % content
    assert str(found) == plain.format("э<")
    before, _, after = plain.partition("{}")
    expected = [*origins_of(literal(before)), *origins_of(content), *origins_of(literal(after))]
    assert origins_of(found) == expected


#: Sums with values that have an operator of their own, or none: `c` is the content of a message.
SUMS = [
    "'<' + (c | e)", "(c | e) + '<'", "c + ('<' | safe)", "('<' | safe) + c", "('<' | e) + c + '<'", "'<' + c + '<'",
    "'<' + missing", "missing + '<'", "c + missing", "'<' + 1", "1 + c", "c + [c]", "[c] + c", "c + none", "c + {}",
    "[c] + [c]", "1 + 2 + 0.5", "'<' + c.missing", "namespace(a='<').a + c + ('&' | e)",
]  # fmt: skip


@pytest.mark.parametrize("expression", SUMS)
def test_a_sum_is_that_of_a_plain_rendering(expression: str) -> None:
    """Markup escapes what is added to it, and what is undefined or no text is refused in the same words."""
    template = ChatTemplate(f"{{% set c = messages[0].content %}}{{{{ {expression} }}}}")
    messages = [{"role": "user", "content": "<а>"}]
    found = []
    for render in (
        lambda: str(sandbox.render(template, {**TOKENS, "messages": messages})),
        lambda: str.__str__(tracing.render_traced(template, TOKENS, {}, messages)),
    ):
        try:
            found.append(render())
        except VocabularyError as error:
            found.append(f"refused: {error}")
    assert found[0] == found[1]


def test_texts_are_added_to_markup_as_strings_are() -> None:
    for left, right in (("<", Markup("&amp;")), (Markup("&amp;"), "<"), ("<", "&"), ("", Markup(""))):
        expected = left + right
        for one in (left, *([literal(left)] if type(left) is str else [])):
            for other in (right, *([literal(right)] if type(right) is str else [])):
                assert (type(one + other) is Markup, one + other) == (type(expected) is Markup, expected)
    for value in ([1], None, {}):
        with pytest.raises(TypeError, match=rf'can only concatenate str \(not "{type(value).__name__}"\) to str'):
            literal("a") + value


#: Blocks whose texts are escaped or not, as a constant or a variable says.
ESCAPED = [
    "<a>{{ c }}b", "{{ '<' }}{{ c }}", "{{ '<' ~ c }}", "{{ '<' + c }}{{ 5 }}", "{{ c | e }}<a>", "{{ c | safe }}>",
    "{% for m in messages %}<a>{{ m.content }}{% endfor %}", "{% if c %}<a>{% else %}<b>{% endif %}",
]  # fmt: skip


@pytest.mark.parametrize("escapes", ["true", "false", "yes", "no", "1 == 2"])
@pytest.mark.parametrize("body", ESCAPED)
def test_blocks_that_escape_are_those_of_a_plain_rendering(escapes: str, body: str) -> None:
    source = f"{{% set c = messages[0].content %}}{{% autoescape {escapes} %}}{body}{{% endautoescape %}}"
    messages, variables = [{"role": "user", "content": "<а>"}], {"yes": True, "no": False}
    plain = sandbox.render(ChatTemplate(source), {**variables, "messages": messages})
    text = tracing.render_traced(ChatTemplate(source), {}, variables, messages)
    assert str.__str__(text) == str(plain)
    found = origins_of(text)
    assert not any(origin & TRUSTED for char, origin in zip(text, found, strict=True) if char == "а")
    if body.startswith("<a>") and escapes in ("false", "no", "true"):
        assert found[:3] == [TRUSTED] * 3


@pytest.mark.parametrize("expression", ["'<%*s>' % (9, c)", "'%*s<%s>' % (3, 'x', c)", "'<%-*s>' % (3, c)"])
def test_a_width_that_is_a_value_leaves_a_text_without_an_origin(expression: str) -> None:
    template = ChatTemplate(f"{{% set c = messages[0].content %}}{{{{ {expression} }}}}")
    messages = [{"role": "user", "content": "<а>"}]
    text = tracing.render_traced(template, TOKENS, {}, messages)
    assert str.__str__(text) == sandbox.render(template, {**TOKENS, "messages": messages})
    assert origins_of(text) == [UNKNOWN] * len(text)
