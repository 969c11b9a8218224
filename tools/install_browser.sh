#!/bin/sh
# Install the browser that the page is tested in, from Debian's packages, if there is none. Where that
# is not possible, say what to do; tests that need it then fail and say so.
set -eu
. "$(dirname "$0")/debian.sh"

for program in chromium chromium-browser google-chrome; do
    command -v "$program" >/dev/null 2>&1 && exit 0
done
echo "Installing from Debian's packages: chromium"
debian_install chromium || echo "No browser; on Debian or Ubuntu run, as root: apt-get install chromium"
