#include "src/exporter/source_line.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "src/base/limits.h"

namespace onnxflops {
namespace {

// Functions of torch, and methods of tensors, that are one operator: they call no other that a
// tool counts. In alphabetical order.
constexpr absl::string_view kPlainCalls[] = {
    "Tensor",      "abs",          "add",         "addmm",        "amax",       "amin",
    "any",         "arange",       "argmax",      "argsort",      "baddbmm",    "bmm",
    "bool",        "cat",          "ceil",        "chunk",        "clamp",      "clone",
    "concat",      "contiguous",   "cos",         "cumsum",       "detach",     "dim",
    "div",         "div_",         "dot",         "empty",        "eq",         "erf",
    "exp",         "expand",       "expand_as",   "fill_",        "flatten",    "flip",
    "float",       "floor",        "full",        "full_like",    "gather",     "gelu",
    "half",        "index_select", "int",         "item",         "layer_norm", "log",
    "logical_not", "long",         "masked_fill", "masked_fill_", "matmul",     "max",
    "max_pool2d",  "maximum",      "mean",        "min",          "minimum",    "mm",
    "mul",         "mv",           "narrow",      "neg",          "new_full",   "new_ones",
    "new_zeros",   "norm",         "numel",       "ones",         "ones_like",  "permute",
    "pow",         "reciprocal",   "relu",        "relu_",        "repeat",     "reshape",
    "round",       "rsqrt",        "select",      "sigmoid",      "sign",       "silu",
    "sin",         "size",         "softmax",     "split",        "sqrt",       "squeeze",
    "stack",       "sub",          "sum",         "swapaxes",     "t",          "tanh",
    "tensor",      "to",           "topk",        "transpose",    "tril",       "triu",
    "type",        "type_as",      "unbind",      "unflatten",    "unsqueeze",  "var",
    "view",        "view_as",      "where",       "zeros",        "zeros_like",
};
// Functions of torch.nn.functional that are one operator.
constexpr absl::string_view kPlainFunctionals[] = {
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "dropout",
    "elu",
    "embedding",
    "gelu",
    "group_norm",
    "interpolate",
    "layer_norm",
    "leaky_relu",
    "linear",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "pad",
    "prelu",
    "relu",
    "relu6",
    "scaled_dot_product_attention",
    "sigmoid",
    "silu",
    "softmax",
    "tanh",
};
// Functions of Python that call nothing of torch by themselves.
constexpr absl::string_view kBuiltins[] = {"bool",  "enumerate",  "float", "getattr", "hasattr",
                                           "int",   "isinstance", "len",   "list",    "print",
                                           "range", "reversed",   "str",   "tuple",   "zip"};

template <size_t kSize>
bool IsOneOf(absl::string_view name, const absl::string_view (&names)[kSize]) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

bool IsNameChar(char c) { return absl::ascii_isalnum(c) || c == '_'; }

// What stands in a line, one after another.
class LineReader {
 public:
  LineReader(absl::string_view line, absl::string_view name, char symbol,
             absl::FunctionRef<bool(absl::string_view)> is_module)
      : line_(line), name_(name), symbol_(symbol), is_module_(is_module) {}

  SpelledCall Read() {
    while (at_ < line_.size() && line_[at_] != '#') Step();
    SpelledCall call;
    if (found_.size() == 1) call.spelling = found_[0];
    if (found_.size() > 1) call.spelling = Spelling::kSeveral;
    // What a statement does in its other lines is not there.
    const bool is_whole = depth_ == 0 && !absl::EndsWith(line_, "\\");
    call.is_settled = is_whole && !others_ && found_.size() == 1;
    return call;
  }

 private:
  void Step() {
    const char c = line_[at_];
    if (c == '"' || c == '\'') return SkipText(c);
    if (absl::ascii_isdigit(c)) return SkipNumber();
    if (IsNameChar(c)) return ReadName();
    if (c == symbol_) return ReadSymbol();
    constexpr absl::string_view kOpening = "([{", kClosing = ")]}";
    const bool closes = absl::StrContains(kClosing, c);
    if (absl::StrContains(kOpening, c)) ++depth_;
    if (closes) --depth_;
    if (depth_ < 0) others_ = true;
    if (!absl::ascii_isspace(c)) after_value_ = closes;
    ++at_;
  }

  void SkipText(char quote) {
    const size_t end = line_.find(quote, at_ + 1);
    // A text that goes on in another line hides what stands there.
    others_ = others_ || end == absl::string_view::npos;
    at_ = std::min(end, line_.size() - 1) + 1;
    after_value_ = true;
  }

  void SkipNumber() {
    while (at_ < line_.size() && (IsNameChar(line_[at_]) || line_[at_] == '.')) ++at_;
    after_value_ = true;
  }

  // x + y, or x += y; not the sign of a number, and not ** or *args.
  void ReadSymbol() {
    const size_t begin = at_;
    while (at_ < line_.size() && line_[at_] == symbol_) ++at_;
    const bool single = at_ - begin == 1;
    const bool assigns = at_ < line_.size() && line_[at_] == '=';
    if (single && after_value_) Found(assigns ? Spelling::kInPlace : Spelling::kSymbol);
    after_value_ = false;
  }

  // "torch.add", or "add" after a value and a dot.
  void ReadName() {
    const bool of_value = at_ > 0 && line_[at_ - 1] == '.';
    const size_t begin = at_;
    while (at_ < line_.size() && (IsNameChar(line_[at_]) || line_[at_] == '.')) ++at_;
    absl::string_view chain = line_.substr(begin, at_ - begin);
    // A keyword is no value: `return -x`.
    constexpr absl::string_view kKeywords[] = {"return", "in",   "and",    "or",    "not",
                                               "if",     "else", "lambda", "yield", "assert"};
    const bool is_keyword = !of_value && IsOneOf(chain, kKeywords);
    after_value_ = !is_keyword;
    size_t next = at_;
    while (next < line_.size() && line_[next] == ' ') ++next;
    if (is_keyword || next >= line_.size() || line_[next] != '(') return;
    Called(chain, of_value);
  }

  void Called(absl::string_view chain, bool of_value) {
    const size_t dot = chain.rfind('.');
    const absl::string_view last = dot == absl::string_view::npos ? chain : chain.substr(dot + 1);
    const absl::string_view from =
        dot == absl::string_view::npos ? absl::string_view() : chain.substr(0, dot);
    if (!of_value && from.empty()) {
      others_ = others_ || !IsOneOf(last, kBuiltins);
      return;
    }
    const bool of_nn = from == "F" || absl::EndsWith(from, "nn.functional");
    if (!of_value && of_nn) return CalledOf(Spelling::kFunctional, last, kPlainFunctionals);
    if (!of_value && from == "torch") return CalledOf(Spelling::kTorch, last, kPlainCalls);
    if (!of_value && from == "math") return;
    if (!of_value && absl::ConsumePrefix(&chain, "self.") && is_module_(chain)) return;
    // self.norm(x) may be anything; self.weight.t() is a method of a tensor.
    if (!of_value && from == "self") {
      others_ = true;
      return;
    }
    if (last.size() == name_.size() + 1 && absl::StartsWith(last, name_) && last.back() == '_') {
      return Found(Spelling::kInPlace);
    }
    CalledOf(Spelling::kMethod, last, kPlainCalls);
  }

  template <size_t kSize>
  void CalledOf(Spelling spelling, absl::string_view last,
                const absl::string_view (&plain)[kSize]) {
    if (last == name_) return Found(spelling);
    others_ = others_ || !IsOneOf(last, plain);
  }

  void Found(Spelling spelling) {
    if (std::find(found_.begin(), found_.end(), spelling) == found_.end()) {
      found_.push_back(spelling);
    }
  }

  const absl::string_view line_, name_;
  const char symbol_;
  const absl::FunctionRef<bool(absl::string_view)> is_module_;
  size_t at_ = 0;
  int depth_ = 0;             // brackets that are open
  bool after_value_ = false;  // what stands before is a value, so that + and * have two sides
  bool others_ = false;       // it calls what may call the operator
  std::vector<Spelling> found_;
};

}  // namespace

absl::string_view LastSourceLine(absl::string_view stack_trace) {
  stack_trace = absl::StripTrailingAsciiWhitespace(stack_trace);
  const size_t line = stack_trace.rfind('\n');
  if (line == absl::string_view::npos) return {};
  const absl::string_view last = absl::StripAsciiWhitespace(stack_trace.substr(line));
  // The frame has no line where the source was not at hand.
  return absl::StartsWith(last, "File \"") ? absl::string_view() : last;
}

bool IsLineOfTorchNn(absl::string_view stack_trace) {
  constexpr absl::string_view kFile = "File \"";
  const size_t file = stack_trace.rfind(kFile);
  if (file == absl::string_view::npos) return false;
  stack_trace.remove_prefix(file + kFile.size());
  return absl::StrContains(stack_trace.substr(0, stack_trace.find('"')), "torch/nn/modules/");
}

SpelledCall FindSpelling(absl::string_view line, absl::string_view name, char symbol,
                         absl::FunctionRef<bool(absl::string_view)> is_module) {
  if (line.empty() || line.size() > kMaxScopesText) return {};
  return LineReader(line, name, symbol, is_module).Read();
}

}  // namespace onnxflops
