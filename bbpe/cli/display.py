"""Tokens on a terminal, and whether it shows colours."""

from __future__ import annotations

import os
from typing import TextIO

from bbpe.report.terminal import sample as sample
from bbpe.report.terminal import shown as shown


def shows_colour(stream: TextIO) -> bool:
    """Whether a stream is a terminal whose user has not asked for none (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR")
