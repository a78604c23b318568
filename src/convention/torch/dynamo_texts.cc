// How it works. A node may run many times, its texts are long, and most nodes of a model have equal
// lines. So each text is parsed once and kept: by node which call it is part of, by call its
// operator, arguments and scopes, and by line of source what it calls. Names of calls get numbers,
// which later steps compare instead of texts. For each operator the highest number that any text
// mentions is kept ("add_7") next to the count of its calls, because torch.fx numbers without gaps:
// a gap is a call that the file lacks.
#include "src/convention/torch/dynamo_texts.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/limits.h"
#include "src/exporter/node_metadata.h"
#include "src/exporter/python_list.h"
#include "src/exporter/source_line.h"

namespace onnxflops::convention {
namespace {

// "l" of "self.l(input=x)", the line that calls the module; else empty.
absl::string_view KeywordedIn(absl::string_view stack_trace) {
  const std::vector<absl::string_view> lines = exporter::SourceLines(stack_trace);
  if (lines.size() < 2 || lines[lines.size() - 2].size() > kMaxSourceLine) return "";
  const absl::string_view caller = lines[lines.size() - 2];
  size_t end = caller.find("(input=");
  if (end == absl::string_view::npos) end = caller.find("(query=");  // of attention
  if (end == absl::string_view::npos) return "";
  size_t begin = end;
  while (begin > 0 && (absl::ascii_isalnum(caller[begin - 1]) || caller[begin - 1] == '_')) --begin;
  return caller.substr(begin, end - begin);
}

TorchArguments ArgumentsOf(const CallText& text) {
  constexpr size_t kHasBiases = 3, kBatchFirst = 8;  // of lstm and its like
  const exporter::FxArgs& args = text.args;
  TorchArguments a;
  if (text.op == Aten::kLayerNorm) {
    a.normalized_dims = static_cast<int32_t>(exporter::PyItems(args.Arg(1)).size());
  }
  a.has_output_size = IsResizing(text.op) && args.Has(1, "output_size");
  a.is_variant = IsResizing(text.op) && absl::StartsWith(AtenName(text.target), "_upsample");
  a.groups_heads = text.op == Aten::kSdpa && args.Kwarg("enable_gqa") == "True";
  const bool recurrent = IsRecurrent(text.op);
  a.of_recurrent = recurrent && args.args.size() > kBatchFirst;
  a.has_biases = a.of_recurrent && args.Arg(kHasBiases) == "True";
  a.batch_first = a.of_recurrent && args.Arg(kBatchFirst) == "True";
  return a;
}

}  // namespace

const NodeText& DynamoTexts::Of(NodeId id) {
  NodeText& text = texts_[static_cast<size_t>(id)];
  if (text.is_asked) return text;
  text.is_asked = true;
  const Node& node = model_.node(id);
  const exporter::NodeMetadata metadata(node.metadata);
  text.is_complete = metadata.StatesCall();
  if (!text.is_complete) return text;
  text.is_fused = metadata.IsFusedBatchNorm();
  text.name = NameOf(exporter::PyStrings(*metadata.name_scopes).last());
  return text;
}

CallText& DynamoTexts::OfCall(NodeId id) {
  const auto [it, is_new] = text_of_call_.try_emplace(id, nullptr);
  if (!is_new) return *it->second;
  CallText& text = call_texts_.emplace_back();
  it->second = &text;
  const exporter::NodeMetadata metadata(model_.node(id).metadata);
  exporter::PyStrings scopes(*metadata.name_scopes), classes(*metadata.class_hierarchy);
  text.target = classes.last();
  scopes.DropLast();
  classes.DropLast();
  text.scopes = scopes.rest();
  text.classes = classes.rest();
  text.target_number =
      targets_.try_emplace(text.target, static_cast<int32_t>(targets_.size())).first->second;
  text.op = AtenOf(text.target);
  text.fx_node = metadata.fx_node.value_or("");
  text.source_line = exporter::LastSourceLine(metadata.stack_trace.value_or(""));
  text.in_torch_nn = exporter::IsLineOfTorchNn(metadata.stack_trace.value_or(""));
  if (text.in_torch_nn) text.keyworded = KeywordedIn(metadata.stack_trace.value_or(""));
  NoteLines(metadata.stack_trace.value_or(""));
  return text;
}

const exporter::FxArgs& DynamoTexts::ArgsOf(CallText* text) {
  if (!text->is_parsed) {
    text->is_parsed = true;
    text->args = exporter::ParseFxArgs(text->fx_node);
    text->arguments = ArgumentsOf(*text);
    text->has_parameters = absl::StrContains(text->fx_node, exporter::kFxParameter);
  }
  return text->args;
}

// Equal lines are read once.
void DynamoTexts::NoteLines(absl::string_view stack_trace) {
  for (absl::string_view line : exporter::SourceLines(stack_trace)) {
    if (line.size() > kMaxSourceLine || !lines_.insert(line).second) continue;
    if (transform_.empty()) transform_ = exporter::TransformIn(line);
    if (const absl::string_view object = exporter::ObjectMadeIn(line); !object.empty()) {
      objects_.insert(object);
    }
  }
}

int32_t DynamoTexts::NameOf(absl::string_view text) {
  const auto [it, is_new] = name_ids_.try_emplace(text, static_cast<int32_t>(names_.size()));
  if (!is_new) return it->second;
  FxName name;
  name.text = text;
  const auto [base, number] = exporter::SplitFxName(text);
  name.number = number;
  if (const Aten op = AtenOf(absl::StrCat("aten.", base)); op != Aten::kOther) {
    const auto [at, new_base] =
        numbers_of_.try_emplace(base, static_cast<int32_t>(numbers_.size()));
    if (new_base) numbers_.push_back({op, -1, 0});
    name.numbers = at->second;
  }
  names_.push_back(name);
  return it->second;
}

void DynamoTexts::NoteNumber(int32_t name_id) {
  const FxName& name = names_[static_cast<size_t>(name_id)];
  if (!name.numbers) return;
  FxNumbers& numbers = numbers_[static_cast<size_t>(*name.numbers)];
  numbers.highest = std::max(numbers.highest, name.number);
  ++numbers.count;
}

void DynamoTexts::NoteArguments(CallText* text) {
  if (text->are_arguments_noted) return;
  text->are_arguments_noted = true;
  std::vector<absl::string_view> args = ArgsOf(text).args;
  for (const auto& [key, arg] : ArgsOf(text).kwargs) args.push_back(arg);
  for (absl::string_view arg : args) {
    for (size_t at = arg.find('%'); at != absl::string_view::npos; at = arg.find('%')) {
      arg.remove_prefix(at);
      const absl::string_view name =
          exporter::FxValueName(arg.substr(0, arg.find_first_of(",)] ")));
      arg.remove_prefix(1);
      if (name.empty()) continue;
      if (exporter::IsFxPlaceholder(name)) {
        placeholders_.insert(name);
      } else {
        NoteMade(name);
        text->mentioned.push_back(name);
      }
    }
  }
}

void DynamoTexts::NoteMade(absl::string_view name) {
  const FxName& made = names_[static_cast<size_t>(NameOf(name))];
  if (!made.numbers) return;
  int64_t& highest = numbers_[static_cast<size_t>(*made.numbers)].highest;
  highest = std::max(highest, made.number);
}

bool DynamoTexts::HasBase(absl::string_view text, int32_t name) const {
  return exporter::SplitFxName(text).first == exporter::SplitFxName(this->name(name).text).first;
}

bool DynamoTexts::IsCall(absl::string_view name) const {
  const auto it = name_ids_.find(name);
  return it != name_ids_.end() && this->name(it->second).is_call;
}

std::string AsPlaceholder(absl::string_view path) {
  std::string name = absl::AsciiStrToLower(path);
  for (char& c : name) c = absl::ascii_isalnum(c) ? c : '_';
  return name;
}

}  // namespace onnxflops::convention
