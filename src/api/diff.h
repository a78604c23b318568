// Two models compared: what the verb `diff` does.
//
//   absl::StatusOr<onnxflops::Diff> diff = onnxflops::DiffModels(base, head, {});
//   std::cout << onnxflops::ToTable(*diff, {});
#ifndef ONNXFLOPS_SRC_API_DIFF_H_
#define ONNXFLOPS_SRC_API_DIFF_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "src/api/count.h"
#include "src/diff/diff.h"
#include "src/graph/model.h"
#include "src/report/report.h"

namespace onnxflops {

// Where one model fixes a size that the other leaves open: both at that size (Diff::made_equal),
// whatever is asked for, or the other at the size that is asked for (Diff::unequal_sizes).
enum class ComparedSizes : uint8_t { kEqual, kAsAsked };

// Both are counted with the same options. A binding may be of a symbol that only one of the models
// has. Errors: those of Count, and of MakeDiff.
absl::StatusOr<Diff> DiffModels(const Model& base, const Model& head,
                                const CountOptions& options = {},
                                ComparedSizes sizes = ComparedSizes::kEqual);
// The base is a report that was written earlier: ReadReport of read_report.h. FailedPrecondition as
// well where it was counted at other sizes.
absl::StatusOr<Diff> DiffModels(const Report& base, const Model& head,
                                const CountOptions& options = {},
                                ComparedSizes sizes = ComparedSizes::kEqual);
// There is no base: everything is new.
absl::StatusOr<Diff> DiffModels(const Model& head, const CountOptions& options = {});
// The same with a head that is a report that was written earlier.
absl::StatusOr<Diff> DiffModels(const Model& base, const Report& head,
                                const CountOptions& options = {},
                                ComparedSizes sizes = ComparedSizes::kEqual);
absl::StatusOr<Diff> DiffModels(const Report& base, const Report& head,
                                const CountOptions& options = {},
                                ComparedSizes sizes = ComparedSizes::kEqual);
absl::StatusOr<Diff> DiffModels(const Report& head, const CountOptions& options = {});

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_API_DIFF_H_
