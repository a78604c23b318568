#!/usr/bin/env bash
# Puts onnxflops on the PATH of a GitHub job: the first step of action.yml. One that is on the PATH already stays.
# VERSION            a released version, or "source" to build
# SHA256             of the released archive: it is not unpacked if it is another
# RELEASES           the address below which releases are; without it, those of the Action's own repository
# ACTION_REPOSITORY  owner/name of the Action, as far as the runner tells
# Exit code 2 if there is no onnxflops afterwards.
set -euo pipefail
here=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
fail() { echo "install.sh: $1" >&2; exit 2; }

if command -v onnxflops >/dev/null; then
  echo "install.sh: $(onnxflops --version | head -n 1) is on the PATH"
  exit
fi
if [ "$VERSION" = source ]; then
  "$here/../setup" install "$HOME/.local"
  echo "$HOME/.local/bin" >>"$GITHUB_PATH"
  exit
fi

[[ $VERSION =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "version: '$VERSION' should be a release such as 1.0.0, or source"
[[ $SHA256 =~ ^[0-9a-f]{64}$ ]] || fail "sha256: give that of version $VERSION, which its release lists in SHA256SUMS"
[ "$(uname -sm)" = "Linux x86_64" ] || fail "version: released programs are for Linux on x86-64, this is $(uname -sm); 'source' builds"
command -v curl >/dev/null || fail "curl is not installed here"
if [ -z "$RELEASES" ]; then
  repository=$ACTION_REPOSITORY
  # Runners leave it empty in some steps. They keep an Action in .../_actions/OWNER/NAME/REVISION.
  if [ -z "$repository" ] && [[ $GITHUB_ACTION_PATH/ =~ /_actions/([^/]+/[^/]+)/[^/]+/ ]]; then repository=${BASH_REMATCH[1]}; fi
  [ -n "$repository" ] || fail "releases: the runner does not tell the Action's repository: give the address, or version: source"
  RELEASES=${GITHUB_SERVER_URL:-https://github.com}/$repository/releases/download
fi

name=onnxflops-$VERSION-linux-x86_64
folder=$RUNNER_TEMP/onnxflops
rm -rf "$folder"
mkdir -p "$folder"
# --globoff: brackets in an address are no ranges of addresses to ask for.
curl --globoff --fail --silent --show-error --location --retry 3 --connect-timeout 20 --max-time 300 --max-filesize 200000000 \
  --output "$folder/$name.tar.gz" --url "$RELEASES/v$VERSION/$name.tar.gz" || fail "cannot download $RELEASES/v$VERSION/$name.tar.gz"
found=$(sha256sum <"$folder/$name.tar.gz")
[ "${found%% *}" = "$SHA256" ] || fail "sha256: $name.tar.gz has ${found%% *}, not $SHA256: it is not used"
tar -C "$folder" --no-same-owner -xzf "$folder/$name.tar.gz" "$name/bin/onnxflops" || fail "$name.tar.gz has no program"
"$folder/$name/bin/onnxflops" --version || fail "the program of $name.tar.gz does not run here"
echo "$folder/$name/bin" >>"$GITHUB_PATH"
