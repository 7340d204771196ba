"""Build the compiled kernel when the package is installed or a wheel is made; both succeed without a compiler too."""

import importlib.util
import platform
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

BUILT = "sparsehead/train/transformer/built"


class KernelHook(BuildHookInterface):
    """Runs before a wheel (an editable one too) is put together; an sdist carries the sources alone."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build, and mark the wheel as one for this platform; its kernel is loaded by any Python 3."""
        if self.target_name != "wheel":
            return
        path = Path(self.root) / "sparsehead" / "train" / "transformer" / "build.py"
        found = importlib.util.spec_from_file_location("sparsehead_kernel_build", path)
        assert found is not None and found.loader is not None
        module = importlib.util.module_from_spec(found)
        found.loader.exec_module(module)
        record = module.build()
        if not record["files"]:
            print(f"sparsehead: no compiled kernel: {record['reason']}.", file=sys.stderr)
            return
        for name, why in record.get("missing", {}).items():
            print(f"sparsehead: {name} is missing: {why}.", file=sys.stderr)
        if version != "editable":
            build_data["artifacts"] += [f"{BUILT}/*.so", f"{BUILT}/manifest.json"]
            # A Python for both kinds of Mac says universal2; the kernel is for one of them.
            system = sysconfig.get_platform().replace("universal2", platform.machine())
            tag = f"py3-none-{system.replace('-', '_').replace('.', '_')}"
            build_data |= {"pure_python": False, "tag": tag}
