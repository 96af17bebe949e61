#!/usr/bin/env bash
# How a job of submit.sh stands, in Snakemake's words.
# Usage: .ci/storage/status.sh WORKERS JOB
set -euo pipefail
ended=$1/ended/$2
[ -s "$ended" ] || { echo running; exit; }
[ "$(cat "$ended")" = 0 ] && echo success || echo failed
