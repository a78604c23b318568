// How it works. Every format is written from the same list of judgements, and all wording comes
// from SubjectOf and MessageOf, so all formats report the same. They differ in which judgements
// they list (JUnit all, alerts only those that need attention), in the position they point to, and
// in escaping. Names of models, modules and files come from untrusted files, so each format escapes
// all of them by its own rules. An alert points to the rule in the file of budgets, since that is
// what a reviewer can change. Its fingerprint is a hash of the model and the rule without any
// figure, so that GitLab and GitHub see one alert across runs, not a new one after each change.
#include "src/check/ci_formats.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "fmt/format.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/check/check_writers.h"
#include "src/check/verdict_text.h"
#include "src/cost/amounts.h"
#include "src/diff/comment.h"
#include "src/render/format.h"
#include "src/render/json_writer.h"
#include "src/render/text_table.h"

namespace onnxflops {

namespace check {

std::string SubjectOf(const Judgement& j) {
  return absl::StrCat(j.model, j.model.empty() ? "" : ": ", j.rule, j.where.empty() ? "" : " of ",
                      j.where, j.at.empty() ? "" : " at ", j.at);
}

namespace {

// "-0.3 %" as ", exceeded by 0.3 %", since a minus would read as a decrease; "+2.1 %" as " (2.1 %
// left)".
std::string MarginInWords(absl::string_view margin) {
  if (absl::ConsumePrefix(&margin, "-")) return absl::StrCat(", exceeded by ", margin);
  absl::ConsumePrefix(&margin, "+");
  return margin.empty() ? "" : absl::StrCat(" (", margin, " left)");
}

// "FLOPs grew by 3.55 %, more than the limit of 2 % (8.5 GFLOP, base 8.2 GFLOP)".
std::string GrowthInWords(const Judgement& j) {
  absl::string_view growth = j.growth, limit = j.limit;
  const bool may_grow = absl::ConsumePrefix(&limit, "+");
  std::string change = " did not change";
  if (*j.actual_value != *j.base_value) {
    change = absl::ConsumePrefix(&growth, "-") ? " shrank by " : " grew by ";
    absl::ConsumePrefix(&growth, "+");
    if (absl::ConsumePrefix(&growth, "<")) change += "less than ";
    absl::StrAppend(&change, growth);
  }
  const bool breaks = j.limit_value && *j.actual_value > *j.limit_value;
  absl::ConsumeSuffix(&limit, "%");
  return absl::StrCat(j.quantity->title, change,
                      breaks && may_grow ? ", more than the limit of " : ", limit ",
                      breaks || !may_grow ? "" : "+", absl::StripAsciiWhitespace(limit), " %",
                      absl::string_view(j.actual).substr(j.growth.size()));
}

}  // namespace

std::string MessageOf(const Judgement& j) {
  if (!j.is_rule()) return j.detail;
  const std::string figures =
      j.growth.empty() || !j.actual_value
          ? absl::StrCat(j.actual, ", limit ", j.limit, MarginInWords(j.margin))
          : GrowthInWords(j);
  return absl::StrCat(figures, ": ",
                      j.verdict == Verdict::kNotProven ? "not proven" : NameOf(j.verdict),
                      j.detail.empty() ? "" : "; ", j.detail);
}

}  // namespace check

namespace {

using check::MessageOf;
using check::SubjectOf;
using report::JsonWriter;
using report::MarkdownCode;

// The place of the rule in the file of budgets. A rule of the command line has no file; it is shown
// at the beginning of the model.
struct Location {
  std::string path;
  int64_t line = 1;
};
Location LocationOf(const CheckReport& report, const Judgement& j) {
  if (j.place.line > 0) {
    return {j.budgets.empty() ? report.budgets : j.budgets, static_cast<int64_t>(j.place.line)};
  }
  return {j.model.empty() ? report.head.path : j.model};
}

// The judgements that need attention. Those that did not pass come first.
std::vector<const Judgement*> Alarming(const CheckReport& report) {
  std::vector<const Judgement*> alarming;
  for (const Judgement& j : report.judgements) {
    if (!j.passed() || j.verdict == Verdict::kWarned) alarming.push_back(&j);
  }
  std::stable_partition(alarming.begin(), alarming.end(),
                        [](const Judgement* j) { return !j->passed(); });
  return alarming;
}

// Text for an attribute or between tags. Printable removes all characters that XML forbids.
std::string XmlText(absl::string_view text) {
  return absl::StrReplaceAll(
      Printable(text),
      {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&apos;"}});
}

// Escapes for a workflow command, which GitHub's runner undoes: one for its text, one for its
// properties.
std::string AnnotationText(absl::string_view text) {
  return absl::StrReplaceAll(Printable(text), {{"%", "%25"}});
}
std::string AnnotationProperty(absl::string_view text) {
  return absl::StrReplaceAll(AnnotationText(text), {{":", "%3A"}, {",", "%2C"}});
}

// A relative reference. Characters that a path of a URI may not hold are written as %XX.
std::string UriOf(absl::string_view path) {
  std::string uri;
  for (char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (absl::ascii_isalnum(byte) ||
        absl::string_view("-._~/").find(c) != absl::string_view::npos) {
      uri += c;
    } else {
      absl::StrAppend(&uri, "%",
                      absl::AsciiStrToUpper(absl::StrCat(absl::Hex(byte, absl::kZeroPad2))));
    }
  }
  return uri;
}

// The fingerprint of a rule for a model (FNV-1a): the same in every run and on every machine,
// whatever other models are checked.
std::string FingerprintOf(const CheckReport& report, Judgement j) {
  const std::string model = j.model.empty() ? report.head.path : j.model;
  j.model.clear();
  const std::string text = absl::StrCat(model, "\n", SubjectOf(j));
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return absl::StrCat(absl::Hex(hash, absl::kZeroPad16));
}

constexpr std::pair<absl::string_view, absl::string_view> kKinds[] = {
    {"amount", "A quantity has a limit."},
    {"growth", "A quantity may grow from the base by so much."},
    {"ratio", "A quantity may be so much of another."},
    {"operators", "Operators that a model may use."},
    {"domains", "Domains of operators that a model may use."},
    {"opset", "Opsets that a model may import."},
    {"fixed", "A size that is open stays open."},
    {"mfu", "The part of what devices can do that training uses."},
    {"profile", "The part of what a device can do that a run reached."},
    {"unlisted", "Every model has a rule."},
    {"error", "A model can be read and counted."},
};

// What a reader can do about an alert.
constexpr char kHelp[] =
    "The location is the rule in the file of budgets. Lower the cost of the model, or, where the "
    "cost is wanted, raise the limit there: onnxflops check MODEL {update on} does it. An "
    "exception "
    "with a reason and a day stands under [[allow]]. docs/ci.md says what each rule means.";

void WriteSarifResult(const CheckReport& report, const Judgement& j, JsonWriter* json) {
  json->BeginObject();
  json->Key("ruleId").String(j.kind);
  json->Key("level").String(j.passed() ? "warning" : "error");
  json->Key("message").BeginObject();
  json->Key("text").String(absl::StrCat(SubjectOf(j), ": ", MessageOf(j)));
  json->EndObject();
  json->Key("locations").BeginArray();
  const Location location = LocationOf(report, j);
  json->BeginObject();
  json->Key("physicalLocation").BeginObject();
  json->Key("artifactLocation").BeginObject();
  json->Key("uri").String(UriOf(location.path));
  json->EndObject();
  json->Key("region").BeginObject();
  json->Key("startLine").Int(location.line);
  json->EndObject();
  json->EndObject();
  json->Key("logicalLocations").BeginArray();
  json->BeginObject();
  json->Key("fullyQualifiedName")
      .String(!j.where.empty()   ? j.where
              : !j.model.empty() ? j.model
                                 : report.head.path);
  json->Key("kind").String("module");
  json->EndObject();
  json->EndArray();
  json->EndObject();
  json->EndArray();
  json->Key("partialFingerprints").BeginObject();
  json->Key("rule/v1").String(FingerprintOf(report, j));
  json->EndObject();
  json->EndObject();
}

}  // namespace

std::string ToComment(const CheckReport& report) {
  const std::string begin =
      absl::StrCat(CommentMarker("check", report.head.path), "**", MarkdownCode(report.head.path),
                   "** ", CheckInWords(report), "\n");
  constexpr char kLeftOut[] = "\nWhat did not fit is left out: onnxflops check prints all of it.\n";
  const size_t room = kMaxCommentBytes - sizeof(kLeftOut);
  std::string out = begin;
  bool complete = true;
  const auto add = [&](const std::string& part) {
    const bool fits = out.size() + part.size() <= room;
    if (fits) out += part;
    complete = complete && fits;
    return fits;
  };
  const char* between = "\n";
  for (const Judgement* j : Alarming(report)) {
    const std::string text = MarkdownCode(absl::StrCat(SubjectOf(*j), ": ", MessageOf(*j)));
    if (!add(absl::StrCat(between, "- ", text, "\n"))) break;
    between = "";
  }
  add(FoldedDetails("All rules", ToMarkdown(report)));
  if (!complete) out += kLeftOut;
  return out;
}

std::string ToJunit(const CheckReport& report) {
  double seconds = 0;
  for (const Judgement& j : report.judgements) seconds += j.seconds;
  const int64_t skipped = report.Count(Verdict::kSkipped);
  const int64_t failed = report.Count(Verdict::kFailed) + report.Count(Verdict::kNotProven);
  const std::string counts =
      absl::StrCat("tests=\"", report.judgements.size(), "\" failures=\"", failed, "\" errors=\"",
                   report.Count(Verdict::kError), "\"");
  std::string out = absl::StrCat(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites ", "name=\"onnxflops\" ", counts,
      ">\n  <testsuite name=\"", XmlText(report.head.path), "\" ", counts, " skipped=\"", skipped,
      "\" time=\"", fmt::format("{:.3f}", seconds), "\"",
      report.host.empty() ? "" : absl::StrCat(" hostname=\"", XmlText(report.host), "\""),
      report.made_at.empty() ? "" : absl::StrCat(" timestamp=\"", report.made_at, "\""), ">\n");
  for (const Judgement* judgement : check::WorstFirst(report)) {
    const Judgement& j = *judgement;
    absl::StrAppend(&out, "    <testcase classname=\"", XmlText(j.kind), "\" name=\"",
                    XmlText(SubjectOf(j)), "\" time=\"", fmt::format("{:.3f}", j.seconds), "\">");
    const std::string message = XmlText(MessageOf(j));
    if (j.verdict == Verdict::kError) {
      absl::StrAppend(&out, "<error message=\"", message, "\">", message, "</error>");
    } else if (!j.passed()) {
      absl::StrAppend(&out, "<failure message=\"", message, "\" type=\"", NameOf(j.verdict), "\">",
                      message, "</failure>");
    } else if (j.verdict == Verdict::kSkipped) {
      absl::StrAppend(&out, "<skipped message=\"", message, "\"/>");
    } else {
      absl::StrAppend(&out, "<system-out>", message, "</system-out>");
    }
    out += "</testcase>\n";
  }
  return out + "  </testsuite>\n</testsuites>\n";
}

std::string ToGithubAnnotations(const CheckReport& report) {
  std::string out;
  for (const Judgement* j : Alarming(report)) {
    const Location location = LocationOf(report, *j);
    absl::StrAppend(&out, j->passed() ? "::warning" : "::error",
                    " file=", AnnotationProperty(location.path), ",line=", location.line,
                    ",title=", AnnotationProperty(j->model.empty() ? report.head.path : j->model),
                    "::", AnnotationText(absl::StrCat(SubjectOf(*j), ": ", MessageOf(*j))), "\n");
  }
  return out;
}

std::string ToGitlab(const CheckReport& report) {
  JsonWriter json;
  json.BeginArray();
  for (const Judgement* j : Alarming(report)) {
    const Location location = LocationOf(report, *j);
    json.BeginObject();
    json.Key("description").String(absl::StrCat(SubjectOf(*j), ": ", MessageOf(*j)));
    json.Key("check_name").String(absl::StrCat("onnxflops/", j->kind));
    json.Key("fingerprint").String(FingerprintOf(report, *j));
    json.Key("severity").String(j->passed() ? "minor" : "major");
    json.Key("location").BeginObject();
    json.Key("path").String(location.path);
    json.Key("lines").BeginObject();
    json.Key("begin").Int(location.line);
    json.EndObject();
    json.EndObject();
    json.EndObject();
  }
  json.EndArray();
  return json.TakeText();
}

std::string ToSarif(const CheckReport& report) {
  JsonWriter json;
  json.BeginObject();
  json.Key("$schema").String("https://json.schemastore.org/sarif-2.1.0.json");
  json.Key("version").String("2.1.0");
  json.Key("runs").BeginArray();
  json.BeginObject();
  json.Key("tool").BeginObject();
  json.Key("driver").BeginObject();
  json.Key("name").String("onnxflops");
  if (!report.version.empty()) json.Key("version").String(report.version);
  json.Key("rules").BeginArray();
  for (const auto& [kind, text] : kKinds) {
    json.BeginObject();
    json.Key("id").String(kind);
    json.Key("shortDescription").BeginObject();
    json.Key("text").String(text);
    json.EndObject();
    json.Key("help").BeginObject();
    json.Key("text").String(WithSettings(kHelp));
    json.EndObject();
    if (!report.docs.empty()) {
      json.Key("helpUri").String(absl::StrCat(report.docs, "ci.html#a-file-of-budgets"));
    }
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  json.EndObject();
  json.Key("results").BeginArray();
  for (const Judgement* j : Alarming(report)) WriteSarifResult(report, *j, &json);
  json.EndArray();
  json.EndObject();
  json.EndArray();
  json.EndObject();
  return json.TakeText();
}

std::string ToBenchmark(const CheckReport& report) {
  JsonWriter json;
  json.BeginArray();
  for (const Judgement& j : report.judgements) {
    if (!j.actual_value) continue;
    json.BeginObject();
    json.Key("name").String(
        absl::StrCat(j.model.empty() ? absl::StrCat(report.head.path, ": ") : "", SubjectOf(j)));
    json.Key("unit").String(UnitOf(*j.quantity));
    json.Key("value").Exact(*j.quantity, *j.actual_value);
    json.Key("extra").String(
        absl::StrCat("limit ", j.limit, j.lower_bound ? "; the value is a lower bound" : ""));
    json.EndObject();
  }
  json.EndArray();
  return json.TakeText();
}

std::string ToBadge(const CheckReport& report) {
  const int64_t open = report.Count(Verdict::kNotProven);
  const int64_t failed = report.Count(Verdict::kFailed) + open;
  const int64_t errors = report.Count(Verdict::kError);
  const bool warned = report.Count(Verdict::kWarned) > 0;
  const std::string of_them = open > 0 ? absl::StrCat(", ", open, " of them not proven") : "";
  JsonWriter json;
  json.BeginObject();
  json.Key("schemaVersion").Int(1);
  json.Key("label").String("budgets");
  json.Key("message").String(failed > 0   ? absl::StrCat(failed, " failed", of_them)
                             : errors > 0 ? Plural(errors, "error")
                             : warned     ? "near a limit"
                                          : "passed");
  json.Key("color").String(failed + errors > 0 ? "red" : warned ? "yellow" : "brightgreen");
  json.EndObject();
  return json.TakeText();
}

}  // namespace onnxflops
