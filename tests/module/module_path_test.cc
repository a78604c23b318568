// Paths of modules: what is within what, and which modules names of nodes, weights and metadata
// make, up to the limits.
#include "src/module/module_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "src/base/limits.h"

namespace onnxflops::modules::module_path_test {
namespace {

using testing::ElementsAre;

using Parts = std::vector<std::string>;
using Props = std::vector<std::pair<absl::string_view, absl::string_view>>;

class RandomParts {
 public:
  explicit RandomParts(uint32_t seed) : random_(seed) {}
  size_t Below(size_t n) { return random_() % n; }
  Parts Next(size_t most) {
    static const char* const kNames[] = {"a", "ab", "b", "abcdefgh", "abcdefgi", "abcdefghi"};
    Parts parts(Below(most + 1));
    for (std::string& part : parts) part = kNames[Below(6)];
    return parts;
  }

 private:
  std::mt19937 random_;
};

std::string Path(const Parts& parts) { return absl::StrJoin(parts, "."); }

// By the parts, one by one.
TEST(PathsTest, WithinAndInCommon) {
  RandomParts random(1);
  for (int i = 0; i < 20'000; ++i) {
    const Parts a = random.Next(4), b = random.Next(4);
    Parts common;
    while (common.size() < std::min(a.size(), b.size()) && a[common.size()] == b[common.size()]) {
      common.push_back(a[common.size()]);
    }
    EXPECT_EQ(CommonPath(Path(a), Path(b)), Path(common)) << Path(a) << " and " << Path(b);
    EXPECT_EQ(IsWithin(Path(a), Path(b)), common.size() == b.size())
        << Path(a) << " in " << Path(b);
    const Parts parent(a.begin(), a.empty() ? a.end() : a.end() - 1);
    EXPECT_EQ(ParentPath(Path(a)), Path(parent));
  }
}

TEST(PathsTest, NamesOfParameters) {
  EXPECT_TRUE(IsParameterPath("a.weight"));
  EXPECT_TRUE(IsParameterPath(std::string(kMaxModulePath - 1, 'x') + "."));
  EXPECT_FALSE(IsParameterPath(std::string(kMaxModulePath, 'x') + "."));
  for (const char* name : {"", "weight", "onnx::a.b", "/a/b.c"}) {
    EXPECT_FALSE(IsParameterPath(name)) << name;
  }
}

// Each name is read as if it were the only one, whatever was asked before it.
TEST(PathsTest, NamesOfNodesWhateverCameBefore) {
  RandomParts random(2);
  ModulePaths paths({});
  std::string name;
  std::vector<std::string> kept;
  kept.reserve(20'000);
  for (int i = 0; i < 20'000; ++i) {
    Parts parts = random.Next(5);
    // The name of a level, so that none repeats that of the module around it.
    for (size_t k = 0; k < parts.size(); ++k) absl::StrAppend(&parts[k], k);
    const std::string& text =
        kept.emplace_back(absl::StrCat(random.Below(2) == 0 ? "/" : "", absl::StrJoin(parts, "/"),
                                       random.Below(5) == 0 ? "//" : "/", "Op"));
    const OptionalModuleId module = paths.FromNodeName(text);
    ASSERT_TRUE(module.has_value());
    EXPECT_EQ(paths.path(*module), Path(parts)) << text;
    EXPECT_EQ(paths.Find(Path(parts)), module);
    if (*module == kRootModule) continue;
    parts.pop_back();
    EXPECT_EQ(paths.path(paths.ParentOf(*module)), Path(parts));
  }
  EXPECT_FALSE(paths.cut());
}

std::string Deep(int depth, const char* separator) {
  Parts parts;
  for (int i = 0; i < depth; ++i) parts.push_back(absl::StrCat("m", i));
  return absl::StrJoin(parts, separator);
}

TEST(PathsTest, AsDeepAsTheLimit) {
  const std::string most = Deep(kMaxModuleDepth, "."), more = Deep(kMaxModuleDepth + 1, ".");
  {
    ModulePaths paths({});
    EXPECT_EQ(paths.path(paths.Intern(most)), most);
    EXPECT_EQ(paths.path(paths.FromWeight(most + ".weight")), most);
    const std::string name = "/" + Deep(kMaxModuleDepth, "/") + "/Op";
    EXPECT_EQ(paths.path(*paths.FromNodeName(name)), most);
    EXPECT_FALSE(paths.cut());
  }
  ModulePaths interned({}), named({}), weighed({});
  EXPECT_EQ(interned.path(interned.Intern(more)), most);
  EXPECT_TRUE(interned.cut());
  const std::string name = "/" + Deep(kMaxModuleDepth + 1, "/") + "/Op";
  EXPECT_EQ(named.path(*named.FromNodeName(name)), most);
  EXPECT_TRUE(named.cut());
  EXPECT_EQ(weighed.path(weighed.FromWeight(more + ".weight")), most);
}

TEST(PathsTest, AsLongAsTheLimit) {
  const std::string most(kMaxModulePath - 4, 'x');
  ModulePaths paths({});
  EXPECT_EQ(paths.path(paths.Intern("a." + most + ".b")).size(), kMaxModulePath);
  EXPECT_FALSE(paths.cut());
  EXPECT_EQ(paths.path(paths.Intern("a." + most + ".bc")), "a." + most);
  EXPECT_TRUE(paths.cut());
  EXPECT_EQ(paths.path(paths.Intern("a." + most + "yyyyy.b")), "a");
  // A component beyond it adds nothing, nor does what is inside of it.
  ModulePaths named({});
  const std::string name = "/a/" + most + "/bc/d/Op";
  EXPECT_EQ(named.path(*named.FromNodeName(name)), "a." + most);
  EXPECT_TRUE(named.cut());
}

TEST(PathsTest, NoMoreModulesThanTheLimit) {
  ModulePaths paths({}, /*containers=*/true, /*max_modules=*/4);
  EXPECT_EQ(paths.path(paths.FromWeight("a.b.weight")), "a.b");
  EXPECT_EQ(paths.path(paths.Intern("c")), "c");
  EXPECT_FALSE(paths.cut());
  EXPECT_EQ(paths.path(paths.Intern("a.b.d.e", *paths.Find("a"))), "a.b");
  EXPECT_TRUE(paths.cut());
  EXPECT_EQ(paths.Intern("f"), kRootModule);
  EXPECT_EQ(paths.Intern("c"), *paths.Find("c"));
  EXPECT_EQ(paths.size(), 4U);
  EXPECT_EQ(paths.path(paths.Around("a.b.x.y")), "a.b");
  EXPECT_EQ(paths.Around("x.y"), kRootModule);
}

TEST(PathsTest, NoMoreBytesThanTheLimit) {
  const std::string half(kMaxModuleBytes, 'x');
  ModulePaths paths({}, false, /*max_modules=*/3);
  EXPECT_EQ(paths.path(paths.Intern(half)), half);
  EXPECT_EQ(paths.path(paths.Intern(half + half.substr(1) + "yy")), "");  // by a byte
  EXPECT_EQ(paths.path(paths.Intern(half + half.substr(1) + "y")), half + half.substr(1) + "y");
}

// In a ModuleList nothing runs, so that names of nodes do not have it.
TEST(PathsTest, ListsOfModulesAreModulesOnDemand) {
  for (const bool containers : {false, true}) {
    ModulePaths paths({}, containers);
    const ModuleId id = paths.FromWeight("m.layers.10.fc.weight");
    EXPECT_EQ(paths.path(id), "m.layers.10.fc");
    EXPECT_EQ(paths.Find("m.layers").has_value(), containers);
    EXPECT_TRUE(paths.Find("m").has_value() && paths.Find("m.layers.10").has_value());
    const ModuleId tenth = paths.ParentOf(id);
    EXPECT_EQ(paths.path(tenth), "m.layers.10");
    EXPECT_EQ(paths.path(paths.ParentOf(tenth)), containers ? "m.layers" : "m");
    EXPECT_EQ(paths.FromWeight("m.layers.10.fc.bias"), id);
    EXPECT_EQ(paths.FromWeight("m.layers.10.fc.bias"), id);
    EXPECT_EQ(paths.path(paths.FromWeight("m.layers.x1.weight")), "m.layers.x1");
    EXPECT_TRUE(paths.Find("m.layers").has_value());
  }
}

TEST(PathsTest, ScopesWhateverCameBefore) {
  RandomParts random(3);
  ModulePaths paths({});
  std::vector<std::string> kept;
  kept.reserve(5'000);
  for (int i = 0; i < 5'000; ++i) {
    Parts parts = random.Next(4);
    std::string scopes = "['', ", path;
    for (const std::string& part : parts) {
      absl::StrAppend(&path, path.empty() ? "" : ".", part);
      absl::StrAppend(&scopes, "'", path, "', ");
    }
    const Props props = {{"pkg.torch.onnx.name_scopes",
                          kept.emplace_back(absl::StrCat(scopes, "'op_", i % 3, "']"))}};
    const OptionalModuleId module = paths.FromMetadata(exporter::NodeMetadata(props));
    ASSERT_TRUE(module.has_value());
    EXPECT_EQ(paths.path(*module), path) << kept.back();
  }
}

TEST(PathsTest, ScopesAsLongAsTheLimit) {
  const std::string end = "', 'op']";
  for (const size_t more : {0, 1}) {
    ModulePaths paths({});
    std::string scopes = "['', 'a', '" + std::string(kMaxScopesText + more, 'x');
    scopes.resize(kMaxScopesText + more - end.size());
    scopes += end;
    const std::string classes(kMaxScopesText + more, 'c');
    const Props by_scopes = {{"pkg.torch.onnx.name_scopes", scopes}};
    const Props by_classes = {{"pkg.torch.onnx.name_scopes", "['', 'b', 'op']"},
                              {"pkg.torch.onnx.class_hierarchy", classes}};
    EXPECT_EQ(paths.FromMetadata(exporter::NodeMetadata(by_classes)).has_value(), more == 0);
    EXPECT_EQ(paths.cut(), more == 1);
    EXPECT_EQ(paths.FromMetadata(exporter::NodeMetadata(by_scopes)).has_value(), more == 0);
    EXPECT_TRUE(paths.cut());  // the path itself is too long, or the text
  }
}

TEST(PathsTest, TheFirstTypeStays) {
  ModulePaths paths({});
  const ModuleId id = paths.Intern("a");
  EXPECT_EQ(paths.type(id), "");
  paths.SetTypeIfUnknown(id, "");
  paths.SetTypeIfUnknown(id, "Linear");
  paths.SetTypeIfUnknown(id, "Conv2d");
  EXPECT_EQ(paths.type(id), "Linear");
  EXPECT_EQ(paths.type(kRootModule), "");
}

// A name that ends in a number is the second call of a module, unless some weight is of that one.
TEST(PathsTest, WeightsDecideWhatANameIs) {
  ModulePaths paths({"h.fc_1.weight", "h.a.b_2.c.bias", "other", ".odd"});
  EXPECT_EQ(paths.path(*paths.FromNodeName("/h/fc/Op")), "h.fc");
  EXPECT_EQ(paths.path(*paths.FromNodeName("/h/fc_1/Op")), "h.fc_1");
  EXPECT_EQ(paths.path(*paths.FromNodeName("/h/a/b/Op")), "h.a.b");
  EXPECT_EQ(paths.path(*paths.FromNodeName("/h/a/b_2/Op")), "h.a.b_2");
  EXPECT_EQ(paths.path(*paths.FromNodeName("/h/a/b_3/Op")), "h.a.b");
  EXPECT_EQ(paths.path(*paths.FromNodeName("/h_1/Op")), "h");
}

}  // namespace
}  // namespace onnxflops::modules::module_path_test
