"""A lab as a user starts it: `sparsehead lab` in a process of its own."""

import os
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
ADDRESS = re.compile(r"(http://127\.0\.0\.1:\d+)/\?token=([\w-]{43})\n")


class Served:
    """The process, its address and its token."""

    def __init__(self, process):
        self.process = process
        line = process.stdout.readline()
        found = ADDRESS.fullmatch(line)
        assert found, (line, process.poll())
        self.base, self.token = found.groups()
        self.address = line.strip()
        self.headers = {"authorization": f"Bearer {self.token}"}

    def stop(self):
        """Ctrl-C; the exit code and what else was printed."""
        self.process.send_signal(signal.SIGINT)
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err


@contextmanager
def served(folder, *arguments, **variables):
    """`sparsehead lab` with a store in `folder`, ended at the end."""
    command = [
        sys.executable,
        "-m",
        "sparsehead",
        "lab",
        "--no-browser",
        "--port",
        "0",
        "--db",
        str(folder / "results.db"),
    ]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **variables}
    process = subprocess.Popen(
        [*command, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=folder,
    )
    try:
        yield Served(process)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def elsewhere(function, *args, **kwargs):
    """Call it in a thread of its own: where a browser was opened before, this one has a running event loop."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(function, *args, **kwargs).result()
