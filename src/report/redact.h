// Removes names from a report, so that structure and figures can be shown to others.
//
//   Redactor redactor;
//   absl::Status status = redactor.Redact(&report);
//   // "encoder.layers.0.attn" is now "m1.m2.0.m3"
//
// These stay: figures, shapes, element types, versions, operators of our tables, numbers in the
// paths of modules. All other text of the model is replaced, or left out if it is a sentence: file,
// producer, modules and their classes (m1, c1), nodes (n1), tensors (t1), symbols (s1), unknown
// domains and operators (d1, op1), warnings, reasons, assumptions. Equal texts get equal names, so
// the same report is always redacted in the same way.
#ifndef ONNXFLOPS_SRC_REPORT_REDACT_H_
#define ONNXFLOPS_SRC_REPORT_REDACT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "src/cost/amounts.h"
#include "src/graph/fact.h"
#include "src/module/module.h"
#include "src/report/report.h"
#include "src/symbolic/expr.h"

namespace onnxflops {

class Redactor {
 public:
  // The replacement for the file's name.
  explicit Redactor(std::string model_name = "model") : model_name_(std::move(model_name)) {}

  // OutOfRange for a formula that is too long to be read.
  absl::Status Redact(Report* report);
  // The replacement for a symbol of the report.
  std::string Symbol(absl::string_view name) { return Replace("s", name); }

 private:
  std::string Replace(absl::string_view kind, absl::string_view name);
  std::string Path(absl::string_view path);
  void Domain(std::string* domain);
  void Operator(std::string* op, std::string* domain);
  void Formula(Expr* expr);
  void AllAmounts(Amounts* amounts);
  void AllDims(Shape* shape);
  void Tensors(std::vector<TensorInfo>* tensors);
  void ModelAndSymbols(Report* report);
  void Work(Report* report);
  void Modules(std::vector<Module>* modules);
  void Rows(Report* report);
  void Training(TrainingReport* training);
  void Memory(MemoryReport* memory);
  void Copies(std::vector<WeightCopy>* copies);
  void Sentences(Report* report);

  const std::string model_name_;
  absl::flat_hash_map<std::string, std::string> names_;  // by kind and name
  absl::flat_hash_map<std::string, int64_t> numbers_;    // the last of each kind
  absl::flat_hash_map<std::string, Expr> formulas_;
  // By the amounts that they replace; the key is kept alive so that its address is not reused.
  absl::flat_hash_map<const Amounts*, std::shared_ptr<const Amounts>> amounts_;
  std::vector<std::shared_ptr<const Amounts>> originals_;
  absl::Status status_;
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_REPORT_REDACT_H_
