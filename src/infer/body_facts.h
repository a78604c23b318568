// Small operations on the facts that go into bodies and come out of them. Internal to src/infer.
#ifndef ONNXFLOPS_SRC_INFER_BODY_FACTS_H_
#define ONNXFLOPS_SRC_INFER_BODY_FACTS_H_

#include <optional>
#include <string>

#include "src/graph/fact.h"
#include "src/graph/model.h"

namespace onnxflops::infer {

// How symbols name a node: its name, else its first output's.
absl::string_view PlaceOf(const ModelData& data, NodeId id);

// Whether two facts say the same of a value, wherever it comes from.
bool SameKnowledge(const Fact& a, Fact b);

// `fact`, which comes from where `other` does; from data, as far as is known.
Fact WithOrigin(Fact fact, const Fact& other);
Fact WithoutOrigin(Fact fact);

// `fact`, which comes from constants only, or from shapes only, if `other` does, too.
Fact WithOriginOfBoth(Fact fact, const Fact& other);

// The value of a boolean (or integer) scalar, if known.
std::optional<bool> KnownBool(const Fact& fact);

Fact WithoutContent(Fact fact);

// The tensor that stacking `length` elements along a new axis gives; a negative axis counts from
// the end of the result.
Fact Stack(const Fact& element, const Expr& length, int axis);

}  // namespace onnxflops::infer

#endif  // ONNXFLOPS_SRC_INFER_BODY_FACTS_H_
