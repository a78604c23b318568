#!/usr/bin/env bash
# Whether a file that somebody else made holds no more than our comments do: exit code 0, else 1 with the reason.
#   tools/ci/plain_comment.sh comment.md
# At most 60,000 characters and no mention. Outside of code: no link, picture or reference, and no HTML but folds and our hidden lines.
set -euo pipefail
file=$1
[ "$(wc -c <"$file")" -le 60000 ] || { echo "$file: more than 60,000 characters" >&2; exit 1; }
LC_ALL=C awk '
  function refuse(why) { print FILENAME ": line " NR ": " why >"/dev/stderr"; bad = 1; exit 1 }
  # The line without its code spans. Each ends on its line, so that nothing outside is taken for code.
  function outside(line,   rest, fence, end, code) {
    rest = ""
    while (match(line, /`+/)) {
      fence = RLENGTH
      rest = rest substr(line, 1, RSTART - 1)
      line = substr(line, RSTART + fence)
      end = 0
      while (match(substr(line, end + 1), /`+/) && RLENGTH != fence) end += RSTART + RLENGTH - 1
      if (RSTART == 0) refuse("code without end")
      code = substr(line, 1, end + RSTART - 1)
      line = substr(line, end + RSTART + fence)
      gsub(/\\\|/, "", code)
      if (table && index(code, "|")) refuse("a bar in code")
    }
    return rest line
  }
  {
    if (index($0, "@")) refuse("a mention")
    if ($0 ~ /[[:cntrl:]]/) refuse("a control character")
    line = $0
    html = line ~ /^<\/?(details|summary)>/ || line ~ /^<!-- /
    sub(/^<!-- onnxflops:[a-z]+(:[A-Za-z0-9_.\/]*)? -->$/, "", line)
    gsub(/<\/?(details|summary)>/, "", line)
    # Up to the next empty line all is HTML, and code in it is none.
    if (block && $0 != "" && !html) refuse("text in HTML")
    block = $0 != "" && ($0 ~ /^<\/?details>/ || block)
    # A bar divides cells, also where it stands in code. Lines of our tables begin with one.
    if ($0 ~ /^[ \t|:>*+-]*$/ && $0 ~ /-/ && $0 ~ /[|]/ && (last !~ /^[|]/ || $0 !~ /^[|]/)) refuse("a table")
    table = $0 ~ /^[|]/ || (table && $0 != "")
    last = $0
    line = outside(line)
    if (line ~ /[<\\]/) refuse("HTML")
    if (line ~ /[]]|:\/\/|[wW][wW][wW][.]/) refuse("a link or a picture")
    if (line ~ /#[0-9]|[Gg][Hh]-[0-9]|[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]/) refuse("a reference")
    if (line ~ /^(    |\t)/) refuse("an indented line")
  }
  END { exit bad }
' "$file"
