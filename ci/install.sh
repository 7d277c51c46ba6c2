#!/usr/bin/env bash
# Installs Howsure from the folder HERE, and what it needs from the locks beside it, each file by its hash; or what the
# requirements file WANTED names, which must have hashes.
set -euo pipefail
install=("${PYTHON:-python}" -m pip install --quiet --disable-pip-version-check)
if [[ -n "${WANTED:-}" ]]; then
  exec "${install[@]}" --require-hashes --requirement "$WANTED"
fi
"${install[@]}" --require-hashes --only-binary :all: --requirement "$HERE/requirements/server.lock" --requirement "$HERE/requirements/build.lock"
"${install[@]}" --no-deps --no-build-isolation --no-index "$HERE"
