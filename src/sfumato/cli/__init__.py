"""The command line: parse, call, print. Nothing heavy is imported until a command runs."""

from sfumato.cli.app import app, main

__all__ = ["app", "main"]
