"""Make a command from a function whose options are the fields of dataclasses and of `TrainSpec`.

A command function takes its arguments, a dataclass whose fields are options (see `_base.fields`), and for `learn` and
`law` a `Settings`. `as_command` returns a function with the signature that typer reads: one option per field.
"""

import dataclasses
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Annotated, Any, ClassVar, get_args

import typer
from typer.core import TyperCommand
from typer.models import OptionInfo

from .._base.arguments import shown
from .._base.errors import ParseError
from .._base.fields import Setting, settings_of


def whole_number(
    text: str | int, *, least: int | float | None = None, most: int | float | None = None
) -> int:
    """Parse a whole number. Accepts 300, 10_000, 1e6 and 2.5e3; rejects 20.9 and 1e-3.

    >>> whole_number("1e6"), whole_number("10_000"), whole_number("2.5e3")
    (1000000, 10000, 2500)
    """
    try:
        number = Decimal(str(text).strip())
    except InvalidOperation:
        number = Decimal("nan")
    # `bound` takes T = 10^400; 1e999999 would fill the memory with zeros
    if not number.is_finite() or number.adjusted() > 1000 or number != number.to_integral_value():
        raise typer.BadParameter(f"{shown(str(text))} is no whole number; write it as 300, 10_000 or 1e6.")
    if (least is not None and number < least) or (most is not None and number > most):
        raise typer.BadParameter(f"{text} is out of range; it is a whole number from {least} to {most}.")
    return int(number)


def whole_numbers(text: str, option: str, example: str) -> list[int]:
    """Parse whole numbers separated by commas; `option` and `example` are for the error message.

    >>> whole_numbers("0, -1", "--queries", "0,-1")
    [0, -1]
    """
    try:
        return [whole_number(part) for part in text.split(",")]
    except typer.BadParameter:
        raise ParseError(
            f"{option} takes whole numbers with commas between them, such as {example}; got {shown(text)}."
        ) from None


class Settings(dict[str, Any]):
    """The training settings given by the user, by field of `TrainSpec`; the preset supplies the others.

    A subclass sets `without`, the fields without an option, and `defaults`, which take precedence over the preset.
    """

    without: ClassVar[Collection[str]] = ()
    defaults: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, **given: Any) -> None:
        from ..train.spec import SETTINGS

        super().__init__({name: value for name, value in given.items() if value is not None})
        for name, value in self.items():
            named = dataclasses.replace(SETTINGS[name], name=SETTINGS[name].option)
            named.checked(value)
            if not (name == "learner" and ":" in value):  # package.module:name
                named.check_choice(value)

    @classmethod
    def options(cls) -> Iterator[inspect.Parameter]:
        """Yield one option for each setting, those of the task first."""
        from ..train.spec import SETTINGS

        for each in sorted(SETTINGS.values(), key=lambda each: each.group != "Task"):
            if each.name in cls.defaults:
                default = cls.defaults[each.name]
                yield _option(dataclasses.replace(each, default=default, optional=default is None))
            elif each.name not in cls.without:
                if each.name == "learner":
                    each = dataclasses.replace(each, help="What is trained: package.module:name, or a name.")
                yield _option(each) if each.is_required else _preset_option(each)


def _preset_option(setting: Setting) -> inspect.Parameter:
    """Return an option that is None if not given; its help names the default and the presets that differ from it."""
    from ..train.spec import PRESETS

    choices = setting.choices
    named = all(choice in setting.help for choice in choices)
    words = setting.help if named else f"{setting.help.removesuffix('.')} ({', '.join(choices)})."
    others: dict[str, list[str]] = {}
    for preset, changed in PRESETS.items():
        if setting.name in changed:
            others.setdefault(_text(changed[setting.name]), []).append(preset)
    rest = "".join(f"; {', '.join(presets)}: {value}" for value, presets in others.items())
    default = "" if setting.default is None else f"  [default: {_text(setting.default)}{rest}]"
    return _option(dataclasses.replace(setting, optional=True, default=None, help=f"{words}{default}"))


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _option(setting: Setting) -> inspect.Parameter:
    """Return the option for a field; a boolean that is not False by default also gets a --no- form."""
    both = setting.kind is bool and setting.default is not False
    option = typer.Option(
        f"{setting.option}/--no-{setting.option[2:]}" if both else setting.option,
        help=setting.help,
        rich_help_panel=None if setting.group == "Options" else setting.group,
        autocompletion=(lambda: list(setting.choices)) if setting.choices else None,
        show_default=setting.default is not None and setting.default is not False,
        # a range is checked here; a least value alone, in the library
        min=None if setting.most is None else setting.least,
        max=setting.most,
    )
    hint: Any = setting.kind | None if setting.optional else setting.kind
    default = inspect.Parameter.empty if setting.is_required else setting.default
    return _keyword(setting.name, Annotated[hint, option], default)


def _keyword(name: str, hint: Any, default: Any) -> inspect.Parameter:
    """Return a parameter of a command; options of type int are parsed by `whole_number`."""
    kind, option = get_args(hint)
    if isinstance(option, OptionInfo) and int in (kind, *get_args(kind)) and option.parser is None:
        parser: Any = partial(whole_number, least=option.min, most=option.max)
        parser.__name__ = "int"
        option.parser, option.metavar = parser, "<int>"
    if isinstance(option, OptionInfo):
        option.min = option.max = None  # the library checks other numbers
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def as_command(function: Callable[..., None]) -> Callable[..., None]:
    """Return `function` with a signature for typer, in which a dataclass or `Settings` becomes one option per field."""
    members = {name: _members(each) for name, each in inspect.signature(function).parameters.items()}
    parameters = [each for inside in members.values() for each in inside]

    def command(**given: Any) -> None:
        for name, inside in members.items():
            if [each.name for each in inside] != [name]:
                given[name] = function.__annotations__[name](
                    **{each.name: given.pop(each.name) for each in inside}
                )
        function(**given)

    command.__doc__, command.__name__ = function.__doc__, function.__name__
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return command


def _members(parameter: inspect.Parameter) -> list[inspect.Parameter]:
    """Return one option per field if the parameter is a dataclass or `Settings`, else the parameter itself."""
    kind = parameter.annotation
    if isinstance(kind, type) and issubclass(kind, Settings):
        return list(kind.options())
    if dataclasses.is_dataclass(kind):
        return [_option(each) for each in settings_of(kind).values()]  # type: ignore[arg-type]
    return [_keyword(parameter.name, kind, parameter.default)]


class Command(TyperCommand):
    """A command that is imported when it is first used, and whose help groups options under headings."""

    def __init__(self, *, load: Callable[[], Callable[..., None]], **details: Any) -> None:
        super().__init__(**details)
        self._load = load
        del self.params, self.callback, self.help

    def __getattr__(self, name: str) -> Any:
        if name not in ("params", "callback", "help"):
            raise AttributeError(f"a command has no {name!r}")
        function = self._load()
        alone = typer.Typer(add_completion=False, rich_markup_mode=None)
        alone.command(help=function.__doc__ or self.short_help)(
            as_command(function)
        )  # python -OO drops docstrings
        made = typer.main.get_command(alone)
        self.params, self.callback, self.help = made.params, made.callback, made.help
        return getattr(self, name)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the help (called by typer): arguments, then each group of options under its heading."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            if (row := param.get_help_record(ctx)) is not None:
                plain = "Arguments" if param.param_type_name == "argument" else "Options"
                sections.setdefault(getattr(param, "rich_help_panel", None) or plain, []).append(row)
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows)
