// How it works. Both models are counted with the same options. A size may be a symbol of only one
// of them, so each is counted with the sizes that it has symbols for, and only a size that neither
// has is an error. To find out which ones it has, a model whose count fails is counted once more
// without any. Then axes are looked for that one model fixes and the other leaves open. The open
// one is counted again at the fixed size, if it can be, so that the change is one of the model and
// not of the batch. A side may be a report instead of a model: it is evaluated at the sizes and not
// counted again.
#include "src/api/diff.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/api/load.h"
#include "src/base/limits.h"
#include "src/base/platform/posix.h"
#include "src/base/quote.h"
#include "src/base/status_macros.h"
#include "src/graph/model.h"
#include "src/infer/require_symbols.h"
#include "src/load/input_file.h"
#include "src/report/read_report.h"

namespace onnxflops {
namespace {

// The bindings whose symbols a report has, open or bound.
Bindings KnownOf(const Bindings& bindings, const Report& report) {
  Bindings known;
  for (const auto& [name, size] : bindings) {
    if (report.bindings.contains(name) || ResolveSymbols({{name, size}}, report.symbols).ok()) {
      known.emplace(name, size);
    }
  }
  return known;
}

struct KnownCount {
  Report report;
  Bindings bindings;   // those that the model has symbols for
  absl::Status fault;  // the error for a binding that it does not know
};

// Nodes are compared by cost only. Their shapes take most of a row's memory, so they are dropped
// before the other model is counted.
void DropTensors(Report* report) {
  for (NodeRow& node : report->nodes) {
    node.inputs = std::vector<TensorInfo>();  // not clear(), which keeps the memory
    node.outputs = std::vector<TensorInfo>();
  }
}

// Counts with the bindings that the model has symbols for. Others may be of the other model.
absl::StatusOr<KnownCount> CountWithKnown(const Model& model, const CountOptions& options) {
  absl::StatusOr<Report> report = Count(model, options);
  if (report.ok()) {
    DropTensors(&*report);
    return KnownCount{*std::move(report), options.bindings, absl::OkStatus()};
  }
  if (options.bindings.empty() || !absl::IsInvalidArgument(report.status())) return report.status();
  CountOptions known = options;
  known.bindings.clear();
  const absl::StatusOr<Report> open = Count(model, known);
  if (!open.ok()) return report.status();
  known.bindings = KnownOf(options.bindings, *open);
  if (known.bindings.size() == options.bindings.size()) return report.status();
  absl::StatusOr<Report> at = Count(model, known);
  if (!at.ok()) return at.status();
  DropTensors(&*at);
  return KnownCount{*std::move(at), known.bindings, report.status()};
}

// A report at the bindings that it has symbols for.
absl::StatusOr<KnownCount> BindKnown(const Report& report, const Bindings& bindings) {
  KnownCount bound = {report, KnownOf(bindings, report), absl::OkStatus()};
  RETURN_IF_ERROR(BindReport(bound.bindings, &bound.report));
  for (const auto& [name, size] : bindings) {
    if (bound.bindings.contains(name)) continue;
    bound.fault = report.bindings.contains(name)
                      ? absl::OkStatus()
                      : ResolveSymbols({{name, size}}, report.symbols).status();
  }
  return bound;
}

// Fails if a binding fits neither model.
absl::Status CheckBindings(const Bindings& wanted, const Bindings& of_base,
                           const KnownCount& head) {
  for (const auto& [name, size] : wanted) {
    if (!of_base.contains(name) && !head.bindings.contains(name)) return head.fault;
  }
  return absl::OkStatus();
}

absl::StatusOr<KnownCount> CountWithKnown(const DiffSide& side, const CountOptions& options) {
  return side.model() != nullptr ? CountWithKnown(*side.model(), options)
                                 : BindKnown(*side.report(), options.bindings);
}

// Counts one side again, at the sizes that the other fixes. If that is not possible, the first
// count stays, and the Diff lists the unequal sizes.
void CountAtFixed(const DiffSide& source, const CountOptions& options, bool is_head,
                  const std::vector<UnequalSize>& unequal, KnownCount* count) {
  CountOptions at = options;
  bool any = false;
  for (const UnequalSize& size : unequal) {
    if (size.open_in_head != is_head) continue;
    at.bindings[size.symbol] = size.fixed;
    any = true;
  }
  if (!any) return;
  absl::StatusOr<KnownCount> again = CountWithKnown(source, at);
  if (again.ok()) count->report = std::move(again->report);
}

// All operators that a run may use: those in branches that are not taken and in bodies without a
// trip, too.
void AddOperators(const ModelData& model, Diff* diff) {
  if (!diff->part.empty()) return;
  for (const Node& node : model.nodes) {
    const OptionalFunctionId inside = model.graph(node.graph).function;
    if (inside || node.function) continue;  // of functions, the nodes that run are counted
    diff->head_ops.emplace(node.domain, node.op_type);
  }
}

bool IsAmong(const UnequalSize& size, const std::vector<UnequalSize>& others) {
  return std::any_of(others.begin(), others.end(), [&](const UnequalSize& other) {
    return other.input == size.input && other.axis == size.axis;
  });
}

}  // namespace

// Only a regular file is looked into. A pipe would lose the bytes that are read here.
bool IsReportFile(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  const absl::StatusOr<int> fd = OpenForReading(path);
  if (!fd.ok()) return false;
  std::string beginning(kReportPrefix, '\0');
  const ssize_t read = ReadSome(*fd, beginning.data(), beginning.size());
  close(*fd);
  beginning.resize(static_cast<size_t>(std::max<ssize_t>(read, 0)));
  return LooksLikeReport(beginning);
}

absl::StatusOr<ModelOrReport> LoadModelOrReport(const std::string& path,
                                                const CountOptions& options) {
  ModelOrReport loaded;
  if (!IsReportFile(path)) {
    ASSIGN_OR_RETURN(loaded.model, LoadFor(path, options));
    return loaded;
  }
  const absl::StatusOr<std::string> text = ReadTextFile(path, kMaxReportBytes);
  if (!text.ok()) {
    return absl::Status(text.status().code(),
                        absl::StrCat(Escaped(path), ": ", text.status().message()));
  }
  ASSIGN_OR_RETURN(loaded.report, ReadReport(*text, path));
  return loaded;
}

absl::StatusOr<Diff> DiffModels(const DiffSide& base, const DiffSide& head,
                                const CountOptions& options, ComparedSizes sizes) {
  ASSIGN_OR_RETURN(KnownCount of_base, CountWithKnown(base, options));
  ASSIGN_OR_RETURN(KnownCount of_head, CountWithKnown(head, options));
  RETURN_IF_ERROR(CheckBindings(options.bindings, of_base.bindings, of_head));
  std::vector<UnequalSize> unequal;
  if (sizes == ComparedSizes::kEqual) unequal = FindUnequalSizes(of_base.report, of_head.report);
  CountAtFixed(base, options, /*is_head=*/false, unequal, &of_base);
  CountAtFixed(head, options, /*is_head=*/true, unequal, &of_head);
  ASSIGN_OR_RETURN(Diff diff, MakeDiff(std::move(of_base.report), std::move(of_head.report)));
  for (UnequalSize& size : unequal) {
    if (!IsAmong(size, diff.unequal_sizes)) diff.made_equal.push_back(std::move(size));
  }
  if (head.model() != nullptr) AddOperators(**head.model(), &diff);
  return diff;
}

absl::StatusOr<Diff> DiffModels(const DiffSide& head, const CountOptions& options) {
  if (head.model() != nullptr) {
    ASSIGN_OR_RETURN(Report report, Count(*head.model(), options));
    ASSIGN_OR_RETURN(Diff diff, MakeDiff(std::nullopt, std::move(report)));
    AddOperators(**head.model(), &diff);
    return diff;
  }
  ASSIGN_OR_RETURN(KnownCount bound, BindKnown(*head.report(), options.bindings));
  RETURN_IF_ERROR(CheckBindings(options.bindings, {}, bound));
  return MakeDiff(std::nullopt, std::move(bound.report));
}

}  // namespace onnxflops
