// Small operations on the facts that enter and leave bodies. Internal to src/infer.
#ifndef ONNXFLOPS_SRC_INFER_BODY_FACTS_H_
#define ONNXFLOPS_SRC_INFER_BODY_FACTS_H_

#include <optional>
#include <string>

#include "src/graph/fact.h"
#include "src/graph/model.h"

namespace onnxflops::infer {

// How symbols name a node: its name, else its first output's.
absl::string_view PlaceOf(const ModelData& data, NodeId id);

// True if two facts say the same of a value, whatever its origin.
bool SameKnowledge(const Fact& a, Fact b);

// `fact` with the origin of `other`; if unknown, from data.
Fact WithOrigin(Fact fact, const Fact& other);
Fact WithoutOrigin(Fact fact);

// `fact`, marked as from constants or shapes only if `other` is as well.
Fact WithOriginOfBoth(Fact fact, const Fact& other);

// The value of a boolean (or integer) scalar, if known.
std::optional<bool> KnownBool(const Fact& fact);

Fact WithoutContent(Fact fact);

// The tensor that stacking `length` elements along a new axis gives; a negative axis counts from
// the end of the result.
Fact Stack(const Fact& element, const Expr& length, int axis);

}  // namespace onnxflops::infer

#endif  // ONNXFLOPS_SRC_INFER_BODY_FACTS_H_
