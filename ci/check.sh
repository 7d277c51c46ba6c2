#!/usr/bin/env bash
# What the GitHub Action and the GitLab template run: the settings in HOWSURE_… as the words of `howsure ci`. Lists have one
# entry a line. The exit code is that of `howsure ci`. It runs the code of the change: no token belongs into its environment.
set -euo pipefail

words=()

each() { # each OPTION TEXT: OPTION and every line of TEXT; with no OPTION, the line alone
  local line
  while IFS= read -r line || [[ -n "$line" ]]; do
    line="${line#"${line%%[![:space:]]*}"}"
    line="${line%"${line##*[![:space:]]}"}"
    [[ -z "$line" ]] && continue
    [[ -n "$1" ]] && words+=("$1")
    words+=("$line")
  done <<< "$2"
}

each "--gate" "${HOWSURE_GATES:-}"
each "--base" "${HOWSURE_BASE:-}"
each "--base-run" "${HOWSURE_BASE_RUN:-}"
case "${HOWSURE_INCONCLUSIVE:-fail}" in
  fail) ;;
  pass) words+=("--inconclusive-ok") ;;
  *) echo "inconclusive: expected fail or pass, found ${HOWSURE_INCONCLUSIVE}" >&2; exit 2 ;;
esac
words+=("--")
each "" "${HOWSURE_DATASETS:?datasets: name one or more}"
each "" "${HOWSURE_RUN_OPTIONS:-}"

exec "${PYTHON:-python}" -m howsure ci "${words[@]}"
