"""Models fitted to both tables: formulas, designs in the original's coding, estimates and their posteriors."""

from sfumato.utility.models.fit import BothFits, Fit, fit, fit_both
from sfumato.utility.models.measure import Fitted, ModelMeasure
from sfumato.utility.models.model import Family, Model, as_models

__all__ = ["BothFits", "Family", "Fit", "Fitted", "Model", "ModelMeasure", "as_models", "fit", "fit_both"]
