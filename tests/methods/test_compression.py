from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from sfumato import JPEG, ParameterError
from tables import incomes, numbers


def test_by_reference_the_masked_table_is_the_decoded_image() -> None:
    data = incomes(64)
    names = data.schema.analysed("numeric")
    x = data.numeric(names)
    low, span = x.min(axis=0), np.ptp(x, axis=0)
    buffer = BytesIO()
    Image.fromarray(np.rint((x - low) / span * 255).astype(np.uint8)).save(buffer, "JPEG", quality=60)
    expected = low + np.asarray(Image.open(buffer), dtype=float) / 255 * span
    np.testing.assert_allclose(JPEG(60).protect(data).numeric(names), expected)


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


def test_values_stay_within_the_range_of_the_variable() -> None:
    data = incomes(300)
    x, y = data.numeric(), JPEG(5).protect(data).numeric()
    assert (y >= x.min(axis=0)).all() and (y <= x.max(axis=0)).all()


@pytest.mark.parametrize("quality", [0, 101, 0.9, "80"])
def test_a_quality_that_cannot_be_right_is_refused(quality: object) -> None:
    with pytest.raises(ParameterError, match="JPEG: quality must be a whole number from 1 to 100"):
        JPEG(quality)  # type: ignore[arg-type]
