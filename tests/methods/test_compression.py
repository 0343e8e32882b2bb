import sys
from importlib.metadata import PackageNotFoundError
from io import BytesIO
from typing import Literal

import numpy as np
import pytest
from PIL import Image

from sfumato import JPEG, InformationLoss, ParameterError
from sfumato.compare.work import versions
from tables import census, incomes, numbers, printed_table


def test_by_reference_the_masked_table_is_the_decoded_image() -> None:
    data = incomes(64)
    names = data.schema.analysed("numeric")
    x = data.numeric(names)
    low, span = x.min(axis=0), np.ptp(x, axis=0)
    buffer = BytesIO()
    Image.fromarray(np.rint((x - low) / span * 255).astype(np.uint8)).save(buffer, "JPEG", quality=60)
    expected = low + np.asarray(Image.open(buffer), dtype=float) / 255 * span
    np.testing.assert_allclose(JPEG(60).protect(data).numeric(names), expected)


def test_by_reference_rounding_down_cuts_grey_levels_and_values() -> None:
    data = incomes(64)
    names = data.schema.analysed("numeric")
    x = data.numeric(names)
    low, span = x.min(axis=0), np.ptp(x, axis=0)
    buffer = BytesIO()
    Image.fromarray(np.floor((x - low) / span * 255).astype(np.uint8)).save(buffer, "JPEG", quality=60)
    expected = low + np.floor(np.asarray(Image.open(buffer), dtype=float) * span / 255)
    np.testing.assert_array_equal(JPEG(60, rounding="down").protect(data).numeric(names), expected)


def test_by_hand_rounding_down() -> None:
    # one row of 0 and 510 is too small a picture to lose anything at quality 100 but for one level or so: a table of
    # two equal columns 0, 1, 509, 510 has levels 0, 0, 254, 255 and comes back as whole numbers of the range
    x = np.array([0.0, 1.0, 509.0, 510.0])
    masked = JPEG(100, rounding="down").protect(numbers(x=x)).columns["x"]
    assert masked[0] == masked[1]  # one level: 1 / 510 of 255 levels is 0.5, cut to 0
    assert (masked == np.floor(masked)).all() and (np.abs(masked - [0, 0, 508, 510]) <= 4).all()


@pytest.mark.parametrize("quality", [10, 50, 75, 100])
def test_by_reference_rounding_down_gives_the_printed_information_loss(quality: int) -> None:
    data, printed = census(), printed_table("domingo_table2.csv")
    found = InformationLoss().evaluate(data, JPEG(quality, rounding="down").protect(data)).value
    assert found == pytest.approx(printed[f"JPEG{quality:03d}"]["IL"], abs=0.02)


def test_a_rounding_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ParameterError, match="rounding must be one of 'nearest', 'down'; got 'up'"):
        JPEG(80, rounding="up")  # type: ignore[arg-type]


def test_at_full_quality_values_move_by_a_few_grey_levels_at_the_most() -> None:
    data = incomes(1000)
    x, y = data.numeric(), JPEG(100).protect(data).numeric()
    assert (np.abs(x - y) <= 3 * np.ptp(x, axis=0) / 255).all()


def test_tables_higher_than_a_jpeg_may_be_are_compressed_in_strips() -> None:
    x = np.random.default_rng(0).normal(size=70_000)
    masked = JPEG(95).protect(numbers(x=x, y=-x)).numeric()
    assert masked.shape == (70_000, 2) and np.isfinite(masked).all()
    start = x[:65_496]
    alone = JPEG(95).protect(numbers(x=np.append(start, [x.min(), x.max()]), y=-np.append(start, [x.min(), x.max()])))
    np.testing.assert_allclose(masked[:65_488, 0], alone.columns["x"][:65_488])


@pytest.mark.parametrize("rounding", ["nearest", "down"])
def test_values_stay_within_the_range_of_the_variable(rounding: Literal["nearest", "down"]) -> None:
    data = incomes(300)
    x, y = data.numeric(), JPEG(5, rounding=rounding).protect(data).numeric()
    assert (y >= x.min(axis=0)).all() and (y <= x.max(axis=0)).all()


@pytest.mark.parametrize("quality", [0, 101, 0.9, "80"])
def test_a_quality_that_cannot_be_right_is_refused(quality: object) -> None:
    with pytest.raises(ParameterError, match="JPEG: quality must be a whole number from 1 to 100"):
        JPEG(quality)  # type: ignore[arg-type]


def test_without_pillow_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ParameterError, match=r"needs Pillow.*pip install 'sfumato\[jpeg\]'"):
        JPEG(80).protect(incomes(20))


def test_without_pillow_its_version_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> str:
        if name == "pillow":
            raise PackageNotFoundError(name)
        return "1"

    monkeypatch.setattr("importlib.metadata.version", absent)
    assert list(versions()) == ["python", "sfumato", "numpy", "scipy", "numba", "pyarrow"]
