#include "src/adapter/lora_options.h"

#include <cmath>
#include <cstddef>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "src/base/limits.h"
#include "src/base/quote.h"
#include "src/base/setting.h"
#include "src/base/status_macros.h"

namespace onnxflops {
namespace {

absl::Status Wrong(absl::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(Setting("lora"), " ", Quoted(text), ": ", why));
}

absl::Status DoraOfPacked(absl::string_view text) {
  return absl::UnimplementedError(
      absl::StrCat(Setting("lora"), " ", Quoted(text),
                   ": DoRA of weights in 4 bits is not counted: its norms dequantise them again"));
}

absl::Status ReadRank(absl::string_view text, absl::string_view value, int64_t* rank) {
  if (absl::SimpleAtoi(value, rank) && *rank >= 1 && *rank <= kMaxLoraRank) return absl::OkStatus();
  return Wrong(text, absl::StrCat("r = ", Escaped(value), " must be a whole number from 1 to ",
                                  kMaxLoraRank));
}

absl::Status ReadAlpha(absl::string_view text, absl::string_view value, double* alpha) {
  if (absl::SimpleAtod(value, alpha) && std::isfinite(*alpha)) return absl::OkStatus();
  return Wrong(text, absl::StrCat("alpha = ", Escaped(value), " must be a number"));
}

absl::Status ReadSetting(absl::string_view text, absl::string_view setting, LoraOptions* options) {
  const size_t equals = setting.find('=');
  const absl::string_view key = setting.substr(0, equals);
  const absl::string_view value =
      equals == absl::string_view::npos ? "" : setting.substr(equals + 1);
  if (key == "r") return ReadRank(text, value, &options->r);
  if (key == "alpha") return ReadAlpha(text, value, &options->alpha);
  if (setting == "rslora") {
    options->rslora = true;
    return absl::OkStatus();
  }
  if (setting == "base=nf4") {
    options->base = LoraBase::kNf4;
    return absl::OkStatus();
  }
  if (setting == "dora") {
    options->dora = true;
    return absl::OkStatus();
  }
  return Wrong(text, absl::StrCat(Quoted(setting),
                                  " is not a setting: use r=N, alpha=X, rslora, dora or base=nf4"));
}

absl::Status ReadTargets(absl::string_view text, absl::string_view targets, LoraOptions* options) {
  for (absl::string_view target : absl::StrSplit(targets, ',')) {
    target = absl::StripAsciiWhitespace(target);
    const bool is_out = absl::ConsumePrefix(&target, "!");
    target = absl::StripAsciiWhitespace(target);
    if (target.empty() || target[0] == '!') {
      return Wrong(text, "a module has no name; separate modules by single commas");
    }
    if (absl::StrContains(target, '=') || target == "rslora" || target == "dora") {
      return Wrong(text, absl::StrCat(Quoted(target),
                                      " is a setting, and these stand before the colon: "
                                      "r=16,base=nf4:q_proj"));
    }
    if (options->targets.size() == kMaxLoraTargets || target.size() > kMaxModulePath) {
      return Wrong(text, absl::StrCat("more than ", kMaxLoraTargets, " modules, or a name of ",
                                      "more than ", kMaxModulePath, " bytes"));
    }
    options->targets.push_back(absl::StrCat(is_out ? "!" : "", target));
  }
  const auto& names = options->targets;
  const auto added = absl::c_count_if(names, [](absl::string_view name) { return name[0] != '!'; });
  if (added == 0) {
    return Wrong(text, "it names only modules that get no adapter: begin with all-linear");
  }
  if (added > 1 && absl::c_linear_search(names, kAllLinear)) {
    return Wrong(text, "all-linear already means all linear layers: leave out the other names");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LoraOptions> ParseLora(absl::string_view text) {
  const size_t colon = text.find(':');
  if (colon == absl::string_view::npos) {
    return Wrong(text, "it should be a rank and modules, as r=16:q_proj,v_proj");
  }
  LoraOptions options;
  bool has_rank = false;
  std::vector<absl::string_view> keys;
  for (absl::string_view setting : absl::StrSplit(text.substr(0, colon), ',')) {
    setting = absl::StripAsciiWhitespace(setting);
    RETURN_IF_ERROR(ReadSetting(text, setting, &options));
    const absl::string_view key = setting.substr(0, setting.find('='));
    if (absl::c_linear_search(keys, key)) {
      return Wrong(text, absl::StrCat(Quoted(key), " is given twice"));
    }
    keys.push_back(key);
    has_rank |= key == "r";
  }
  if (!has_rank) return Wrong(text, "the rank is missing, as in r=16:q_proj,v_proj");
  if (options.dora && options.base == LoraBase::kNf4) return DoraOfPacked(text);
  RETURN_IF_ERROR(ReadTargets(text, text.substr(colon + 1), &options));
  return options;
}

std::string LoraText(const LoraOptions& options) {
  return absl::StrCat("r=", options.r, ",alpha=", options.alpha, options.rslora ? ",rslora" : "",
                      options.dora ? ",dora" : "",
                      options.base == LoraBase::kNf4 ? ",base=nf4" : "", ":",
                      absl::StrJoin(options.targets, ","));
}

std::vector<const LoraOptions*> LoraLists(const LoraOptions& options) {
  std::vector<const LoraOptions*> lists = {&options};
  for (const LoraOptions& list : options.more) lists.push_back(&list);
  return lists;
}

std::vector<std::string> LoraTexts(const LoraOptions& options) {
  std::vector<std::string> texts;
  for (const LoraOptions* list : LoraLists(options)) texts.push_back(LoraText(*list));
  return texts;
}

bool HasNf4Base(const LoraOptions& options) {
  return absl::c_any_of(LoraLists(options),
                        [](const LoraOptions* list) { return list->base == LoraBase::kNf4; });
}

double LoraScale(const LoraOptions& options) {
  const auto rank = static_cast<double>(options.r);
  return options.alpha / (options.rslora ? std::sqrt(rank) : rank);
}

}  // namespace onnxflops
