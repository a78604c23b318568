// Small dynamo exports for tests: nodes with the metadata that name a call of PyTorch.
//
//   TorchMaker make;
//   make.Input("x", {"3", "8"}).Weight("m.weight", {4, 8});
//   make.Node("n", "Gemm", {"x", "m.weight"}, {"y"}, {{"transB", 1}});
//   make.From(kLinear, "linear", "%x, %p_m_weight, %p_m_bias").Output("y");
#ifndef ONNXFLOPS_TESTS_CONVENTION_TORCH_MAKER_H_
#define ONNXFLOPS_TESTS_CONVENTION_TORCH_MAKER_H_

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/convention/torch/trace.h"
#include "tests/model_maker.h"

namespace onnxflops::convention {

class TorchMaker : public ModelMaker {
 public:
  TorchMaker() : ModelMaker(20) { proto.set_producer_name("pytorch"); }

  // The last node is part of the call `name` ("linear_1") of aten.linear.default, made by the
  // forward of a module of this class.
  TorchMaker& From(const std::string& class_name, const std::string& name, const std::string& args,
                   const std::string& kwargs = "") {
    return FromOperator(class_name, name, Operator(name), args, kwargs);
  }
  TorchMaker& FromOperator(const std::string& class_name, const std::string& name,
                           const std::string& op, const std::string& args,
                           const std::string& kwargs = "") {
    const std::string target = absl::StrCat("aten.", op, ".default");
    Scopes(absl::StrCat("['', 'm', '", name, "']"),
           absl::StrCat("['net.Net', '", class_name, "', '", target, "']"));
    Metadata(
        "pkg.torch.onnx.fx_node",
        absl::StrCat("%", name, " : [num_users=", num_users_, "] = call_function[target=torch.ops.",
                     target, "](args = (", args, "), kwargs = {", kwargs, "})"));
    return *this;
  }
  // Calls that use the results of the next calls.
  TorchMaker& Users(int users) {
    num_users_ = users;
    return *this;
  }
  TorchMaker& Ints(const std::string& attribute, const std::vector<int64_t>& values) {
    onnx::AttributeProto* a = node->add_attribute();
    a->set_name(attribute);
    a->set_type(onnx::AttributeProto::INTS);
    for (int64_t value : values) a->add_ints(value);
    return *this;
  }
  TorchMaker& Text(const std::string& attribute, const std::string& value) {
    onnx::AttributeProto* a = node->add_attribute();
    a->set_name(attribute);
    a->set_type(onnx::AttributeProto::STRING);
    a->set_s(value);
    return *this;
  }

 private:
  int num_users_ = 1;

  // "linear_1" -> "linear".
  static std::string Operator(const std::string& name) {
    const size_t underscore = name.rfind('_');
    const bool numbered = underscore != std::string::npos && underscore + 1 < name.size() &&
                          name.find_first_not_of("0123456789", underscore + 1) == std::string::npos;
    return numbered ? name.substr(0, underscore) : name;
  }
};

// The calls that are read from an export, with all that they point to.
struct Traced {
  explicit Traced(const ModelMaker& make)
      : model(make.Load().value()),
        inference(Infer(model).value()),
        counts(Count(inference).value()) {}
  const TorchTrace& trace() { return evidence.torch_trace(); }

  Model model;
  Inference inference;
  Counts counts;
  Evidence evidence{inference, counts};
};

}  // namespace onnxflops::convention

#endif  // ONNXFLOPS_TESTS_CONVENTION_TORCH_MAKER_H_
