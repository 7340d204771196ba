"""Types of fields that several requests have."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field
from pydantic_core import core_schema

from .._base.arguments import choice

Text = Annotated[str, Field(min_length=1, max_length=2000, examples=["x2 & x5 & x11"])]


@dataclass(frozen=True, eq=False)  # a registry cannot be hashed
class OneOf:
    """A marker for `Annotated`: the text must be in `known`, for example a registry that plugins can extend."""

    name: str
    known: Collection[str]

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        def check(value: str) -> str:
            return choice(self.name, value, self.known)

        return core_schema.no_info_after_validator_function(check, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> Any:
        return {**handler(schema), "enum": [*self.known]}
