"""The environment in which a template runs once and its text knows where each character comes from.

The literals of the compiled template are traced texts, and so are fields of messages and the model's own tokens.  Any
other text has no known origin.  A filter may lose an origin; the text is then not trusted, so that the chat stays safe.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jinja2 import nodes
from jinja2.compiler import CodeGenerator, operators
from jinja2.runtime import Context, LoopContext

from ...core.traced import Operations, RenderMeter, with_flag
from ...spec.chat_templates import ChatTemplate
from . import costs
from .budget import RenderBudget, current
from .messages import ROLES
from .origins import (
    GENERATED,
    HEADER,
    TRUSTED,
    UNKNOWN,
    Traced,
    common_origin,
    joined,
    literal,
    origin_of_message,
    traced,
)
from .sandbox import Environment, Formatter, Generation, Generator, compile_in, environment_of, pieces
from .template_functions import Namespace

#: The fields of a message that a header has; a model writes the others.
_HEADERS = frozenset(("role", "name"))
_OPERATIONS = ("step", "attribute", "written", "pieces", "added", "measured")


def render_traced(
    template: ChatTemplate, tokens: Mapping[str, str], variables: Mapping[str, Any], messages: list[dict[str, Any]]
) -> Traced:
    """Return the text that a template makes of messages, the model's tokens and other variables, with its origins.

    Raises as `sandbox.render` does.
    """
    own = {name: literal(text) for name, text in tokens.items()}
    given = {**own, **variables, "messages": [_traced_message(*row) for row in enumerate(messages)]}
    return joined(pieces(_ENVIRONMENT, template, given, _collected))


def _traced_message(number: int, message: dict[str, Any]) -> dict[str, Any]:
    header = origin_of_message(number, HEADER)
    made: dict[str, Any] = _ENVIRONMENT.operations.message(message, header, origin_of_message(number), _HEADERS)
    role = message.get("role")
    if isinstance(role, str) and role in ROLES:
        made["role"] = traced(role, header | TRUSTED)
    return made


def compile_traced(template: ChatTemplate) -> None:
    """Compile a template, which is kept; raises as `sandbox.render` does."""
    compile_in(_ENVIRONMENT, template)


def _collected(running: Iterator[str], budget: RenderBudget) -> list[str]:
    meter = RenderMeter(budget)
    token = meter.begin()
    try:
        found: list[str] = _ENVIRONMENT.operations.collected(running)
        return found
    finally:
        meter.end(token)


class _TracingGenerator(Generator):
    """The code of a template whose literals are traced texts, made once."""

    def visit_Template(self, node: nodes.Template, frame: Any = None) -> None:  # noqa: N802 - jinja2's names
        self._literals: dict[str, str] = {}
        self._compared: set[int] = set()
        self._written: set[int] = set()
        super().visit_Template(node, frame)
        # names of the module, which its functions look up when they are called
        for name in _OPERATIONS:
            self.writeline(f"{name} = environment.operations.{name}")
        for text, name in self._literals.items():
            self.writeline(f"{name} = environment.literal({text!r})")

    def blockvisit(self, nodes: Any, frame: Any) -> None:
        self.writeline("step()")
        CodeGenerator.blockvisit(self, nodes, frame)

    def _literal(self, text: str) -> str:
        return self._literals.setdefault(text, f"literal_{len(self._literals)}")

    def visit_Const(self, node: nodes.Const, frame: Any) -> None:  # noqa: N802
        value = node.as_const(frame.eval_ctx)
        if isinstance(value, str) and id(node) not in self._compared:
            self.write(self._literal(value))
        else:
            super().visit_Const(node, frame)

    def visit_TemplateData(self, node: nodes.TemplateData, frame: Any) -> None:  # noqa: N802
        # alone where a variable decides whether it is markup; elsewhere it is written with what is beside it
        self.write(f"(Markup if context.eval_ctx.autoescape else identity)({self._literal(node.data)})")

    def visit_Getitem(self, node: nodes.Getitem, frame: Any) -> None:  # noqa: N802
        if isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str):  # a key is not written
            self.write("environment.getitem(")
            self.visit(node.node, frame)
            self.write(f", {node.arg.value!r})")
        else:
            super().visit_Getitem(node, frame)

    def visit_Getattr(self, node: nodes.Getattr, frame: Any) -> None:  # noqa: N802
        self.write("attribute(")
        self.visit(node.node, frame)
        self.write(f", {node.attr!r})")

    def visit_Compare(self, node: nodes.Compare, frame: Any) -> None:  # noqa: N802
        operands = [node.expr, *(operand.expr for operand in node.ops)]
        # to compare with a constant takes no longer for a long text
        is_short = any(isinstance(each, nodes.Const) for each in operands) and len(operands) == 2
        self._compared |= set(map(id, operands))  # what is compared is not written
        self.write("(")
        self._operand(node.expr, is_short, "measured", frame)
        for operand in node.ops:
            is_search = operand.op in ("in", "notin")
            self.write(f" {operators[operand.op]} ")
            self._operand(operand.expr, is_short and not is_search, "searched" if is_search else "measured", frame)
        self.write(")")

    def _operand(self, node: Any, is_free: bool, payment: str, frame: Any) -> None:
        if is_free:
            self.visit(node, frame)
        elif payment == "measured":
            self.write("measured(")
            self.visit(node, frame)
            self.write(")")
        else:
            self._paid(payment, self.visit, node, frame)

    def visit_Add(self, node: nodes.BinExpr, frame: Any) -> None:  # noqa: N802
        parts: list[nodes.Expr] = []
        first: nodes.Expr = node
        while isinstance(first, nodes.Add):
            parts.append(first.right)
            first = first.left
        self.write("pieces(" if id(node) in self._written else "added(")
        for part in (first, *reversed(parts)):
            self.visit(part, frame)
            self.write(", ")
        self.write(")")

    def _output_const_repr(self, group: Any) -> str:
        text = "".join(group)
        return self._literal(text) if all(type(each) is str for each in group) else super()._output_const_repr(group)

    def _output_child_pre(self, node: nodes.Expr, frame: Any, finalize: Any) -> None:
        if frame.eval_ctx.volatile or frame.eval_ctx.autoescape:
            super()._output_child_pre(node, frame, finalize)
        elif isinstance(node, nodes.Add):
            self._written.add(id(node))
        else:
            self.write("written(")

    def _output_child_post(self, node: nodes.Expr, frame: Any, finalize: Any) -> None:
        if frame.eval_ctx.volatile or frame.eval_ctx.autoescape:
            super()._output_child_post(node, frame, finalize)
        elif not isinstance(node, nodes.Add):
            self.write(")")


class _Marked(Generation):
    """Blocks that mark the text of the model: filters of it, in scopes of their own."""

    def parse(self, parser: Any) -> Any:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.FilterBlock(body, nodes.Filter(None, _MARK, [], [], None, None)).set_lineno(line)


class _TracingEnvironment(Environment):
    code_generator_class = _TracingGenerator
    literal = staticmethod(literal)
    operations: Operations

    @staticmethod
    def written(value: Any) -> str:
        """Return the text of a value that the template writes."""
        if isinstance(value, str):
            return value if type(value) is Traced else str(value)
        current().take(costs.text_size(value))
        text = str(value)
        return traced(text, _origin_of(value)) if text else text

    @staticmethod
    def joined(context: Context, parts: tuple[Any, ...]) -> str:
        """Return values one after another, as texts."""
        if context.eval_ctx.autoescape:
            return Environment.joined(context, parts)
        current().take(sum(map(costs.text_size, parts)))
        return joined([part if isinstance(part, str) else traced(str(part), _origin_of(part)) for part in parts])

    @staticmethod
    def concat(parts: Any) -> str:
        """Return the pieces of a block as one text."""
        made = joined(parts)
        current().take(len(made))
        return made

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Return what an operator makes, once it is paid for."""
        if type(left) is int and type(right) is int and operator in "+-" and abs(left) < _SMALL > abs(right):
            current().step()
            return left + right if operator == "+" else left - right
        return super().call_binop(context, operator, left, right)

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805 - jinja2's
        own = getattr(__obj, "__self__", None)
        if type(own) is Traced and __obj.__name__ in _SHORT_METHODS and all(isinstance(each, str) for each in args):
            budget = current()
            budget.search(len(own))
            budget.take(3 * len(own) + sum(map(len, args)))
            return __obj(*args)
        made = super().call(__context, __obj, *args, **kwargs)
        if type(made) is str and isinstance(own, str):  # of a method of a text that is not followed
            return traced(made, _origin_of(own, *args, *kwargs.values()))
        return made

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """Return a method `format` or `format_map` of a text that keeps the origins of its arguments."""
        plain: Callable[..., str] | None = super().wrap_str_format(value)
        text = getattr(value, "__self__", None)
        if plain is None or type(text) is not Traced:
            return plain

        def formatted(*args: Any, **named: Any) -> str:
            fields: Any = args[0] if value.__name__ == "format_map" else named
            made = str(Formatter(self).vformat(str.__getitem__(text, slice(None)), args, fields))
            followed = joined(_formatted(_FieldFormatter(self), text, args, fields))
            return followed if followed == made else traced(made, UNKNOWN)

        return functools.update_wrapper(formatted, value)


class _FieldFormatter(Formatter):
    def field(self, name: str, args: Any, named: Any, form: str, conversion: str | None) -> str:
        """Return the text of one field, which keeps its origin if it is written as it is."""
        value, _ = self.get_field(name, args, named)
        if type(value) is Traced and not form and conversion in (None, "s"):
            return value
        ending = f"!{conversion}" * bool(conversion) + f":{form}" * bool(form)
        return traced(self.vformat("{0" + ending + "}", (value,), {}), _origin_of(value))


def _formatted(formatter: _FieldFormatter, text: Traced, args: Any, named: Any) -> list[str]:
    origins = text._origins
    whole = origins if isinstance(origins, int) else UNKNOWN
    parts: list[str] = []
    number = 0
    for before, name, form, conversion in formatter.parse(text):
        parts.append(traced(before, whole))
        if name is None:
            continue
        if not name or name[0] in ".[":
            name, number = f"{number}{name}", number + 1
        parts.append(formatter.field(name, args, named, form or "", conversion))
    return parts


def _origin_of(*values: Any) -> int:
    return common_origin(values, current().step)


def _followed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a filter whose text has the origin that its arguments have in common, unless it has kept theirs."""
    first = int(hasattr(function, "jinja_pass_arg"))
    method: Any = _METHODS.get(name)

    @functools.wraps(function)
    def followed(*arguments: Any, **named: Any) -> Any:
        if method is not None and len(arguments) == 1 and type(arguments[0]) is Traced and not named:
            budget = current()
            budget.step()
            budget.take(3 * len(arguments[0]))
            return method(arguments[0])
        if name == "join" and len(arguments) < first + 2:
            named.setdefault("d", _EMPTY)
        made = function(*arguments, **named)
        return traced(made, _origin_of(*arguments[first:], *named.values())) if type(made) is str else made

    return followed


def _environment() -> _TracingEnvironment:
    made: Any = environment_of(_TracingEnvironment)
    made.operations = Operations(
        Traced, _TEXT_METHODS, frozenset((LoopContext, Namespace)), attribute=made.getattr, undefined=made.undefined,
        write=made.written, add=lambda left, right: made.call_binop(None, "+", left, right),
        measure=made.measured, trim=lambda value, chars: trim(value) if chars is None else trim(value, chars),
    )  # fmt: skip
    made.extensions[Generation.identifier] = _Marked(made)
    filters: dict[str, Any] = made.filters
    made.filters = {name: _followed(name, function) for name, function in filters.items()}
    trim: Any = made.filters["trim"]
    made.filters["trim"] = made.operations.trim
    made.filters[_MARK] = functools.partial(with_flag, flag=GENERATED)
    # what takes no time that depends on a value: the blocks pay for as many as they have
    made.filters |= {name: filters[name].__wrapped__ for name in ("length", "count", "default", "d")}
    made.tests |= {name: made.tests[name].__wrapped__ for name in _SHORT_TESTS}
    return made  # type: ignore[no-any-return]


_EMPTY = literal("")
_MARK = "generation block"  # no template can name such a filter
_SHORT_METHODS = frozenset("startswith endswith strip lstrip rstrip removeprefix removesuffix upper lower".split())
_SHORT_TESTS = "defined undefined string none mapping sequence iterable boolean true false number integer".split()
_SMALL = 1 << 32  # numbers whose sums need no limit
_TEXT_METHODS = frozenset(name for name in dir(str) if name[0] != "_") - {"format", "format_map"}
#: Filters that are methods of a text, which take no more than three characters for one.
_METHODS = {
    "lower": Traced.lower, "upper": Traced.upper, "capitalize": Traced.capitalize,
    "string": Traced.__str__,
}  # fmt: skip
_ENVIRONMENT = _environment()
