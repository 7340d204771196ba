"""Limit the threads of a process; one is best when processes run side by side."""

from .._base.errors import DomainError


def use_threads(n: int) -> None:
    """Limit torch in this process to n threads; the compiled engine has one, and needs no torch."""
    if n < 1:
        raise DomainError(f"a process needs at least one thread, got {n}.")
    try:
        import torch
    except ImportError:
        return
    torch.set_num_threads(n)
