#include "tests/fuzz/require_text.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "src/convention/conventions.h"
#include "tests/fuzz/require.h"

namespace onnxflops {
namespace {

// What lines of screens begin with, after spaces.
constexpr absl::string_view kLineBegins[] = {
    "of these,",   "| ",        "(",         "model: ",  "inputs: ",   "module ",   "operator ",
    "node ",       "tool ",     "domain ",   "MACs",     "FLOPs",      "backward ", "training ",
    "parameters ", "bytes ",    "written ",  "integer ", "foldable ",  "at the ",   "causal ",
    "assumed: ",   "symbols (", "not ",      "ours",     "no figure:", "its ",      "figures ",
    "shares ",     "warnings:", "module",    "input ",   "output ",    "formula ",  "note ",
    "model ",      "inputs ",   "params ",   "train ",   "types ",     "figure ",   "folded ",
    "range ",      "assumed ",  "except ",   "cost ",    "inside ",    "runs ",     "|",
    "names ",      "where ",    "base ",     "head ",    "sizes ",     "change ",   "operators ",
    "file ",       "budgets ",  "check ",    "rule ",    "other ",     "base",      "activations ",
    "every ",      "* rests",   "tools in ", "models ",  "gradient ",  "time ",     "arithmetic ",
    "memory ",     "alive ",    "KV ",       "fit ",     "serving",    "step ",     "each ",
    "at most ",    "profile ",  "graph ",    "run ",     "joined ",    "control ",  "kernel ",
    "first: ",     "measured ", "hybrid ",   "smart ",   "compared ",  "date ",     "pipeline ",
    "stage ",      "per ",
};

bool BeginsWithOurs(absl::string_view line) {
  line = absl::StripLeadingAsciiWhitespace(line);
  if (line.empty()) return true;
  // What comes next may stand in a line of its own; on a narrow screen the next word of ours, too.
  const std::string words = absl::StrCat(line, " ");
  const auto is_begin = [&](absl::string_view begin) {
    return absl::StartsWith(words, begin) || absl::StartsWith(begin, words);
  };
  // A name that is longer than a line goes on after the mark of the next one.
  const auto is_name = [&](const convention::Convention* c) {
    return is_begin(c->name) || absl::StartsWith(c->name, line);
  };
  return std::any_of(std::begin(kLineBegins), std::end(kLineBegins), is_begin) ||
         std::any_of(convention::Conventions().begin(), convention::Conventions().end(), is_name);
}

// ---- Markdown

const std::set<absl::string_view>& OurWords() {
  static const auto* words = [] {
    auto* all = new std::set<absl::string_view>{
        "them",      "with",     "dim",      "NAME",     "N",           "at",         "date",
        "commit",    "quantity", "before",   "to",       "after",       "FLOPs",      "MACs",
        "module",    "type",     "params",   "operator", "nodes",       "node",       "runs",
        "output",    "tool",     "its",      "figure",   "unit",        "of",         "ours",
        "error",     "status",   "as",       "the",      "calls",       "it",         "symbols",
        "no",        "warnings", "bind",     "these",    "for",         "model",      "a",
        "whole",     "beside",   "nodes",    "reports",  "counted",     "so",         "that",
        "totals",    "are",      "lower",    "bounds",   "domain",      "versions",   "assumed",
        "formula",   "k",        "inputs",   "integer",  "types",       "folded",     "train",
        "causal",    "per",      "FLOP",     "byte",     "bytes",       "read",       "written",
        "range",     "least",    "most",     "upper",    "bound",       "known",      "depends",
        "depend",    "data",     "size",     "sizes",    "activations", "other",      "ops",
        "param",     "foldable", "M",        "G",        "T",           "P",          "E",
        "emsp",      "shapes",   "lt",       "gt",       "is",          "base",       "head",
        "change",    "sizes",    "new",      "file",     "check",       "budgets",    "Modules",
        "Operators", "Nodes",    "Files",    "rule",     "limit",       "actual",     "margin",
        "verdict",   "note",     "tools",    "in",       "largest",     "difference", "our",
        "time",      "by",       "compute",  "memory",   "backward",    "zs",         "s",
        "ms",        "us",       "ns",       "ps",       "passed",      "warned",     "failed",
        "skipped",   "allowed",  "proven",   "not",      "inference",   "peak",       "kept",
        "gradients", "training", "KV",       "cache",    "optimizer",   "fit",        "profile",
        "measured",  "hybrid",   "smart",    "graph",    "run",         "joined",     "control",
        "kernel",    "unknown",  "compared", "gap",      "less",        "and",        "single",
        "pipeline",  "stage",    "all",      "moved",    "answers"};
    for (const convention::Convention* tool : convention::AllConventions()) {  // titles of columns
      for (const absl::string_view word :
           absl::StrSplit(tool->name, absl::ByAnyChar("-.0123456789"))) {
        all->insert(word);
      }
    }
    return all;
  }();
  return *words;
}

// "MB", "GMAC", "op": what stands behind a figure.
bool IsUnit(absl::string_view word) {
  if (absl::StrContains("kMGTPE", word.substr(0, 1))) word.remove_prefix(1);
  return word.empty() || word == "B" || word == "FLOP" || word == "MAC" || word == "op";
}

size_t RunOf(absl::string_view text, char c) {
  return std::min(text.find_first_not_of(c), text.size());
}

void RequireCode(absl::string_view code, bool in_table) {
  Require(!absl::StrContains(code, "@"), "a mention in Markdown's source");
  for (size_t i = 0; in_table && i < code.size(); ++i) {
    if (code[i] != '|') continue;
    Require(i > 0 && code[i - 1] == '\\', "a live bar in a code span");
    Require(i < 2 || code[i - 2] != '\\', "a bar that readers see differently");
  }
}

// The line without its code spans, which it checks.
std::string WithoutCode(absl::string_view line) {
  const bool in_table = absl::StartsWith(line, "|");
  std::string rest;
  while (!line.empty()) {
    const size_t fence = RunOf(line, '`');
    if (fence == 0) {
      rest += line[0];
      line.remove_prefix(1);
      continue;
    }
    line.remove_prefix(fence);
    size_t end = 0;
    while (end < line.size() && RunOf(line.substr(end), '`') != fence) {
      end += std::max<size_t>(RunOf(line.substr(end), '`'), 1);
    }
    Require(end < line.size(), "a code span without end in Markdown");
    RequireCode(line.substr(0, end), in_table);
    line.remove_prefix(end + fence);
  }
  return rest;
}

void RequireOurs(absl::string_view rest) {
  absl::ConsumePrefix(&rest, "### ");
  Require(rest.find_first_of("@<>[]_~!$\\#/\"'") == absl::string_view::npos,
          "live Markdown that is not ours");
  size_t digits = 0;
  for (size_t i = 0; i < rest.size();) {
    const size_t letters = static_cast<size_t>(
        std::find_if_not(rest.begin() + static_cast<std::ptrdiff_t>(i), rest.end(),
                         [](unsigned char c) { return absl::ascii_isalpha(c) || c >= 0x80; }) -
        (rest.begin() + static_cast<std::ptrdiff_t>(i)));
    digits = absl::ascii_isdigit(static_cast<unsigned char>(rest[i])) ? digits + 1 : 0;
    Require(digits < 7, "a commit in Markdown");
    if (letters > 0) {
      const absl::string_view word = rest.substr(i, letters);
      Require(OurWords().contains(word) || IsUnit(word), "a word in Markdown", rest.substr(i));
    }
    i += std::max<size_t>(letters, 1);
  }
}

// ---- CSV

// The field that the text begins with; the separator or the end of the line stays.
std::string TakeField(absl::string_view* text, char separator) {
  std::string field;
  const bool quoted = absl::ConsumePrefix(text, "\"");
  while (quoted && !text->empty()) {
    if (absl::ConsumePrefix(text, "\"") && !absl::StartsWith(*text, "\"")) break;
    field += (*text)[0];
    text->remove_prefix(1);
  }
  while (!text->empty() && (*text)[0] != separator && (*text)[0] != '\n') {
    field += (*text)[0];
    text->remove_prefix(1);
  }
  return field;
}

void RequireNoFormula(absl::string_view field) {
  if (field.find_first_not_of("-.0123456789") == absl::string_view::npos) return;
  field.remove_prefix(std::min(field.find_first_not_of(" \""), field.size()));
  for (const char* sign : {"=", "+", "-", "@", "＝", "＋", "－", "＠"}) {
    Require(!absl::StartsWith(field, sign), "a field of CSV is a formula");
  }
}

size_t RequireCsvLine(absl::string_view* text, char separator) {
  for (size_t fields = 1;; ++fields) {
    RequireNoFormula(TakeField(text, separator));
    // A program that takes ; for the separator may take quotes inside a field for its own, and
    // lines for one: that is no formula.
    if (text->empty() && separator == ';') return fields;
    Require(!text->empty(), "CSV without an end of a line");
    const bool last = (*text)[0] == '\n';
    text->remove_prefix(1);
    if (last) return fields;
  }
}

}  // namespace

void RequireScreen(absl::string_view text, bool color) {
  std::string plain(text);
  for (const char* sequence : {report::kPlain, report::kBold, report::kFaint, report::kYellow}) {
    if (color) plain = absl::StrReplaceAll(plain, {{sequence, ""}});
  }
  RequirePrintable(plain);
  for (absl::string_view line : absl::StrSplit(plain, '\n')) {
    Require(BeginsWithOurs(line), "a line that begins with text of a file", line);
  }
}

void RequireMarkdown(absl::string_view text) {
  RequirePrintable(text);
  std::ptrdiff_t bars = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::string rest = WithoutCode(line);
    RequireOurs(rest);
    Require(line.empty() || absl::ascii_isalpha(static_cast<unsigned char>(line[0])) ||
                absl::StartsWith(line, "|") || absl::StartsWith(line, "- ") ||
                absl::StartsWith(line, "### "),
            "a line of Markdown that begins with text of a file");
    const std::ptrdiff_t now = std::count(rest.begin(), rest.end(), '|');
    if (now > 0 && bars > 0) Require(now == bars, "a row with a cell too many");
    bars = now;
  }
}

namespace {

// A row of a table: cells without a command that is not of LatexText, as many as columns.
void RequireLatexRow(absl::string_view row, size_t columns) {
  Require(absl::ConsumeSuffix(&row, " \\\\"), "a row of LaTeX without an end");
  size_t cells = 1;
  int depth = 0;
  for (size_t i = 0; i < row.size(); ++i) {
    if (row[i] == '\\') {
      const absl::string_view rest = row.substr(i + 1);
      const bool sign = !rest.empty() && absl::StrContains("&%$#_{}", rest.substr(0, 1));
      const bool known = absl::StartsWith(rest, "text") || absl::StartsWith(rest, "hspace{");
      Require(sign || known, "a command of LaTeX that is not ours");
      i += sign ? 1 : 0;
      continue;
    }
    Require(!absl::StrContains("%$#_~^\"<>|`", row.substr(i, 1)), "a sign of LaTeX", row);
    depth += row[i] == '{' ? 1 : row[i] == '}' ? -1 : 0;
    Require(depth >= 0, "a brace of LaTeX too many", row);
    cells += row[i] == '&' ? 1 : 0;
  }
  Require(depth == 0 && cells == columns, "a row of LaTeX with a cell too many", row);
}

}  // namespace

void RequireLatex(absl::string_view text) {
  RequirePrintable(text);
  size_t columns = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::ConsumePrefix(&line, "\\begin{tabular}{")) columns = line.size() - 1;
    if (absl::StartsWith(line, "  ")) RequireLatexRow(line, columns);
    if (columns == 0) Require(line.empty() || absl::StartsWith(line, "% "), "no comment", line);
    if (line == "\\end{tabular}") columns = 0;
  }
}

void RequireDocument(const Document& document, const TableStyle& style) {
  RequireScreen(DrawText(document, style), style.color);
  RequireMarkdown(DrawMarkdown(document));
  RequireLatex(DrawLatex(document));
}

void RequireCsv(absl::string_view text) {
  RequirePrintable(text);
  for (char separator : {',', ';'}) {
    absl::string_view left = text;
    const size_t columns = RequireCsvLine(&left, separator);
    while (!left.empty()) {
      Require(absl::StartsWith(left, "\""), "a line of CSV that begins with text of a file");
      const size_t fields = RequireCsvLine(&left, separator);
      Require(separator == ';' || fields == columns, "CSV with a field too many");
    }
  }
}

}  // namespace onnxflops
