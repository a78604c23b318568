// How it works. A published figure is rounded, and its last digit tells how far: "4.089 G" may
// stand for anything within half of 0.001 G. A convention gives the figure if its own lies in that
// range. Papers and tables often call MACs FLOPs, so figures of both units are tried: first those
// of the unit that the text names, and exact ones before those that rest on a guess. The first that
// fits decides the unit, and all conventions of that unit that fit are named. If none fits, the
// nearest one is shown with the difference; that is a hint, not an explanation. A model with open
// sizes is refused.
#include "src/compare/audit.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "src/base/digit_groups.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/render/format.h"
#include "src/render/json_writer.h"
#include "src/render/text_table.h"

namespace onnxflops {
namespace {

using report::JsonWriter;
using report::kOneLine;
using report::SiNumber;

constexpr size_t kMaxDigits = 30;  // an int128 has room for them and a prefix
constexpr size_t kShownConventions = 3;

absl::int128 PowerOfTen(int exponent) {
  absl::int128 power = 1;
  for (int i = 0; i < exponent; ++i) power *= 10;
  return power;
}

absl::int128 Distance(absl::int128 a, absl::int128 b) { return a > b ? a - b : b - a; }

std::optional<Unit> UnitCalled(absl::string_view word) {
  constexpr std::pair<const char*, Unit> kWords[] = {{"mac", Unit::kMac},
                                                     {"macs", Unit::kMac},
                                                     {"madd", Unit::kMac},
                                                     {"madds", Unit::kMac},
                                                     {"flop", Unit::kFlop},
                                                     {"flops", Unit::kFlop},
                                                     {"ops", Unit::kFlop},
                                                     {"act", Unit::kActivation},
                                                     {"acts", Unit::kActivation},
                                                     {"activation", Unit::kActivation},
                                                     {"activations", Unit::kActivation}};
  for (const auto& [name, unit] : kWords) {
    if (word == name) return unit;
  }
  return std::nullopt;
}

// REQUIRES: our totals are numbers.
std::vector<AuditCandidate> CandidatesOf(const CompareReport& comparison) {
  const Amounts& ours = comparison.ours.totals;
  std::vector<AuditCandidate> all;
  if (comparison.request.activations) {
    all.push_back({"onnxflops", Unit::kActivation, true, ours.activation_count.literal()});
  } else {
    all.push_back({"onnxflops", Unit::kMac, true, ours.macs.literal()});
    all.push_back({"onnxflops", Unit::kFlop, true, ours.flops.literal()});
  }
  for (const ToolRow& tool : comparison.tools) {
    if (!tool.headline || !tool.headline->is_literal()) continue;
    all.push_back({tool.convention->name, tool.convention->unit, tool.standing == Standing::kExact,
                   tool.headline->literal()});
  }
  return all;
}

bool IsSame(const PublishedFigure& published, absl::int128 value) {
  return 2 * Distance(value, published.value) <= published.step;
}

// "MACs*" if the published text calls it FLOPs.
std::string CountsText(const AuditRow& row) {
  const bool misnamed = row.matches && row.unit != row.published.unit;
  return absl::StrCat(std::string(UnitName(row.unit)), misnamed ? "*" : "");
}

std::string Difference(const AuditRow& row) {
  const absl::int128 difference = row.figure - row.published.value;
  return absl::StrCat(difference < 0 ? "-" : "+", SiNumber(Distance(difference, 0)));
}

std::string Listed(const std::vector<std::string>& names) {
  const size_t shown = std::min(names.size(), kShownConventions);
  std::string text = absl::StrJoin(names.begin(), names.begin() + static_cast<long>(shown), ", ");
  if (shown < names.size()) absl::StrAppend(&text, " and ", names.size() - shown, " more");
  return text;
}

TextTable AuditTable(absl::Span<const AuditRow> rows) {
  using Narrow = TextTable::Column::Narrow;
  TextTable table;
  table.columns = {{"name", false, Narrow::kName},       {"published", true},
                   {"counts", false, Narrow::kSpare},    {"by", false, Narrow::kName},
                   {"its figure", true, Narrow::kSpare}, {"difference", true}};
  size_t same = 0;
  int64_t macs = 0, flops = 0;  // figures that are called by the other unit
  int64_t faults = 0;
  for (const AuditRow& row : rows) {
    if (!row.fault.empty()) {
      ++faults;
      table.rows.push_back({{row.name, row.published.text, "", row.fault, "", ""}});
      continue;
    }
    same += row.matches ? 1 : 0;
    if (row.matches && row.unit != row.published.unit) ++(row.unit == Unit::kMac ? macs : flops);
    table.rows.push_back(
        {{row.name, row.published.text, CountsText(row),
          row.matches ? Listed(row.conventions) : absl::StrCat("nearest: ", row.conventions[0]),
          SiNumber(row.figure), row.matches ? "-" : Difference(row)}});
  }
  for (const AuditRow& row : rows) {
    if (row.matches || row.about.empty()) continue;
    table.notes.push_back(absl::StrCat("published of ", Escaped(row.name), ": ", row.about));
  }
  table.notes.push_back(absl::StrCat(same, " of ", rows.size(),
                                     " figures are those of a convention, to the last digit"));
  if (macs > 0) {
    table.notes.push_back(absl::StrCat("* called FLOPs, but they are MACs: ", macs));
  }
  if (flops > 0) {
    table.notes.push_back(absl::StrCat("* called MACs, but they are FLOPs: ", flops));
  }
  if (faults > 0) {
    table.notes.push_back(absl::StrCat(Plural(faults, "line"), " could not be compared"));
  }
  return table;
}

}  // namespace

absl::StatusOr<PublishedFigure> ParsePublishedFigure(absl::string_view text) {
  const auto wrong = [&](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat(Quoted(text), " is not a figure: ", why, ", as in 4.089 GFLOPs"));
  };
  PublishedFigure figure;
  figure.text = std::string(absl::StripAsciiWhitespace(text));
  absl::string_view rest = figure.text;
  const absl::string_view number = rest.substr(0, rest.find_first_not_of("0123456789,."));
  rest.remove_prefix(number.size());
  if (!AreDigitGroups(number.substr(0, number.find('.')))) {
    return wrong("commas should only separate groups of three digits");
  }
  int decimals = 0;
  size_t digits = 0;
  bool point = false;
  for (const char c : number) {
    if (point && !absl::ascii_isdigit(static_cast<unsigned char>(c))) {
      return wrong("it should have digits only after its point");
    }
    point = point || c == '.';
    if (c == '.' || c == ',') continue;
    if (++digits > kMaxDigits) return wrong("it has too many digits");
    figure.value = figure.value * 10 + (c - '0');
    decimals += point ? 1 : 0;
  }
  if (digits == 0) return wrong("it should begin with a number");
  const std::string unit = absl::AsciiStrToLower(absl::StripAsciiWhitespace(rest));
  constexpr std::pair<char, int> kPrefixes[] = {{'k', 3}, {'m', 6},  {'g', 9},
                                                {'b', 9}, {'t', 12}, {'p', 15}};
  int exponent = 0;
  absl::string_view word = unit;
  for (const auto& [letter, power] : kPrefixes) {
    // The m of "macs" and "madds" is no prefix; that of "macts", which timm writes, is one.
    const bool is_unit = (absl::StartsWith(unit, "mac") && !absl::StartsWith(unit, "mact")) ||
                         absl::StartsWith(unit, "madd");
    if (is_unit || unit.empty() || unit[0] != letter) continue;
    exponent = power;
    word.remove_prefix(1);
  }
  word = absl::StripAsciiWhitespace(word);
  const std::optional<Unit> called = UnitCalled(word);
  if (!called) return wrong("it should end in MACs, FLOPs or activations");
  figure.unit = *called;
  if (digits + static_cast<size_t>(exponent) > kMaxDigits || decimals > exponent) {
    return wrong("it should have no more digits than its prefix");
  }
  figure.step = PowerOfTen(exponent - decimals);
  figure.value *= figure.step;
  figure.is_known = true;
  return figure;
}

AuditRow OpenAudit(const std::string& name, const std::string& model,
                   const PublishedFigure& published, const Expr& macs) {
  AuditRow row;
  row.name = name;
  row.model = model;
  row.published = published;
  row.fault = absl::StrCat("sizes are open in ", Escaped(macs.ToString()),
                           " MACs: give them in a column dim, as batch=1, or by ",
                           Setting("dim", "batch=1"));
  return row;
}

AuditRow Audit(const std::string& name, const PublishedFigure& published,
               const CompareReport& comparison) {
  const std::string& path = comparison.ours.model.path;
  // With open sizes, only a tool that counts nothing of the open work has a number. It would be the
  // nearest.
  const Amounts& ours = comparison.ours.totals;
  if (!ours.flops.is_literal() || !ours.macs.is_literal() ||
      (comparison.request.activations && !ours.activation_count.is_literal())) {
    return OpenAudit(name, path, published, ours.macs);
  }
  return Audit(name, path, published, CandidatesOf(comparison));
}

AuditRow Audit(const std::string& name, const std::string& model, const PublishedFigure& published,
               std::vector<AuditCandidate> all) {
  AuditRow row;
  row.name = name;
  row.model = model;
  row.published = published;
  std::stable_sort(all.begin(), all.end(), [&](const AuditCandidate& a, const AuditCandidate& b) {
    const auto rank = [&](const AuditCandidate& c) {
      return std::make_pair(c.unit != published.unit, !c.exact);
    };
    return rank(a) < rank(b);
  });
  const auto same = [&](const AuditCandidate& c) { return IsSame(published, c.value); };
  auto first = std::find_if(all.begin(), all.end(), same);
  row.matches = first != all.end();
  if (!row.matches) {
    first = std::min_element(
        all.begin(), all.end(), [&](const AuditCandidate& a, const AuditCandidate& b) {
          return Distance(a.value, published.value) < Distance(b.value, published.value);
        });
  }
  row.unit = first->unit;
  row.figure = first->value;
  for (const AuditCandidate& c : all) {
    const bool named = row.matches ? same(c) && c.unit == row.unit : &c == &*first;
    if (named) row.conventions.push_back(c.name);
  }
  return row;
}

Document ToDocument(absl::Span<const AuditRow> rows) {
  Document document;
  document.Add(Document::Table{AuditTable(rows)});
  return document;
}

std::string ToCsv(absl::Span<const AuditRow> rows) {
  TextTable table;
  for (const char* title : {"name", "model", "published", "published_unit", "status", "conventions",
                            "unit", "figure", "difference", "fault"}) {
    table.columns.push_back({title});
  }
  for (const AuditRow& row : rows) {
    const bool has = row.fault.empty(), known = row.published.is_known;
    table.rows.push_back(
        {{row.name, row.model, known ? Int128ToString(row.published.value) : "",
          known ? std::string(UnitName(row.published.unit)) : "",
          !has          ? "unknown"
          : row.matches ? "same"
                        : "nearest",
          absl::StrJoin(row.conventions, row.of_pipeline ? "; " : " "),
          has ? std::string(UnitName(row.unit)) : "", has ? Int128ToString(row.figure) : "",
          has ? Int128ToString(row.figure - row.published.value) : "", row.fault}});
  }
  return DrawCsv(table);
}

std::string ToJson(absl::Span<const AuditRow> rows) {
  JsonWriter json;
  json.BeginObject();
  json.Key("schema").String("onnxflops.audit/1");
  json.Key("rows").BeginArray();
  for (const AuditRow& row : rows) {
    const bool has = row.fault.empty();
    json.BeginObject();
    json.Key("name").String(row.name);
    json.Key("model").String(row.model);
    if (row.published.is_known) {
      json.Key("published").Int(row.published.value);
      json.Key("published_step").Int(row.published.step);
      json.Key("published_unit").String(UnitKey(row.published.unit));
    } else {
      for (const char* key : {"published", "published_step", "published_unit"}) {
        json.Key(key).Null();
      }
    }
    json.Key("status").String(!has ? "unknown" : row.matches ? "same" : "nearest");
    json.Key("conventions").BeginArray(kOneLine);
    for (const std::string& name : row.conventions) json.String(name);
    json.EndArray();
    if (has) {
      json.Key("unit").String(UnitKey(row.unit));
      json.Key("figure").Int(row.figure);
      json.Key("difference").Int(row.figure - row.published.value);
    } else {
      json.Key("fault").String(row.fault);
    }
    if (!row.about.empty()) json.Key("about").String(row.about);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return json.TakeText();
}

}  // namespace onnxflops
