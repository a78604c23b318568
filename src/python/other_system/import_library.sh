# Writes an import library of python3.dll with the names that these objects ask of Python: import_library.sh COMPILER LIBRARY OBJECT...
set -eu
prefix=${1%g++*}
library=$2
shift 2
{
  echo 'LIBRARY python3.dll'
  echo EXPORTS
  "${prefix}nm" -u "$@" | sed -nE 's/^ +U (__imp_)?(_?Py\w+)$/\2/p' | sort -u
} >"$library.def"
rm -f "$library"
"${prefix}dlltool" -d "$library.def" -l "$library"
