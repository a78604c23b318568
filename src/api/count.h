// The driver: what the program's commands do, as functions. All of them run the stages in the same
// order with the same options, so that the library answers as the program does.
//
//   absl::StatusOr<onnxflops::Model> model = onnxflops::Load("clip.onnx");
//   absl::StatusOr<onnxflops::Report> report = onnxflops::Count(*model);
//   report->totals.flops.ToString()                // "14827185434*batch + 1"
//   report->At({{"batch", 8}})->flops.ToString()   // "118617483473"
//
// Errors of all of them: InvalidArgument where the model contradicts itself or the options, with
// the node and its inputs; OutOfRange where a limit is met (LimitOf names it) or a figure overflows
// 128 bits.
#ifndef ONNXFLOPS_SRC_API_COUNT_H_
#define ONNXFLOPS_SRC_API_COUNT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/user/user_rules.h"
#include "src/adapter/lora_options.h"
#include "src/api/official_bodies.h"
#include "src/api/samples.h"
#include "src/base/limits.h"
#include "src/compare/compare_report.h"
#include "src/cost/cost.h"
#include "src/explain/explain.h"
#include "src/graph/batch_size.h"
#include "src/graph/fact.h"
#include "src/graph/image_size.h"
#include "src/graph/model.h"
#include "src/hardware/device.h"
#include "src/memory/memory_options.h"
#include "src/report/report.h"
#include "src/resolve/ties.h"
#include "src/training/training_options.h"

namespace onnxflops {

// A device and the number type that it computes in.
struct DeviceChoice {
  Device device;
  Precision precision = Precision::kBf16;
};

struct CountOptions {
  // Sizes of symbolic dimensions by name. Other symbols stay symbolic.
  Bindings bindings;
  // Symbols that stay open even if the model states a size for them, such as past = 0.
  std::vector<std::string> open;
  // The length of sequences in a batch. It sets a size of the inputs that take tokens and replaces
  // their symbol in `bindings`. `mask_sum` is the sum over the batch; its mean is rounded up. Image
  // tokens that the model adds come on top.
  std::optional<int64_t> tokens, mask_sum;
  // The samples of a real run, with different sizes; Count and CountMfu sum over them. The batch
  // and these sizes must then not be in `bindings`. Fills in Report::samples. Memory holds padded
  // rows, so `memory` is that of the padded rectangle; times assume kernels that take all samples
  // at once. Errors: those of FindSamples; Unimplemented together with `upper_bounds`, or for
  // packed samples with `memory`; FailedPrecondition if a size decides which nodes run, so that no
  // formula exists.
  std::optional<Samples> samples;
  // Shapes and contents of graph inputs by name.
  absl::btree_map<std::string, Dims> input_shapes;
  absl::btree_map<std::string, Content> input_values;
  // Images of another size than in the export, if only shapes of the graph depend on it. Positions
  // are assumed to be resized before the run, and a warning says so. A configuration is built for
  // that size. Errors: InvalidArgument if no input is an image, or weights fix the size;
  // FailedPrecondition if a constant of the graph contains it.
  std::optional<ImageSize> image_size;
  // Another batch than in an export whose batch is fixed. A symbol then is a dimension of the
  // inputs. Works if all else that the file fixes is independent of the batch. Errors:
  // InvalidArgument if the inputs share no first size, or if it is open, or, with the node, if the
  // graph needs another one than this.
  std::optional<BatchSize> batch;
  // Operators of the user's own: LoadRules of ops/user/user_rules.h.
  Rules rules;
  // How operators with is_causal or unidirectional count: all pairs of a query and a key, or only
  // those that the mask lets through. A mask that is a tensor of the graph counts in full.
  CausalCounting causal = CausalCounting::kFull;
  // Adds low-rank adapters to linear layers, as if the file had them. Fills in Report::lora. The
  // file's weights are frozen: only adapters and TrainingOptions::trained are trained, and the
  // backward pass is always exact, with or without `training`. Errors: NotFound for a name that no
  // linear layer has; InvalidArgument for a module of another kind.
  std::optional<LoraOptions> lora;
  // Counts the backward pass exactly for the weights that are trained, instead of as twice the
  // forward pass. Fills in Report::training. Errors: NotFound for a pattern that matches nothing;
  // Unimplemented together with `module`.
  std::optional<TrainingOptions> training;
  // Bounds on the time of a run on a device: fills in Report::roofline and Amounts::time_bound.
  // Errors: FailedPrecondition if the device has no such peak, or no bandwidth; Unimplemented for a
  // loop of growing sizes whose bound has no closed form.
  std::optional<DeviceChoice> on_device;
  // What the model holds in memory, in inference and in a training step. Fills in Report::memory.
  // If `training` is not given, its training options also count the backward pass, unless that is
  // just twice the forward pass (HasOwnBackward). Errors: those of `training`.
  std::optional<MemoryOptions> memory;
  // The peak of activations alone: fills in Report::activation_peak if it can be found; a part of a
  // model has none.
  bool activation_peak = false;
  // Weights of the file that are one parameter. A copy adds no parameters, and is trained if its
  // original is. Errors: those of FindTies in src/resolve/ties.h.
  std::vector<TiedWeights> tied;
  // Fill in Report::nodes, which takes longer than counting.
  bool node_rows = false;
  // Counts only the modules with this path or glob, such as "visual.*.mlp", as if they were the
  // model. Empty: the whole model. Errors: NotFound, with similar paths.
  std::string module;
  // Sizes that depend on data at their upper bounds, as far as operators give them: at most so many
  // boxes, as NonMaxSuppression may keep. CompareTools and Explain raise those whose bound is a
  // number: sizes of inputs have to be given.
  bool upper_bounds = false;
  // Counts for other tools as under torch.no_grad(). By default gradients are on, as in the calls
  // that the tools' documentation shows. This matters because without gradients
  // nn.MultiheadAttention takes a fast path, which most tools do not see.
  bool no_grad = false;
  // Where operators without a rule are looked up; null: nowhere. By default this asks the official
  // library, in a separate process, if that program is installed.
  const FunctionBodySource* bodies = InstalledBodies();
  Limits limits;
};

// Counts the costs of a model.
absl::StatusOr<Report> Count(const Model& model, const CountOptions& options = {});

// Counts as another tool does, and sets Report::tool. Totals, operators, modules and nodes hold the
// tool's figures as far as it has them: in `macs` if it counts MACs, else in `flops`. Report::Has
// is false for other quantities, and writers leave them out. Shapes, symbols and coverage stay
// ours. Further errors: NotFound if no convention has this name; FailedPrecondition, with the
// reason, if the tool has no figure; Unimplemented for node rows of a model with functions.
absl::StatusOr<Report> CountAs(const Model& model, const CountOptions& options,
                               absl::string_view convention);

// The terms that lead from our count to other tools'. Errors also: NotFound for a name that no
// convention has.
// With samples, tools' figures are sums as ours are; a formula with one length for all tokens takes
// the longest one.
absl::StatusOr<CompareReport> CompareTools(const Model& model, const CountOptions& options,
                                           const CompareRequest& request);

// Explains one node: its formula, filled in, and its place. `node` is a node's name, or the name of
// one of its outputs. If several nodes have the name, it is the first of them; NAME#2 is the
// second. Further errors: NotFound, with similar names.
absl::StatusOr<Explanation> Explain(const Model& model, const CountOptions& options,
                                    absl::string_view node);

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_COUNT_H_
