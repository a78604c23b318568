// resolve: finds a function body for each operator that has no row. The resulting Model is
// the same, except that such nodes call the body by which ONNX defines their operator.
//
//   const Resolution resolution = Resolve(model, {.bodies = InstalledBodies()});
//   absl::StatusOr<Inference> inference = Infer(resolution.model, {});
//
// All nodes are asked about in one request, with their attributes and the types of their inputs.
// The returned bodies may contain such nodes as well, which the next request covers.
//
// Some bodies depend on the types of inputs (Clip's, LayerNormalization's). Only inference knows
// all types. Here the types declared in the file and those of its tensors must suffice. If they do
// not, the node gets no body and stays unknown, like any without a row.
//
// The roles of tensors, which do not need inference either, are in src/resolve/parameters.h.
#ifndef ONNXFLOPS_SRC_RESOLVE_RESOLVE_H_
#define ONNXFLOPS_SRC_RESOLVE_RESOLVE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "src/graph/model.h"
#include "src/resolve/function_body_source.h"
#include "src/resolve/operator_rows.h"

namespace onnxflops {

struct ResolveOptions {
  resolve::Operators operators;
  const FunctionBodySource* bodies = nullptr;  // null: no node gets one
};

struct Resolution {
  Model model;
  bool has_bodies = false;  // it is not the model that was given
  std::vector<std::string> warnings;
};

// Never an error: a node that gets no body is unknown, which it is without.
Resolution Resolve(const Model& model, const ResolveOptions& options);

// The warning if the model with bodies fails and the one without is used.
std::string BodiesDoNotFit(const absl::Status& why);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_RESOLVE_RESOLVE_H_
