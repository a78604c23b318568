// Tables that tests keep, so that a change of what they say shows: UPDATE_GOLDENS=1 writes them.
#ifndef ONNXFLOPS_TESTS_KEPT_TABLE_H_
#define ONNXFLOPS_TESTS_KEPT_TABLE_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace onnxflops {

// The lines of tests/data/NAME, those that begin with "# " left out, are these.
inline void ExpectKept(const std::vector<std::string>& found, const std::string& name) {
  const std::string path = absl::StrCat(ONNXFLOPS_SOURCE_DIR "/tests/data/", name);
  std::vector<std::string> head, kept;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    (absl::StartsWith(line, "# ") ? head : kept).push_back(line);
  }
  if (std::getenv("UPDATE_GOLDENS") != nullptr) {
    head.insert(head.end(), found.begin(), found.end());
    std::ofstream(path) << absl::StrJoin(head, "\n") << "\n";
    return;
  }
  EXPECT_EQ(found.size(), kept.size()) << name;
  for (size_t i = 0; i < found.size() && i < kept.size(); ++i) {
    ASSERT_EQ(found[i], kept[i]) << name << ":" << head.size() + i + 1;
  }
}

}  // namespace onnxflops

#endif  // ONNXFLOPS_TESTS_KEPT_TABLE_H_
