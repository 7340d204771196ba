#!/bin/sh
# Sees to a browser for the tests that open the report. Uses one that is there. Installs Debian's Chromium with apt-get
# only in continuous integration (CI set) or when asked (CHROMIUM=install). Otherwise it installs nothing and says how;
# the browser tests then skip themselves. It never fails the build: with CI set, the tests that lack a browser do.

for name in chromium chromium-browser google-chrome google-chrome-stable; do
    if command -v "$name" >/dev/null 2>&1; then
        exit 0
    fi
done

if [ -z "${CI:-}" ] && [ "${CHROMIUM:-}" != "install" ]; then
    echo "No Chromium or Chrome is on this machine; the browser tests are skipped. To run them: make test CHROMIUM=install (apt-get, as root)."
    exit 0
fi

as_root=""
if [ "$(id -u)" -ne 0 ]; then
    if command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
        as_root="sudo -n"
    else
        as_root="no"
    fi
fi

if [ "$as_root" != "no" ] && command -v apt-get >/dev/null 2>&1; then
    echo "No browser found; installing Chromium with apt-get (once, about a minute)."
    export DEBIAN_FRONTEND=noninteractive
    if $as_root apt-get update -qq >/dev/null 2>&1 &&
        $as_root apt-get install -y -qq --no-install-recommends chromium >/dev/null 2>&1; then
        exit 0
    fi
fi

echo "Chromium could not be installed with apt-get; the tests that need a browser do not run."
exit 0
