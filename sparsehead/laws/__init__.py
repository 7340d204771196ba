"""Laws: the number of samples that a learner needs, as a function of the context length.

T is the context length, m the number of training samples, and m_80 the m at which 80 % of trials succeed. Trials at
several (T, m) give m_80 at each T with an interval, and fitted laws m_80(T). Read in this order:

intervals    intervals for a share of successes; percentiles, quantiles
curves       the success curve in ln m and its likelihood
misfit       score tests: do trials follow the success curve?
thresholds   m_80 at one T: read off a grid, or fitted
adaptive     choose the next trials at one T
smooth       all thresholds together, with ln m_80 smooth in ln T
joint        choose the next trials at all T together
scoring      maximum likelihood of all trials under a curve m_80(T)
fits         laws m_80(T) (log, power, linear), fitted to all trials at once
rounds       run rounds of trials until every threshold is known
published    the paper's law and its grid of trials
methods      the three methods of `law`: grid, joint, adaptive
theory       information floors and slopes to compare with a law
tasks        a law's tasks for a user's distribution of inputs
data_curve   the learning curve for a table of the user
law, stored  `law`; a law from the trials in a store
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
