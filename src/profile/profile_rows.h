// The rows of a joined profile for tables and CSV, and the lines above them.
#ifndef ONNXFLOPS_SRC_PROFILE_PROFILE_ROWS_H_
#define ONNXFLOPS_SRC_PROFILE_PROFILE_ROWS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "src/profile/profile_report.h"
#include "src/render/json_writer.h"

namespace onnxflops::profile {

// Rows that are not places of the model.
inline constexpr absl::string_view kNodesWithoutKernel = "(nodes without a kernel)";
inline constexpr absl::string_view kDidNotJoin = "(did not join)";
inline constexpr absl::string_view kOutsideKernels = "(outside kernels)";

struct ProfileRow {
  std::string name;  // with names of the model
  std::string type;  // class of a module, operator of a kernel
  ProfileWork work;
  enum class Kind : uint8_t {
    kPlace,
    kOthers,
    kNoKernel,
    kNotJoined,
    kOutside
  } kind = Kind::kPlace;
};

// The rows sum to ProfileReport::run_ns and run_flops, in the order of the view; rows that are not
// places of the model come last. With `cut`, at most as many rows as the view allows.
std::vector<ProfileRow> RowsOf(const ProfileReport& report, const ProfileView& view, bool cut);

double TimeShare(const ProfileReport& report, const ProfileWork& work);   // of a run
double FlopsShare(const ProfileReport& report, const ProfileWork& work);  // of all nodes

// "2 of 58 kernels, by name", "120 nodes without a kernel: 8.202 G FLOPs": how much was joined.
std::vector<std::string> JoinTexts(const ProfileReport& report);

// All of the JSON but its groups and modules, as members of an object.
void WriteSummary(const ProfileReport& report, report::JsonWriter* json);

}  // namespace onnxflops::profile

#endif  // ONNXFLOPS_SRC_PROFILE_PROFILE_ROWS_H_
