"""Models fitted to both tables: formulas, designs in the original's coding, estimates and their posteriors."""

from sfumato.utility.models.fitting import BothFits, Fit, Fitted, ModelMeasure, fit, fit_both
from sfumato.utility.models.formula import Family, Model, as_models

__all__ = ["BothFits", "Family", "Fit", "Fitted", "Model", "ModelMeasure", "as_models", "fit", "fit_both"]
