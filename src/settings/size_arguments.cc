// How it works. Three little languages are read by hand. `dim` ("a=1,2,b=1..8*2") needs care, since
// a dimension may have any name, also one with "=" or ",": a name ends at the first "=" that a size
// follows, and a comma starts a new name unless a size follows it. `value` reads nested lists with
// a stack of open brackets; the first list that closes at a depth fixes the length of all others
// there. `input` splits at commas, or at "x" if there are none.
#include "src/settings/size_arguments.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "src/base/limit_error.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/similar.h"
#include "src/base/status_macros.h"
#include "src/settings/value.h"
#include "src/symbolic/symbol_name.h"

namespace onnxflops::settings {
namespace {

// "name=rest" -> name, rest.
absl::StatusOr<std::pair<std::string, absl::string_view>> SplitName(absl::string_view name,
                                                                    absl::string_view text,
                                                                    absl::string_view form) {
  // The last =, for names may hold one; values do not.
  const size_t equals = text.rfind('=');
  if (equals == absl::string_view::npos || equals == 0) {
    return BadValue(name, text, absl::StrCat("it should be ", form));
  }
  return std::make_pair(std::string(text.substr(0, equals)), text.substr(equals + 1));
}

bool IsName(absl::string_view text) {
  return !text.empty() && !absl::ascii_isdigit(text[0]) && text[0] != '-' && text[0] != '+';
}

// "1x3", "batch,3", "'rows, cols',3": by commas if there are any, else by x; a written symbol is
// never divided.
std::vector<absl::string_view> SplitShape(absl::string_view text) {
  for (const char separator : {',', 'x'}) {
    std::vector<absl::string_view> items;
    size_t begin = 0;
    for (size_t i = 0; i < text.size();) {
      const size_t quoted = text[i] == '\'' ? SymbolLength(text.substr(i)) : 0;
      if (text[i] == separator) {
        items.push_back(text.substr(begin, i - begin));
        begin = i + 1;
      }
      i += std::max<size_t>(quoted, 1);
    }
    items.push_back(text.substr(begin));
    if (items.size() > 1 || separator == 'x') return items;
  }
  return {};
}

absl::StatusOr<Scalar> ParseScalar(absl::string_view name, absl::string_view text,
                                   absl::string_view item) {
  item = absl::StripAsciiWhitespace(item);
  int64_t i = 0;
  double d = 0;
  if (absl::SimpleAtoi(item, &i)) return Scalar::Int(i);
  if (item == "true" || item == "false") return Scalar::Int(item == "true" ? 1 : 0);
  if (absl::SimpleAtod(item, &d) && std::isfinite(d)) return Scalar::Float(d);
  return BadValue(name, text, absl::StrCat(Quoted(item), " is not a number"));
}

// A whole number of 1 or more; nullopt where none is given.
absl::StatusOr<std::optional<int64_t>> ParseCount(absl::string_view name, absl::string_view text) {
  if (text.empty()) return std::optional<int64_t>();
  return ParsePositiveWhole(name, std::string(text));
}

constexpr int64_t kMaxBatch = 1 << 30;

// "336" or "336x448".
absl::StatusOr<ImageSize> ParseImageSize(absl::string_view text) {
  constexpr int64_t kMost = 1 << 20;
  const std::vector<absl::string_view> sides = absl::StrSplit(text, 'x');
  ImageSize size;
  const bool is_size = sides.size() <= 2 && absl::SimpleAtoi(sides.front(), &size.height) &&
                       absl::SimpleAtoi(sides.back(), &size.width);
  if (is_size && std::min(size.height, size.width) >= 1 &&
      std::max(size.height, size.width) <= kMost) {
    return size;
  }
  return BadValue(
      "at-image", text,
      absl::StrCat("it should be a size of 1 to ", kMost, ", or HEIGHTxWIDTH as 336x448",
                   absl::StrContains(text, ',')
                       ? "; for two sizes, write a report at each, and `diff` compares them"
                       : ""));
}

// "8" or "batch"; "x,y:1=8" names the inputs that have it.
absl::StatusOr<BatchSize> ParseBatch(absl::string_view text) {
  BatchSize batch;
  const size_t equals = text.rfind('=');
  absl::string_view size = text;
  if (equals != absl::string_view::npos) {
    size = text.substr(equals + 1);
    for (absl::string_view input : absl::StrSplit(text.substr(0, equals), ',')) {
      const size_t colon = input.rfind(':');
      int axis = 0;
      const bool has_axis =
          colon != absl::string_view::npos && absl::SimpleAtoi(input.substr(colon + 1), &axis);
      if (has_axis) input = input.substr(0, colon);
      if (!batch.axes.emplace(input, axis).second) {
        return BadValue("at-batch", text, absl::StrCat(Quoted(input), " is there twice"));
      }
    }
  }
  int64_t number = 0;
  const bool is_name = !size.empty() && IdentifierLength(size) == size.size();
  if (absl::SimpleAtoi(size, &number) && number >= 1 && number <= kMaxBatch) {
    batch.size = number;
  } else if (is_name && !IsFunctionName(size)) {
    batch.size = Expr::Symbol(size, 1);
  } else {
    return BadValue(
        "at-batch", text,
        absl::StrCat("the batch should be a whole number of 1 to ", kMaxBatch, ", or a name"));
  }
  return batch;
}

}  // namespace

void RulesArgument::AddTo(Table* list) {
  list->AddValue("rules", "FILE", &file,
                 "A TOML file that defines operators of your own. See docs/rules.md.");
}

absl::StatusOr<Rules> RulesArgument::Parse() const {
  if (file.empty()) return Rules();
  const absl::StatusOr<std::string> text = ReadSmallFile(file);
  if (!text.ok()) return BadValue("rules", file, text.status().message());
  return LoadRules(*text, file);
}

void CausalArgument::AddTo(Table* list) {
  list->AddValue("causal", "HOW", &how,
                 "Causal attention: full, or half for only the pairs that its mask lets through. "
                 "Default: full.",
                 {"full", "half"});
}

absl::StatusOr<CausalCounting> CausalArgument::Parse() const {
  if (how == "full") return CausalCounting::kFull;
  if (how == "half") return CausalCounting::kHalf;
  return BadValue("causal", how, "it should be full or half");
}

void UpperArgument::AddTo(Table* list) {
  list->AddFlag("upper", &given,
                "Count sizes that depend on data at their upper bounds, where operators give "
                "them: at most so many boxes, as NonMaxSuppression may keep.");
}

void NoGradArgument::AddTo(Table* list) {
  list->AddFlag("no-grad", &given,
                "Figures of tools as under torch.no_grad(). By default gradients are on, as in the "
                "call that a tool's documents show.");
}

void SizeArguments::AddTo(Table* list, bool sweeps) {
  list->AddValues("dim", "NAME=N,..", &dims,
                  absl::StrCat("Give symbolic dimensions a size, as batch=8,seq=128. The others "
                               "stay symbolic.",
                               sweeps ? " Several sizes are a sweep, a column each: seq=128,512 or "
                                        "seq=1..4096*2 or seq=10..100+10."
                                      : ""));
  list->AddValue("tokens", "N", &tokens,
                 "Tokens of a sequence, padding left out: the size of the inputs that take tokens. "
                 "Tokens of an image come on top, where the model adds them.");
  list->AddValue("mask-sum", "N", &mask_sum,
                 "The same by the sum of a batch's attention mask: its mean over the batch, "
                 "rounded up.");
  list->AddValues(
      "input", "NAME=SHAPE", &inputs,
      "Set the shape of an input that the file leaves open, as 1x3x224x224 or batch,3,224,224.");
  list->AddValue("at-image", "SIZE", &at_image,
                 "Count at images of another size than the file was exported for, as 336 or "
                 "336x448, where only shapes of the graph depend on it.");
  list->AddValue(
      "at-batch", "N", &at_batch,
      "Count at another batch than the one that the file fixes: 8, or a name, which then "
      "is a symbolic dimension. x,y:1=8 if only these inputs have it, y as dimension 1.");
  list->AddValues(
      "value", "NAME=VALUE", &values,
      "Set the value of a small input that shapes depend on, as 5, [1,3,224] or [[4,4],[2,8]].");
  rules.AddTo(list);
  std::vector<std::string> limit_names;
  for (const SettableLimit& limit : kSettableLimits) limit_names.push_back(std::string(limit.name));
  list->AddValues("limit", "NAME=N", &limits,
                  "Set a limit that an error message names, as unrolled-trips=1000.", limit_names);
}

absl::StatusOr<CountOptions> SizeArguments::Parse(std::vector<DimSizes>* sweep) const {
  CountOptions options;
  RETURN_IF_ERROR(ParseDims(dims, &options.bindings, sweep));
  ASSIGN_OR_RETURN(options.tokens, ParseCount("tokens", tokens));
  ASSIGN_OR_RETURN(options.mask_sum, ParseCount("mask-sum", mask_sum));
  for (const std::string& input : inputs) {
    RETURN_IF_ERROR(ParseInput(input, &options.input_shapes));
  }
  if (!at_image.empty()) {
    ASSIGN_OR_RETURN(options.image_size, ParseImageSize(at_image));
  }
  if (!at_batch.empty()) {
    ASSIGN_OR_RETURN(options.batch, ParseBatch(at_batch));
  }
  for (const std::string& value : values) {
    RETURN_IF_ERROR(ParseValue(value, &options.input_values, &options.input_shapes));
  }
  for (const std::string& limit : limits) RETURN_IF_ERROR(ParseLimit(limit, &options.limits));
  ASSIGN_OR_RETURN(options.rules, rules.Parse());
  return options;
}

absl::StatusOr<CountOptions> SizeArguments::Parse() const {
  std::vector<DimSizes> sweep;
  ASSIGN_OR_RETURN(CountOptions options, Parse(&sweep));
  if (sweep.empty()) return options;
  return absl::InvalidArgumentError(absl::StrCat(
      Setting("dim"), " gives ", Escaped(QuotedSymbol(sweep[0].name)), " ", sweep[0].sizes.size(),
      " sizes: only onnxflops count and pipeline take more than one; [at] sets of check hold a "
      "range each"));
}

namespace {

// The sizes that one text names: "8", "1..10", "1..100+10", "1..4096*2".
class SizeReader {
 public:
  explicit SizeReader(absl::string_view setting_text) : setting_text_(setting_text) {}

  // Whether `text` has the form of sizes; no more is checked.
  static bool IsSize(absl::string_view text) {
    text = absl::StripAsciiWhitespace(text);
    size_t digits = 0;
    while (digits < text.size() && absl::ascii_isdigit(text[digits])) ++digits;
    if (digits == 0) return false;
    text.remove_prefix(digits);
    return text.empty() || absl::StartsWith(text, "..");
  }

  absl::Status Read(absl::string_view text, std::vector<int64_t>* sizes) const {
    text = absl::StripAsciiWhitespace(text);
    const size_t dots = text.find("..");
    if (dots == absl::string_view::npos) {
      ASSIGN_OR_RETURN(const int64_t size, Number(text));
      return Add(size, sizes);
    }
    ASSIGN_OR_RETURN(const int64_t first, Number(text.substr(0, dots)));
    absl::string_view rest = text.substr(dots + 2);
    const size_t sign = rest.find_first_of("*+");
    ASSIGN_OR_RETURN(const int64_t last, Number(rest.substr(0, sign)));
    const bool times = sign != absl::string_view::npos && rest[sign] == '*';
    int64_t step = 1;
    if (sign != absl::string_view::npos) {
      ASSIGN_OR_RETURN(step, Number(rest.substr(sign + 1)));
    }
    if (first > last) return Wrong(absl::StrCat(first, " is above ", last));
    if (times && (first < 1 || step < 2)) {
      return Wrong("with *, the first size must be 1 or more and the factor 2 or more");
    }
    if (step < 1) return Wrong("the step must be 1 or more");
    int64_t size = first;
    while (true) {
      RETURN_IF_ERROR(Add(size, sizes));
      if (times ? size > last / step : size > last - step) return absl::OkStatus();
      size = times ? size * step : size + step;
    }
  }

 private:
  absl::Status Wrong(absl::string_view why) const { return BadValue("dim", setting_text_, why); }

  absl::StatusOr<int64_t> Number(absl::string_view text) const {
    int64_t size = 0;
    if (absl::SimpleAtoi(text, &size) && size >= 0) return size;
    return Wrong(absl::StrCat(Quoted(text), " must be a whole number, 0 or more"));
  }

  // A size that is there already is not added again: ranges may overlap.
  absl::Status Add(int64_t size, std::vector<int64_t>* sizes) const {
    if (std::find(sizes->begin(), sizes->end(), size) != sizes->end()) return absl::OkStatus();
    if (sizes->size() == kMaxSweepPoints) {
      return InValue("dim", setting_text_,
                     LimitError("sweep-points", absl::StrCat("more than ", kMaxSweepPoints,
                                                             " sizes (sweep-points)")));
    }
    sizes->push_back(size);
    return absl::OkStatus();
  }

  absl::string_view setting_text_;
};

// Where the sizes of the first name of `text` begin: after the first "=" that a size follows. A
// quoted name may hold anything; names of other forms may hold "=", or commas before the first "=".
size_t SizesBegin(absl::string_view text) {
  size_t equals = text.find('=', SymbolLength(text));
  for (; equals != absl::string_view::npos; equals = text.find('=', equals + 1)) {
    const absl::string_view rest = text.substr(equals + 1);
    const size_t comma = rest.find(',');
    if (SizeReader::IsSize(rest.substr(0, comma))) return equals + 1;
    if (comma < rest.find('=')) break;  // "batch=many,seq=3"
  }
  return absl::string_view::npos;
}

absl::Status NoSizes(absl::string_view text, absl::string_view rest) {
  const absl::string_view first = rest.substr(0, rest.find(','));
  const size_t equals = first.rfind('=');
  if (equals == absl::string_view::npos || equals == 0) {
    return BadValue("dim", text, "it should be NAME=N, as batch=8");
  }
  return BadValue(
      "dim", text,
      absl::StrCat(Quoted(first.substr(equals + 1)), " must be a whole number, 0 or more"));
}

absl::Status AddDim(absl::string_view text, DimSizes dim, std::vector<DimSizes>* dims) {
  const auto known = std::find_if(dims->begin(), dims->end(),
                                  [&](const DimSizes& d) { return d.name == dim.name; });
  if (known == dims->end()) {
    dims->push_back(std::move(dim));
  } else if (known->sizes != dim.sizes) {
    return BadValue("dim", text,
                    absl::StrCat("it was given as ", absl::StrJoin(known->sizes, ","), " before"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ParseDims(absl::string_view text, std::vector<DimSizes>* dims) {
  const SizeReader reader(text);
  absl::string_view rest = text;
  while (true) {
    const size_t begin = SizesBegin(rest);
    if (begin == absl::string_view::npos || begin == 1) return NoSizes(text, rest);
    DimSizes dim = {TypedSymbol(rest.substr(0, begin - 1)), {}};
    rest.remove_prefix(begin);
    size_t comma;
    do {
      comma = rest.find(',');
      RETURN_IF_ERROR(reader.Read(rest.substr(0, comma), &dim.sizes));
      rest.remove_prefix(comma == absl::string_view::npos ? rest.size() : comma + 1);
    } while (comma != absl::string_view::npos &&
             SizeReader::IsSize(rest.substr(0, rest.find(','))));
    RETURN_IF_ERROR(AddDim(text, std::move(dim), dims));
    if (comma == absl::string_view::npos) return absl::OkStatus();
  }
}

absl::Status ParseDims(const std::vector<std::string>& texts, Bindings* bindings,
                       std::vector<DimSizes>* sweep) {
  std::vector<DimSizes> all;
  for (const std::string& text : texts) RETURN_IF_ERROR(ParseDims(text, &all));
  for (DimSizes& dim : all) {
    if (dim.sizes.size() == 1) {
      bindings->emplace(std::move(dim.name), dim.sizes[0]);
    } else {
      sweep->push_back(std::move(dim));
    }
  }
  return absl::OkStatus();
}

absl::Status ParseDim(absl::string_view text, Bindings* bindings) {
  std::vector<DimSizes> dims;
  for (const auto& [name, size] : *bindings) dims.push_back({name, {size}});
  RETURN_IF_ERROR(ParseDims(text, &dims));
  for (DimSizes& dim : dims) {
    if (dim.sizes.size() > 1) return BadValue("dim", text, "it should be one size");
    bindings->emplace(std::move(dim.name), dim.sizes[0]);
  }
  return absl::OkStatus();
}

absl::Status ParseInput(absl::string_view text, absl::btree_map<std::string, Dims>* shapes) {
  ASSIGN_OR_RETURN(const auto split, SplitName("input", text, "NAME=SHAPE, as image=1x3x224x224"));
  absl::string_view shape = absl::StripAsciiWhitespace(split.second);
  if (absl::ConsumePrefix(&shape, "[") != absl::ConsumeSuffix(&shape, "]")) {
    return BadValue("input", text, "a bracket is missing");
  }
  Dims dims;
  for (absl::string_view item : SplitShape(shape)) {
    item = absl::StripAsciiWhitespace(item);
    if (shape.empty()) break;  // a scalar
    int64_t size = 0;
    if (absl::SimpleAtoi(item, &size) && size >= 0) {
      dims.push_back(size);
    } else if (IsName(item)) {
      dims.push_back(Expr::Symbol(item, 1));
    } else {
      return BadValue("input", text,
                      absl::StrCat(Quoted(item), " must be a whole number, 0 or more, or a name"));
    }
  }
  if (!shapes->emplace(split.first, std::move(dims)).second) {
    return BadValue("input", text, "its shape was given before");
  }
  return absl::OkStatus();
}

namespace {

// Reads "5", "[1,2]" or "[[4,4],[2,8]]": elements in row-major order, and the sizes of the lists.
class ValueReader {
 public:
  explicit ValueReader(absl::string_view text) : text_(text) {}

  absl::Status Read(absl::string_view list) {
    // A list may be written without brackets.
    const bool bare = !absl::StartsWith(list, "[");
    if (bare) Open();
    for (size_t i = 0; i < list.size();) {
      const size_t end = std::min(list.find_first_of("[],", i), list.size());
      const absl::string_view item = absl::StripAsciiWhitespace(list.substr(i, end - i));
      if (!item.empty()) RETURN_IF_ERROR(Take(item));
      if (end < list.size()) RETURN_IF_ERROR(Take(list[end]));
      i = end + 1;
    }
    if (open_.size() != (bare ? 1 : 0)) return BadValue("value", text_, "a bracket is missing");
    if (after_comma_) return BadValue("value", text_, kNoElement);
    if (bare) RETURN_IF_ERROR(Close());
    const bool is_even = content_.empty() || depth_of_items_ == sizes_.size();
    return is_even ? absl::OkStatus() : Uneven();
  }

  Content TakeContent() { return std::move(content_); }
  const Dims& sizes() const { return sizes_; }

 private:
  static constexpr char kNoElement[] = "an element is missing";
  static constexpr char kNoComma[] = "a comma is missing";

  void Open() {
    if (!open_.empty()) ++open_.back();
    open_.push_back(0);
  }

  absl::Status Close() {
    if (open_.empty()) return BadValue("value", text_, "a bracket is missing");
    // Lists close from the inside: the first that does tells the size of its depth.
    const size_t depth = open_.size();
    if (sizes_.size() < depth) sizes_.resize(depth, -1);
    Expr& size = sizes_[depth - 1];
    if (size == Expr(-1)) size = open_.back();
    const bool is_even = size == Expr(open_.back());
    open_.pop_back();
    return is_even ? absl::OkStatus() : Uneven();
  }

  absl::Status Uneven() const { return BadValue("value", text_, "its rows differ in length"); }

  absl::Status Take(char sign) {
    if (sign != '[' && after_comma_) return BadValue("value", text_, kNoElement);
    if (sign == ',' && !after_value_) return BadValue("value", text_, kNoElement);
    if (sign == '[' && after_value_) return BadValue("value", text_, kNoComma);
    after_comma_ = sign == ',';
    after_value_ = sign == ']';
    if (sign == ',') return absl::OkStatus();
    if (sign == ']') return Close();
    if (began_ && open_.empty()) return BadValue("value", text_, "a bracket is missing");
    if (open_.size() == static_cast<size_t>(kMaxRank)) {
      return BadValue("value", text_, absl::StrCat("more than ", kMaxRank, " brackets"));
    }
    began_ = true;
    Open();
    return absl::OkStatus();
  }

  absl::Status Take(absl::string_view item) {
    if (open_.empty()) return BadValue("value", text_, "a bracket is missing");
    if (after_value_) return BadValue("value", text_, kNoComma);
    after_comma_ = false;
    after_value_ = true;
    if (depth_of_items_ == 0) depth_of_items_ = open_.size();
    if (depth_of_items_ != open_.size()) return Uneven();
    ++open_.back();
    ASSIGN_OR_RETURN(Scalar scalar, ParseScalar("value", text_, item));
    content_.push_back(std::move(scalar));
    return absl::OkStatus();
  }

  absl::string_view text_;
  Content content_;
  Dims sizes_;
  std::vector<int64_t> open_;  // what each open bracket holds so far
  size_t depth_of_items_ = 0;
  bool began_ = false;        // the outermost bracket has been opened
  bool after_comma_ = false;  // an element has to follow
  bool after_value_ = false;  // none can follow
};

}  // namespace

absl::Status ParseValue(absl::string_view text, absl::btree_map<std::string, Content>* values,
                        absl::btree_map<std::string, Dims>* shapes) {
  ASSIGN_OR_RETURN(const auto split, SplitName("value", text, "NAME=VALUE, as sizes=[1,3,224]"));
  ValueReader reader(text);
  RETURN_IF_ERROR(reader.Read(absl::StripAsciiWhitespace(split.second)));
  if (!values->emplace(split.first, reader.TakeContent()).second) {
    return BadValue("value", text, "its value was given before");
  }
  // A list within a list is its shape as well.
  if (reader.sizes().size() < 2) return absl::OkStatus();
  const auto [shape, is_new] = shapes->emplace(split.first, reader.sizes());
  if (!is_new && shape->second != reader.sizes()) {
    return BadValue("value", text, absl::StrCat(Setting("input"), " gives it another shape"));
  }
  return absl::OkStatus();
}

absl::Status ParseLimit(absl::string_view text, Limits* limits) {
  ASSIGN_OR_RETURN(const auto split, SplitName("limit", text, "NAME=N, as unrolled-trips=1000"));
  std::vector<std::string> names;
  for (const SettableLimit& limit : kSettableLimits) {
    names.emplace_back(limit.name);
    if (split.first != limit.name) continue;
    int64_t value = 0;
    if (!absl::SimpleAtoi(split.second, &value) || value < 0 || value > limit.most) {
      return BadValue("limit", text, absl::StrCat("it should be from 0 to ", limit.most));
    }
    limits->*limit.value = value;
    return absl::OkStatus();
  }
  return BadValue("limit", text,
                  absl::StrCat("those that can be set are ", absl::StrJoin(names, ", "),
                               DidYouMean(split.first, names)));
}

std::string LimitHint(const absl::Status& error) {
  const std::string met = LimitOf(error);
  for (const SettableLimit& limit : kSettableLimits) {
    if (limit.name == met)
      return absl::StrCat("\n  ", Setting("limit", absl::StrCat(met, "=N")), " sets another limit");
  }
  return "";
}

}  // namespace onnxflops::settings
