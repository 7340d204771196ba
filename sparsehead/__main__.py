"""`python -m sparsehead` is the `sparsehead` command."""

import os
import sys

if __name__ == "__main__":
    # `-m` has put the current folder first on the path: drop it, unless this package itself was found there.
    if not sys.flags.safe_path and sys.path[0] != os.path.dirname(os.path.dirname(__file__)):
        del sys.path[0]

    from .cli.entry import main

    main()
