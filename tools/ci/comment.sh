#!/usr/bin/env bash
# Writes a comment on a pull request, or replaces the one that begins with the same hidden line.
#   GH_TOKEN=... REPOSITORY=owner/name NUMBER=12 tools/ci/comment.sh comment.md
# It needs gh and jq, which GitHub's machines have. The file is sent as data, whatever it says.
set -euo pipefail
file=$1
marker=$(head -n 1 "$file")
[[ $NUMBER =~ ^[0-9]+$ ]] || { echo "NUMBER is no number" >&2; exit 2; }
[[ $marker =~ ^\<!--\ onnxflops:[a-z]+(:[A-Za-z0-9_./]*)?\ --\>$ ]] || { echo "$file is no comment of onnxflops" >&2; exit 2; }
old=$(gh api --paginate "repos/$REPOSITORY/issues/$NUMBER/comments" |
  jq -rs --arg marker "$marker" '[.[][] | select(.user.type == "Bot" and (.body | startswith($marker)))][0].id // empty')
if [ -n "$old" ]; then
  jq -Rs '{body: .}' "$file" | gh api --method PATCH "repos/$REPOSITORY/issues/comments/$old" --input - >/dev/null
else
  jq -Rs '{body: .}' "$file" | gh api --method POST "repos/$REPOSITORY/issues/$NUMBER/comments" --input - >/dev/null
fi
