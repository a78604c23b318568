// An index that may be absent: an omitted input, a value that no node produces, a node that calls
// no function. It does not convert to int, so it cannot be used as an index before it is checked.
//
//   if (const OptionalValueId x = node.input(2)) Use(model.value(*x));
//   if (model.value(id).producer == kNone) ...
#ifndef ONNXFLOPS_SRC_GRAPH_OPTIONAL_ID_H_
#define ONNXFLOPS_SRC_GRAPH_OPTIONAL_ID_H_

#include <cstdint>
#include <utility>

namespace onnxflops {

struct NoneType {};
inline constexpr NoneType kNone;

// `Tag` keeps the indices of different things apart.
template <typename Tag>
class OptionalId {
 public:
  constexpr OptionalId() = default;
  constexpr OptionalId(NoneType) {}  // NOLINT(google-explicit-constructor)
  // REQUIRES: id >= 0.
  constexpr OptionalId(int32_t id) : id_(id) {}  // NOLINT(google-explicit-constructor)

  constexpr bool has_value() const { return id_ >= 0; }
  constexpr explicit operator bool() const { return has_value(); }
  // REQUIRES: has_value(); the process ends otherwise, in every build.
  constexpr int32_t operator*() const {
    if (!has_value()) __builtin_trap();
    return id_;
  }

  constexpr int32_t value_or(int32_t other) const { return has_value() ? id_ : other; }

  friend constexpr bool operator==(OptionalId a, OptionalId b) { return a.id_ == b.id_; }
  friend constexpr bool operator==(OptionalId a, NoneType) { return !a.has_value(); }
  template <typename H>
  friend H AbslHashValue(H h, OptionalId id) {
    return H::combine(std::move(h), id.id_);
  }

 private:
  int32_t id_ = -1;
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_GRAPH_OPTIONAL_ID_H_
