// Loops and branches: how often their bodies ran, compared with the count.
#ifndef ONNXFLOPS_SRC_PROFILE_CONTROL_ROWS_H_
#define ONNXFLOPS_SRC_PROFILE_CONTROL_ROWS_H_

#include <vector>

#include "src/profile/join_profile.h"
#include "src/profile/measured.h"
#include "src/profile/profile_report.h"
#include "src/profile/run_times.h"

namespace onnxflops::profile {

// For kernels that ran a body, in the order of the profile. `optimized`: as in JoinProfile.
std::vector<ProfileControl> ControlRows(const Side& original, const Side* optimized,
                                        const Profile& profile, const RunTimes& times);

}  // namespace onnxflops::profile

#endif  // ONNXFLOPS_SRC_PROFILE_CONTROL_ROWS_H_
