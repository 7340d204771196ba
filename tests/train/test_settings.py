"""Settings: one place for each, and what is derived from it."""

import importlib.util
from dataclasses import MISSING, asdict
from pathlib import Path
from typing import cast

import pytest

from sparsehead._base.errors import DomainError
from sparsehead._base.fields import closest
from sparsehead.train.keywords import Settings
from sparsehead.train.learn import learn
from sparsehead.train.spec import PRESETS, SETTINGS, TrainSpec, preset

ROOT = Path(__file__).parents[2]


def test_the_keyword_types_are_those_that_the_script_writes():
    location = importlib.util.spec_from_file_location("keywords_script", ROOT / "scripts" / "keywords.py")
    script = importlib.util.module_from_spec(location)
    location.loader.exec_module(script)
    assert script.TARGET.read_text() == script.source(), "run python scripts/keywords.py"


def test_every_setting_is_described_and_its_default_is_allowed():
    given = asdict(TrainSpec(function="x0", T=8, m=4, seed=0))
    assert list(SETTINGS) == list(given)
    for name, setting in SETTINGS.items():
        assert setting.help.endswith(".") and setting.group in ("Task", "Model", "Training", "Protocol")
        assert setting.checked(given[name]) == given[name]
        assert setting.default is MISSING or setting.default == given[name]
        setting.check_choice(given[name])
    assert len({setting.option for setting in SETTINGS.values()}) == len(SETTINGS)
    assert {name for settings in PRESETS.values() for name in settings} <= SETTINGS.keys()


@pytest.mark.parametrize(
    ("word", "meant"),
    [("lr", "learning_rate"), ("learning_rte", "learning_rate"), ("heads", "H"), ("steps", "n_steps"),
     ("wd", "weight_decay"), ("beta1", "beta_1"), ("eps", "adam_eps"), ("Dropout", "dropout"), ("colour", None)],
)  # fmt: skip
def test_a_misspelt_setting_is_answered_by_the_closest_one(word, meant):
    assert closest(word, SETTINGS) == meant
    with pytest.raises(DomainError) as refused:
        learn("x1", T=8, m=10, seed=0, **cast(Settings, {word: 1}))
    said = str(refused.value)
    assert repr(word) in said and len(said) < 100
    assert (f"did you mean {meant!r}?" in said) if meant else ("--help" in said)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [("p", 0.0, "p is a finite number > 0 and < 1; got 0.0"), ("noise", 0.6, ">= 0 and <= 0.5"), ("H", 0, ">= 1"),
     ("clip", float("inf"), "clip is a finite number"), ("sigma", "sine", "sigma is one of identity, relu"),
     ("stall", -1, ">= 0"), ("norm", 1, "norm is a bool"), ("encoding", "mine", "encoding is one of trainable")],
)  # fmt: skip
def test_a_value_out_of_range_is_refused_with_the_range(name, value, says, unchecked):
    with pytest.raises(DomainError, match=says):
        preset("fast", function="x0", T=8, m=4, seed=0, **{name: value})
