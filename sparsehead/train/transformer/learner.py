"""The Transformer as a learner among others."""

from ..footprint import transformer_bytes
from ..learners.learner import Learner
from .engines import engine_origin, make_engine

TRANSFORMER = Learner(engine=make_engine, origin=engine_origin, has_model=True, memory=transformer_bytes)
