// How it works. zoos.csv has a line for each figure of a zoo that was reproduced here or has a
// reason why not; tools/published/page.py writes it. A file belongs to a line if their names are
// the same without case and separators: "resnet50.onnx", "ResNet50_Weights.IMAGENET1K_V1". What
// follows a zoo's name after a point or "_Weights" tells which training, not which network, and is
// left out, so a network has one line for each figure that differs.
#include "src/settings/zoo.h"

#include <map>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "src/base/byte_reader.h"
#include "src/base/csv_reader.h"
#include "src/base/setting.h"
#include "src/base/similar.h"
#include "src/base/status_macros.h"
#include "src/settings/value.h"
#include "src/settings/zoos_text.h"

namespace onnxflops::settings {
namespace {

// A line of zoos.csv.
struct ZooLine {
  std::string zoo, model, size, built, figure, reason;
};

absl::StatusOr<std::vector<ZooLine>> ReadZoos() {
  ByteReader bytes(kZoosCsv);
  CsvReader csv(&bytes, {});
  std::vector<ZooLine> lines;
  std::vector<std::string> cells;
  ASSIGN_OR_RETURN(bool more, csv.Next(&cells));  // the titles
  while (more) {
    ASSIGN_OR_RETURN(more, csv.Next(&cells));
    if (!more) break;
    lines.push_back({cells[0], cells[1], cells[2], cells[3], cells[4], cells[5]});
  }
  return lines;
}

// "ResNet50_Weights.IMAGENET1K_V1" -> "ResNet50".
absl::string_view Network(absl::string_view model) {
  // "regnetx-3.2gf" has no tag.
  const auto is_number = [&](size_t dot) {
    return dot + 1 < model.size() &&
           absl::ascii_isdigit(static_cast<unsigned char>(model[dot + 1]));
  };
  size_t dot = model.find('.');
  while (dot != absl::string_view::npos && is_number(dot)) dot = model.find('.', dot + 1);
  model = model.substr(0, dot);
  for (absl::string_view end : {"_Weights", "_QuantizedWeights"}) {
    if (absl::ConsumeSuffix(&model, end)) break;
  }
  return model;
}

std::string Letters(absl::string_view name) {
  std::string letters;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (absl::ascii_isalnum(byte)) letters.push_back(static_cast<char>(absl::ascii_tolower(byte)));
  }
  return letters;
}

// A file's name without folder and type.
absl::string_view Stem(absl::string_view path) {
  path.remove_prefix(path.rfind('/') + 1);  // npos + 1 is 0
  absl::ConsumeSuffix(&path, ".onnx");
  return path;
}

bool IsOf(const ZooLine& line, absl::string_view name) {
  const std::string letters = Letters(name);
  return letters == Letters(line.model) || letters == Letters(Network(line.model));
}

// "resnet50 at 224".
std::string NameOf(const ZooLine& line) {
  return absl::StrCat(Network(line.model), line.size.empty() ? "" : " at ", line.size);
}

std::string AboutOf(const ZooLine& line) {
  std::vector<std::string> parts;
  if (!line.built.empty() && line.built != "as it is")
    parts.push_back(absl::StrCat("built with ", line.built));
  if (!line.reason.empty()) parts.push_back(line.reason);
  return absl::StrJoin(parts, "; ");
}

// The figures of one file, or one without a figure that has the fault. REQUIRES: the lines are
// those of one zoo.
absl::StatusOr<std::vector<Published>> FiguresOf(absl::string_view zoo, const std::string& file,
                                                 absl::string_view name,
                                                 const std::vector<ZooLine>& lines) {
  std::vector<Published> figures;
  std::set<std::pair<std::string, std::string>> seen;
  std::set<std::string> networks;
  for (const ZooLine& line : lines) {
    networks.emplace(Network(line.model));
    if (!IsOf(line, name) || !seen.emplace(NameOf(line), line.figure).second) continue;
    Published& published = figures.emplace_back();
    published.name = NameOf(line);
    published.model = file;
    published.of_zoo = true;
    published.about = AboutOf(line);
    ASSIGN_OR_RETURN(published.figure, ParsePublishedFigure(line.figure));
  }
  if (!figures.empty()) return figures;
  Published& none = figures.emplace_back();
  none.name = std::string(name);
  none.model = file;
  none.fault = absl::NotFoundError(
      absl::StrCat("no figure of such a model of ", zoo, " is known here",
                   WithSettings("; {zoo NAME:MODEL} gives a file its name there"),
                   DidYouMean(name, std::vector<std::string>(networks.begin(), networks.end()))));
  return figures;
}

}  // namespace

std::vector<std::string> ZooNames() {
  std::vector<std::string> names;
  const size_t titles = kZoosCsv.find('\n') + 1;
  for (absl::string_view line : absl::StrSplit(kZoosCsv.substr(titles), '\n', absl::SkipEmpty())) {
    const absl::string_view name = line.substr(0, line.find(','));
    if (!absl::c_linear_search(names, name)) names.emplace_back(name);
  }
  return names;
}

absl::StatusOr<std::vector<Published>> ZooFigures(absl::string_view zoo,
                                                  absl::Span<const std::string> files) {
  const std::pair<std::string, std::string> words = absl::StrSplit(zoo, absl::MaxSplits(':', 1));
  const std::string &name = words.first, &model = words.second;
  ASSIGN_OR_RETURN(std::vector<ZooLine> lines, ReadZoos());
  std::erase_if(lines, [&](const ZooLine& line) { return line.zoo != name; });
  if (lines.empty()) {
    return BadValue("zoo", zoo,
                    absl::StrCat("it should be ", absl::StrJoin(ZooNames(), ", "),
                                 ", or one of them and the name of a model, as timm:resnet50"));
  }
  if (!model.empty() && files.size() > 1) {
    return BadValue("zoo", zoo, "it names one model, and there are several files");
  }
  std::vector<Published> all;
  for (const std::string& file : files) {
    ASSIGN_OR_RETURN(
        std::vector<Published> figures,
        FiguresOf(name, file, model.empty() ? Stem(file) : absl::string_view(model), lines));
    all.insert(all.end(), figures.begin(), figures.end());
  }
  return all;
}

void LeaveOutOtherSizes(std::vector<AuditRow>* rows) {
  std::set<std::pair<std::string, Unit>> found;
  for (const AuditRow& row : *rows) {
    if (row.matches) found.emplace(row.model, row.published.unit);
  }
  std::erase_if(*rows, [&](const AuditRow& row) {
    return row.fault.empty() && !row.matches && found.contains({row.model, row.published.unit});
  });
}

}  // namespace onnxflops::settings
