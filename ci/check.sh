#!/usr/bin/env bash
# What the GitHub Action and the GitLab template run: the settings in ASSAY_… as the words of `assay ci`. Lists have one
# entry a line. The exit code is that of `assay ci`.
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

each "--gate" "${ASSAY_GATES:-}"
each "--base" "${ASSAY_BASE:-}"
each "--base-run" "${ASSAY_BASE_RUN:-}"
each "--key" "${ASSAY_KEY:-}"
case "${ASSAY_INCONCLUSIVE:-fail}" in
  fail) ;;
  pass) words+=("--inconclusive-ok") ;;
  *) echo "inconclusive: expected fail or pass, found ${ASSAY_INCONCLUSIVE}" >&2; exit 2 ;;
esac
[[ "${ASSAY_COMMENT:-true}" == "true" ]] && words+=("--post")
words+=("--")
each "" "${ASSAY_DATASETS:?datasets: name one or more}"
each "" "${ASSAY_RUN_OPTIONS:-}"

exec "${PYTHON:-python}" -m assay ci "${words[@]}"
