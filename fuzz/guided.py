"""Coverage-guided inputs for one target: `python fuzz/guided.py NAME RUNS SEED ANSWER`, started by run.py.

atheris instruments the package while it is imported, and libFuzzer keeps what reaches new branches. Findings do not end
the run: they are tallied as for the other inputs, and written to ANSWER as JSON after the last one.
"""

import os
import sys
import tempfile
from pathlib import Path

import atheris

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

with atheris.instrument_imports(include=["sparsehead", "lark"]):
    from targets import BY_NAME

    import sparsehead.functions.syntax  # noqa: F401  # imported with the first expression otherwise

from run import as_json  # noqa: E402
from watch import Watch, limit_memory  # noqa: E402


def main() -> None:
    """Never returns: the process ends after its last input."""
    name, runs, seed, answer = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
    target = BY_NAME[name]
    watch = Watch(target.use())
    corpus = Path(tempfile.mkdtemp(prefix="sparsehead-corpus-"))
    for i, data in enumerate(target.corpus()):
        (corpus / str(i)).write_bytes(data)
    limit_memory()

    def use(data: bytes) -> None:
        watch(data)
        if watch.tally.inputs >= runs:
            # libFuzzer ends a process without giving Python its turn
            answer.write_text(as_json(watch.tally, 0.0))
            os._exit(0)

    options = [
        f"-runs={2 * runs}",
        f"-seed={seed}",
        "-timeout=60",
        "-rss_limit_mb=4096",
        "-verbosity=0",
        "-print_final_stats=0",
    ]
    longest = 2 * max(map(len, target.corpus())) + 64
    atheris.Setup([sys.argv[0], *options, f"-max_len={longest}", str(corpus)], use)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
