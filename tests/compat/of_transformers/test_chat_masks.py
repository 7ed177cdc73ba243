"""Masks of the assistant's tokens: those of stock transformers, made of a few look-ups."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import bbpe
from bbpe.compat.tokenizers.encoding import Encoding
from bbpe.compat.transformers import chat_masks

hf = pytest.importorskip("tokenizers")
pytest.importorskip("jinja2")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    transformers = pytest.importorskip("transformers")
from small_hf import KINDS  # noqa: E402 - it imports tokenizers

TEMPLATE = (
    "{% for m in messages %}{% if m['role'] == 'assistant' %}{% generation %}{{ m['content'] }}{% endgeneration %}\n"
    "{% else %}<s>{{ m['content'] }}{{ mark }}{% endif %}{% endfor %}"
)
WORDS = ["see", " my", "dogs ", "", "naïve", "中文", "👩\u200d🚀", "\n", "  ", "<s>", "ﬁrst", "e\u0301"]


#: Options of a call, which change the rows.
CALL_OPTIONS: list[dict[str, Any]] = [
    {}, {"mark": "!"}, {"truncation": True, "max_length": 9}, {"padding": True},
    {"padding": "max_length", "max_length": 30},
    {"truncation": True, "padding": "max_length", "max_length": 12}, {"truncation": True, "max_length": 0},
]  # fmt: skip


@pytest.fixture(params=KINDS)
def pair(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    made = [
        transformers.PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<s>", chat_template=TEMPLATE)
        for inner in [KINDS[request.param]()]
        for _ in range(2)
    ]
    return bbpe.accelerate(made[0]), made[1]


def chat(chooser: random.Random) -> list[dict[str, str]]:
    return [
        {"role": ("user", "assistant")[turn % 2], "content": "".join(chooser.choices(WORDS, k=chooser.randrange(6)))}
        for turn in range(chooser.randrange(1, 7))
    ]


def masked(tokenizer: Any, messages: Any, **options: Any) -> dict[str, Any]:
    return dict(tokenizer.apply_chat_template(messages, return_dict=True, return_assistant_tokens_mask=True, **options))


def test_masks_are_those_of_transformers(pair: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[bool] = []
    make = chat_masks._mask
    monkeypatch.setattr(chat_masks, "_mask", lambda *given: made.append(make(*given) is not None) or make(*given))
    chooser = random.Random(5)
    for _ in range(9):
        messages = chat(chooser)
        for options in CALL_OPTIONS:
            assert masked(pair[0], messages, **options) == masked(pair[1], messages, **options), messages
        pair[0].truncation_side = pair[1].truncation_side = chooser.choice(["left", "right"])
        pair[0].padding_side = pair[1].padding_side = chooser.choice(["left", "right"])
    assert sum(made) > 45
    messages = chat(chooser)
    prompts = [masked(each, messages, add_generation_prompt=True) for each in pair]
    assert prompts[0] == prompts[1]


def test_several_chats_at_once(pair: tuple[Any, Any]) -> None:
    chooser = random.Random(6)
    batch = [chat(chooser) for _ in range(15)]
    for options in CALL_OPTIONS:
        assert masked(pair[0], batch, **options) == masked(pair[1], batch, **options)
    for many in (batch[:7], batch[0], tuple(map(tuple, batch[:3]))):
        ours, theirs = (masked(each, many, padding=True, return_tensors="np") for each in pair)
        assert ours.keys() == theirs.keys()
        for name, value in theirs.items():
            assert type(ours[name]) is type(value)
            assert (ours[name].dtype, ours[name].tolist()) == (value.dtype, value.tolist())


def test_what_transformers_refuses(pair: tuple[Any, Any]) -> None:
    """Errors are those of `transformers`, and templates without the tag have its zeros."""
    messages = [*chat(random.Random(7)), {"role": "assistant", "content": "see"}]
    for given, options in {
        "nothing": ([], {}), "continued": (messages, {"continue_final_message": True}), "text": (["see"], {}),
        "sanitized": (messages, {"sanitize_control_tokens": True}), "tools": (messages, {"tools": ["see"]}),
        "raises": (messages, {"chat_template": "{{ raise_exception('see my') }}"}),
        "mixed": ([messages, "see"], {}), "a number": (5, {}),
    }.values():  # fmt: skip
        problems = []
        for each in pair:
            with pytest.raises(Exception) as error:  # noqa: PT011 - whatever transformers raises
                masked(each, given, **options)
            problems.append((type(error.value), str(error.value)))
        assert problems[0] == problems[1]
    plain = {"chat_template": "{% for m in messages %}{{ m.content }}{% endfor %}"}
    assert masked(pair[0], messages, **plain) == masked(pair[1], messages, **plain)
    assert not any(masked(pair[0], messages, **plain)["assistant_masks"])


OTHER = (
    "{% for d in documents or [] %}{{ d.text }}{% endfor %}{% for t in tools or [] %}{{ t.name }}{% endfor %}"
    + TEMPLATE
    + "{% if add_generation_prompt %}<s>{% endif %}"
)
#: Options of a chat that change its text, and its mask with it.
CHAT_OPTIONS: list[dict[str, Any]] = [
    {}, {"mark": " first"}, {"chat_template": OTHER}, {"chat_template": OTHER, "add_generation_prompt": True},
    {"chat_template": OTHER, "documents": [{"title": "a", "text": "see my"}]},
    {"chat_template": OTHER, "tools": [{"name": "dogs"}]},
]  # fmt: skip


@pytest.mark.parametrize("options", CHAT_OPTIONS, ids=str)
def test_no_list_of_offsets_is_made(
    pair: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    messages = [{"role": role, "content": "see my dogs"} for role in ("user", "assistant") * 2]
    messages.insert(2, {"role": "assistant", "content": ""})
    messages.insert(0, {"role": "assistant", "content": ""})
    expected = masked(pair[1], messages, **options)
    assert 1 in expected["assistant_masks"]
    monkeypatch.setattr(Encoding, "offsets", property(lambda _: pytest.fail("offsets were made")))
    assert masked(pair[0], messages, **options) == expected


def test_the_mask_is_that_of_the_text_that_was_encoded(pair: tuple[Any, Any]) -> None:
    """A class of one's own may change the text of a chat before it is encoded."""

    class Own(transformers.PreTrainedTokenizerFast):
        def __call__(self, text: Any, *arguments: Any, **options: Any) -> Any:
            text = f"see {text}" if isinstance(text, str) else [f"see {each}" for each in text]
            return super().__call__(text, *arguments, **options)

    inner = hf.Tokenizer.from_str(pair[1]._tokenizer.to_str())
    ours, theirs = (
        Own(tokenizer_object=hf.Tokenizer.from_str(inner.to_str()), pad_token="<s>", chat_template=TEMPLATE)
        for _ in range(2)
    )
    messages = [{"role": role, "content": "my dogs"} for role in ("user", "assistant")]
    assert masked(bbpe.accelerate(ours), messages) == masked(theirs, messages)


def test_a_character_is_found_as_in_offsets(pair: tuple[Any, Any]) -> None:
    text = "see  my dogs <s> naïve 中文 👩\u200d🚀 ﬁrst e\u0301\n"
    ours, theirs = (tokenizer(text, "my " + text)[0] for tokenizer in pair)
    for sequence in (0, 1):
        for at in range(len(text) + 4):
            assert ours.char_to_token(at, sequence) == theirs.char_to_token(at, sequence)
            assert ours.char_to_word(at, sequence) == theirs.char_to_word(at, sequence)


UNTAGGED = TEMPLATE.replace("{% generation %}", "").replace("{% endgeneration %}\n", "")  # a block drops the line feed


@pytest.fixture
def own_masks() -> Iterator[None]:
    bbpe.patch_transformers(masks=True)
    yield
    bbpe.unpatch_transformers()


def test_own_masks_are_given_where_they_are_asked_for(pair: tuple[Any, Any]) -> None:
    messages = [{"role": role, "content": "see my dogs"} for role in ("user", "assistant") * 2]
    bbpe.patch_transformers()
    try:
        assert not any(masked(pair[0], messages, chat_template=UNTAGGED)["assistant_masks"])
        bbpe.patch_transformers(masks=True)
        assert any(masked(pair[0], messages, chat_template=UNTAGGED)["assistant_masks"])
        assert masked(pair[0], messages) == masked(pair[1], messages)
    finally:
        bbpe.unpatch_transformers()
    assert not any(masked(pair[0], messages, chat_template=UNTAGGED)["assistant_masks"])


@pytest.mark.usefixtures("own_masks")
def test_a_tokenizer_whose_acceleration_has_ended_has_the_masks_of_its_template(pair: tuple[Any, Any]) -> None:
    class Shout:
        def normalize(self, normalized: Any) -> None:
            normalized.uppercase()

    messages = [{"role": role, "content": "see my dogs"} for role in ("user", "assistant")]
    for tokenizer in pair:
        tokenizer.backend_tokenizer.normalizer = hf.normalizers.Normalizer.custom(Shout())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for template in (UNTAGGED, TEMPLATE):
            rows = [masked(tokenizer, messages, chat_template=template) for tokenizer in pair]
            assert rows[0] == rows[1]
            assert any(rows[0]["assistant_masks"]) is (template == TEMPLATE)


@pytest.mark.usefixtures("own_masks")
def test_a_tokenizer_whose_backend_was_replaced_has_the_masks_of_its_template(pair: tuple[Any, Any]) -> None:
    pair[0]._tokenizer = hf.Tokenizer.from_str(pair[1].backend_tokenizer.to_str())
    messages = [{"role": role, "content": "see my dogs"} for role in ("user", "assistant")]
    for template in (UNTAGGED, TEMPLATE):
        row = masked(pair[0], messages, chat_template=template)
        assert row["input_ids"] == masked(pair[1], messages, chat_template=template)["input_ids"]
        assert any(row["assistant_masks"]) is (template == TEMPLATE)


@pytest.mark.usefixtures("own_masks")
def test_own_masks_are_those_of_the_tag(pair: tuple[Any, Any]) -> None:
    """A template with the tag around what the assistant writes has the same masks, truncated and padded too."""
    chooser = random.Random(8)
    batch = [chat(chooser) for _ in range(12)]
    for options in CALL_OPTIONS:
        for messages in (batch, batch[0], batch[1]):
            own = masked(pair[0], messages, chat_template=UNTAGGED, **options)
            assert own == masked(pair[1], messages, chat_template=TEMPLATE, **options)
    ours, theirs = (
        masked(each, batch, chat_template=template, padding=True, return_tensors="np")
        for each, template in zip(pair, (UNTAGGED, TEMPLATE), strict=True)
    )
    assert {name: value.tolist() for name, value in ours.items()} == {
        name: value.tolist() for name, value in theirs.items()
    }


@pytest.mark.usefixtures("own_masks")
def test_own_masks_where_transformers_finds_the_tokens(pair: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    contents = ["na\u00efve my", "\u4e2d\u6587\n <s>", "\ufb01rst see", "see my dogs  "]
    messages = [{"role": ("user", "assistant")[turn % 2], "content": text} for turn, text in enumerate(contents)]
    monkeypatch.setattr(chat_masks, "_mask", lambda *_: None)
    for options in CALL_OPTIONS:
        own = masked(pair[0], messages, chat_template=UNTAGGED, **options)
        assert own == masked(pair[1], messages, chat_template=TEMPLATE, **options)


@pytest.mark.usefixtures("own_masks")
def test_a_chat_that_transformers_renders_differently_has_no_own_mask(
    pair: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mask of one text would not be that of the other, so it is an error, which names the way out."""
    utils = transformers.utils.chat_template_utils
    render = utils.render_jinja_template

    def rendered(**given: Any) -> Any:
        texts, spans = render(**given)
        return [f"{text}!" if "dogs" in text else text for text in texts], spans

    monkeypatch.setattr(utils, "render_jinja_template", rendered)
    same, other = ([{"role": "assistant", "content": content}] for content in ("see my", "see my dogs"))
    assert 1 in masked(pair[0], same, chat_template=UNTAGGED)["assistant_masks"]
    for messages in (other, [same, other]):
        with pytest.raises(bbpe.VocabularyError, match=r"this chat differently from bbpe, .* without masks=True"):
            masked(pair[0], messages, chat_template=UNTAGGED)


def test_masks_without_a_function_that_renders(pair: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """An older `transformers` has none, and makes its masks itself."""
    messages = [{"role": role, "content": "see my dogs"} for role in ("user", "assistant")]
    expected = [masked(pair[1], messages), masked(pair[1], [messages, messages])]
    monkeypatch.delattr(transformers.utils.chat_template_utils, "render_jinja_template")
    assert [masked(pair[0], messages), masked(pair[0], [messages, messages])] == expected


def test_blocks_of_the_assistant_within_each_other(pair: tuple[Any, Any]) -> None:
    template = "{% for m in messages %}{% generation %}see {% generation %}{{ m.content }}{% endgeneration %} my"
    template += "{% endgeneration %}<s>{{ m.content }}{% endfor %}"
    messages = [{"role": "assistant", "content": text} for text in ("dogs", "naïve 中文")]
    for options in CALL_OPTIONS:
        found, expected = (masked(each, messages, chat_template=template, **options) for each in pair)
        assert found == expected
