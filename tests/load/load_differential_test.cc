// Two readers of one format: what Load makes of a file is held against protobuf's own ModelProto,
// field by field, on real models, on ONNX's node tests, and on files damaged at random.
//
// Damaged files may be refused for what they say, which protobuf does not look at; as far as the
// wire format goes, both readers accept and refuse the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/descriptor.h"
#include "onnx/onnx_pb.h"
#include "src/load/load_file.h"
#include "tests/load/load_bytes.h"
#include "tests/load/load_compare.h"

namespace onnxflops::load_differential_test {
namespace {

namespace fs = std::filesystem;

std::string ReadFile(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<fs::path> ModelsIn(const fs::path& directory) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.path().extension() == ".onnx") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// ONNX's node tests, unpacked for the time of a test.
class NodeSuite {
 public:
  NodeSuite() {
    std::string pattern = fs::temp_directory_path() / "onnxflops_node_suite_XXXXXX";
    directory_ = mkdtemp(pattern.data());
    const std::string command = "tar -xJf '" ONNXFLOPS_SOURCE_DIR
                                "/tests/data/node_suite.tar.xz' -C '" +
                                directory_.string() + "'";
    if (std::system(command.c_str()) == 0) models_ = ModelsIn(directory_);
  }
  ~NodeSuite() { fs::remove_all(directory_); }
  const std::vector<fs::path>& models() const { return models_; }

 private:
  fs::path directory_;
  std::vector<fs::path> models_;
};

void ExpectSame(const fs::path& path) {
  onnx::ModelProto proto;
  ASSERT_TRUE(proto.ParseFromString(ReadFile(path)));
  const absl::StatusOr<Model> model = LoadFile(path.string());
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(absl::StrJoin(Differences(proto, **model), "\n"), "") << path;
}

TEST(LoadDifferentialTest, ModelsOfTheRepository) {
  const std::vector<fs::path> models = ModelsIn(ONNXFLOPS_SOURCE_DIR "/models");
  EXPECT_FALSE(models.empty());
  for (const fs::path& path : models) ExpectSame(path);
}

TEST(LoadDifferentialTest, NodeSuite) {
  const NodeSuite suite;
  EXPECT_GE(suite.models().size(), 1884u);
  for (const fs::path& path : suite.models()) ExpectSame(path);
}

// Without this a comparison that compares nothing would pass.
TEST(LoadDifferentialTest, TheComparisonSees) {
  const std::vector<fs::path> models = ModelsIn(ONNXFLOPS_SOURCE_DIR "/models");
  ASSERT_FALSE(models.empty());
  const absl::StatusOr<Model> model = LoadFile(models[0].string());
  ASSERT_TRUE(model.ok()) << model.status();
  const auto differences = [&](auto&& change) {
    onnx::ModelProto proto;
    EXPECT_TRUE(proto.ParseFromString(ReadFile(models[0])));
    change(proto);
    return Differences(proto, **model).size();
  };
  using Proto = onnx::ModelProto;
  EXPECT_EQ(differences([](Proto&) {}), 0u);
  EXPECT_GT(differences([](Proto& p) { p.set_ir_version(2); }), 0u);
  EXPECT_GT(differences([](Proto& p) { p.mutable_graph()->mutable_node(3)->set_name("x"); }), 0u);
  EXPECT_GT(differences([](Proto& p) { p.mutable_graph()->mutable_node(3)->set_output(0, "x"); }),
            0u);
  EXPECT_GT(differences([](Proto& p) { p.mutable_graph()->mutable_initializer(0)->add_dims(2); }),
            0u);
  EXPECT_GT(differences([](Proto& p) { p.mutable_graph()->mutable_input(0)->clear_type(); }), 0u);
  EXPECT_GT(differences([](Proto& p) { p.mutable_graph()->mutable_node()->RemoveLast(); }), 0u);
}

using Random = std::mt19937_64;

size_t Below(Random& random, size_t n) { return n == 0 ? 0 : random() % n; }

// One random change: a bit, a byte, bytes left out, doubled, or put in from elsewhere.
void Damage(std::string& bytes, Random& random) {
  const size_t at = Below(random, bytes.size());
  const size_t n = std::min(Below(random, 12) + 1, bytes.size() - at);
  switch (Below(random, 6)) {
    case 0:
    case 1:
      if (!bytes.empty()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << Below(random, 8)));
      break;
    case 2:
      if (!bytes.empty()) bytes[at] = static_cast<char>(random());
      break;
    case 3:
      bytes.erase(at, n);
      break;
    case 4:
      bytes.insert(at, bytes.substr(at, n));
      break;
    default:
      bytes.insert(at, bytes.substr(Below(random, bytes.size()), n));
  }
}

bool IsWireError(absl::string_view message) {
  return absl::StrContains(message, ": truncated") || absl::StrContains(message, ": damaged");
}

void CheckDamaged(const std::string& bytes, const std::string& what) {
  onnx::ModelProto proto;
  const bool parsed = proto.ParseFromString(bytes);
  const absl::StatusOr<Model> model = LoadFromBytes(bytes, "damaged");
  if (!model.ok()) {
    const absl::string_view message = model.status().message();
    EXPECT_TRUE(!parsed || !IsWireError(message)) << what << " is refused: " << message;
    EXPECT_TRUE(absl::StartsWith(message, "damaged: ")) << message;
    EXPECT_FALSE(absl::StrContains(message, "\n")) << message;
  } else if (parsed) {
    EXPECT_EQ(absl::StrJoin(Differences(proto, **model), "\n"), "") << what;
  } else {
    ADD_FAILURE() << what << " is accepted, and refused by protobuf";
  }
}

// ONNXFLOPS_MUTANTS sets how many damaged files there are, ONNXFLOPS_SEED which.
uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

TEST(LoadDifferentialTest, DamagedFiles) {
  const NodeSuite suite;
  std::vector<std::string> files;
  for (const fs::path& path : suite.models()) {
    if (fs::file_size(path) < 20'000) files.push_back(ReadFile(path));
  }
  ASSERT_GT(files.size(), 1000u);
  const uint64_t seed = FromEnvironment("ONNXFLOPS_SEED", 1);
  const uint64_t mutants = FromEnvironment("ONNXFLOPS_MUTANTS", 40'000);
  for (uint64_t i = 0; i < mutants && !HasFailure(); ++i) {
    Random random(seed << 32 | i);
    std::string bytes = files[Below(random, files.size())];
    for (size_t n = Below(random, 3) + 1; n > 0; --n) Damage(bytes, random);
    CheckDamaged(bytes, "mutant " + std::to_string(i));
    if (HasFailure()) std::ofstream(fs::temp_directory_path() / "mutant.onnx") << bytes;
  }
}

// Protobuf knows groups, though ONNX has none: they are unknown fields, or damaged as protobuf has
// it. At the top, and in the graph.
TEST(LoadDifferentialTest, GroupsAreReadAsProtobufReadsThem) {
  const auto open = [](uint32_t field) { return Varint(field << 3 | 3); };
  const auto close = [](uint32_t field) { return Varint(field << 3 | 4); };
  const std::string inside = Number(1, 7) + Bytes(7, "text") + Varint(9 << 3 | 5) + "four";
  std::string deep, end;
  for (uint32_t i = 50; i < 90; ++i) {
    deep += open(i);
    end.insert(0, close(i));
  }
  const std::string groups[] = {
      open(50) + close(50),
      open(50) + inside + close(50),
      deep + inside + end,
      open(7) + inside + close(7),
      open(50) + close(51),
      open(50) + inside,
      close(50),
      deep + end + close(50),
      open(50) + Varint(3) + close(50),
  };
  const std::string start = Number(1, 8) + Opset("", 17);
  int64_t loaded = 0;
  for (const std::string& group : groups) {
    for (const std::string& bytes :
         {start + Bytes(7, Named("g")) + group, group + start + Bytes(7, Named("g")),
          start + Bytes(7, Named("g") + group) + Bytes(7, group)}) {
      CheckDamaged(bytes, absl::CHexEscape(group));
      loaded += LoadFromBytes(bytes, "damaged").ok() ? 1 : 0;
    }
  }
  EXPECT_EQ(loaded, 12);  // the first four
}

// ---- graphs inside graphs

// Random graphs whose nodes hold graphs, which use names from around them and define some again.
// All of it stands in random order.
class RandomGraphs {
 public:
  explicit RandomGraphs(uint64_t seed) : random_(seed) {}

  onnx::ModelProto Model() {
    onnx::ModelProto model;
    model.set_ir_version(8);
    model.add_opset_import()->set_version(17);
    const size_t before = Below(random_, 2), behind = Below(random_, 2);
    for (size_t i = 0; i < before + behind; ++i) {
      onnx::FunctionProto* function = model.add_functions();
      function->set_name("F" + std::to_string(i));
      function->add_opset_import()->set_version(17);
      onnx::GraphProto graph;
      Fill(&graph, {}, 1, /*is_function=*/true);
      for (const auto& input : graph.input()) function->add_input(input.name());
      for (const auto& output : graph.output()) function->add_output(output.name());
      *function->mutable_node() = graph.node();
      *function->mutable_value_info() = graph.value_info();
    }
    Fill(model.mutable_graph(), {}, 0, false);
    return model;
  }

 private:
  using Names = std::vector<std::string>;

  std::string NewName() { return "v" + std::to_string(++names_); }

  template <typename T>
  void Shuffle(google::protobuf::RepeatedPtrField<T>* items) {
    if (Below(random_, 3) == 0) return;  // as it was made
    for (int i = items->size() - 1; i > 0; --i) {
      items->SwapElements(i, static_cast<int>(Below(random_, static_cast<size_t>(i) + 1)));
    }
  }

  // `outer`: names from around it, which its nodes may use and define again.
  void Fill(onnx::GraphProto* graph, Names outer, int depth, bool is_function) {
    Names own;
    for (size_t i = Below(random_, 3); i > 0; --i)
      graph->add_input()->set_name(own.emplace_back(NewName()));
    for (size_t i = Below(random_, 3); i > 0 && !is_function; --i) {
      onnx::TensorProto* tensor = graph->add_initializer();
      tensor->set_name(own.emplace_back(NewName()));
      tensor->set_data_type(onnx::TensorProto::INT64);
      tensor->add_int64_data(static_cast<int64_t>(i));
    }
    Names again;  // outer names that it defines itself: nothing in it uses the outer ones
    for (size_t i = outer.size(); i-- > 0;) {
      if (Below(random_, 6) != 0) continue;
      again.push_back(outer[i]);
      outer.erase(outer.begin() + static_cast<ptrdiff_t>(i));
    }
    for (size_t i = Below(random_, depth == 0 ? 60 : 6); i > 0; --i) {
      onnx::NodeProto* node = graph->add_node();
      node->set_op_type("Op" + std::to_string(Below(random_, 3)));
      Names visible = outer;
      visible.insert(visible.end(), own.begin(), own.end());
      for (size_t k = Below(random_, 4); k > 0; --k) {
        node->add_input(visible.empty() || Below(random_, 5) == 0
                            ? ""
                            : visible[Below(random_, visible.size())]);
      }
      if (depth < 4 && Below(random_, 3) == 0) AddBodies(node, visible, depth);
      for (size_t k = Below(random_, 3); k > 0; --k) {
        if (Below(random_, 5) == 0) {
          node->add_output("");
          continue;
        }
        const bool defined = !again.empty() && Below(random_, 2) == 0;
        node->add_output(own.emplace_back(defined ? again.back() : NewName()));
        if (defined) again.pop_back();
      }
    }
    for (size_t i = Below(random_, 3); i > 0; --i) {
      if (!own.empty()) graph->add_output()->set_name(own[Below(random_, own.size())]);
    }
    for (const std::string& name : own) {
      if (Below(random_, 3) != 0) continue;
      onnx::ValueInfoProto* info = graph->add_value_info();
      info->set_name(name);
      info->mutable_type()->mutable_tensor_type()->set_elem_type(
          static_cast<int>(1 + Below(random_, 7)));
    }
    Shuffle(graph->mutable_node());
    Shuffle(graph->mutable_initializer());
    Shuffle(graph->mutable_value_info());
  }

  void AddBodies(onnx::NodeProto* node, const Names& visible, int depth) {
    for (size_t i = 1 + Below(random_, 2); i > 0; --i) {
      onnx::AttributeProto* attribute = node->add_attribute();
      attribute->set_name("body" + std::to_string(i));
      attribute->set_type(onnx::AttributeProto::GRAPH);
      Fill(attribute->mutable_g(), visible, depth + 1, false);
    }
    onnx::AttributeProto* ints = node->add_attribute();
    ints->set_name("ints");
    ints->set_type(onnx::AttributeProto::INTS);
    for (size_t i = Below(random_, 4); i > 0; --i) ints->add_ints(static_cast<int64_t>(i));
  }

  Random random_;
  int names_ = 0;
};

TEST(LoadDifferentialTest, RandomNestedGraphs) {
  for (uint64_t seed = 0; seed < 300 && !HasFailure(); ++seed) {
    const onnx::ModelProto proto = RandomGraphs(seed).Model();
    const absl::StatusOr<Model> model = LoadFromBytes(proto.SerializeAsString(), "random");
    ASSERT_TRUE(model.ok()) << seed << ": " << model.status();
    EXPECT_EQ(absl::StrJoin(Differences(proto, **model), "\n"), "") << seed;
  }
}

// ---- every field of every message

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

bool HasLength(const FieldDescriptor& field) {
  return field.type() == FieldDescriptor::TYPE_MESSAGE ||
         field.type() == FieldDescriptor::TYPE_STRING ||
         field.type() == FieldDescriptor::TYPE_BYTES || field.is_packable();
}

// A model with a field of one byte that ends no number, at a path of field numbers. It is wrong but
// for strings and bytes.
std::string ModelWithField(const std::vector<int>& path) {
  std::string bytes = "\x80";
  for (size_t i = path.size(); i-- > 0;) bytes = Bytes(static_cast<uint32_t>(path[i]), bytes);
  return Number(1, 8) + bytes;
}

void CheckFields(const Descriptor& type, const std::vector<int>& path,
                 std::set<const Descriptor*>* seen) {
  if (!seen->insert(&type).second) return;
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (!HasLength(field)) continue;
    std::vector<int> to_field = path;
    to_field.push_back(field.number());
    const std::string bytes = ModelWithField(to_field);
    const absl::StatusOr<Model> loaded = LoadFromBytes(bytes);
    const bool parsed = onnx::ModelProto().ParseFromString(bytes);
    const bool malformed = absl::StrContains(loaded.status().message(), "truncated: it ends") ||
                           absl::StrContains(loaded.status().message(), "ends inside of a value");
    EXPECT_EQ(malformed, !parsed) << absl::StrJoin(to_field, ".") << " " << field.full_name()
                                  << ": " << loaded.status();
    if (field.message_type() != nullptr) CheckFields(*field.message_type(), to_field, seen);
  }
}

TEST(LoadDifferentialTest, EveryFieldIsReadAsItsMessageHasIt) {
  std::set<const Descriptor*> seen, of_training;
  const Descriptor& model = *onnx::ModelProto::descriptor();
  CheckFields(model, {}, &seen);
  EXPECT_GT(seen.size(), 20U);
  // What a count has no use for: graphs of training, in another code.
  const FieldDescriptor& training = *model.FindFieldByName("training_info");
  CheckFields(*training.message_type(), {training.number()}, &of_training);
}

}  // namespace
}  // namespace onnxflops::load_differential_test
