import subprocess
import sys
from importlib import import_module

import pytest

import sfumato


def test_every_public_name_can_be_had() -> None:
    assert sfumato.__all__ == sorted(sfumato.__all__)
    for name in sfumato.__all__:
        assert getattr(sfumato, name).__doc__, name


def test_the_version_is_said_once_and_right() -> None:
    from importlib.metadata import version

    assert sfumato.__version__ == version("sfumato")


@pytest.mark.parametrize("heavy", ["numpy", "scipy", "numba", "pyarrow", "altair", "rich", "typer", "joblib"])
def test_importing_sfumato_imports_nothing_heavy(heavy: str) -> None:
    code = f"import sys, sfumato; sys.exit({heavy!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_small_tables_are_masked_and_measured_without_numba() -> None:
    code = (
        "import sys, numpy as np, pyarrow as pa, sfumato\n"
        "from sfumato import catalogue\n"
        "x = np.random.default_rng(0).lognormal(size=(1000, 3))\n"
        "t = pa.table({'a': x[:, 0], 'b': x[:, 1], 'c': x[:, 2]})\n"
        "for cls in catalogue.methods().values():\n"
        "    try:\n"
        "        catalogue.default_grid(cls)[0].protect(t, rng=1)\n"
        "    except sfumato.NotApplicable:  # of methods for categories only\n"
        "        pass\n"
        "masked = sfumato.Noise(0.1).protect(t, rng=1)\n"
        "for cls in catalogue.measures().values():\n"
        "    try:\n"
        "        cls().evaluate(t, masked, rng=1)\n"
        "    except sfumato.NotApplicable:  # of measures over keys\n"
        "        pass\n"
        "sys.exit('numba' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_no_module_is_broken() -> None:
    import pkgutil

    for module in pkgutil.walk_packages(sfumato.__path__, "sfumato."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
