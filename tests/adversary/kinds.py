"""All kinds of attack by name."""

from adversary import (
    command_lines,
    damaged_files,
    damaged_stores,
    full_disk,
    kills,
    public_calls,
    releases,
    wrong_types,
)
from adversary.attack import Kind

ALL = (damaged_files, wrong_types, public_calls, command_lines, kills, damaged_stores, full_disk, releases)
KINDS: dict[str, Kind] = {module.KIND.name: module.KIND for module in ALL}
