"""The plug-ins for vLLM and SGLang, with stand-ins for both packages."""

from __future__ import annotations

import logging
import pkgutil
import sys
import tomllib
import warnings
from collections.abc import Callable, Iterator
from copy import copy
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import bbpe
import bbpe.sglang
import bbpe.vllm

pytest.importorskip("tokenizers")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    transformers = pytest.importorskip("transformers")
from house import ROOT
from small_hf import KINDS

GROUPS = {"vllm.general_plugins": bbpe.vllm, "sglang.srt.plugins": bbpe.sglang}
LOADERS = "sglang.srt.utils.hf_transformers"


def made(kind: str = "bytes", dropout: float | None = None) -> Any:
    inner = KINDS[kind]()
    if dropout:
        inner.model.dropout = dropout
    return transformers.PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="[SEP]", unk_token="[UNK]")


class Slow:
    """A tokenizer that is none of `transformers`."""


class Cached:
    """vLLM's class of a mode: it makes a copy with a class of its own."""

    @classmethod
    def from_pretrained(cls, make: Callable[[], Any]) -> Any:
        made = make()
        if not hasattr(made, "_tokenizer"):
            return made
        found = copy(made)
        found.__class__ = type("Cached", (made.__class__,), {"__reduce__": lambda self: (copy, (made,))})
        return found


class Registry:
    """vLLM's registry of modes."""

    def load_tokenizer_cls(self, tokenizer_mode: str) -> Any:
        return {"hf": Cached}[tokenizer_mode]


def after(call: Callable[..., Any], hook: Callable[..., Any]) -> Callable[..., Any]:
    def wrapped(*given: Any, **options: Any) -> Any:
        result = call(*given, **options)
        changed = hook(result, *given, **options)
        return result if changed is None else changed

    return wrapped


class Hooks:
    """SGLang's registry of hooks, as far as the plug-in uses it."""

    def __init__(self) -> None:
        self.found: list[tuple[str, Callable[..., Any]]] = []

    def register(self, target: str, hook: Callable[..., Any], kind: str) -> None:
        assert kind == "after"
        self.found.append((target, hook))

    def apply(self) -> None:
        """Put the hooks after their functions; what they return replaces the result unless it is None."""
        for target, hook in self.found:
            place, _, name = target.rpartition(".")
            owner = pkgutil.resolve_name(place)

            setattr(owner, name, after(getattr(owner, name), hook))


def stand_in(monkeypatch: pytest.MonkeyPatch, **modules: Any) -> None:
    """Make modules, and the packages above them."""
    for name, parts in modules.items():
        dotted = name.replace("__", ".")
        for end in [at for at, sign in enumerate(dotted + ".") if sign == "."]:
            path = dotted[:end]
            if not isinstance(sys.modules.get(path), ModuleType) or path not in stand_in.made:
                module = ModuleType(path)
                module.__path__ = []
                monkeypatch.setitem(sys.modules, path, module)
                stand_in.made.add(path)
                above, _, own = path.rpartition(".")
                if above:
                    setattr(sys.modules[above], own, module)
        vars(sys.modules[dotted]).update(parts)


stand_in.made = set[str]()


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("BBPE_ACCELERATE", raising=False)
    stand_in.made.clear()
    yield
    bbpe.unpatch_transformers()


@pytest.fixture
def vllm(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    lines: list[str] = []
    logger = SimpleNamespace(info=lambda line, *given: lines.append(line % given))
    registry, envs = Registry(), ModuleType("vllm.envs")
    stand_in(
        monkeypatch, vllm={}, vllm__envs=vars(envs), vllm__tokenizers={"TokenizerRegistry": registry},
        vllm__logger={"init_logger": lambda name: logger},
    )  # fmt: skip
    return SimpleNamespace(registry=registry, lines=lines, envs=sys.modules["vllm.envs"])


@pytest.fixture
def sglang(monkeypatch: pytest.MonkeyPatch) -> Hooks:
    hooks, kinds = Hooks(), SimpleNamespace(AFTER="after")
    arguments = type("ServerArgs", (), {"tokenizer_worker_num": 1, "check_server_args": lambda self: None})
    stand_in(
        monkeypatch,
        sglang__srt__environ={"envs": SimpleNamespace()},
        sglang__srt__plugins__hook_registry={"HookRegistry": hooks, "HookType": kinds},
        sglang__srt__server_args={"ServerArgs": arguments},
        **{f"{LOADERS}.tokenizer".replace(".", "__"): {"get_tokenizer": lambda make: make()}},
        **{f"{LOADERS}.processor".replace(".", "__"): {"get_processor": lambda make: make()}},
    )
    return hooks


def get_tokenizer(make: Callable[[], Any]) -> Any:
    return sys.modules[f"{LOADERS}.tokenizer"].get_tokenizer(make)


# -- both ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("value", [None, "", "0"])
def test_servers_find_a_plug_in_that_is_off_unless_asked_for(
    group: str, value: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not even import the server's package, and changes nothing in `transformers`."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]
    ((name, found),) = groups[group].items()
    plug_in = EntryPoint(name, found, group).load()
    assert (name, plug_in) == ("bbpe", GROUPS[group].plug_in)
    if value is not None:
        monkeypatch.setenv("BBPE_ACCELERATE", value)
    for package in ("vllm", "sglang"):
        monkeypatch.setitem(sys.modules, package, None)
    before = dict(vars(transformers.PreTrainedTokenizerFast))
    plug_in()
    assert dict(vars(transformers.PreTrainedTokenizerFast)) == before


@pytest.mark.parametrize(("module", "kind"), [(bbpe.vllm, ValueError), (bbpe.sglang, SystemExit)])
def test_another_value_is_an_error(module: Any, kind: type[BaseException], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BBPE_ACCELERATE", "yes")
    with pytest.raises(kind, match="BBPE_ACCELERATE is 'yes'; expected 1, or 0"):
        module.plug_in()


@pytest.mark.parametrize(("module", "kind"), [(bbpe.vllm, bbpe.AccelerationError), (bbpe.sglang, SystemExit)])
def test_an_unknown_version_is_an_error(
    module: Any, kind: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BBPE_ACCELERATE", "1")
    name = module.__name__.removeprefix("bbpe.")
    stand_in(monkeypatch, **{name: {}})
    with pytest.raises(kind, match=r"does not know this version of (vLLM|SGLang): .*; to serve .*, unset BBPE_ACCEL"):
        module.plug_in()


# -- vLLM ----------------------------------------------------------------------------------------------------


def test_vllm_has_accelerated_tokenizers(
    vllm: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made().save_pretrained(tmp_path)
    monkeypatch.setenv("BBPE_ACCELERATE", "1")
    bbpe.vllm.plug_in()
    once = vllm.registry.load_tokenizer_cls
    bbpe.vllm.plug_in()
    assert vllm.registry.load_tokenizer_cls is once
    kind = vllm.registry.load_tokenizer_cls("hf")
    assert kind is vllm.registry.load_tokenizer_cls("hf") is Cached
    tokenizer = kind.from_pretrained(lambda: transformers.AutoTokenizer.from_pretrained(tmp_path))
    assert bbpe.is_accelerated(tokenizer)
    assert vllm.lines == [f"bbpe encodes and decodes for the tokenizer of {tmp_path}"]
    bbpe.unpatch_transformers()
    assert vllm.registry.load_tokenizer_cls("hf").from_pretrained.__func__ is Cached.from_pretrained.__func__
    assert Cached.from_pretrained(Slow)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: made(dropout=0.1), r"(Fast|Backend) cannot be accelerated: model\.dropout .*, unset BBPE"),
        (Slow, r"vLLM loaded a test_serving.Slow; .*, unset BBPE_ACCELERATE"),
    ],
)
def test_vllm_serves_with_no_other_tokenizer(
    make: Callable[[], Any], message: str, vllm: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BBPE_ACCELERATE", "1")
    bbpe.vllm.plug_in()
    with pytest.raises(bbpe.AccelerationError, match=message):
        vllm.registry.load_tokenizer_cls("hf").from_pretrained(make)


def test_the_front_end_of_vllm_in_rust_is_refused(vllm: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BBPE_ACCELERATE", "1")
    vllm.envs.VLLM_USE_RUST_FRONTEND = True
    with pytest.raises(bbpe.AccelerationError, match=r"VLLM_USE_RUST_FRONTEND=1 .*, unset BBPE_ACCELERATE"):
        bbpe.vllm.plug_in()


# -- SGLang --------------------------------------------------------------------------------------------------


def test_sglang_has_accelerated_tokenizers(
    sglang: Hooks, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "sglang")
    monkeypatch.setenv("BBPE_ACCELERATE", "1")
    bbpe.sglang.plug_in()
    sglang.apply()
    tokenizer = get_tokenizer(made)
    assert bbpe.is_accelerated(tokenizer)
    get_processor = sys.modules[f"{LOADERS}.processor"].get_processor
    processor = get_processor(lambda: SimpleNamespace(tokenizer=made()))
    assert bbpe.is_accelerated(processor.tokenizer)
    assert bbpe.is_accelerated(get_processor(made))
    lines = [record.getMessage() for record in caplog.records if record.name.startswith("sglang")]
    assert lines == ["bbpe encodes and decodes for the tokenizer of "] * 3


@pytest.mark.parametrize(
    ("make", "message"),
    [(lambda: made(dropout=0.1), "model.dropout is 0.1"), (Slow, "tokenizer is a test_serving.Slow; expected a PreTr")],
)
def test_sglang_serves_with_no_other_tokenizer(
    make: Callable[[], Any], message: str, sglang: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BBPE_ACCELERATE", "1")
    bbpe.sglang.plug_in()
    sglang.apply()
    with pytest.raises(bbpe.AccelerationError, match=f"{message}.*, unset BBPE_ACCELERATE"):
        get_tokenizer(make)


def test_processes_of_sglang_without_plug_ins_are_refused(sglang: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BBPE_ACCELERATE", "1")
    bbpe.sglang.plug_in()
    sglang.apply()
    arguments = sys.modules["sglang.srt.server_args"].ServerArgs()
    arguments.check_server_args()
    arguments.tokenizer_worker_num = 2
    with pytest.raises(bbpe.AccelerationError, match=r"--tokenizer-worker-num 2 .*, unset BBPE_ACCELERATE"):
        arguments.check_server_args()
    sys.modules["sglang.srt.environ"].envs.SGLANG_RUST_SERVER = SimpleNamespace(get=lambda: True)
    with pytest.raises(SystemExit, match=r"SGLANG_RUST_SERVER=1 .*, unset BBPE_ACCELERATE"):
        bbpe.sglang.plug_in()


@pytest.mark.parametrize("name", ["tokenizer.get_tokenizer", "processor.get_processor", "check_server_args"])
@pytest.mark.usefixtures("sglang")
def test_a_version_of_sglang_without_a_function_that_has_a_hook_is_refused(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As SGLang would only log that there is none, and serve with another tokenizer."""
    monkeypatch.setenv("BBPE_ACCELERATE", "1")
    module, _, function = name.rpartition(".")
    owner = sys.modules[f"{LOADERS}.{module}"] if module else sys.modules["sglang.srt.server_args"].ServerArgs
    delattr(owner, function)
    with pytest.raises(SystemExit, match=rf"does not know this version of SGLang: .*{function}.*, unset BBPE_ACCEL"):
        bbpe.sglang.plug_in()


@pytest.mark.parametrize("name", ["vllm.envs", "vllm.tokenizers", "vllm.logger"])
@pytest.mark.usefixtures("vllm")
def test_a_version_of_vllm_without_a_module_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BBPE_ACCELERATE", "1")
    monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delattr(sys.modules["vllm"], name.removeprefix("vllm."))
    before = dict(vars(transformers.PreTrainedTokenizerFast))
    with pytest.raises(bbpe.AccelerationError, match=r"does not know this version of vLLM: .*, unset BBPE_ACCELERATE"):
        bbpe.vllm.plug_in()
    assert dict(vars(transformers.PreTrainedTokenizerFast)) == before


def test_servers_whose_front_end_in_rust_is_off_are_accelerated(
    vllm: SimpleNamespace, sglang: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BBPE_ACCELERATE", "1")
    vllm.envs.VLLM_USE_RUST_FRONTEND = False
    bbpe.vllm.plug_in()
    assert bbpe.is_accelerated(vllm.registry.load_tokenizer_cls("hf").from_pretrained(lambda: bbpe.accelerate(made())))
    sys.modules["sglang.srt.environ"].envs.SGLANG_RUST_SERVER = SimpleNamespace(get=lambda: False)
    bbpe.sglang.plug_in()
    sglang.apply()
    assert bbpe.is_accelerated(get_tokenizer(made))
