// onnxflops_tests [NAME] [--gtest_...]: runs the tests of one file, NAME.cc, or all.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace {

// The filter that lets the tests of a file run; empty if there are none.
std::string TestsOf(absl::string_view name) {
  const std::string file = absl::StrCat("/", name, ".cc");
  std::string filter;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const testing::TestInfo& test = *suite.GetTestInfo(j);
      if (!absl::EndsWith(test.file(), file)) continue;
      absl::StrAppend(&filter, filter.empty() ? "" : ":", suite.name(), ".", test.name());
    }
  }
  return filter;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc == 1) return RUN_ALL_TESTS();
  const std::string filter = TestsOf(argv[1]);
  if (argc > 2 || filter.empty() || testing::GTEST_FLAG(filter) != "*") {
    std::fprintf(stderr,
                 "usage: onnxflops_tests [NAME | --gtest_filter=...], the tests of NAME.cc\n");
    return 2;
  }
  testing::GTEST_FLAG(filter) = filter;
  return RUN_ALL_TESTS();
}
