"""Fixtures of commands (support/commands.py)."""

from commands import call, here

__all__ = ["call", "here"]
