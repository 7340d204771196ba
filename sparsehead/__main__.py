"""`python -m sparsehead` is the `sparsehead` command."""

from .cli.app import main

if __name__ == "__main__":
    main()
