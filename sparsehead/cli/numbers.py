"""Numbers as people type them: one parser for every option that is a whole number."""

from decimal import Decimal, InvalidOperation

import typer

from .._base.arguments import shown

MOST_DIGITS = 1000  # `bound` takes T = 10^400; 1e999999 would fill the memory with zeros


def whole_number(
    text: str | int, *, least: int | float | None = None, most: int | float | None = None
) -> int:
    """The whole number that a text means. Accepts 300, 10_000, 1e6 and 2.5e3; rejects 20.9 and 1e-3.

    >>> whole_number("1e6"), whole_number("10_000"), whole_number("2.5e3")
    (1000000, 10000, 2500)
    """
    try:
        number = Decimal(str(text).strip())
    except InvalidOperation:
        number = Decimal("nan")
    if not number.is_finite() or number.adjusted() > MOST_DIGITS or number != number.to_integral_value():
        raise typer.BadParameter(f"{shown(str(text))} is no whole number; write it as 300, 10_000 or 1e6.")
    if (least is not None and number < least) or (most is not None and number > most):
        raise typer.BadParameter(f"{text} is out of range; it is a whole number from {least} to {most}.")
    return int(number)
