"""Samples needed against context length: trials come in, thresholds with intervals and fitted laws go out.

Read in this order:

intervals    a share of successes; percentiles, quantiles
curves       the success curve in ln m and its likelihood
misfit       whether trials follow the success curve: score tests
thresholds   m_80 at one T: read off a grid, or fitted
adaptive     which trials to run next, at one T
smooth       all thresholds at once, ln m_80 smooth in ln T
joint        which trials to run next, at which T
scoring      maximum likelihood of all trials under a curve m_80(T)
fits         m_80(T): log, power and linear, fitted to all trials at once
rounds       rounds of trials until every threshold is known
published    the law that the paper printed, and its grid of trials
methods      the three ways in which `law` spends its trials
theory       floors and slopes beside a law
tasks        a law's tasks, if the distribution of inputs is the user's
data_curve   the learning curve of one table of a user's own
law, stored  the verb `law`; a law from the trials that a store holds
"""

from .adaptive import Adaptive as Adaptive
from .curves import Cell as Cell
from .fits import LawFit as LawFit
from .fits import LawFits as LawFits
from .fits import fit_laws as fit_laws
from .fits import law_value as law_value
from .intervals import clopper_pearson as clopper_pearson
from .intervals import wilson as wilson
from .joint import Joint as Joint
from .thresholds import Threshold as Threshold
from .thresholds import fitted as fitted
from .thresholds import grid as grid
