// Comma-separated values, RFC 4180.
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "src/report/format.h"
#include "src/report/writers.h"

namespace onnxflops {
namespace {

// A text field. Spreadsheets run what begins with one of these as a formula.
std::string Field(absl::string_view raw) {
  std::string text = TextName(raw);
  const size_t first = text.find_first_not_of(' ');
  if (first != std::string::npos &&
      absl::string_view("=+-@").find(text[first]) != absl::string_view::npos) {
    text.insert(0, "'");
  }
  if (text.find_first_of(",\"'") == std::string::npos) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

std::string Field(const Expr& expr) {
  return expr.is_literal() && expr.error() == nullptr ? Int128ToString(expr.literal())
                                                      : Field(expr.ToString());
}

void AppendModules(const Report& report, const ViewOptions& options, std::string* out) {
  for (const Module& m : report.modules) {
    if (options.depth >= 0 && m.depth > options.depth) continue;
    const std::string fields[] = {Field(report.model.path),
                                  Field(m.path),
                                  Field(m.type),
                                  absl::StrCat(m.depth),
                                  absl::StrCat(m.nodes),
                                  Field(m.flops),
                                  Field(m.macs),
                                  Int128ToString(m.params),
                                  Int128ToString(m.param_bytes),
                                  m.lower_bound ? "true" : "false"};
    absl::StrAppend(out, absl::StrJoin(fields, ","), "\n");
  }
}

void AppendOps(const Report& report, std::string* out) {
  for (const OpRow& row : report.by_op) {
    const std::string fields[] = {Field(report.model.path), Field(row.domain), Field(row.op),
                                  absl::StrCat(row.nodes),  Field(row.runs),   Field(row.flops),
                                  Field(row.macs)};
    absl::StrAppend(out, absl::StrJoin(fields, ","), "\n");
  }
}

void AppendNodes(const Report& report, std::string* out) {
  for (const NodeRow& row : report.nodes) {
    std::string output;
    if (!row.outputs.empty()) output = TensorText(row.outputs[0].type, row.outputs[0].shape);
    const Module& module = report.modules[static_cast<size_t>(row.module)];
    const bool unknown = row.status == Coverage::kUnknown;
    const std::string fields[] = {Field(report.model.path),
                                  Field(row.name),
                                  Field(row.domain),
                                  Field(row.op),
                                  Field(module.path),
                                  Field(output),
                                  Field(row.multiplicity),
                                  unknown ? "" : Field(row.flops),
                                  unknown ? "" : Field(row.macs),
                                  std::string(StatusName(row.status))};
    absl::StrAppend(out, absl::StrJoin(fields, ","), "\n");
  }
}

}  // namespace

std::string ToCsv(absl::Span<const Report> reports, const ViewOptions& options) {
  std::string out;
  switch (options.by) {
    case GroupBy::kModule:
      out = "model,module,type,depth,nodes,flops,macs,params,param_bytes,lower_bound\n";
      for (const Report& report : reports) AppendModules(report, options, &out);
      break;
    case GroupBy::kOp:
      out = "model,domain,operator,nodes,runs,flops,macs\n";
      for (const Report& report : reports) AppendOps(report, &out);
      break;
    case GroupBy::kNode:
      out = "model,node,domain,operator,module,output,runs,flops,macs,status\n";
      for (const Report& report : reports) AppendNodes(report, &out);
      break;
  }
  return out;
}

}  // namespace onnxflops
