"""Outcomes to thresholds, intervals and laws: pure functions of how many trials succeeded at each (T, m).

intervals    a share of successes; percentiles, quantiles
curves       the success curve in ln m and its likelihood
misfit       whether trials follow the success curve: score tests
thresholds   m_80 at one T: read off a grid, or fitted
adaptive     which trials to run next, at one T
smooth       all thresholds at once, ln m_80 smooth in ln T
joint        which trials to run next, at which T
scoring      maximum likelihood of all trials under a curve m_80(T)
laws         m_80(T): log, power and linear, fitted to all trials at once
falls        the step at which a loss has fallen for good
published    the paper's printed and digitised numbers
evidence     how probable the paper's numbers are under one reading of its text
"""

from .adaptive import Adaptive
from .curves import Cell
from .fits import LawFit, LawFits, fit_laws, law_value
from .intervals import clopper_pearson, wilson
from .joint import Joint
from .thresholds import Threshold, fitted, grid

__all__ = [
    "Adaptive",
    "Cell",
    "Joint",
    "LawFit",
    "LawFits",
    "Threshold",
    "clopper_pearson",
    "fit_laws",
    "fitted",
    "grid",
    "law_value",
    "wilson",
]
