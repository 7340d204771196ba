#!/bin/sh
# Installs the package without extras into an environment of its own and runs what must work there: build, verify,
# read, bound, cover, and `learn` by the compiled engine. `learn --engine torch` must say in one sentence what is missing.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
"${PYTHON:-python3}" -m venv "$room/env"
"$room/env/bin/python" -m pip install --quiet -c "$here/constraints.txt" "$here"
cd "$room"
for heavy in torch sklearn altair; do
    if env/bin/python -c "import $heavy" 2>/dev/null; then
        echo "the bare environment has $heavy; the base dependencies bring too much"
        exit 1
    fi
done
printf '0.5,0.7\n0.2,0.3\n0.6,0.65\n' >points.csv
env/bin/sparsehead build "x2 & !x5" --T 40 --out head.safetensors
env/bin/sparsehead read head.safetensors
env/bin/sparsehead bound head.safetensors --m 1000
env/bin/sparsehead cover points.csv --eps 0.5
env/bin/sparsehead learn "x1 & x2" --T 9 --m 30 --engine compiled --restarts 1
code=0
env/bin/sparsehead learn "x1 & x2" --T 9 --m 30 --engine torch 2>message || code=$?
cat message
if [ "$code" -ne 2 ] || ! grep -q "pip install .*'torch>=" message; then
    echo "without torch, learn --engine torch ended with code $code and did not say what installs it"
    exit 1
fi
echo "the bare installation works: $(env/bin/python -m pip list 2>/dev/null | tail -n +3 | wc -l) packages"
