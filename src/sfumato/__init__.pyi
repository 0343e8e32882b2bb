from .about import About, MeasureAbout, MethodAbout
from .core import Measure, Measurement, Method
from .data.microdata import Microdata
from .data.schema import Schema, Variable

__version__: str

__all__ = ["About", "Measure", "MeasureAbout", "Measurement", "Method", "MethodAbout", "Microdata", "Schema", "Variable"]
