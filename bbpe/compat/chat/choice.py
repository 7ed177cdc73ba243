"""The options of a call about the ids of chats, and whose messages are learned."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ...lazy import np, safe_import
from ...pipeline.special_tokens import Selection
from ...records import dataclass, kind, whole
from ...types import TrainOn
from .messages import ROLES, Message
from .origins import GENERATED, HEADER, SHIFT

#: The names of these options.
CHOICES = ("content_special", "train_on", "turn_end", "max_length")
_OF_TEMPLATES = ("tools", "documents", "chat_template", "add_generation_prompt", "continue_final_message", "variables")


@dataclass(frozen=True)
class Choice:
    """The options of a call about ids."""

    content_special: Selection = ()
    train_on: TrainOn = "assistant"
    turn_end: bool = True
    max_length: int | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> tuple[Choice, dict[str, Any]]:
        """Return the checked choice among the options of a call, and the others, as `chat_call` takes them."""
        own = {name: value for name, value in options.items() if name in CHOICES}
        named = {name: value for name, value in options.items() if name in _OF_TEMPLATES}
        others = {name: value for name, value in options.items() if name not in own and name not in named}
        choice = cls(**own)
        choice._check()
        return choice, {**named, "options": others}

    def _check(self) -> None:
        train_on = self.train_on
        is_roles = isinstance(train_on, Collection) and all(isinstance(role, str) for role in train_on)
        if not (isinstance(train_on, str) or callable(train_on) or is_roles):
            problem = f"train_on is {type(train_on).__name__} {train_on!r:.40}"
            raise TypeError(f"{problem}; expected a role, a set of roles, or a function of a message")
        if not isinstance(self.turn_end, bool):
            raise TypeError(f"turn_end is {type(self.turn_end).__name__} {self.turn_end!r:.40}; expected True or False")
        if self.max_length is not None:
            whole("max_length", self.max_length, 1)

    def chosen(self, messages: Sequence[Message]) -> list[bool]:
        """Return whether each message is one to learn."""
        train_on = self.train_on
        if callable(train_on):
            return [_truth(train_on(message), number) for number, message in enumerate(messages)]
        roles = {train_on} if isinstance(train_on, str) else set(train_on)
        found = [message.get("role") for message in messages]
        if {*map(type, found)} != {str} or not ROLES.issuperset((*roles, *found)):
            _check_roles(messages, found, roles)
        return [role in roles for role in found]


def _truth(found: object, number: int) -> bool:
    """Return the answer of a function to message `number`: one without an answer would learn nothing, unnoticed."""
    if isinstance(found, int | np.bool_) and found in (0, 1):
        return bool(found)
    problem = f"train_on(messages[{number}]) is {type(found).__name__} {found!r:.40}"
    raise TypeError(f"{problem}; expected True or False, as bool(...) gives")


def _check_roles(messages: Sequence[Message], found: list[Any], roles: set[str]) -> None:
    """Refuse messages without a role, and a role to learn that is a misspelt one; this chat may lack another."""
    if None in found:
        number = found.index(None)
        names = ", ".join(map(repr, messages[number]))
        raise ValueError(
            f"messages[{number}] has no 'role', but {names}; expected a dict with 'role' and 'content', or a function "
            "of a message as train_on="
        )
    for number, role in enumerate(found):
        kind(f"messages[{number}]['role']", role, str, "a text such as 'user'", "a function as train_on= takes others")
    safe_import("difflib")
    from difflib import get_close_matches

    for role in sorted(roles - {*found}):
        # another chat may have a usual role, if this one does not have it in other letters
        known = {name.lower(): name for name in (*(() if role in ROLES else ROLES), *found)}
        near = known.get(role.lower())
        if near in roles:
            continue
        if near is None and role not in ROLES:
            near = next((known[name] for name in get_close_matches(role.lower(), known, n=1, cutoff=0.8)), None)
        if near is not None or not role:
            hint = f"did you mean {near!r}?" if near else "expected a role such as 'assistant'"
            raise ValueError(f"train_on has {role!r}, which is the role of no message; {hint}")


def check_marks(runs: tuple[tuple[int, int], ...], messages: Sequence[Message], chosen: Sequence[bool]) -> None:
    """Refuse messages to learn whose role a template with `{% generation %}` blocks never marks; an assistant's may be.

    `runs` are those of the text.
    """
    marked = {origin >> SHIFT for _, origin in runs if origin & GENERATED}
    if not marked:
        return
    roles = ["assistant", *(messages[at - 1].get("role") for at in marked if at)]
    for at in sorted({origin >> SHIFT for _, origin in runs if not origin & HEADER} - {0}):
        role = messages[at - 1].get("role")
        if chosen[at - 1] and role not in roles:
            raise ValueError(
                f"train_on chooses messages[{at - 1}] of the role {role!r}, which the template leaves out of its "
                "{% generation %} blocks; expected 'assistant', or a chat_template= without such blocks"
            )
