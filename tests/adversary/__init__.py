"""Attacks that Sfumato must stand: kills, full disks, damaged files and stores, hostile text, wrong types, leaks.

Each kind is a file with a generator of attacks and an oracle that says what must hold afterwards. The number of an
attack and a seed make the attack, so that any finding can be had again. `make test` runs a few of each kind
(`test_adversary.py`), `make adversary` as many as fit into the time it is given (`python -m adversary --help`).
"""
