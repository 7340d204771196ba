"""Dataclass fields with metadata, so that a setting's type, range, help text and option are written in one place."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from difflib import get_close_matches
from functools import cache
from types import UnionType
from typing import Any, TypeVar, get_args

from .arguments import choice, instance, real, shown, whole
from .errors import DomainError

V = TypeVar("V")


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One field of a settings dataclass, as checks, command lines, forms and documentation need it.

    Args:
        kind: int, float, bool or str, or list[str] for an option that may be repeated.
        optional: whether None is also allowed.
        default: `dataclasses.MISSING` if a value is required.
        help: one sentence for a user.
        group: the heading under which the help and the forms show it.
        option: its name on the command line, such as "--heads"; by default the field's name with dashes.
        least, most: inclusive bounds of a number. above, below: exclusive ones.
        choices: the allowed texts, if they are limited; a registry, which plugins extend, is also possible.
    """

    name: str
    kind: Any
    optional: bool
    default: Any
    help: str
    group: str
    option: str
    least: int | float | None = None
    most: int | float | None = None
    above: int | float | None = None
    below: int | float | None = None
    choices: Collection[str] = ()

    @property
    def is_required(self) -> bool:
        """Return whether the setting has no default."""
        return self.default is MISSING

    def checked(self, value: Any) -> Any:
        """Return `value` with this setting's type; raise if it is out of range. Choices are not checked."""
        if value is None and self.optional:
            return None
        if self.kind is int:
            return whole(self.name, value, least=int(self.least or 0))
        if self.kind is float:
            return self._in_range(real(self.name, value))
        instance(self.name, value, self.kind, "see TrainSpec")
        return value

    def check_choice(self, value: Any) -> None:
        """Raise a DomainError if there are choices and `value` is not one of them."""
        if value not in self.choices and self.choices:
            choice(self.name, value, tuple(self.choices))

    def _in_range(self, number: float) -> float:
        rules = (
            (">", self.above, self.above is None or number > self.above),
            (">=", self.least, self.least is None or number >= self.least),
            ("<", self.below, self.below is None or number < self.below),
            ("<=", self.most, self.most is None or number <= self.most),
        )
        if all(kept for *_, kept in rules):
            return number
        bounds = " and ".join(f"{sign} {bound:g}" for sign, bound, _ in rules if bound is not None)
        raise DomainError(f"{self.name} is a finite number {bounds}; got {shown(number)}.")


def about(group: str, help: str, **more: Any) -> dict[str, Any]:
    """Return the metadata of a dataclass field, for `settings_of`; the arguments are those of `Setting`."""
    return {"group": group, "help": help, **more}


def setting(default: V, group: str, help: str, **more: Any) -> V:
    """Return a dataclass field with a default and the metadata of `about`."""
    return field(default=default, metadata=about(group, help, **more))


def option(default: V, help: str, **more: Any) -> V:
    """A `setting` under the heading "Options"."""
    return setting(default, "Options", help, **more)


@cache
def settings_of(kind: type) -> dict[str, Setting]:
    """The settings of a dataclass whose fields have metadata from `about`, by name, in the order of its fields."""
    found = {}
    for f in fields(kind):
        types: Any = get_args(f.type) if isinstance(f.type, UnionType) else (f.type,)
        more = {"option": f"--{f.name.replace('_', '-')}", **f.metadata}
        found[f.name] = Setting(
            name=f.name, kind=types[0], optional=type(None) in types, default=f.default, **more
        )
    return found


def check_names(names: Iterable[str], known: Mapping[str, Setting], *, what: str) -> None:
    """Raise for a name that is not in `known`, and suggest a similar one; `what` names the called function."""
    for name in names:
        if name not in known:
            near = closest(name, known)
            hint = (
                "`sparsehead learn --help` lists the settings." if near is None else f"did you mean {near!r}?"
            )
            raise DomainError(f"{what} has no setting {shown(name)}; {hint}")


def closest(word: str, known: Mapping[str, Setting]) -> str | None:
    """Return the setting that `word` probably means, by its option, its initials or a similar spelling; else None.

    >>> from sparsehead.train.spec import SETTINGS
    >>> [closest(word, SETTINGS) for word in ("lr", "learning_rte", "heads", "colour")]
    ['learning_rate', 'learning_rate', 'H', None]
    """
    spellings: dict[str, str] = {}
    for name, setting in known.items():
        initials = "".join(part[0] for part in name.split("_") if part)
        for spelling in (name, setting.option.strip("-").replace("-", "_"), initials):
            if len(spelling) > 1 or spelling == name:
                spellings.setdefault(spelling.lower(), name)
    near = get_close_matches(word.lower().strip("-").replace("-", "_"), spellings, n=1, cutoff=0.7)
    return spellings[near[0]] if near else None
