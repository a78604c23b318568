// All bounds on the work that an input file can cause, each with its reason.
//
// A model that exceeds a limit is refused with an error that names the limit. Where the only effect
// is less detail, a warning names it instead. No real model that we know reaches any of them. The
// limits in struct Limits, at the end, can be set with --limit NAME=N or CountOptions::limits.
// Messages write kMaxCallDepth as call-depth.
#ifndef ONNXFLOPS_SRC_BASE_LIMITS_H_
#define ONNXFLOPS_SRC_BASE_LIMITS_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace onnxflops {

// Fields of a file that are examined to decide whether it is a model: Protobuf writes ir_version
// and the graph before repeated fields with many entries.
inline constexpr int kMaxProbedFields = 10'000;
// Graphs inside graphs (If, Loop, Scan bodies). Protobuf's own nesting limit of 100 stops ONNX's
// reader at 32.
inline constexpr int kMaxGraphNesting = 64;
// Types inside types: sequence(optional(sequence(...))). ONNX's reader stops at 49.
inline constexpr int kMaxTypeNesting = 32;
// Messages inside messages in the parts of a file that are skipped. Protobuf's own limit.
inline constexpr int kMaxIgnoredNesting = 100;
// Local functions calling local functions. Real exports nest as deep as their modules, below 20.
inline constexpr int kMaxCallDepth = 200;
// Nodes and calls of a model after functions are inlined, in addition to those of the file; long
// ones count as several. Beyond it, calls stay calls. A language model whose layers are one
// function has some thousands.
inline constexpr int64_t kMaxInlinedNodes = 10'000;
// Dimensions of one tensor. ONNX Runtime stops at 64 as well.
inline constexpr int kMaxRank = 64;
// Elements that a file may state for one dimension or tensor: more cannot be addressed.
inline constexpr int64_t kMaxElements = int64_t{1} << 62;
// Integer tensors up to this size have their content followed (shapes, indices, masks of shape
// arithmetic).
inline constexpr int64_t kMaxIntContent = 1024;
// Operands of a Max or Sum whose content is followed: more than any real shape arithmetic has.
inline constexpr size_t kMaxEvaluatedOperands = 64;
// Elements of a float tensor whose content is followed: Resize scales and Range limits are this
// small. Weights are larger, and following them would make equal layers differ.
inline constexpr int64_t kMaxFloatContent = 16;
// Terms of the rule that gives all elements of a larger tensor: real ones have up to four, and
// arithmetic on tensors of any length must not make them grow.
inline constexpr int64_t kMaxRuleTerms = 32;
// Elements that a rule is written out for: shapes, axes and single places of longer tensors.
inline constexpr int64_t kMaxListOfRule = 64;
// Loops within loops whose sizes change from trip to trip and are summed: each multiplies the runs
// of its body, and the sums of sums grow.
inline constexpr int kMaxGrowingLoops = 2;
// Trips of a loop with changing shapes that are followed one by one; beyond it, changing sizes
// become symbols.
inline constexpr int64_t kMaxUnrolledTrips = 64;
// Passes over the body of a Loop or Scan until the facts about carried values stop changing. Each
// pass forgets something about some value; after the last one ranks are given up.
inline constexpr int kMaxBodyPasses = 6;
// Items of a sequence that are tracked one by one. For a longer sequence only facts that all items
// share are kept.
inline constexpr int64_t kMaxSequenceItems = 64;
// Evaluations of nodes and weights, per node and weight of the file, plus a constant for small
// files. Bodies and functions are evaluated again for different inputs. An evaluation unlike any
// earlier one counts as kEvaluationsPerCall.
inline constexpr int64_t kMaxEvaluationsPerNode = 6;
inline constexpr int64_t kMaxExtraEvaluations = 400'000;
inline constexpr int64_t kEvaluationsPerCall = 4;
// Each evaluation reads, hashes and copies a node's lists and names. So many inputs and outputs, or
// bytes of attributes and names, count as one evaluation more. The first kFreeBytes are free.
inline constexpr size_t kValuesPerEvaluation = 8;
inline constexpr size_t kBytesPerEvaluation = 64;
inline constexpr size_t kFreeBytes = 256;
// Elements of all contents that are followed, per node of the file plus a constant; beyond it only
// single elements are followed.
inline constexpr int64_t kMaxContentPerNode = 64;
inline constexpr int64_t kMaxExtraContent = 500'000;
// Bytes of a symbol's name as written, since every term prints it. Also the limit for the name of
// the tensor that a symbol comes from.
inline constexpr size_t kMaxSymbolName = 256;
// Terms in the upper bound of a size that depends on data; real ones have a few. A longer bound
// counts as unknown.
inline constexpr int64_t kMaxBoundTerms = 32;
// Terms of amounts in a whole report whose range is computed, and the steps for one of them. Beyond
// it, no range is known.
inline constexpr int64_t kMaxRangeTerms = 300'000;
inline constexpr int64_t kMaxRangeSteps = 2'000'000;
// Open sizes, per node of the file plus a constant. Each has a name and an origin.
inline constexpr size_t kMaxSymbolsPerNode = 1;
inline constexpr size_t kMaxExtraSymbols = 20'000;
// Terms of polynomials, per node of the file plus a constant. Separate limits hold for all
// different shapes and contents, for the costs of all different nodes, and for the sums of all
// different modules, because sums of sums of symbols grow with the square of the file. A term takes
// some 120 bytes. Real models have one or two per dimension and some ten per cost, and most of
// their nodes equal another.
inline constexpr int64_t kMaxTermsPerNode = 4;
inline constexpr int64_t kMaxExtraTerms = 200'000;
// Steps of arithmetic on polynomials in each stage (about 10 ns each), per node of the file plus a
// constant. Real models take some hundred per distinct node.
inline constexpr int64_t kMaxStepsPerNode = 300;
inline constexpr int64_t kMaxExtraSteps = 15'000'000;
// Inputs of a node, and outputs. The largest of real exports have some thousands: all weights of a
// model, handed to one function.
inline constexpr int64_t kMaxNodeInputs = 16'384;
// Attributes of a node: they are looked up one by one. Real nodes have up to 40.
inline constexpr size_t kMaxNodeAttributes = 1024;
// Bytes of a tensor's payload that are kept, whatever its type: kMaxIntContent elements of the
// widest.
inline constexpr int64_t kMaxKeptBytes = 16 * kMaxIntContent;
// Bytes of standard input, a pipe or a device. Only what the graph needs of them stays in memory,
// but their addresses are set aside before the length is known.
inline constexpr int64_t kMaxStreamBytes = int64_t{1} << 36;
// How long the program at the other end of a named pipe may take to open it. Without a limit an
// unused pipe would block forever; a shell opens both ends within milliseconds.
inline constexpr int kMaxPipeWaitMs = 2'000;
// Bytes of a model written as text, and how deep its brackets nest: a graph within a graph takes 5
// of them in JSON. Protobuf's messages, which a text becomes, grow up to 30 times as large.
inline constexpr int64_t kMaxTextBytes = int64_t{1} << 29;
inline constexpr int kMaxTextNesting = 256;
// Graphs, nodes, values and tensors of a file, each: they are numbered in 32 bits.
inline constexpr int64_t kMaxIds = (int64_t{1} << 31) - 1;
// Opsets that a model or a function imports. Real files import up to five.
inline constexpr size_t kMaxOpsetImports = 256;
// Warnings about domains that are not imported; a file can have as many as it has nodes.
inline constexpr size_t kMaxDomainWarnings = 10;
// Likely or certain copies of weights that a report names; there are two such lists.
inline constexpr size_t kMaxWeightCopies = 8;
// Bytes of a name that a message shows; names of a megabyte exist.
inline constexpr size_t kMaxShownName = 200;
// Inputs, and outputs, in a node's row, and the bytes of their names and shapes: a name of a few
// bytes may stand for a long shape, in thousands of inputs.
inline constexpr size_t kMaxRowTensors = 64;
inline constexpr size_t kMaxRowTensorText = size_t{16} << 10;
// Bytes of text in all rows of nodes, as a multiple of the bytes in the file's node names, plus a
// constant. Further rows are left out. Bodies have a row for every trip that is followed.
inline constexpr int64_t kMaxRowTextPerName = 16;
inline constexpr int64_t kMaxExtraRowText = int64_t{16} << 20;
// Bytes of text of all expressions in a report, its modules and operators, per node of the file
// plus a constant. Real models need some hundred bytes per module.
inline constexpr int64_t kMaxFormulaTextPerNode = 256;
inline constexpr int64_t kMaxExtraFormulaText = int64_t{16} << 20;
// Bytes of one expression in a text for people.
inline constexpr size_t kMaxShownFormula = 2000;
// Parts of a module's path, and its bytes. Real paths have about 15 parts and 100 bytes; deeper
// modules belong to the module at the limit.
inline constexpr int kMaxModuleDepth = 64;
inline constexpr int64_t kMaxModulePath = 4096;
// Bytes of an exporter's list of the modules around a node; every prefix of the list is looked up.
// Real ones have up to 5,000.
inline constexpr size_t kMaxScopesText = size_t{16} << 10;
// Bytes of the line of Python that made a node; nothing is concluded from a longer one.
inline constexpr size_t kMaxSourceLine = 1024;
// Modules per node and weight of the file, plus a constant; a name of a few bytes can make 64. In
// real models a module runs its own node, or contains modules that do.
inline constexpr int64_t kMaxModulesPerNode = 4;
inline constexpr int64_t kMaxExtraModules = 10'000;
// Node visits per node of the file, plus a constant, for opening calls of local functions to find
// the modules inside; a call that exceeds it is one module. Real exports take one visit per node of
// the model with its functions inlined.
inline constexpr int64_t kMaxModuleVisitsPerNode = 64;
inline constexpr int64_t kMaxExtraModuleVisits = 10'000;
// Bytes of the paths of all modules, for each that there may be: a call of a function with a name
// of 60 bytes can make 60 paths of 4 kB.
inline constexpr size_t kMaxModuleBytes = 128;
// The counts of other tools visit the nodes 18 times and more, so their limit is lower: the limit
// above divided by this, plus a constant. The largest export that we know has some 100,000 nodes
// when inlined.
inline constexpr int64_t kVisitsPerEntry = 16;
inline constexpr int64_t kMaxExtraEntries = 200'000;
// The same for all that other tools count in one comparison: the limit per node above divided by
// this, plus a constant. Equal layers share their amounts.
inline constexpr int64_t kTermsPerAmountTerm = 16;
inline constexpr int64_t kMaxAmountTerms = 500'000;
// Nodes from QK' to PV of an attention that an exporter wrote out, and from the first layer of a
// recurrent module to its last: exports have below 10 and 100.
inline constexpr size_t kMaxAttentionNodes = 32;
inline constexpr size_t kMaxRecurrentNodes = 4096;
// Bytes of a file of operator rules, depth of nested values, and dots in one line: a dotted key
// makes a table per dot, and the tables of a line are nested.
inline constexpr size_t kMaxRulesBytes = size_t{1} << 20;
inline constexpr int kMaxRulesNesting = 8;
inline constexpr int kMaxRulesDots = 64;
// Bytes of a configuration, depth of its brackets, number of layers, and any other size in it. Real
// ones have 10 kB, depth 5, 200 layers, and a vocabulary of 300,000.
inline constexpr size_t kMaxConfigBytes = size_t{1} << 20;
inline constexpr int kMaxConfigNesting = 32;
inline constexpr int64_t kMaxConfigLayers = 2048;
inline constexpr int64_t kMaxConfigSize = int64_t{1} << 28;
// The rank of low-rank adapters, and names of modules that get one. Real ranks are below 1,000.
inline constexpr int64_t kMaxLoraRank = int64_t{1} << 20;
inline constexpr size_t kMaxLoraTargets = 256;
// Bytes of a report that is read back. In memory it takes some ten times as much.
inline constexpr size_t kMaxReportBytes = size_t{64} << 20;
// Modules under one parent, in both models together, that are compared pairwise because nothing
// else identifies them.
inline constexpr size_t kMaxComparedModules = 128;
// Rules of a file of budgets, and sets of sizes at which each of them must hold.
inline constexpr size_t kMaxBudgets = 1000;
inline constexpr size_t kMaxBudgetSets = 32;
// How often nodes without a rule are looked up in the official library: the types of one may follow
// from the body of another.
inline constexpr int kMaxBodyRounds = 64;
// Applications of such operators that differ in attributes or types of inputs.
inline constexpr size_t kMaxBodyQuestions = 10'000;
// Bytes of the question about all of them: attributes and types of inputs.
inline constexpr size_t kMaxBodyQuestionBytes = size_t{8} << 20;
// Terms of a polynomial, and products made by multiplying two of them.
inline constexpr size_t kMaxTerms = 100'000;
// Degree of a monomial. A cost has at most the product of two tensors' sizes.
inline constexpr int kMaxDegree = 1000;
// Divisions, minima and maxima inside each other in an expression: bounds the recursion over it.
inline constexpr int kMaxExprDepth = 64;
// Nodes of an expression written out as a tree, which printing and evaluating takes; shared parts
// make it exponentially larger than the expression.
inline constexpr int64_t kMaxExprWeight = 2'000'000;
// The same for a division, minimum or maximum inside another: two equal ones are compared part by
// part, each time.
inline constexpr int64_t kMaxAtomWeight = 10'000;
// Operands of one min, max or broadcast.
inline constexpr size_t kMaxOperands = 64;
// How much work is put into knowing more about an expression; beyond, less is known.
inline constexpr size_t kMaxComparedTerms = 64;   // of an operand of min or max; above: by range
inline constexpr size_t kMaxDivisionWork = 2000;  // term operations of one polynomial division
inline constexpr size_t kMaxRefinedTerms = 16;    // of a polynomial whose bounds are worked for
inline constexpr int kMaxRefinedDegree = 4;
inline constexpr size_t kMaxRefinedOperands = 8;  // of a min or max whose operands are so compared
inline constexpr int kMaxRefinements = 24;        // expressions examined for the bounds of one call
// Samples of a batch, each with its sizes, and bytes of a file of them. Divisions of sizes are
// evaluated for each different sample: samples times terms in divisions, some seconds and 160 MB.
inline constexpr size_t kMaxSamples = 10'000'000;
inline constexpr size_t kMaxSamplesBytes = size_t{1} << 28;
inline constexpr int64_t kMaxSampleEvaluations = 20'000'000;
// An expression in an option: its characters, the terms of an operand of * and //, parentheses
// inside each other.
inline constexpr size_t kMaxParsedChars = 16'384;
inline constexpr size_t kMaxParsedTerms = 200;
inline constexpr int kMaxParsedDepth = 100;
// Terms of an operand in a dimension of a file, "past + seq"; a longer text is taken as a name.
inline constexpr size_t kMaxDimTerms = 16;
// Letters of names compared in the search for a mistyped one, and suggestions in a message.
inline constexpr size_t kMaxComparedName = 64;
inline constexpr size_t kMaxSuggestedNames = 3;
// Attention patterns: nodes between the two products, and inputs of each of them.
inline constexpr int kMaxAttentionChain = 12;
inline constexpr size_t kMaxAttentionChainInputs = 8;
// Sums among which a peak of live activations is sought where sizes are symbols.
inline constexpr size_t kMaxPeakSums = 64;
// Operands of an Einsum whose gradient is counted.
inline constexpr size_t kMaxGradientOperands = 16;
// Size of a convolution's kernel whose positions are counted one by one, as XLA does.
inline constexpr int64_t kMaxCountedKernel = 4096;
// Pixels along a side of an image patch in a configuration.
inline constexpr int64_t kMaxPatchSize = 4096;
// Tokens of a prompt or a cache: more than any has.
inline constexpr int64_t kMaxPromptTokens = int64_t{1} << 40;
// Models of one call, points of a sweep, threads (-j).
inline constexpr size_t kMaxModels = 100'000;
inline constexpr size_t kMaxSweepPoints = 1000;
// Stages of a pipeline times the points of its sweep: each is counted up to three times, and its
// formulas are kept until all is written.
inline constexpr size_t kMaxPipelineSweepStages = 10'000;
// Terms of a size of a stage, "2*images + 1". The cost of a model has some powers of it: all stages
// of a file, compared with all tools, then take some seconds.
inline constexpr int64_t kMaxStageSizeTerms = 8;
// Nodes of a file times the points of a sweep of its memory, where each point is a count of 10 to
// 40 us per node: some minutes. Files of 10,000 nodes keep all points; every file has some.
inline constexpr size_t kMaxMemorySweepNodes = 10'000'000;
inline constexpr size_t kMinMemoryPoints = 10;
inline constexpr int kMaxThreads = 256;
// Limits of a profile: bytes of a text in it, depth of brackets, bytes of all names, events of a
// run, which are kept until it ends (some 80 bytes each), threads, runs, kernels, their times in
// all runs, and the longest time, 104 days. An event takes some 700 bytes of a file.
inline constexpr size_t kMaxProfileToken = size_t{1} << 20;
inline constexpr int kMaxProfileNesting = 32;
inline constexpr size_t kMaxProfileNameBytes = size_t{64} << 20;
inline constexpr size_t kMaxRunEvents = 4'000'000;
inline constexpr size_t kMaxProfileThreads = 1024;
inline constexpr size_t kMaxProfileRuns = 1'000'000;
inline constexpr size_t kMaxProfileKernels = 1'000'000;
inline constexpr int64_t kMaxProfileSamples = 32'000'000;
inline constexpr int64_t kMaxProfileNs = int64_t{1} << 53;
// Sizes of one tensor, and tensors of one kernel, that are kept from a profile.
inline constexpr size_t kMaxProfileOutputs = 64;
// Bytes of a line in a training log; a longer one is reported and skipped.
inline constexpr size_t kMaxLogLine = size_t{1} << 20;
// Bytes of a history of models and of one of its lines, and depth of its brackets. A line takes
// some 1,000 bytes: the limit allows ten models at 6,000 commits.
inline constexpr size_t kMaxHistoryBytes = size_t{64} << 20;
inline constexpr size_t kMaxHistoryLine = size_t{1} << 20;
inline constexpr int kMaxHistoryNesting = 16;
// Executions of kernels that a trace is written with.
inline constexpr size_t kMaxTraceEvents = 500'000;
// Limits of an HTML page: bytes of the page, of its tree of modules, and of the lists next to the
// tree; bytes of a name, of a formula in the tree (a longer one has no value in the page), and of
// any other text of a model; nodes of a model whose modules show operators; and lengths of its
// lists.
inline constexpr size_t kMaxPageBytes = 1'000'000;
inline constexpr size_t kMaxPageTreeBytes = 600'000;
inline constexpr size_t kMaxPageListBytes = 250'000;
inline constexpr size_t kMaxPageName = 300;
inline constexpr size_t kMaxPageFormula = 30'000;
inline constexpr size_t kMaxPageText = 2'000;
inline constexpr size_t kMaxPageNodes = 200'000;
inline constexpr size_t kMaxPageTensors = 32;
inline constexpr size_t kMaxPageSymbols = 1'000;
inline constexpr size_t kMaxPageNotes = 50;
// Highest IR version that this loader knows.
inline constexpr int64_t kMaxIrVersion = 14;
// Highest released opset of the ai.onnx domain in ONNX 1.23.2, and the release.
inline constexpr int64_t kMaxOpset = 28;
inline constexpr char kOnnxRelease[] = "1.23.2";
inline constexpr char kOnnxRuntimeRelease[] = "1.32";  // whose own operators have rules

// The limits that a real model might exceed. The others cannot be set: they bound recursion
// (nesting), or no other program reads what exceeds them (ranks, sizes), or another option gives
// the lost detail (--dim for a size that content of more than kMaxIntContent elements decides).
struct Limits {
  int64_t unrolled_trips = kMaxUnrolledTrips;
  int64_t evaluations_per_node = kMaxEvaluationsPerNode;
  int64_t content_per_node = kMaxContentPerNode;
  int64_t terms_per_node = kMaxTermsPerNode;
  int64_t steps_per_node = kMaxStepsPerNode;
  int64_t module_visits_per_node = kMaxModuleVisitsPerNode;
  int64_t text_bytes = kMaxTextBytes;
};

// How they are called in messages and options, and how far each can be set.
struct SettableLimit {
  absl::string_view name;
  int64_t Limits::*value;
  int64_t most;
};
inline constexpr SettableLimit kSettableLimits[] = {
    {"unrolled-trips", &Limits::unrolled_trips, 1'000'000},
    {"evaluations-per-node", &Limits::evaluations_per_node, 1'000'000},
    {"content-per-node", &Limits::content_per_node, 1'000'000},
    {"terms-per-node", &Limits::terms_per_node, 1'000'000},
    {"steps-per-node", &Limits::steps_per_node, 1'000'000'000},
    {"module-visits-per-node", &Limits::module_visits_per_node, 1'000'000},
    // A text becomes a Protobuf message, which cannot have more.
    {"text-bytes", &Limits::text_bytes, (int64_t{1} << 31) - 1},
};

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_BASE_LIMITS_H_
