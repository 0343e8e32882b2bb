"""Run methods and measures over a table, compare the figures, and choose."""

from sfumato.compare.bootstrap import Bootstrap, bootstrap
from sfumato.compare.choose import Choice, choose
from sfumato.compare.defaults import Chosen, default_measures
from sfumato.compare.experiment import Experiment, grid
from sfumato.compare.frontier import Axis, Frontier, frontier
from sfumato.compare.joint import JointFrontiers, joint_frontiers
from sfumato.compare.results import Results, Row
from sfumato.compare.score import Recipe, Score, Score2
from sfumato.compare.tune import Tuning, tune
from sfumato.compare.tune_jointly import JointTuning, tune_jointly

__all__ = [
    "Axis",
    "Bootstrap",
    "Choice",
    "Chosen",
    "Experiment",
    "Frontier",
    "JointFrontiers",
    "JointTuning",
    "Recipe",
    "Results",
    "Row",
    "Score",
    "Score2",
    "Tuning",
    "bootstrap",
    "choose",
    "default_measures",
    "frontier",
    "grid",
    "joint_frontiers",
    "tune",
    "tune_jointly",
]
