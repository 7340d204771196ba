#!/bin/sh
# Sees to Coq for `make proofs`. Uses one that is there. Installs Debian's package with apt-get where that is possible
# without a password (as root, or with sudo -n). Otherwise it installs nothing, says how, and fails.

if command -v coqc >/dev/null 2>&1; then
    exit 0
fi

as_root=""
if [ "$(id -u)" -ne 0 ]; then
    as_root="sudo -n"
fi

if command -v apt-get >/dev/null 2>&1 && $as_root true 2>/dev/null; then
    echo "No Coq found; installing it with apt-get (once, about a minute)."
    export DEBIAN_FRONTEND=noninteractive
    $as_root apt-get update -qq >/dev/null 2>&1
    $as_root apt-get install -y -qq --no-install-recommends coq >/dev/null 2>&1
fi

command -v coqc >/dev/null 2>&1 && exit 0
echo "make proofs needs Coq 8.16 (coqc on the PATH): apt-get install coq on Debian 12, or opam install coq.8.16.1."
exit 2
