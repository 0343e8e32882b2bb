"""The command line, one file per command: parse, call, print. Nothing heavy is imported until a command runs."""

from sfumato.cli.app import app, main

__all__ = ["app", "main"]
