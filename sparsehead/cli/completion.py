"""`sparsehead completion SHELL`: the script that lets a shell complete commands, options and values."""

from typing import Annotated

import typer

from .._base.arguments import shown
from .._base.errors import DomainError
from .output import AsJson, emit

VARIABLE = "_SPARSEHEAD_COMPLETE"  # set by the script when the shell asks for completions
SHELLS = ("bash", "zsh", "fish")


def completion(
    shell: Annotated[str, typer.Argument(help="bash, zsh or fish.", autocompletion=lambda: list(SHELLS))],
    as_json: AsJson = False,
) -> None:
    """Print the script that teaches a shell to complete this program's commands.

    For bash and zsh, add to ~/.bashrc or ~/.zshrc:  eval "$(sparsehead completion bash)"  (or zsh). For fish, add to
    ~/.config/fish/config.fish:  sparsehead completion fish | source
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    if shell not in SHELLS:
        raise DomainError(f"completion knows {', '.join(SHELLS)}; got {shown(shell)}.")
    script = get_completion_script(prog_name="sparsehead", complete_var=VARIABLE, shell=shell)
    ask = f"sparsehead completion {shell}"
    install = f"{ask} | source" if shell == "fish" else f'eval "$({ask})"'
    result = {"shell": shell, "script": script, "install": install}
    emit(result, as_json, lambda _: typer.echo(script))
