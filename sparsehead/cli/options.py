"""From a function to a command: options described by dataclasses, and by the fields of `TrainSpec`.

A command function names its arguments, dataclasses whose fields are options, and for `learn` and `law` a `Settings`.
`as_command` gives it the signature that typer reads, with one option for each field and each setting.
"""

import dataclasses
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from copy import copy
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, get_args

import typer
from typer.core import TyperCommand
from typer.models import OptionInfo

from .numbers import whole_number

if TYPE_CHECKING:
    from .._base.fields import Setting

# sparsehead.train is imported where it is used: it needs NumPy, and `sparsehead -h` does not.


def names_in(place: str, *more: str) -> Callable[[], list[str]]:
    """A function that lists `more` and the names in a collection, such as "train.spec:PRESETS", to complete a value."""

    def listed() -> list[str]:
        module, _, name = place.partition(":")
        return [*more, *getattr(import_module(f"sparsehead.{module}"), name)]

    return listed


Preset = Annotated[
    str,
    typer.Option(
        help="fast (no dropout), paper (its figures), literal, mingpt, or best (few samples).",
        autocompletion=names_in("train.spec:PRESETS"),
    ),
]


class Settings(dict[str, Any]):
    """The training settings that were given, by field of `TrainSpec`; the others are left to the preset.

    A subclass lists the fields for which its command has no option.
    """

    without: ClassVar[Collection[str]] = ()

    def __init__(self, **given: Any) -> None:
        from ..train.spec import SETTINGS

        super().__init__({name: value for name, value in given.items() if value is not None})
        for name, value in self.items():
            named = dataclasses.replace(SETTINGS[name], name=SETTINGS[name].option)
            named.checked(value)
            named.check_choice(value)

    @classmethod
    def options(cls) -> Iterator[inspect.Parameter]:
        """One option for each setting, the task's before the model's."""
        from ..train.spec import SETTINGS

        asked = [each for name, each in SETTINGS.items() if name not in cls.without]
        return map(_setting_option, sorted(asked, key=lambda each: each.group != "Task"))


def _setting_option(setting: "Setting") -> inspect.Parameter:
    """A setting as an option: None if it is not given, since only the preset knows the value then."""
    choices = setting.choices
    named = all(choice in setting.help for choice in choices)
    words = setting.help if named else f"{setting.help.removesuffix('.')} ({', '.join(choices)})."
    flags = f"{setting.option}/--no-{setting.option[2:]}" if setting.kind is bool else setting.option
    option = typer.Option(
        flags,
        help=words if setting.is_required else f"{words}{_default_text(setting)}",
        show_default=False,
        rich_help_panel=setting.group,
        autocompletion=(lambda: list(choices)) if choices else None,
    )
    hint: Any = setting.kind if setting.is_required else setting.kind | None
    default = inspect.Parameter.empty if setting.is_required else None
    return _keyword(setting.name, Annotated[hint, option], default)


def _default_text(setting: "Setting") -> str:
    """The default, and the presets that have another: "  [default: 16; best: 4]"."""
    from ..train.spec import PRESETS

    if setting.default is None:
        return ""
    others: dict[str, list[str]] = {}
    for preset, changed in PRESETS.items():
        if setting.name in changed:
            others.setdefault(_value_text(changed[setting.name]), []).append(preset)
    rest = "".join(f"; {', '.join(presets)}: {value}" for value, presets in others.items())
    return f"  [default: {_value_text(setting.default)}{rest}]"


def _value_text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def as_command(function: Callable[..., None]) -> Callable[..., None]:
    """The function with a signature that typer reads: a dataclass or `Settings` becomes one option for each member.

    Options of a dataclass with a HEADING are shown under it. Every whole number goes through `whole_number`.
    """
    members = {name: _members(each) for name, each in inspect.signature(function).parameters.items()}
    bundles = {
        name: function.__annotations__[name] for name, inside in members.items() if [*inside] != [name]
    }
    parameters = {name: each for inside in members.values() for name, each in inside.items()}

    def command(**given: Any) -> None:
        for name, kind in bundles.items():
            given[name] = kind(**{member: given.pop(member) for member in members[name]})
        function(**given)

    command.__doc__, command.__name__ = function.__doc__, function.__name__
    command.__annotations__ = {name: _parsed(each.annotation) for name, each in parameters.items()}
    signature = inspect.Signature(
        [each.replace(annotation=command.__annotations__[name]) for name, each in parameters.items()]
    )
    command.__signature__ = signature  # type: ignore[attr-defined]
    return command


def _members(parameter: inspect.Parameter) -> Mapping[str, inspect.Parameter]:
    """The options that a parameter of a command function stands for, by name: itself, or its fields or settings."""
    kind = parameter.annotation
    if isinstance(kind, type) and issubclass(kind, Settings):
        found = list(kind.options())
    elif dataclasses.is_dataclass(kind):
        heading = getattr(kind, "HEADING", None)
        found = [_field_option(field, heading) for field in dataclasses.fields(kind)]
    else:
        found = [_keyword(parameter.name, kind, parameter.default)]
    return {each.name: each for each in found}


def _field_option(field: "dataclasses.Field[Any]", heading: str | None) -> inspect.Parameter:
    hint: Any = field.type
    kind, option = get_args(hint)
    option = copy(option)
    option.rich_help_panel = heading
    default = inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default
    return _keyword(field.name, Annotated[kind, option], default)


def _keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _parsed(hint: Any) -> Any:
    """An annotation, with `whole_number` as the parser of an option that is an int."""
    kind, option = get_args(hint)
    if not isinstance(option, OptionInfo) or option.parser or int not in (kind, *get_args(kind)):
        return hint
    option = copy(option)
    parser: Any = partial(whole_number, least=option.min, most=option.max)
    parser.__name__ = "int"
    option.parser, option.metavar, option.min, option.max = parser, option.metavar or "<int>", None, None
    return Annotated[kind, option]


class Command(TyperCommand):
    """A command whose help shows options under headings, and whose parameters are made when they are first needed."""

    def __init__(self, *, function: Callable[..., None], **details: Any) -> None:
        super().__init__(**details)
        self._function = function
        del self.params, self.callback

    def __getattr__(self, name: str) -> Any:
        if name not in ("params", "callback"):
            raise AttributeError(f"a command has no {name!r}")
        alone = typer.Typer(add_completion=False, rich_markup_mode=None)
        alone.command()(as_command(self._function))
        made = typer.main.get_command(alone)
        self.params, self.callback = made.params, made.callback
        return getattr(self, name)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Called by typer to write the help: arguments, then each group of options under its heading."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            if (row := param.get_help_record(ctx)) is not None:
                plain = "Arguments" if param.param_type_name == "argument" else "Options"
                sections.setdefault(getattr(param, "rich_help_panel", None) or plain, []).append(row)
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows)
