// ModelProto, FunctionProto, OperatorSetIdProto and StringStringEntryProto.
//
// How it works. The model is read field by field; the graph may come before or after what it needs,
// so checks that involve both (opsets, functions that nodes call, order of nodes) wait until the
// end. When reading from a stream the end of the file is not known before it is reached, so each
// field first asks for one more byte. A second graph field is merged with the first, as protobuf
// does. A function is parsed like a graph without a parent; its inputs and outputs are lists of
// names.
#include "absl/strings/str_cat.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/load/ignored.h"
#include "src/load/parser.h"

namespace onnxflops::load {

Parser::Parser(ModelStorage* storage, ModelData* model)
    : wire_(storage->region.get()), model_(model), arena_(storage->arena) {}

absl::Status Parser::Run() {
  if (ParseModel() && CheckModel() && EndScope(*scopes_[0]) && LinkFunctions()) Link();
  return wire_.status();
}

absl::Status Parser::RunFunctions() {
  first_node_ = model_->nodes.size();
  Cursor c = {wire_.region().begin(), wire_.region().end()};
  while (wire_.More(c)) {
    uint32_t tag;
    Cursor sub;
    if (!wire_.Tag(c, tag)) break;
    const bool read = tag == Key(25, kLengthDelimited) ? wire_.Message(c, sub) && ParseFunction(sub)
                                                       : wire_.SkipField(c, tag);
    if (!read) break;
  }
  if (wire_.status().ok()) Link();
  return wire_.status();
}

// The end of a stream is known only when it is reached.
bool Parser::NextField(Cursor& c, bool& more) {
  ByteRegion& region = wire_.region();
  if (!region.size_known() && c.p >= region.loaded() && !wire_.Need(c.p, 1) &&
      !(region.size_known() && c.p == region.end())) {
    return false;
  }
  if (region.size_known()) c.end = region.end();
  if (c.p > c.end) return wire_.FailTruncated();
  more = c.p < c.end;
  return true;
}

// Two graphs in one model are merged, as protobuf does: their fields form one graph.
bool Parser::ParseModel() {
  scopes_.push_back(std::make_unique<Scope>());
  if (!BeginScope(*scopes_[0], nullptr, kNone)) return false;
  Cursor c = {wire_.region().begin(), wire_.region().end()};
  while (true) {
    bool more;
    if (!NextField(c, more)) return false;
    if (!more) return true;
    uint32_t tag;
    if (!wire_.Tag(c, tag) || !ModelField(c, tag)) return false;
  }
}

bool Parser::ModelField(Cursor& c, uint32_t tag) {
  Cursor sub;
  switch (tag) {
    case Key(1, kVarint):
      if (!wire_.Int64(c, model_->ir_version)) return false;
      if (model_->ir_version <= kMaxIrVersion) return true;
      return wire_.Fail(absl::StrCat("IR version ", model_->ir_version,
                                     "; this version knows up to ", kMaxIrVersion));
    case Key(2, kLengthDelimited):
      return wire_.Bytes(c, model_->producer_name);
    case Key(3, kLengthDelimited):
      return wire_.Bytes(c, model_->producer_version);
    case Key(7, kLengthDelimited):
      has_graph_ = true;
      return wire_.Message(c, sub) && ParseGraph(sub, *scopes_[0]);
    case Key(8, kLengthDelimited):
      return wire_.Message(c, sub) && ParseOpset(sub, model_->opsets);
    case Key(14, kLengthDelimited): {
      StringPair pair;
      if (!wire_.Message(c, sub) || !ParsePair(sub, pair)) return false;
      model_->metadata.push_back(pair);
      return true;
    }
    case Key(25, kLengthDelimited):
      return wire_.Message(c, sub) && ParseFunction(sub);
    case Key(20, kLengthDelimited):
      return SkipIgnored(wire_, c, Ignored::kTrainingInfo);
    case Key(26, kLengthDelimited):
      return SkipIgnored(wire_, c, Ignored::kDevice);
    default:  // domain, model_version, doc_string
      return wire_.SkipField(c, tag);
  }
}

bool Parser::CheckModel() {
  if (!has_graph_) return wire_.Fail("has no graph: not an ONNX model, or truncated");
  if (model_->ir_version <= 0) {
    return wire_.Fail("has no ir_version: not an ONNX model, or damaged");
  }
  if (model_->opsets.empty()) {
    // Files older than IR version 3 could not say; there was one opset then.
    if (model_->ir_version >= 3) {
      return wire_.Fail("has no opset_import, which says what its operators mean");
    }
    model_->opsets.emplace_back("", 1);
  }
  return true;
}

bool Parser::ParseOpset(Cursor c, std::vector<std::pair<absl::string_view, int64_t>>& opsets) {
  absl::string_view domain;
  int64_t version = 0;
  while (wire_.More(c)) {
    uint32_t tag;
    if (!wire_.Tag(c, tag)) return false;
    const bool read = tag == Key(1, kLengthDelimited) ? wire_.Bytes(c, domain)
                      : tag == Key(2, kVarint)        ? wire_.Int64(c, version)
                                                      : wire_.SkipField(c, tag);
    if (!read) return false;
  }
  if (domain == "ai.onnx") domain = "";
  if (domain.empty() && (version > kMaxOpset || version < 1)) {
    return wire_.Fail(absl::StrCat("opset ", version, "; this version knows 1 up to ", kMaxOpset));
  }
  for (const auto& [other, other_version] : opsets) {
    if (other != domain) continue;
    if (other_version == version) return true;
    return wire_.Fail(absl::StrCat("imports the opset of ",
                                   Quoted(domain.empty() ? "ai.onnx" : domain), " twice, as ",
                                   other_version, " and as ", version));
  }
  if (opsets.size() >= kMaxOpsetImports) {
    return wire_.Fail(LimitError(
        "opset-imports",
        absl::StrCat("imports more than ", kMaxOpsetImports, " opsets (opset-imports)")));
  }
  opsets.emplace_back(domain, version);
  return true;
}

bool Parser::AppendPair(Cursor& c, std::vector<StringPair>& pairs) {
  Cursor sub;
  pairs.emplace_back();
  return wire_.Message(c, sub) && ParsePair(sub, pairs.back());
}

bool Parser::ParseFunction(Cursor c) {
  current_function_ = static_cast<FunctionId>(model_->functions.size());
  model_->functions.emplace_back();
  Scope& scope = ScopeAt(1);
  depth_ = 1;
  if (!BeginScope(scope, nullptr, kNone)) return false;
  Function& function = model_->functions.back();
  function.body = scope.graph;
  FunctionDraft draft;
  while (wire_.More(c)) {
    uint32_t tag;
    if (!wire_.Tag(c, tag) || !FunctionField(c, tag, scope, function, draft)) {
      return wire_.AddContext(absl::StrCat("function ", Quoted(function.name)));
    }
  }
  if (!FinishFunction(scope, function, draft)) {
    return wire_.AddContext(absl::StrCat("function ", Quoted(function.name)));
  }
  current_function_ = kNone;
  depth_ = 0;
  return true;
}

bool Parser::FinishFunction(Scope& scope, Function& function, FunctionDraft& draft) {
  if (function.name.empty()) return wire_.Fail("has no name");
  if (function.domain == "ai.onnx") function.domain = "";
  function.attributes = arena_.TakeFrom(draft.attributes, 0);
  function.attribute_defaults = arena_.TakeFrom(attributes_, 0);
  graph(scope.graph).name = function.name;
  for (const absl::string_view name : draft.inputs) {
    if (!AddGraphInput(scope, name, nullptr)) return false;
  }
  for (const absl::string_view name : draft.outputs) {
    if (!AddGraphOutput(scope, name, nullptr)) return false;
  }
  return EndScope(scope);
}

bool Parser::FunctionField(Cursor& c, uint32_t tag, Scope& scope, Function& function,
                           FunctionDraft& draft) {
  Cursor sub;
  switch (tag) {
    case Key(1, kLengthDelimited):
      return wire_.Bytes(c, function.name);
    case Key(4, kLengthDelimited):
      return wire_.Bytes(c, draft.inputs.emplace_back());
    case Key(5, kLengthDelimited):
      return wire_.Bytes(c, draft.outputs.emplace_back());
    case Key(6, kLengthDelimited):
      return wire_.Bytes(c, draft.attributes.emplace_back());
    case Key(7, kLengthDelimited):
      return wire_.Message(c, sub) && ParseNode(sub, scope);
    case Key(9, kLengthDelimited):
      return wire_.Message(c, sub) && ParseOpset(sub, function.opsets);
    case Key(10, kLengthDelimited):
      return wire_.Bytes(c, function.domain);
    case Key(11, kLengthDelimited):
      return wire_.Message(c, sub) && ParseAttribute(sub, nullptr, kNone, draft.unused);
    case Key(12, kLengthDelimited): {
      Scope::ValueInfo& info = scope.infos.emplace_back();
      return wire_.Message(c, sub) && ParseValueInfo(sub, info.name, info.type);
    }
    case Key(13, kLengthDelimited):
      return wire_.Bytes(c, function.overload);
    case Key(14, kLengthDelimited):
      return SkipIgnored(wire_, c, Ignored::kPair);
    default:  // doc_string
      return wire_.SkipField(c, tag);
  }
}

}  // namespace onnxflops::load
