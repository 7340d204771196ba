"""The Transformer as a learner among others."""

from ..footprint import transformer_bytes
from ..learners.learner import Learner
from .engines import choose_engine

TRANSFORMER = Learner(engine=choose_engine, has_model=True, memory=transformer_bytes)
