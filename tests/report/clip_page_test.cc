// Every figure of models/CLIP.md, recomputed: from the exports, and, for the config formula, from
// the numbers of the config files. (Its examples are held to what they print by golden_test.)
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/api/count.h"
#include "src/compare/compare_report.h"
#include "src/load/load_file.h"
#include "src/render/format.h"

namespace onnxflops::clip_page_test {
namespace {

using report::GroupedDigits;
using report::Percent;

// What the formula reads of a config file; the text tower takes the image tower's ratio.
struct Tower {
  int64_t width, layers, tokens;
};
struct Model3 {
  const char* name;
  const char* full;    // the export of both towers
  const char* visual;  // of the image tower
  Tower image, text;
  // Of the MLP to the width, as a fraction: 8.571428571428571 is 60/7.
  int64_t ratio_numerator, ratio_denominator;
};
constexpr Model3 kModels[] = {
    {"ViT-L/14-336",
     "openclip224-vit-l-14-336",
     "openclip224-vit-l-14-336-visual",
     {1024, 24, 24 * 24},
     {768, 12, 77},
     4,
     1},
    {"ViT-H/14",
     "openclip224-vit-h-14",
     "openclip224-vit-h-14-visual",
     {1280, 32, 16 * 16},
     {1024, 24, 77},
     4,
     1},
    // "layers" is not the key that the formula looks for in the text tower: 12, not 24.
    {"EVA02-E/14",
     "clip-eva02-e-14",
     "openclip224-eva02-e-14-visual",
     {1792, 64, 16 * 16},
     {1024, 12, 77},
     60,
     7},
};

std::string ReadPage() {
  std::ifstream file(ONNXFLOPS_SOURCE_DIR "/models/CLIP.md");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

absl::int128 Figure(const std::string& model, const std::string& tool, const Bindings& sizes = {}) {
  const auto loaded = LoadFile(absl::StrCat(ONNXFLOPS_SOURCE_DIR "/models/", model, ".onnx"));
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  const auto report = CompareTools(*loaded, {.bindings = sizes}, {.with = {tool}});
  EXPECT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->tools[0].standing, Standing::kExact) << model << " " << tool;
  return report->tools[0].headline->literal();
}

struct Formula {
  absl::int128 linear[2], attention[2];  // image, text
  absl::int128 sum = 0;
};

// layers * (4 h s^2 + 8 h (r h) s), rounded to an integer as a float of it is.
Formula ConfigFormula(const Model3& m) {
  Formula f;
  const Tower* towers[] = {&m.image, &m.text};
  for (int i = 0; i < 2; ++i) {
    const Tower& t = *towers[i];
    const absl::int128 h = t.width, s = t.tokens, layers = t.layers;
    f.attention[i] = layers * 4 * h * s * s;
    const absl::int128 linear = layers * 8 * h * h * s * m.ratio_numerator;
    f.linear[i] = (linear * 2 + m.ratio_denominator) / (m.ratio_denominator * 2);
    f.sum += f.attention[i] + f.linear[i];
  }
  return f;
}

std::string TableRow(const std::vector<std::string>& cells) {
  std::string row = "|";
  for (const std::string& cell : cells) absl::StrAppend(&row, " ", cell, " |");
  return row;
}

// All that the page may say of a model.
struct Row {
  explicit Row(const Model3& m)
      : macs(Figure(m.full, "macs") / 2),
        flops(Figure(m.full, "macs")),
        thop(Figure(m.visual, "thop")),
        fvcore1(Figure(m.full, "fvcore-torch1")),
        fvcore(Figure(m.full, "fvcore")),
        config(ConfigFormula(m)) {}
  absl::int128 macs, flops, thop, fvcore1, fvcore;
  Formula config;
};

std::string Share(absl::int128 part, absl::int128 whole) {
  return absl::StrCat(Percent(part, whole), " %");
}

TEST(ClipPageTest, TablesAreRecomputed) {
  const std::string page = ReadPage();
  for (const Model3& m : kModels) {
    const Row row(m);
    const Formula& f = row.config;
    const auto digits = GroupedDigits;
    const std::string rows[] = {
        TableRow({m.name, digits(row.macs), digits(row.flops), digits(f.sum), digits(row.thop),
                  digits(row.fvcore1), digits(row.fvcore)}),
        TableRow({m.name, digits(f.linear[0]), digits(f.attention[0]), digits(f.linear[1]),
                  digits(f.attention[1]), digits(f.sum), Share(f.sum - row.flops, row.flops)}),
        TableRow({m.name, Share(f.sum, row.flops), Share(row.thop, row.flops),
                  Share(row.fvcore1, row.flops), Share(row.fvcore, row.flops)}),
    };
    for (const std::string& expected : rows) {
      EXPECT_TRUE(absl::StrContains(page, expected)) << "models/CLIP.md should have\n" << expected;
    }
  }
}

// What thop was run on decides which of its figures one has.
TEST(ClipPageTest, FiguresOfThop) {
  const std::string page = ReadPage();
  for (const absl::int128 figure : {Figure("openclip224-vit-l-14-336-visual", "thop"),
                                    Figure("openclip224-vit-l-14-336", "thop"),
                                    Figure("clip-vit-l-14-336", "thop", {{"batch", 1}})}) {
    EXPECT_TRUE(absl::StrContains(page, GroupedDigits(figure))) << GroupedDigits(figure);
  }
}

// The founding figures, which the page is about, as they were published (in TFLOPs, so called).
TEST(ClipPageTest, PublishedFiguresAreMet) {
  struct Case {
    const char* model;
    const char* config;
    const char* thop;
    const char* fvcore;
  } cases[] = {
      {"ViT-L/14-336", "0.51412985856", "0.116512260096", "0.197764840192"},
      {"ViT-H/14", "0.502825582592", "0.10798628864", "0.19096870656"},
      {"EVA02-E/14", "3.70456649728", "", "1.156025526016"},
  };
  const auto tera = [](const std::string& text) {
    const size_t point = text.find('.');
    std::string all = text.substr(0, point) + text.substr(point + 1);
    all.append(12 - (text.size() - point - 1), '0');
    return absl::int128(std::stoll(all));
  };
  for (size_t i = 0; i < std::size(cases); ++i) {
    const Row row(kModels[i]);
    EXPECT_EQ(row.config.sum, tera(cases[i].config)) << cases[i].model;
    EXPECT_EQ(row.fvcore1, tera(cases[i].fvcore)) << cases[i].model;
    if (*cases[i].thop == '\0') continue;  // the model failed to load, the table says
    EXPECT_EQ(row.thop, tera(cases[i].thop)) << cases[i].model;
  }
}

// What the text says in words.
TEST(ClipPageTest, SentencesAreRecomputed) {
  const std::string page = ReadPage();
  const Row l(kModels[0]), h(kModels[1]);
  EXPECT_TRUE(absl::StrContains(page, absl::StrCat("FLOPs shrink to ", Share(h.flops, l.flops))));
  // open_clip's docs/model_profile.csv.
  const absl::int128 params_l = 427944193, params_h = 986109441;
  EXPECT_TRUE(absl::StrContains(
      page, absl::StrCat("grow to ", Share(params_h, params_l), " (", GroupedDigits(params_l),
                         " to ", GroupedDigits(params_h), ")")));
  for (const Model3& m : kModels) {
    const Row row(m);
    const double norms =
        static_cast<double>(row.fvcore1 - row.macs) / static_cast<double>(row.macs);
    EXPECT_GE(norms, 0.00025);
    EXPECT_LE(norms, 0.00085);
  }
}

}  // namespace
}  // namespace onnxflops::clip_page_test
