"""`python -m sparsehead` is the `sparsehead` command."""

from .cli.entry import main

if __name__ == "__main__":
    main()
