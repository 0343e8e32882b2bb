"""Lossy compression: the table as a grey image."""

from io import BytesIO
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MethodAbout
from sfumato.core import Method
from sfumato.errors import NotApplicable, ParameterError
from sfumato.registry import catalogued
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Schema

STRIP = 65_496  # the JPEG library allows 65,500 rows; a multiple of its blocks, so that strips change nothing inside


@catalogued(
    MethodAbout(
        title="Lossy compression (JPEG)",
        source="Domingo-Ferrer, Mateo-Sanz and Torres, section 2 (JPEG q); ITU-T T.81",
        missing="counts as the variable's mean inside the image and stays missing",
        random=False,
        column_order=True,
        grid={"quality": (70, 80, 90, 95)},
        caveat="values share 256 grey levels, so skewed variables lose all detail among small values",
        formula="g_ij = round(255 (x_ij - min_j) / (max_j - min_j)): an image of records by variables\n"
        "g' = the image after JPEG compression at `quality`, decoded\n"
        "x'_ij = min_j + g'_ij (max_j - min_j) / 255\n"
        "rounding='down': floor instead of round, and floor( g'_ij (max_j - min_j) / 255 ) above min_j",
        reading="``quality`` runs from 1 to 100, as in a camera: in four skewed amounts a value moves by about 3 "
        "grey levels on average at 90 and by about 9 at 70 (a level is 1/255 of the variable's range), and neighbours "
        "in the file run into one another. There is no rule that turns a quality into a risk: measure it.",
        group="Change numbers",
        labels={
            "quality": "Quality, from 1 to 100 (quality)",
            "rounding": "How values are put on grey levels (rounding)",
        },
    )
)
class JPEG(Method):
    """The table as an 8-bit grey image, one record a row, compressed as JPEG at ``quality`` and decoded.

    Each variable is scaled linearly to 0..255 (smallest to largest value), the image is compressed by Pillow (the extra
    ``jpeg``), decoded, and scaled back. Neighbouring records and variables share 8 x 8 blocks, so the order of both
    matters. Tables of more than 65,496 records are compressed in strips. With ``rounding="down"`` grey levels are cut
    instead of rounded, and on their way back values are cut to whole numbers above the smallest. The paper does not say
    how it rounds; this rule gives its printed figures. It suits variables in whole numbers, and takes their decimals
    from all others. Limits: even at quality 100 only 256 levels per variable remain; with one far outlier all ordinary
    values fall into a few of them.
    """

    quality: int
    rounding: Literal["nearest", "down"] = "nearest"

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.whole(self, "quality", least=1, most=100)
        parameters.one_of(self, "rounding", ("nearest", "down"))

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        names = self.masked(data)
        values = data.numeric(names)
        missing = np.isnan(values)
        if missing.all(axis=0).any():
            name = names[int(np.argmax(missing.all(axis=0)))]
            raise NotApplicable(f"every value of variable {name!r} is missing")
        low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
        span = np.where(high > low, high - low, 1.0)
        filled = np.where(missing, np.nanmean(values, axis=0), values)
        cut = np.floor if self.rounding == "down" else np.rint
        grey = cut((filled - low) / span * 255).astype(np.uint8)
        decoded = np.concatenate(
            [_compressed(grey[start : start + STRIP], self.quality) for start in range(0, len(grey), STRIP)]
        )
        shift = np.floor(decoded * span / 255) if self.rounding == "down" else decoded / 255 * span
        masked = np.where(missing, np.nan, low + shift)
        masked[:, high == low] = values[:, high == low]  # a constant has no grey scale
        return data.replace({name: masked[:, j] for j, name in enumerate(names)})

    def in_words(self, schema: Schema | None = None) -> str:
        return f"{self.subject_is()} compressed like a picture, with quality {self.quality}"


def _compressed(grey: NDArray[np.uint8], quality: int) -> NDArray[np.float64]:
    try:
        from PIL import Image
    except ModuleNotFoundError:
        raise ParameterError("JPEG needs Pillow, which is not installed; run: pip install 'sfumato[jpeg]'") from None

    buffer = BytesIO()
    Image.fromarray(np.ascontiguousarray(grey)).save(buffer, format="JPEG", quality=quality)
    return np.asarray(Image.open(buffer), dtype=np.float64)
