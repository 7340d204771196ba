"""`make proofs`: compile the Coq library and two heads, check that nothing is assumed, and write RESULT.md.

    python proofs/run.py           all of it
    python proofs/run.py --write   only write heads/*.v anew, as the generator writes them

Heads that are changed so that their statement is false must be rejected. No file may contain Admitted, Axiom or
the like, and every theorem may rest on the axioms of Coq's real numbers alone.
"""

import re
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).resolve().parent
HEADS = HERE / "heads"
# Each file after those that it requires.
LIBRARY = (
    "Head", "Series", "Exponential", "Rationals", "Bracket", "Tables", "Together", "Forms", "Layers", "Checker",
    "Softmax", "Limits", "Covers", "Perceptron", "Errata",
)  # fmt: skip
# File and T of the heads of x2 & x5 & x11 that are kept here.
EXAMPLES = {"and_50": 50, "and_256": 256}
# Changes of and_50.v that make its statement false, or leave it without a proof.
BREAKAGES = {
    "the weight of the read-out doubled": ("[(0%nat, 1)]]", "[(0%nat, 2)]]"),
    "a weight of W_K halved": ("(5%nat, 0xd34457825df99p-51)", "(5%nat, 0xd34457825df99p-52)"),
    "a weight of W_V lowered by 2^-9": ("(1%nat, 0x81p-9)", "(1%nat, 0x80p-9)"),
    "eps halved": ("eps : Q := 0x10000000000001p-104", "eps : Q := 0x10000000000001p-105"),
    "an upper bound lowered by 2^-51": ("-0x5015555555555p-51", "-0x5015555555556p-51"),
}
FORBIDDEN = r"\b(Admitted|admit|Axioms?|Parameters?|Conjecture|Hypothes[ie]s|Variables?|Unset|bypass_check)\b"
# What Coq's library of real numbers assumes.
OF_THE_REALS = {
    "ClassicalDedekindReals.sig_not_dec",
    "ClassicalDedekindReals.sig_forall_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
    "Classical_Prop.classic",
}


def theorem_of(T: int) -> str:
    """What the generator writes about the head of x2 & x5 & x11 at this T."""
    from sparsehead import build, parse
    from sparsehead.certify.coq import theorem_content
    from sparsehead.heads.model_file import packed

    f = parse("x2 & x5 & x11", T=T)
    return theorem_content(packed(build(f)), f)


def statements() -> list[tuple[str, str, str]]:
    """(file, theorem, sentence) of every theorem of the library that has a comment before it."""
    found = []
    for name in LIBRARY:
        text = (HERE / f"{name}.v").read_text()
        for said, theorem in re.findall(r"\(\*\* ([^*]*?) \*\)\n *Theorem (\w+)", text):
            sentence, _, labels = " ".join(said.split()).partition(" Paper: ")
            found.append((name, theorem, sentence + (f" ({labels})" if labels else "")))
    return found


def without_comments(text: str) -> str:
    """The commands of a Coq file; comments may be nested."""
    depth, kept = 0, []
    for part in re.split(r"(\(\*|\*\))", text):
        if part == "(*":
            depth += 1
        elif part == "*)":
            depth -= 1
        elif not depth:
            kept.append(part)
    return "".join(kept)


def forbidden_words() -> list[str]:
    """Words in the Coq files by which something would be assumed and not proved."""
    files = [*HERE.glob("*.v"), *HEADS.glob("*.v")]
    return [
        f"{file.name}: {word}"
        for file in sorted(files)
        for word in re.findall(FORBIDDEN, without_comments(file.read_text()))
    ]


def coqc(file: Path) -> tuple[subprocess.CompletedProcess[str], float]:
    """Run coqc on a file; also the seconds of CPU."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        ["coqc", "-q", "-Q", str(HERE), "Sparsehead", str(file)], capture_output=True, text=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compiled(file: Path) -> tuple[str, float]:
    """What coqc prints, and its seconds; ends the run if it refuses the file."""
    print(f"coqc {file.relative_to(HERE)}", flush=True)
    done, seconds = coqc(file)
    if done.returncode:
        sys.exit(f"coqc refuses {file.name}:\n{done.stdout}{done.stderr}")
    return done.stdout, seconds


def axioms(printed: str) -> set[str]:
    """The names that `Print Assumptions` lists."""
    return set(re.findall(r"^([A-Za-z_][\w.]*)(?= ?:|$)", printed, re.MULTILINE)) - {"Axioms", "Closed"}


def assumed(folder: Path, names: list[str]) -> set[str]:
    """The axioms under all these theorems of the library."""
    file = folder / "assumptions.v"
    required = " ".join(LIBRARY)
    prints = "".join(f"Print Assumptions {name}.\n" for name in names)
    file.write_text(f"From Sparsehead Require {required}.\n{prints}")
    done, _ = coqc(file)
    if done.returncode:
        sys.exit(f"coqc refuses the list of theorems:\n{done.stderr}")
    return axioms(done.stdout)


def not_rejected(folder: Path) -> list[str]:
    """The breakages of and_50.v that coqc does not refuse at the step that checks the bounds."""
    text, passed = (HEADS / "and_50.v").read_text(), []
    for name, (old, new) in BREAKAGES.items():
        print(f"coqc heads/and_50.v, {name}", flush=True)
        file = folder / "broken.v"
        file.write_text(text.replace(old, new))
        done, _ = coqc(file)
        if not (done.returncode and '"eq_refl" has type "true = true"' in done.stderr):
            passed.append(name)
    return passed


def lines(file: Path) -> int:
    return len(file.read_text().splitlines())


def report(seconds: dict[str, float], found: set[str], megabytes: int) -> str:
    version = subprocess.run(["coqc", "--print-version"], capture_output=True, text=True).stdout.split()[0]
    files = {name: HERE / f"{name}.v" for name in LIBRARY} | {name: HEADS / f"{name}.v" for name in EXAMPLES}
    sizes = [
        f"| {file.relative_to(HERE)} | {lines(file)} | {seconds[name]:.1f} |" for name, file in files.items()
    ]
    theorems = [f"| `{theorem}` | {name}.v | {said} |" for name, theorem, said in statements()]
    theorems += [
        f"| `head_computes_f` | heads/{name}.v | On all 2^{T} inputs the head is within 2.3e-16 of x2 & x5 & x11. |"
        for name, T in EXAMPLES.items()
    ]
    return RESULT.format(
        date=f"{datetime.now(UTC):%Y-%m-%d}", version=version, theorems="\n".join(theorems), sizes="\n".join(sizes),
        axioms=", ".join(f"`{name.rsplit('.')[-1]}`" for name in sorted(found)), megabytes=megabytes,
        breakages=", ".join(BREAKAGES), total=f"{sum(seconds.values()):.0f}",
    )  # fmt: skip


RESULT = """\
# Proofs

Written by `make proofs` (date: {date}; Coq {version}). Coq's kernel has checked every statement below. Labels in
brackets are those of docs/paper.md.

| theorem | file | what it says |
|---|---|---|
{theorems}

- No file contains `Admitted` or declares an axiom.
- All theorems together rest on the axioms of Coq's real numbers: {axioms}.
- `heads/and_50.v` is rejected with any of these changes: {breakages}.
- All files take {total} s of CPU; the largest process took {megabytes} MB.

| file | lines | seconds of CPU |
|---|--:|--:|
{sizes}
"""


def main(arguments: list[str]) -> None:
    if arguments == ["--write"]:
        for name, T in EXAMPLES.items():
            (HEADS / f"{name}.v").write_text(theorem_of(T))
        return
    if words := forbidden_words():
        sys.exit(f"something is assumed and not proved: {', '.join(words)}")
    start, seconds, found = time.time(), {}, set()
    for name in LIBRARY:
        _, seconds[name] = compiled(HERE / f"{name}.v")
    for name, T in EXAMPLES.items():
        file = HEADS / f"{name}.v"
        if file.read_text() != theorem_of(T):
            sys.exit(
                f"{file.name} is not what the generator writes; python proofs/run.py --write writes it anew"
            )
        printed, seconds[name] = compiled(file)
        found |= axioms(printed)
    with tempfile.TemporaryDirectory() as folder:
        found |= assumed(Path(folder), [f"{file}.{theorem}" for file, theorem, _ in statements()])
        if not found <= OF_THE_REALS:
            sys.exit(
                f"a theorem rests on more than the axioms of the reals: {', '.join(sorted(found - OF_THE_REALS))}"
            )
        if passed := not_rejected(Path(folder)):
            sys.exit(f"and_50.v is not rejected with {', '.join(passed)}")
    megabytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    (HERE / "RESULT.md").write_text(report(seconds, found, megabytes))
    print(f"all proved in {time.time() - start:.0f} s; see proofs/RESULT.md")


if __name__ == "__main__":
    main(sys.argv[1:])
