// Explains the cost of a node: its rule's formula, with this node's sizes filled in.
//
//   absl::StatusOr<Explanation> e = Explain(model, {}, "/visual/conv1/Conv");
//   std::cout << ToText(*e, {.width = 80});
#ifndef ONNXFLOPS_SRC_EXPLAIN_EXPLAIN_H_
#define ONNXFLOPS_SRC_EXPLAIN_EXPLAIN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/graph/symbol_origin.h"
#include "src/render/document.h"
#include "src/report/report.h"
#include "src/report/view_options.h"

namespace onnxflops {

struct Explanation {
  // A line of the cost: "mac = M*N*K = 577*1024*1024" = 605028352. `how` is empty if the rule
  // states its formula in words.
  struct Term {
    std::string kind;  // "mac", "int_mac", ...
    std::string how;
    Expr amount;
  };

  // A graph inside the node, run once.
  struct Body {
    std::string name;  // "then_branch", "body"
    std::string how;   // "counted: it costs more", "not run", ...
    Expr flops, macs;
  };

  NodeRow node;
  // If several nodes have one name: the position of this one in the order of the file, and their
  // number.
  int64_t number = 1, nodes_of_that_name = 1;
  std::string model;  // its path
  std::string module, module_type;
  int64_t opset = 0;         // of the operator's domain
  int version = 0;           // the since_version of the rules
  bool is_function = false;  // a call of a local function
  bool shape_work = false;   // arithmetic that only makes shapes: free
  // What the operator computes, and its costs if the terms do not show them.
  std::string formula;
  std::string note;
  std::string names;                    // the signature whose names the terms use, or ""
  std::vector<std::string> where;       // "K = if(attr.transA, a0, a1)": what terms define
  std::vector<std::string> exceptions;  // to "a fused operator costs as much as its parts"
  std::string reason;                   // why it is unknown
  std::vector<Term> terms;              // of one run
  std::vector<Body> bodies;
  MacsByDType macs_by_dtype;  // of one run
  Amounts amounts;            // of one run
  bool one_type = false;      // all multiplications of the model use one plain type
  Expr total_flops;           // of the model
  // Sizes inside the model that are at their upper bounds: CountOptions::upper_bounds.
  std::vector<SymbolOrigin> raised;
};

std::string ToText(const Explanation& explanation, const TableStyle& style);
// The same lines for other drawers.
Document ToDocument(const Explanation& explanation);
// Of a module that was counted alone, with rows of nodes: its content, and its costliest nodes.
std::string ExplainModule(const Report& module, const TableStyle& style);
// JSON: "onnxflops.explain/1" (tools/schema/explain.v1.schema.json).
std::string ToJson(const Explanation& explanation);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_EXPLAIN_EXPLAIN_H_
