// How it works. A source line is read once, from left to right, without a grammar of Python.
// LineReader steps over strings, numbers, names with their dots, brackets and operators. It
// remembers whether a value has just ended (so that + has two sides), how many brackets are open,
// and whether the line begins a statement. Two results follow: how the line calls the operator, and
// whether anything else in the line might call it too. The spelling is certain only if the whole
// statement is in the line, calls the operator in one way, and otherwise calls only functions that
// the tables here know to be single operators. Any doubt (an unknown function, an object of the
// model's own, an f-string, a bracket from a line before) sets others_. Tools count by the
// spelling, so a wrong answer is worse than none.
#include "src/exporter/source_line.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "src/base/limits.h"

namespace onnxflops::exporter {
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
// Python functions that call nothing of torch themselves.
constexpr absl::string_view kBuiltins[] = {"bool",  "enumerate",  "float", "getattr", "hasattr",
                                           "int",   "isinstance", "len",   "list",    "print",
                                           "range", "reversed",   "str",   "tuple",   "zip"};
// Words that begin a statement, and words that no value ends with: `return -x`.
constexpr absl::string_view kStatements[] = {"return", "yield", "assert", "if", "elif", "while"};
constexpr absl::string_view kKeywords[] = {"return", "in",   "and",    "or",    "not",    "if",
                                           "elif",   "else", "lambda", "yield", "assert", "while"};

template <size_t kSize>
bool IsOneOf(absl::string_view name, const absl::string_view (&names)[kSize]) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// Python's names may hold any letter.
bool IsNameChar(char c) { return absl::ascii_isalnum(c) || c == '_' || !absl::ascii_isascii(c); }

// The end of the string that starts at `begin`; beyond the end of the line if it continues on the
// next.
size_t EndOfText(absl::string_view line, size_t begin) {
  for (size_t at = begin + 1; at < line.size(); ++at) {
    if (line[at] == '\\') {
      ++at;
    } else if (line[at] == line[begin]) {
      return at + 1;
    }
  }
  return line.size() + 1;
}

// True if all arguments are numbers, strings and names of settings: "(-1, keepdim=True)". So the
// call can only work on the tensor before its dot.
bool HasPlainArguments(absl::string_view line, size_t opening) {
  constexpr absl::string_view kPlain[] = {"True", "False", "None"};
  int depth = 0;
  for (size_t at = opening; at < line.size();) {
    const char c = line[at];
    if (c == '"' || c == '\'') {
      at = EndOfText(line, at);
      continue;
    }
    if (IsNameChar(c) || c == '.') {
      const size_t begin = at;
      while (at < line.size() && (IsNameChar(line[at]) || line[at] == '.')) ++at;
      const absl::string_view word = line.substr(begin, at - begin);
      const bool names_setting = at + 1 < line.size() && line[at] == '=' && line[at + 1] != '=';
      if (!absl::ascii_isdigit(c) && !names_setting && !IsOneOf(word, kPlain)) return false;
      continue;
    }
    if (c == '(' || c == '[') ++depth;
    if ((c == ')' || c == ']') && --depth == 0) return true;
    ++at;
  }
  return false;
}

// Reads a line from left to right.
class LineReader {
 public:
  LineReader(absl::string_view line, absl::string_view name, char symbol, const LineNames& names)
      : line_(line), name_(name), symbol_(symbol), names_(names) {}

  SpelledCall Read() {
    while (at_ < line_.size() && line_[at_] != '#') Step();
    SpelledCall call;
    if (found_.size() == 1) call.spelling = found_[0];
    if (found_.size() > 1) call.spelling = Spelling::kSeveral;
    // The file has only one line of a statement. Its other lines are unknown.
    const bool is_whole = is_statement_ && depth_ == 0 && !absl::EndsWith(line_, "\\");
    call.is_settled = is_whole && !others_ && found_.size() == 1;
    return call;
  }

 private:
  void Step() {
    const char c = line_[at_];
    if (c == '(' || c == '[') right_of_symbol_ = false;
    if (c == '"' || c == '\'') return SkipText();
    if (absl::ascii_isdigit(c)) return SkipNumber();
    if (IsNameChar(c)) return ReadName();
    if (c == symbol_) return ReadSymbol();
    if (c == '=') ReadAssignment();
    if (c == '(' && after_bracket_) others_ = true;  // self.layers[0](x), make()(x)
    constexpr absl::string_view kOpening = "([{", kClosing = ")]}";
    const bool closes = absl::StrContains(kClosing, c);
    if (absl::StrContains(kOpening, c)) ++depth_;
    if (closes) --depth_;
    if (depth_ < 0) others_ = true;
    if (!absl::ascii_isspace(c)) after_value_ = after_bracket_ = closes;
    ++at_;
  }

  // "y = " or "y += ": it begins a statement; "dim=1" is an argument of another line's call.
  void ReadAssignment() {
    constexpr absl::string_view kOfAssignment = " +-*/@";
    const bool compares = at_ + 1 < line_.size() && line_[at_ + 1] == '=';
    const bool begins = depth_ == 0 && at_ > 0 && absl::StrContains(kOfAssignment, line_[at_ - 1]);
    if (begins && !compares) is_statement_ = true;
  }

  void SkipText() {
    const size_t end = EndOfText(line_, at_);
    // If a string continues on another line, that line's calls are unknown.
    others_ = others_ || end > line_.size();
    at_ = std::min(end, line_.size());
    after_value_ = true;
    after_bracket_ = false;
  }

  void SkipNumber() {
    while (at_ < line_.size() && (IsNameChar(line_[at_]) || line_[at_] == '.')) ++at_;
    after_value_ = true;
    after_bracket_ = false;
  }

  // x + y, or x += y; not the sign of a number, and not ** or *args.
  void ReadSymbol() {
    const size_t begin = at_;
    while (at_ < line_.size() && line_[at_] == symbol_) ++at_;
    const bool single = at_ - begin == 1;
    const bool assigns = at_ < line_.size() && line_[at_] == '=';
    if (single && after_value_) {
      Found(assigns ? Spelling::kInPlace : Spelling::kSymbol);
      if (names_.is_object(operand_)) others_ = true;
      right_of_symbol_ = true;
    }
    after_value_ = after_bracket_ = false;
  }

  // "torch.add", or "add" after a value and a dot.
  void ReadName() {
    const bool of_value = at_ > 0 && line_[at_ - 1] == '.';
    const size_t begin = at_;
    while (at_ < line_.size() && (IsNameChar(line_[at_]) || line_[at_] == '.')) ++at_;
    const absl::string_view chain = line_.substr(begin, at_ - begin);
    const bool is_keyword = !of_value && IsOneOf(chain, kKeywords);
    if (begin == 0 && IsOneOf(chain, kStatements)) is_statement_ = true;
    after_value_ = !is_keyword;
    after_bracket_ = false;
    size_t next = at_;
    while (next < line_.size() && line_[next] == ' ') ++next;
    const bool is_called = next < line_.size() && line_[next] == '(';
    if (!of_value) operand_ = is_called || is_keyword ? absl::string_view() : chain;
    if (right_of_symbol_ && names_.is_object(operand_)) others_ = true;
    right_of_symbol_ = false;
    if (is_keyword || next >= line_.size()) return;
    const bool is_prefix = line_[next] == '"' || line_[next] == '\'';
    if (is_prefix) others_ = true;  // f"{any expression}"
    if (is_called) Called(chain, of_value, next);
  }

  // A call: "torch.relu(", or "relu(" after a value and its dot.
  void Called(absl::string_view chain, bool of_value, size_t opening) {
    const size_t dot = chain.rfind('.');
    const absl::string_view last = dot == absl::string_view::npos ? chain : chain.substr(dot + 1);
    const absl::string_view from =
        dot == absl::string_view::npos ? absl::string_view() : chain.substr(0, dot);
    if (of_value) return CalledMethod(last, opening);
    if (from.empty()) {
      others_ = others_ || !IsOneOf(last, kBuiltins);
      return;
    }
    if (from == "F" || from == "nn.functional" || from == "torch.nn.functional") {
      return CalledOf(Spelling::kFunctional, last, kPlainFunctionals);
    }
    if (from == "torch") return CalledOf(Spelling::kTorch, last, kPlainCalls);
    if (from == "math") return;
    if (absl::StartsWith(from, "torch.")) {  // torch.linalg.matmul, torch.ops.aten.add
      others_ = true;
      return;
    }
    absl::string_view member = chain;
    if (!absl::ConsumePrefix(&member, "self.")) return CalledOnName(from, last, opening);
    if (names_.is_module(member)) return;
    // self.norm(x) may be anything, and so may a method of a module.
    absl::string_view owner = from;
    if (!absl::ConsumePrefix(&owner, "self.") || names_.is_module(owner)) {
      others_ = true;
      return;
    }
    CalledOnName(from, last, opening);
  }

  // The method of the value that has this name.
  void CalledOnName(absl::string_view owner, absl::string_view last, size_t opening) {
    if (last == name_ && names_.is_object(owner)) others_ = true;
    CalledMethod(last, opening);
  }

  // The name before the dot may be a module of Python too: ops.relu(x). It is the tensor for
  // certain only if no argument can be a tensor.
  void CalledMethod(absl::string_view last, size_t opening) {
    if (last.size() == name_.size() + 1 && absl::StartsWith(last, name_) && last.back() == '_') {
      is_statement_ = is_statement_ || depth_ == 0;
      return Found(Spelling::kInPlace);
    }
    if (last == name_ && !HasPlainArguments(line_, opening)) others_ = true;
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
  const LineNames& names_;
  size_t at_ = 0;
  int depth_ = 0;               // brackets that are open
  bool after_value_ = false;    // the last token is a value, so that + and * have two sides
  bool after_bracket_ = false;  // it ends with a bracket
  bool is_statement_ = false;   // the line begins a statement
  bool others_ = false;         // it calls something that may call the operator
  bool right_of_symbol_ = false;
  absl::string_view operand_;  // the name that the value before ends or begins with
  std::vector<Spelling> found_;
};

// The name, with dots, that the text begins with.
size_t LengthOfName(absl::string_view text) {
  size_t at = 0;
  while (at < text.size() && (IsNameChar(text[at]) || text[at] == '.')) ++at;
  return at;
}

bool IsTransform(absl::string_view chain) {
  constexpr absl::string_view kTransforms[] = {
      "functional_call", "hessian", "jacfwd", "jacrev", "jvp", "vjp", "vmap"};
  constexpr absl::string_view kModules[] = {"torch.func.", "torch.jit.", "torch.ops.",
                                            "torch.compile", "functorch."};
  // OwnFunction.apply, of torch.autograd.Function.
  const bool is_function = absl::EndsWith(chain, ".apply") && absl::ascii_isupper(chain[0]);
  return is_function || IsOneOf(chain.substr(chain.rfind('.') + 1), kTransforms) ||
         std::any_of(std::begin(kModules), std::end(kModules),
                     [&](absl::string_view module) { return absl::StartsWith(chain, module); });
}

}  // namespace

namespace {

LineArgument ArgumentOf(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  if (absl::ConsumePrefix(&text, "**")) return {"**", text};
  size_t end = 0;
  while (end < text.size() && IsNameChar(text[end])) ++end;
  const absl::string_view rest = absl::StripLeadingAsciiWhitespace(text.substr(end));
  const bool is_keyword = end > 0 && absl::StartsWith(rest, "=") && !absl::StartsWith(rest, "==");
  if (!is_keyword) return {"", text};
  return {text.substr(0, end), absl::StripAsciiWhitespace(rest.substr(1))};
}

// The place after "f("; npos if the line has no such call.
size_t BeginOfArguments(absl::string_view line, absl::string_view name) {
  for (size_t at = line.find(name); at != absl::string_view::npos; at = line.find(name, at + 1)) {
    const size_t end = at + name.size();
    const bool is_word = at == 0 || !IsNameChar(line[at - 1]);
    if (is_word && end < line.size() && line[end] == '(') return end + 1;
  }
  return absl::string_view::npos;
}

}  // namespace

const LineArgument* LineArguments::Find(absl::string_view keyword) const {
  for (const LineArgument& argument : arguments) {
    if (argument.keyword == keyword) return &argument;
  }
  return nullptr;
}

LineArguments ArgumentsIn(absl::string_view line, absl::string_view name) {
  LineArguments result;
  if (line.size() > kMaxSourceLine) return result;
  size_t begin = BeginOfArguments(line, name);
  result.is_there = begin != absl::string_view::npos;
  int depth = 0;
  for (size_t i = begin; result.is_there && i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' || c == '\'') i = EndOfText(line, i) - 1;
    if (c == '(' || c == '[' || c == '{') ++depth;
    const bool closes = c == ')' || c == ']' || c == '}';
    if (depth == 0 && (closes || c == ',')) {
      const absl::string_view text = line.substr(begin, i - begin);
      if (!absl::StripAsciiWhitespace(text).empty()) result.arguments.push_back(ArgumentOf(text));
      begin = i + 1;
    }
    if (closes && depth-- == 0) {
      result.is_whole = true;
      break;
    }
  }
  return result;
}

absl::string_view LastSourceLine(absl::string_view stack_trace) {
  stack_trace = absl::StripTrailingAsciiWhitespace(stack_trace);
  const size_t line = stack_trace.rfind('\n');
  if (line == absl::string_view::npos) return {};
  const absl::string_view last = absl::StripAsciiWhitespace(stack_trace.substr(line));
  // The frame has no line if the source was not available.
  return absl::StartsWith(last, "File \"") ? absl::string_view() : last;
}

bool IsLineOfTorchNn(absl::string_view stack_trace) {
  constexpr absl::string_view kFile = "File \"";
  const size_t file = stack_trace.rfind(kFile);
  if (file == absl::string_view::npos) return false;
  stack_trace.remove_prefix(file + kFile.size());
  constexpr absl::string_view kFolder = "torch/nn/modules/";
  const absl::string_view path = stack_trace.substr(0, stack_trace.find('"'));
  return absl::StartsWith(path, kFolder) || absl::StrContains(path, absl::StrCat("/", kFolder));
}

SpelledCall FindSpelling(absl::string_view line, absl::string_view name, char symbol,
                         const LineNames& names) {
  if (line.empty() || line.size() > kMaxSourceLine) return {};
  return LineReader(line, name, symbol, names).Read();
}

std::vector<absl::string_view> SourceLines(absl::string_view stack_trace) {
  std::vector<absl::string_view> lines;
  bool after_frame = false;
  for (absl::string_view line : absl::StrSplit(stack_trace, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    const bool is_frame = absl::StartsWith(line, "File \"");
    if (after_frame && !is_frame) lines.push_back(line);
    after_frame = is_frame;
  }
  return lines;
}

absl::string_view TransformIn(absl::string_view line) {
  for (size_t at = 0; at < line.size() && line[at] != '#';) {
    if (line[at] == '"' || line[at] == '\'') {
      at = EndOfText(line, at);
      continue;
    }
    const absl::string_view chain = line.substr(at, LengthOfName(line.substr(at)));
    at += chain.size();
    if (at < line.size() && line[at] == '(' && IsTransform(chain)) return chain;
    if (chain.empty()) ++at;
  }
  return {};
}

absl::string_view ObjectMadeIn(absl::string_view line) {
  const size_t length = LengthOfName(line);
  const absl::string_view variable = line.substr(0, length);
  line = absl::StripLeadingAsciiWhitespace(line.substr(length));
  if (variable.empty() || !absl::ConsumePrefix(&line, "= ")) return {};
  const absl::string_view chain = line.substr(0, LengthOfName(line));
  const absl::string_view made = chain.substr(chain.rfind('.') + 1);
  const bool is_called = chain.size() < line.size() && line[chain.size()] == '(';
  if (!is_called || made.empty() || absl::StartsWith(chain, "torch.") ||
      absl::StartsWith(chain, "nn.")) {
    return {};
  }
  // Helper(x), mylib.Helper(x), make_helper(x); not x.view(2).
  const bool is_function = made == chain && !IsOneOf(made, kBuiltins);
  return is_function || absl::ascii_isupper(made[0]) ? variable : absl::string_view();
}

}  // namespace onnxflops::exporter
