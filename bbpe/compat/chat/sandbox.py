"""The environment in which chat templates run: that of `transformers`, with limits that hold while a template runs.

jinja2's own sandbox keeps a template from Python's objects, not from a text of a terabyte.  Here the compiled template
pays for each block, and the environment for each operation, out of the budget of the rendering.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from typing import Any, TypeAlias

from ...errors import VocabularyError
from ...lazy import lazy_re
from ...spec.chat_templates import ChatTemplate
from . import costs
from .budget import LimitReached, RenderBudget, current, release, spending

_NEEDED = "chat templates need the package jinja2, version 3.1.6 or later: pip install 'bbpe[chat]'"
try:
    from jinja2 import TemplateError, meta, nodes, pass_context
    from jinja2.compiler import CodeGenerator, operators
    from jinja2.exceptions import TemplateSyntaxError
    from jinja2.ext import Extension, loopcontrols
    from jinja2.lexer import get_lexer
    from jinja2.parser import Parser
    from jinja2.runtime import Context, markup_join, str_join
    from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedFormatter
    from markupsafe import EscapeFormatter, Markup

    from . import template_functions as functions
except ImportError:
    raise ImportError(_NEEDED) from None
if [int(number) for number in re.findall(r"\d+", version("jinja2"))[:3]] < [3, 1, 6]:
    raise ImportError(f"{_NEEDED}; found {version('jinja2')}, whose sandbox templates can leave")

# a template that uses up a limit is wrong, or from somebody who means harm
_WAY_OUT = (
    "such work is out of proportion to the messages; use another template with chat_template=, or render this one with "
    "transformers if you trust it"
)
_LINES = lazy_re(r"^debug_info = '(.*)'$", re.MULTILINE)
# keywords of calls that are jinja2's own
_OF_JINJA = ("_loop_vars", "_block_vars", "caller")


def render(template: ChatTemplate, variables: Mapping[str, Any]) -> str:
    """Return the text that a template makes of variables, which are plain data.

    Raises `VocabularyError` naming the template and the line, whatever the template raises, and before it has used more
    than its budget.
    """
    return "".join(pieces(_ENVIRONMENT, template, variables))


def pieces(
    environment: Environment, template: ChatTemplate, variables: Mapping[str, Any],
    collected: Callable[[Iterator[str], RenderBudget], list[str]] | None = None,
) -> list[str]:  # fmt: skip
    """Return the pieces of the text that a template makes in an environment; raises as `render` does.

    `collected` returns those of a template that runs, and pays for them.
    """
    budget = RenderBudget(variables)
    token = spending(budget)
    try:
        made = _compiled(environment, template.source)
        running = made.root_render_func(made.new_context(dict(variables)))
        return (collected or _collected)(running, budget)
    except Exception as error:  # a template raises whatever its expressions raise
        raise _refusal(template, error) from None
    finally:
        release(token)


def _collected(running: Any, budget: RenderBudget) -> list[str]:
    found: list[str] = []
    for piece in running:
        try:
            budget.take(len(piece))
        except LimitReached as error:
            running.throw(error)  # it comes back with the line of the template
        found.append(piece)
    return found


def compile_in(environment: Environment, template: ChatTemplate) -> None:
    """Compile a template in an environment, which keeps it; raises as `render` does."""
    token = spending(RenderBudget())
    try:
        _compiled(environment, template.source)
    except Exception as error:
        raise _refusal(template, error) from None
    finally:
        release(token)


def variables_of(template: ChatTemplate) -> frozenset[str]:
    """Return the names of the variables that a template reads; `VocabularyError` if it cannot be compiled."""
    token = spending(RenderBudget())
    try:
        return _names(template.source)
    except Exception as error:
        raise _refusal(template, error) from None
    finally:
        release(token)


@functools.lru_cache(maxsize=64)
def _compiled(environment: _Environment, source: str) -> Any:
    most = current().limits.source
    if len(source) > most:
        raise TemplateSyntaxError(f"it has more than {most:,} characters", source.count("\n", 0, most) + 1)
    return environment.from_string(source)


@functools.lru_cache(maxsize=32)
def _names(source: str) -> frozenset[str]:
    return frozenset(meta.find_undeclared_variables(_compiled(_ENVIRONMENT, source).environment.parse(source)))


def _refusal(template: ChatTemplate, error: Exception) -> VocabularyError:
    line = _line(template.source, error)
    if isinstance(error, LimitReached):
        problem = f"the template {error}; {_WAY_OUT}"
    elif type(error) is TemplateError:  # it refuses the messages itself
        problem = str(error)
    elif isinstance(error, TemplateSyntaxError):
        problem = f"the template is malformed: {error.message}"
    else:
        problem = f"the template fails with these messages: {type(error).__name__}: {error}"
    return VocabularyError(problem, path=template.title, place=None if line is None else f"line {line}")


def _line(source: str, error: Exception) -> int | None:
    """Return the line of a template in which an error was raised while it was read, compiled or run."""
    if isinstance(error, TemplateSyntaxError):
        return int(error.lineno)
    if isinstance(error, SyntaxError):  # of the Python code that jinja2 makes of the template
        return _template_line(source, error.lineno or 0)
    line, found = None, error.__traceback__
    while found is not None:
        names, made = found.tb_frame.f_locals, found.tb_frame.f_globals.get("__jinja_template__")
        if made is not None:
            line = made.get_corresponding_lineno(found.tb_lineno)
        for value in (names.get("self"), names.get("node")):  # of the parser and the compiler
            if isinstance(value, Parser):
                line = value.stream.current.lineno
            elif isinstance(value, nodes.Node):
                line = value.lineno or line
        found = found.tb_next
    return line


def _template_line(source: str, code_line: int) -> int | None:
    """Return the line of a template from that of its code; jinja2 writes a table of both at the end of the code."""
    code = _ENVIRONMENT.compile(source, raw=True)
    table = _LINES.search(code)
    pairs = [pair.split("=") for pair in table[1].split("&")] if table and table[1] else []
    return next((int(line) for line, first in reversed(pairs) if int(first) <= code_line), 1)


# -- the compiler -----------------------------------------------------------------------------------------------------


class _Generator(CodeGenerator):
    """The code of a template, with payments where jinja2's code calls no function of the environment."""

    def blockvisit(self, nodes: Any, frame: Any) -> None:
        self.writeline("environment.stepped")
        super().blockvisit(nodes, frame)

    def visit_For(self, node: nodes.For, frame: Any) -> None:  # noqa: N802 - jinja2's names
        if node.test is not None:
            step = nodes.EnvironmentAttribute("stepped", lineno=node.lineno, environment=self.environment)
            node.test = nodes.And(step, node.test, lineno=node.lineno, environment=self.environment)
        super().visit_For(node, frame)

    def visit_List(self, node: nodes.List, frame: Any) -> None:  # noqa: N802
        self._paid("made", super().visit_List, node, frame)

    def visit_Dict(self, node: nodes.Dict, frame: Any) -> None:  # noqa: N802
        self._paid("made", super().visit_Dict, node, frame)

    def visit_Tuple(self, node: nodes.Tuple, frame: Any) -> None:  # noqa: N802
        if node.ctx == "load":
            self._paid("held", super().visit_Tuple, node, frame)
        else:
            super().visit_Tuple(node, frame)

    def visit_Getitem(self, node: nodes.Getitem, frame: Any) -> None:  # noqa: N802
        if isinstance(node.arg, nodes.Slice):
            self._paid("made", super().visit_Getitem, node, frame)
        else:
            super().visit_Getitem(node, frame)

    def visit_Concat(self, node: nodes.Concat, frame: Any) -> None:  # noqa: N802
        self.write("environment.joined(context, (")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write("))")

    def visit_Compare(self, node: nodes.Compare, frame: Any) -> None:  # noqa: N802
        self.write("(")
        self._paid("measured", self.visit, node.expr, frame)
        for operand in node.ops:
            self.write(f" {operators[operand.op]} ")
            payment = "searched" if operand.op in ("in", "notin") else "measured"
            self._paid(payment, self.visit, operand.expr, frame)
        self.write(")")

    def _paid(self, payment: str, visit: Callable[[Any, Any], Any], node: Any, frame: Any) -> None:
        self.write(f"environment.{payment}(")
        visit(node, frame)
        self.write(")")


class _Generation(Extension):
    """Blocks that mark the text of the model, as in `transformers`: scopes of their own, written as they are."""

    tags = {"generation"}  # noqa: RUF012 - jinja2 declares it so

    def parse(self, parser: Any) -> Any:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_written"), [], [], body).set_lineno(line)

    def _written(self, caller: Callable[[], str]) -> str:
        return caller()


# -- the environment --------------------------------------------------------------------------------------------------


class _Environment(ImmutableSandboxedEnvironment):
    """jinja2's sandbox, in which operations pay; `transformers` has the same blocks, filters and functions."""

    code_generator_class = _Generator
    intercepted_binops = frozenset("+ - * / // ** %".split())
    lexer: Any = None  # to look it up takes a lock, which a child process may find taken

    @property
    def stepped(self) -> bool:
        current().step()
        return True

    @staticmethod
    def made(value: Any) -> Any:
        costs.take_value(value)
        return value

    @staticmethod
    def measured(value: Any) -> Any:
        if isinstance(value, str):
            current().search(len(value))
        elif isinstance(value, list | tuple | Mapping):
            current().measure(value)
        return value

    @staticmethod
    def held(value: tuple[Any, ...]) -> tuple[Any, ...]:
        current().take(current().measure(value))  # Python hashes all of it
        return value

    @staticmethod
    def searched(value: Any) -> Any:
        current().search(costs.length_of(value) if not isinstance(value, Mapping) else 0)
        return value

    @staticmethod
    def joined(context: Context, parts: tuple[Any, ...]) -> str:
        is_escaped = context.eval_ctx.autoescape
        current().take(sum(map(costs.text_size, parts)) * (6 if is_escaped else 1))
        return markup_join(parts) if is_escaped else str_join(parts)

    @staticmethod
    def concat(parts: Any) -> str:
        pieces = [*parts]
        current().take(sum(map(len, pieces)))
        return "".join(pieces)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        costs.pay_operator(operator, left, right)
        return self.binop_table[operator](left, right)

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805 - jinja2's
        budget = current()
        given = {name: value for name, value in kwargs.items() if name not in _OF_JINJA}
        args = costs.pay_call(__obj, args, given)
        budget.calls -= 1
        if budget.calls < 0:
            raise LimitReached(f"calls macros within each other more than {budget.limits.calls} times")
        try:
            return super().call(__context, __obj, *args, **kwargs)
        finally:
            budget.calls += 1

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        if super().wrap_str_format(value) is None:
            return None
        text = value.__self__
        formatter = _EscapeFormatter(self, escape=text.escape) if isinstance(text, Markup) else _Formatter(self)

        def formatted(*args: Any, **named: Any) -> str:
            if value.__name__ == "format_map":
                (named,), args = args, ()
            made: str = type(text)(formatter.vformat(text, args, named))
            return made

        return functools.update_wrapper(formatted, value)


class _Formatter(SandboxedFormatter):
    def format_field(self, value: Any, format_spec: str) -> Any:
        costs.pay_field(value, format_spec)
        return super().format_field(value, format_spec)

    def convert_field(self, value: Any, conversion: Any) -> Any:
        if conversion is not None:
            current().take(costs.text_size(value) * 10)
        return super().convert_field(value, conversion)


class _EscapeFormatter(_Formatter, EscapeFormatter):
    pass


@pass_context
def _finalized(context: Context, value: Any) -> Any:
    """Pay for the text of a value that is no text; jinja2 makes it next."""
    if not isinstance(value, str):
        current().take(costs.text_size(value))
    return value


def environment_of(kind: type[_Environment]) -> _Environment:
    """Return an environment with the blocks, filters, tests and functions of templates."""
    made = kind(
        trim_blocks=True, lstrip_blocks=True, optimized=False, extensions=[_Generation, loopcontrols],
        finalize=_finalized,
    )  # fmt: skip
    made.filters["tojson"] = functions.to_json
    filters: dict[str, Any] = made.filters
    tests: dict[str, Any] = made.tests
    lipsum: Any = made.globals["lipsum"]
    made.filters = {name: _paid_filter(name, function) for name, function in filters.items()}
    made.tests = {name: _paid_test(name, function) for name, function in tests.items()}
    made.globals |= {
        "raise_exception": functions.refuse, "strftime_now": functions.now, "dict": functions.Dict(),
        "namespace": functions.Namespace, "range": functions.number_range,
        "lipsum": functools.partial(functions.lipsum, lipsum),
    }  # fmt: skip
    made.lexer = get_lexer(made)
    return made


def _paid_filter(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    cost: Callable[..., int] = costs.FILTERS.get(name, costs.plain)
    # a context or an environment is the first argument of some filters
    first = int(hasattr(function, "jinja_pass_arg"))

    @functools.wraps(function)
    def paid(*arguments: Any, **named: Any) -> Any:
        budget = current()
        budget.step()
        source = arguments[first] if len(arguments) > first else None
        if name in costs.WHOLE:
            arguments = (*arguments[:first], *map(costs.whole, arguments[first : first + 1]), *arguments[first + 1 :])
        budget.take(cost(*arguments[first:], **named) * costs.escaping(*arguments, *named.values()))
        made = function(*arguments, **named)
        return costs.PaidItems(made, source) if isinstance(made, Iterator) else made

    return paid


def _paid_test(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    first = int(hasattr(function, "jinja_pass_arg"))

    @functools.wraps(function)
    def paid(*arguments: Any) -> Any:
        current().step()
        if name in costs.COMPARING:
            for value in arguments[first:]:
                _Environment.measured(value)
        return function(*arguments)

    return paid


_ENVIRONMENT = environment_of(_Environment)

# an environment that does more is made of these
Environment: TypeAlias = _Environment
Generator: TypeAlias = _Generator
Formatter: TypeAlias = _Formatter
Generation: TypeAlias = _Generation
