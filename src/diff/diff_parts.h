// Texts of a diff, shared by the terminal and Markdown.
#ifndef ONNXFLOPS_SRC_DIFF_DIFF_PARTS_H_
#define ONNXFLOPS_SRC_DIFF_DIFF_PARTS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "src/diff/diff_writers.h"
#include "src/diff/model_diff.h"
#include "src/render/json_writer.h"
#include "src/render/known.h"
#include "src/render/text_table.h"

namespace onnxflops::diff {

// A table with its title, which is ours.
struct Section {
  std::string title;
  TextTable table;
};

// A quantity in both models, and how far it is known.
struct Sides {
  const Quantity& q;
  Expr base, head;
  report::Known base_known, head_known;

  Sides(const Quantity& quantity, Expr base_amount, bool base_lower_bound, Expr head_amount,
        bool head_lower_bound)
      : q(quantity),
        base(std::move(base_amount)),
        head(std::move(head_amount)),
        base_known(report::KnownOf(q, base, base_lower_bound)),
        head_known(report::KnownOf(q, head, head_lower_bound)) {}
  report::Known change(const Diff& diff) const;
};
Sides SidesOf(const DiffPart& part, const Quantity& q);
Sides SidesOfPeak(const Quantity& q, const PeakDiff& peak);
// The cells of a quantity: base, head, change, percent. A new model has only the head.
void AddFigures(const Diff& diff, const Sides& sides, bool exact, std::vector<std::string>* cells);
void AddFigureColumns(const Diff& diff, const Quantity& q, TextTable* table);

// {"base": q, "head": q, "delta": q}. A change in the totals has a "sign" as well.
void WriteChange(const Sides& sides, bool sign, report::JsonWriter* json);
// "onnxflops.diff/1".
void WriteDiff(const Diff& diff, report::JsonWriter* json, report::JsonWriter::Layout layout);

// The files, the sizes of the figures, and the changes, one line each.
std::vector<report::LabelledLine> HeadLines(const Diff& diff);
// "FLOPs +9.7 %, MACs +9.8 %; 3 modules changed, 1 new": for a title; contains no text of a file.
std::string ChangeInWords(const Diff& diff);
// "3 modules changed, 1 new", "2 modules renamed"; empty if no module differs.
std::vector<std::string> ModulesInWords(const Diff& diff);
// The sizes of the comparison, if a user would not expect them.
std::vector<std::string> ComparedTexts(const Diff& diff);
// The first size that differs between the models, as the reason why their figures are for different
// work; "" if none does.
std::string WhyOtherWork(const Diff& diff);
// The devices of the models, as the reason why their times cannot be compared; "" if there is none.
std::string WhyOtherTimes(const Diff& diff);
// A quantity of the whole models, or a peak of memory: "8.2 G -> 8.4 G", or "8.2 G" if it is equal
// or there is no base. And its change: "+2.5 %", "new", or "" if there is none. "" for what the
// diff does not have.
struct TotalTexts {
  std::string sides, change;
};
TotalTexts TextsOf(const Diff& diff, const Quantity& q);
// A row per quantity that any of the models has.
TextTable TotalsTable(const Diff& diff, const DiffViewOptions& options);
// Formulas of changes that depend on open sizes: "FLOPs = +8 G*batch - 8 G, never less".
std::vector<std::string> ChangeFormulas(const Diff& diff, const DiffViewOptions& options);
TextTable ModuleTable(const Diff& diff, const DiffViewOptions& options);
TextTable OpTable(const Diff& diff, const DiffViewOptions& options);
TextTable NodeTable(const Diff& diff, const DiffViewOptions& options);
// Producer, opsets, inputs, outputs and symbols that differ.
TextTable FileTable(const Diff& diff);
// The tables that the options ask for; those without rows are left out. Totals are not among them.
std::vector<Section> Sections(const Diff& diff, const DiffViewOptions& options);

// "+795.1 M", "-12", "0"; "-" if a formula has no value.
std::string ChangeText(const Diff& diff, const Expr& change, const Quantity& q, bool exact);
// "Add, com.example.FusedMlp and 2 more": operators that are not counted, or in part, in the head
// or the base; "" if all are.
std::string NotCountedOps(const Diff& diff, bool of_head);
// Warnings about totals that are lower bounds, one sentence per file.
std::vector<std::string> NotCountedTexts(const Diff& diff);
// "+9.7", "<0.1", "new" if the base is 0.
std::string ChangePercent(absl::int128 base, absl::int128 head);

}  // namespace onnxflops::diff

#endif  // ONNXFLOPS_SRC_DIFF_DIFF_PARTS_H_
