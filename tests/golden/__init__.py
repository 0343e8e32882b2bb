"""What the program gives on fixed tables, kept as texts, so that a rebuilding can be seen to change nothing.

Golden results guard a rebuilding. They prove no figure right: the tests by hand, by reference and by theory do that.

``PYTHONPATH=tests python -m golden`` compares everything with ``expected/``; ``python -m golden write [CASE ...]``
makes it anew. Every change of ``expected/`` has a line of reason in ``CHANGES.md``.
"""
