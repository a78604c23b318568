// Tables of what the code says of many small cases. They show a change and prove nothing, so none
// is kept: tools/devel/changes writes those of two states and shows what differs.
#ifndef ONNXFLOPS_TESTS_TABLE_H_
#define ONNXFLOPS_TESTS_TABLE_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"

namespace onnxflops {

// With ONNXFLOPS_TABLES=DIR writes the lines to DIR/NAME.
inline void WriteTable(const std::vector<std::string>& lines, const std::string& name) {
  const char* folder = std::getenv("ONNXFLOPS_TABLES");
  if (folder == nullptr) return;
  std::ofstream file(std::string(folder) + "/" + name);
  file << absl::StrJoin(lines, "\n") << "\n";
  EXPECT_TRUE(file.flush().good()) << folder << "/" << name;
}

}  // namespace onnxflops

#endif  // ONNXFLOPS_TESTS_TABLE_H_
