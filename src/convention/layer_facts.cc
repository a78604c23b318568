// How it works. The operator of experts has their weights as inputs [experts, ...], and the number
// of experts that a token is routed to as its attribute k. Its weights of rank 3 are matrices of
// the width of a token and that of an expert, or twice the latter where a gate is in the same
// matrix. So the smallest of these sizes is the width of an expert, and the number of elements
// tells how many matrices it has. Only if all layers agree, they are parameters of a formula.
//
// Experts that every token takes, and latent attention, are plain matrices. They are found by the
// names that transformers gives its parameters ("shared_experts", "kv_a_layernorm"). Files whose
// exporter renamed them have none of these parameters, and a formula names what it lacks.
//
// What the graph does not have is read from the configuration: layers that predict further tokens
// in training, and windows.
#include "src/convention/layer_facts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "src/base/json_reader.h"
#include "src/base/limits.h"
#include "src/family/family.h"

namespace onnxflops {
namespace {

using Json = nlohmann::json;

// Of the operators that are a mixture of experts.
class ExpertFinder {
 public:
  ExpertFinder(const Inference& inference, absl::Span<const resolve::Parameter> parameters,
               const std::optional<Expr>& token_width)
      : in_(inference), model_(*inference.model), token_width_(token_width) {
    for (const resolve::Parameter& p : parameters) elements_.emplace(p.value, Expr(p.elements));
  }

  void Run() {
    for (InstanceId id : in_.callees_first) {
      const Instance& instance = in_.instance(id);
      const std::vector<NodeId>& nodes = model_.graph(instance.graph).nodes;
      for (size_t i = 0; i < nodes.size(); ++i) {
        Add(model_.node(nodes[i]), in_.call(instance.calls[i]));
      }
    }
  }

  int64_t layers() const { return layers_; }
  // Parameters of experts that a token is not routed to, each tensor once.
  const Expr& idle() const { return idle_; }

  struct Layer {
    Expr of_token, width, matrices;
    bool operator==(const Layer&) const = default;
  };
  const std::optional<Layer>& layer() const { return layer_; }  // if all agree

 private:
  void Add(const Node& node, const Call& call) {
    const uint32_t experts = call.def == nullptr ? 0 : call.def->operands.experts;
    if (experts == 0) return;
    const Attribute* k = node.FindAttribute("k");
    const Expr of_token = k == nullptr ? Expr(1) : Expr(k->i);
    std::vector<const Shape*> matrices;
    for (size_t i = 0; i < node.inputs.size() && i < call.inputs.size() && i < 32; ++i) {
      if ((experts >> i & 1) == 0 || !node.inputs[i]) continue;
      const Fact& fact = in_.fact(call.inputs[i]);
      if (!fact.shape.ranked() || fact.shape.rank() == 0 || fact.shape[0] == Expr(0)) continue;
      if (fact.shape.rank() == 3) matrices.push_back(&fact.shape);
      const auto weight = elements_.find(*node.inputs[i]);
      if (weight == elements_.end()) continue;
      const Expr unused = Max(fact.shape[0] - of_token, 0);
      idle_ += FloorDiv(weight->second * unused, fact.shape[0]);
      elements_.erase(weight);
    }
    const std::optional<Layer> layer = LayerOf(matrices, of_token);
    if (layers_++ == 0) {
      layer_ = layer;
    } else if (layer != layer_) {
      layer_.reset();
    }
  }

  std::optional<Layer> LayerOf(absl::Span<const Shape* const> matrices,
                               const Expr& of_token) const {
    if (!token_width_ || matrices.empty()) return std::nullopt;
    const Expr& token = *token_width_;
    std::optional<Expr> width;
    Expr elements = 0;  // of an expert
    for (const Shape* shape : matrices) {
      const Expr &rows = (*shape)[1], &columns = (*shape)[2];
      if (rows != token && columns != token) return std::nullopt;
      const Expr& other = rows == token ? columns : rows;
      if (!width || width->AtLeast(other)) width = other;
      elements += rows * columns;
    }
    const Expr each = token * *width;
    if (each == Expr(0)) return std::nullopt;
    const Expr count = FloorDiv(elements, each);
    if (count * each != elements) return std::nullopt;  // narrow weights share a byte
    return Layer{of_token, *width, count};
  }

  const Inference& in_;
  const ModelData& model_;
  const std::optional<Expr> token_width_;
  absl::flat_hash_map<ValueId, Expr> elements_;
  Expr idle_ = 0;
  int64_t layers_ = 0;
  std::optional<Layer> layer_;
};

// Elements of the weights whose names contain `part`, divided by `each`; 0 without any.
Expr ElementsNamed(absl::Span<const resolve::Parameter> parameters, absl::string_view part,
                   const Expr& least) {
  Expr elements = 0;
  for (const resolve::Parameter& parameter : parameters) {
    const Expr size(parameter.elements);
    if (!absl::StrContains(parameter.name, part) || least.AtLeast(size)) continue;
    elements += size;
  }
  return elements;
}

// The elements of one weight whose name ends in `end`.
std::optional<Expr> ElementsOfOne(absl::Span<const resolve::Parameter> parameters,
                                  absl::string_view end) {
  const auto* const found =
      std::find_if(parameters.begin(), parameters.end(),
                   [&](const resolve::Parameter& p) { return absl::EndsWith(p.name, end); });
  return found == parameters.end() ? std::nullopt : std::optional<Expr>(Expr(found->elements));
}

Json ConfigurationOf(const ModelData& model) {
  const absl::string_view text = ConfigOf(model);
  if (text.empty()) return Json();
  absl::StatusOr<Json> parsed = ParseJson(text, {.not_numbers = true});
  return parsed.ok() && parsed->is_object() ? *std::move(parsed) : Json();
}

std::optional<int64_t> SizeAt(const Json& config, const char* key) {
  const auto at = config.find(key);
  const auto* size = at == config.end() ? nullptr : at->get_ptr<const uint64_t*>();
  if (size == nullptr || *size > uint64_t{kMaxConfigSize}) return std::nullopt;
  return static_cast<int64_t>(*size);
}

// Attention to the last tokens only, in some layers or all.
bool HasWindows(const Json& config) {
  const auto use = config.find("use_sliding_window");
  if (use != config.end() && *use == false) return false;
  return SizeAt(config, "sliding_window").value_or(0) > 0;
}

}  // namespace

void ReadExperts(const Inference& inference, absl::Span<const resolve::Parameter> parameters,
                 FormulaParameters* p) {
  ExpertFinder finder(inference, parameters, p->d);
  finder.Run();
  if (finder.layers() == 0) return;
  p->a = *p->n - finder.idle();
  p->m = Expr(finder.layers());
  if (!finder.layer()) return;
  p->r = finder.layer()->of_token;
  p->w = finder.layer()->width;
  p->x = finder.layer()->matrices;
  // Only a configuration's names are sure to be those of transformers.
  if (ConfigOf(*inference.model).empty()) return;
  const Expr each = *p->m * *p->x * *p->d;
  const Expr shared = ElementsNamed(parameters, "shared_expert", *p->d);
  if (FloorDiv(shared, each) * each == shared) p->s = FloorDiv(shared, each);
}

void ReadLatentAttention(absl::Span<const resolve::Parameter> parameters, FormulaParameters* p) {
  const std::optional<Expr> keys = ElementsOfOne(parameters, "kv_a_layernorm.weight");
  const std::optional<Expr> down = ElementsOfOne(parameters, "kv_a_proj_with_mqa.weight");
  const std::optional<Expr> out = ElementsOfOne(parameters, "self_attn.o_proj.weight");
  if (!keys || !down || !out || !p->d || !p->h || *p->d == Expr(0) || *p->h == Expr(0)) return;
  p->u = *keys;
  p->c = ElementsOfOne(parameters, "q_a_layernorm.weight").value_or(0);
  p->g = FloorDiv(*down, *p->d) - *keys;
  p->o = FloorDiv(*out, *p->d * *p->h);
}

Expr FurtherTokenLayers(const ModelData& model) {
  const Json config = ConfigurationOf(model);
  for (const char* key : {"num_nextn_predict_layers", "mtp_num_hidden_layers"}) {
    if (const std::optional<int64_t> layers = SizeAt(config, key)) return Expr(*layers);
  }
  return 0;
}

std::string OtherLayersOfBridge(const ModelData& model, const FormulaParameters& p) {
  const Json config = ConfigurationOf(model);
  if (!config.is_object()) return "";
  if (HasWindows(config)) return "the formula has another term for layers with a window";
  if (config.contains("index_topk")) {
    return "the formula has another term for attention that an indexer chooses";
  }
  const std::optional<int64_t> layers = SizeAt(config, "num_hidden_layers");
  if (layers && p.l && (p.m || p.u) && *p.l != Expr(*layers)) {
    return "the formula has another term for layers without attention";
  }
  return "";
}

}  // namespace onnxflops
