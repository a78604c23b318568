// Domain ai.onnx.ml: features, encoders, linear models and support vector machines. Trees are in
// trees.cc.
//
// How it works. The weights of these operators are attributes, so their lengths give the sizes of
// the model: rows of coefficients, labels, support vectors. They must fit the features of X.
// Encoders and maps look values up and are free. A linear model is a product, an intercept and a
// transformation of the scores. A support vector machine is counted in three steps: the kernel of
// each row with each vector, the sums of kernels for each pair of classes, and votes or
// probabilities. Without support vectors it is a linear model. Two classes may have a single score,
// the other being its complement.
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/choice.h"
#include "ops/families.h"
#include "ops/ml/post.h"
#include "ops/rules.h"
#include "src/base/status_macros.h"

namespace onnxflops {

namespace {

// ---- features

// Scaler: (x - offset) * scale.
absl::StatusOr<Facts> InferAsFloat(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0));
  return Facts{Fact::Tensor(DType::kFloat32, std::move(x))};
}

// Normalizer: each row divided by its maximum, its sum, or the root of its sum of squares.
absl::StatusOr<Facts> InferNormalizer(const NodeView& n) {
  RETURN_IF_ERROR(RowsOf(n).status());
  RETURN_IF_ERROR(ChoiceAttr(n, "norm", "MAX", {"MAX", "L1", "L2"}).status());
  return InferAsFloat(n);
}

// ArrayFeatureExtractor: Z[..,K] = X[..,Y[k]], on the last axis.
absl::StatusOr<Facts> InferArrayFeatureExtractor(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.ShapeOfRankAtLeast(0, 1));
  ASSIGN_OR_RETURN(const Shape indices, n.RankedShape(1));
  x[x.rank() - 1] = indices.NumElements();
  if (x.rank() == 1) x.dims().insert(x.dims().begin(), Expr(1));
  return Facts{n.Moved(0, std::move(x))};
}

// FeatureVectorizer: the inputs one after another along the features.
absl::StatusOr<Facts> InferFeatureVectorizer(const NodeView& n) {
  if (n.num_inputs() == 0) return absl::InvalidArgumentError("there are no inputs");
  ASSIGN_OR_RETURN(FeatureRows all, RowsOf(n));
  for (int i = 1; i < n.num_inputs(); ++i) {
    ASSIGN_OR_RETURN(const FeatureRows x, RowsOf(n, i));
    RETURN_IF_ERROR(n.RequireSame("N", all.rows, x.rows));
    all.features += x.features;
  }
  return Facts{Fact::Tensor(DType::kFloat32, {all.rows, all.features})};
}

// ---- encoders: tables looked up

// LabelEncoder: values[i] where x = keys[i]. At version 1 between strings and their index.
absl::StatusOr<DType> EncodedType(const NodeView& n) {
  if (n.version() == 1) return n.dtype(0) == DType::kString ? DType::kInt64 : DType::kString;
  if (const Tensor* values = n.TensorAttr("values_tensor")) return values->dtype;
  if (n.HasAttr("values_strings")) return DType::kString;
  if (n.HasAttr("values_int64s")) return DType::kInt64;
  if (n.HasAttr("values_floats")) return DType::kFloat32;
  return absl::InvalidArgumentError("no attribute lists the values");
}

absl::StatusOr<Facts> InferLabelEncoder(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0));
  ASSIGN_OR_RETURN(const DType type, EncodedType(n));
  return Facts{Fact::Tensor(type, std::move(x))};
}

// CategoryMapper: strings to integers, or integers to strings.
absl::StatusOr<Facts> InferCategoryMapper(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0));
  const DType type = n.dtype(0) == DType::kString ? DType::kInt64 : DType::kString;
  return Facts{Fact::Tensor(type, std::move(x))};
}

// OneHotEncoder: y[..,category] = 1 at x's category, else 0.
absl::StatusOr<Facts> InferOneHotEncoder(const NodeView& n) {
  ASSIGN_OR_RETURN(Shape x, n.RankedShape(0));
  const int64_t ints = LengthOf(n, "cats_int64s", AttributeType::kInts),
                strings = LengthOf(n, "cats_strings", AttributeType::kStrings);
  if ((ints > 0) == (strings > 0)) {
    return absl::InvalidArgumentError("one of cats_int64s and cats_strings has to be given");
  }
  x.push_back(ints + strings);
  return Facts{Fact::Tensor(DType::kFloat32, std::move(x))};
}

// ---- maps

absl::Status RequireMap(const NodeView& n) {
  const Fact::Kind kind = n.input(0).kind;
  if (kind == Fact::Kind::kMap) return absl::OkStatus();
  if (kind == Fact::Kind::kUnknown) return absl::FailedPreconditionError("the map is not known");
  return absl::InvalidArgumentError(
      absl::StrCat("input 0 is not a map but ", n.input(0).ToString()));
}

// CastMap: the values of a map in the order of its keys, as one row.
absl::StatusOr<Facts> InferCastMap(const NodeView& n) {
  RETURN_IF_ERROR(RequireMap(n));
  ASSIGN_OR_RETURN(const absl::string_view to,
                   ChoiceAttr(n, "cast_to", "TO_FLOAT", {"TO_FLOAT", "TO_STRING", "TO_INT64"}));
  ASSIGN_OR_RETURN(const absl::string_view form,
                   ChoiceAttr(n, "map_form", "DENSE", {"DENSE", "SPARSE"}));
  const DType type = to == "TO_STRING"  ? DType::kString
                     : to == "TO_INT64" ? DType::kInt64
                                        : DType::kFloat32;
  const Expr length = form == "SPARSE" ? Expr(n.Int("max_map", 1)) : n.FreshDim(0, 1, "castmap");
  return Facts{Fact::Tensor(type, {1, length})};
}

// DictVectorizer: the values of a map in the order of a vocabulary, 0 where it has none.
absl::StatusOr<Facts> InferDictVectorizer(const NodeView& n) {
  RETURN_IF_ERROR(RequireMap(n));
  const Fact& map = n.input(0);
  if (map.element == nullptr || !map.element->is_tensor()) {
    return absl::FailedPreconditionError("the type of the map's values is not known");
  }
  const int64_t words = LengthOf(n, "string_vocabulary", AttributeType::kStrings) +
                        LengthOf(n, "int64_vocabulary", AttributeType::kInts);
  return Facts{Fact::Tensor(map.element->dtype, {1, words})};
}

// ZipMap: each row of X as a map from labels to its elements.
absl::StatusOr<Facts> InferZipMap(const NodeView& n) {
  ASSIGN_OR_RETURN(const FeatureRows x, RowsOf(n));
  const Labels labels = LabelsOf(n, "classlabels_int64s");
  RETURN_IF_ERROR(n.RequireSame("labels", labels.count, x.features));
  Fact map;
  map.kind = Fact::Kind::kMap;
  map.element = std::make_shared<const Fact>(Fact::Tensor(DType::kFloat32, {}));
  return Facts{Fact::Sequence(std::move(map), x.rows)};
}

// ---- linear models
//
// scores[N,E] = X[N,C] coefficients[E,C] + intercepts[E], transformed; the class is that of the
// highest score. Of two classes one score is enough, the other one is its complement.

struct LinearSizes {
  Expr rows;
  int64_t models = 0;  // rows of coefficients
  int64_t scores = 0;  // per row of X
};

absl::StatusOr<LinearSizes> LinearClassifierSizes(const NodeView& n) {
  ASSIGN_OR_RETURN(const FeatureRows x, RowsOf(n));
  const Labels labels = LabelsOf(n, "classlabels_ints");
  LinearSizes sizes = {x.rows, LengthOf(n, "intercepts"), 0};
  const Expr coefficients = LengthOf(n, "coefficients");
  if (sizes.models == 0) {
    const Expr rows = x.features == Expr(0) ? Expr(0) : FloorDiv(coefficients, x.features);
    sizes.models = rows.AsInt64().value_or(labels.count);
  }
  RETURN_IF_ERROR(n.RequireSame("coefficients", coefficients, x.features * sizes.models));
  sizes.scores = sizes.models == 1 && labels.count == 2 ? 2 : sizes.models;
  return sizes;
}

absl::StatusOr<Facts> InferLinearClassifier(const NodeView& n) {
  ASSIGN_OR_RETURN(const LinearSizes sizes, LinearClassifierSizes(n));
  RETURN_IF_ERROR(CheckPostTransform(n));
  return Facts{Fact::Tensor(LabelsOf(n, "classlabels_ints").type, {sizes.rows}),
               Fact::Tensor(DType::kFloat32, {sizes.rows, sizes.scores})};
}

absl::StatusOr<Facts> InferLinearRegressor(const NodeView& n) {
  ASSIGN_OR_RETURN(const FeatureRows x, RowsOf(n));
  RETURN_IF_ERROR(CheckPostTransform(n));
  const int64_t targets = n.Int("targets", 1);
  RETURN_IF_ERROR(n.RequireSame("coefficients", LengthOf(n, "coefficients"), x.features * targets));
  return Facts{Fact::Tensor(DType::kFloat32, {x.rows, targets})};
}

// ---- support vector machines
//
// The kernel of each row of X with each of V support vectors of C features, then sums of them
// weighted by coefficients: one per pair of classes, over the vectors of both. Without support
// vectors the model is linear.

absl::StatusOr<absl::string_view> KernelType(const NodeView& n) {
  return ChoiceAttr(n, "kernel_type", "LINEAR", {"LINEAR", "POLY", "RBF", "SIGMOID"});
}

// Kernels of all rows with all vectors: LINEAR x.v;  POLY (gamma * x.v + coef0)^degree;
// SIGMOID tanh(gamma * x.v + coef0);  RBF exp(-gamma * |x - v|^2).
absl::StatusOr<Census> KernelCost(const NodeView& n, const Expr& rows, const Expr& vectors) {
  const Expr products = rows * LengthOf(n, "support_vectors");
  const Expr kernels = rows * vectors;
  ASSIGN_OR_RETURN(const absl::string_view type, KernelType(n));
  Census work;
  if (type == "RBF") {
    work = ElementCost{.add = 2, .mul = 1} * products;
    work += ElementCost{.mul = 1, .exp = 1} * kernels;
    return work;
  }
  work[Kind::kMac] = products;
  if (type == "POLY") {
    work += ElementCost{.add = 1, .mul = 1, .pow = 1} * kernels;
  } else if (type == "SIGMOID") {
    work += ElementCost{.add = 1, .mul = 1, .tanh = 1} * kernels;
  }
  return work;
}

struct SvmSizes {
  Expr rows, classes, pairs, vectors, scores;
  DType label = DType::kInt64;
};

absl::StatusOr<SvmSizes> SvmClassifierSizes(const NodeView& n) {
  ASSIGN_OR_RETURN(const FeatureRows x, RowsOf(n));
  const Labels labels = LabelsOf(n, "classlabels_ints");
  SvmSizes sizes;
  sizes.rows = x.rows;
  sizes.label = labels.type;
  for (int64_t vectors : n.Ints("vectors_per_class")) {
    if (vectors < 0) return absl::InvalidArgumentError(absl::StrCat(vectors, " support vectors"));
    sizes.vectors += vectors;
  }
  sizes.classes =
      labels.count > 0 ? labels.count : LengthOf(n, "vectors_per_class", AttributeType::kInts);
  sizes.pairs = FloorDiv(sizes.classes * (sizes.classes - 1), 2);
  const bool pairwise = sizes.vectors != Expr(0) && LengthOf(n, "prob_a") == 0;
  sizes.scores = pairwise && sizes.classes.AtLeast(3) ? sizes.pairs : sizes.classes;
  if (sizes.vectors != Expr(0)) {
    RETURN_IF_ERROR(n.RequireSame("support_vectors", LengthOf(n, "support_vectors"),
                                  sizes.vectors * x.features));
  }
  return sizes;
}

absl::StatusOr<Facts> InferSvmClassifier(const NodeView& n) {
  ASSIGN_OR_RETURN(const SvmSizes sizes, SvmClassifierSizes(n));
  return Facts{Fact::Tensor(sizes.label, {sizes.rows}),
               Fact::Tensor(DType::kFloat32, {sizes.rows, sizes.scores})};
}

absl::StatusOr<Cost> CountSvmClassifier(const NodeView& n) {
  ASSIGN_OR_RETURN(const SvmSizes sizes, SvmClassifierSizes(n));
  const Expr& rows = sizes.rows;
  ASSIGN_OR_RETURN(Census work, PostTransform(n, rows * sizes.scores));
  work[Kind::kCmp] += rows * sizes.classes;  // the best one
  if (sizes.vectors == Expr(0)) {
    work[Kind::kMac] = rows * LengthOf(n, "coefficients");
    work[Kind::kAdd] += rows * sizes.classes;  // rho
    return FloatCost(std::move(work));
  }
  ASSIGN_OR_RETURN(const Census kernels, KernelCost(n, rows, sizes.vectors));
  work += kernels;
  work[Kind::kMac] += rows * sizes.vectors * (sizes.classes - 1);
  work[Kind::kAdd] += rows * sizes.pairs;  // rho
  work[Kind::kCmp] += rows * sizes.pairs;  // a vote
  if (LengthOf(n, "prob_a") > 0) {
    // 1 / (1 + exp(a * score + b))
    work += ElementCost{.add = 2, .mul = 1, .div = 1, .exp = 1} * (rows * sizes.pairs);
  }
  return FloatCost(std::move(work));
}

absl::StatusOr<Facts> InferSvmRegressor(const NodeView& n) {
  ASSIGN_OR_RETURN(const FeatureRows x, RowsOf(n));
  RETURN_IF_ERROR(CheckPostTransform(n));
  const int64_t vectors = n.Int("n_supports", 0);
  if (vectors < 0) return absl::InvalidArgumentError(absl::StrCat(vectors, " support vectors"));
  if (vectors > 0) {
    RETURN_IF_ERROR(KernelType(n).status());
    RETURN_IF_ERROR(
        n.RequireSame("support_vectors", LengthOf(n, "support_vectors"), x.features * vectors));
  }
  return Facts{Fact::Tensor(DType::kFloat32, {x.rows, 1})};
}

constexpr OpDef kMlRows[] = {
    {.name = "ArrayFeatureExtractor",
     .formula = "Z[..,k] = X[..,Y[k]]",
     .infer = InferArrayFeatureExtractor,
     .examples = {{"float[N,9] x, int64[1,2] i -> float[N,2] y", "free"},
                  {"float[9] x, int64[2] i -> float[1,2] y", "free"}},
     .onnx = {.finds = OnnxInference::Finds::kRanks}},
    {.name = "Binarizer",
     .formula = "Y = 1 if X > threshold else 0",
     .infer = InferSameAsInput,
     .count = CountPerInputElement,
     .examples = {{"float[N,4] x -> float[N,4] y <threshold=0.5>", "cmp=4*N"}},
     .per_element = {.cmp = 1}},
    {.name = "CastMap",
     .formula = "y[1,K] = the values of a map in the order of its keys",
     .infer = InferCastMap,
     .examples = {{"g (float[N,2] x) => (int64[1,K] y) <int64 i = {0}> { s = "
                   "ai.onnx.ml.ZipMap<classlabels_int64s=[4,7]>(x) m = SequenceAt(s, i) y = "
                   "ai.onnx.ml.CastMap<cast_to=\"TO_INT64\">(m) }",
                   "free"}}},
    {.name = "CategoryMapper",
     .formula = "y = the category of x, looked up",
     .infer = InferCategoryMapper,
     .examples = {{"string[N] x -> int64[N] y <cats_strings=[\"a\",\"b\"], cats_int64s=[3,4]>",
                   "free"}}},
    {.name = "DictVectorizer",
     .formula = "y[1,V] = the values of a map in the order of the vocabulary",
     .infer = InferDictVectorizer,
     .examples = {{"g (float[N,2] x) => (float[1,3] y) <int64 i = {0}> { s = "
                   "ai.onnx.ml.ZipMap<classlabels_int64s=[4,7]>(x) m = SequenceAt(s, i) y = "
                   "ai.onnx.ml.DictVectorizer<int64_vocabulary=[4,5,7]>(m) }",
                   "free"}}},
    {.name = "FeatureVectorizer",
     .formula = "y[N, sum of C_i] = the inputs one after another",
     .infer = InferFeatureVectorizer,
     .examples = {{"float[N,3] a, float[N,2] b -> float[N,5] y <inputdimensions=[3,2]>", "free"}},
     .onnx = {.finds = OnnxInference::Finds::kNothing}},
    {.name = "Imputer",
     .formula = "Y = imputed if X = replaced else X",
     .infer = InferSameAsInput,
     .count = CountPerInputElement,
     .examples =
         {{"int64[N,4] x -> int64[N,4] y <imputed_value_int64s=[0], replaced_value_int64=-1>",
           "int_cmp=4*N"}},
     .per_element = {.cmp = 1},
     .onnx = {.finds = OnnxInference::Finds::kNothing}},
    {.name = "LabelEncoder",
     .versions = {1, 2, 4},
     .formula = "y = values[i] where x = keys[i], looked up",
     .infer = InferLabelEncoder,
     .examples = {{"string[N] x -> float[N] y <keys_strings=[\"a\"], values_floats=[1.0]>", "free"},
                  {"int64[N] x -> string[N] y <classes_strings=[\"a\",\"b\"]>", "free", 1}}},
    {.name = "LinearClassifier",
     .formula = "Z[N,E] = transform(X[N,C] coefficients[K,C] + intercepts[K]), Y[N] = the best",
     .data =
         {.signature = "X -> Y Z[N, E]",
          .attributes = "coefficients = floats; intercepts = floats; post_transform = "
                        "NONE|SOFTMAX|LOGISTIC|SOFTMAX_ZERO|PROBIT",
          .let = "models = if(attr.intercepts.count, attr.intercepts.count, "
                 "attr.coefficients.count // X[-1]); scores = N*E; soft = "
                 "attr.post_transform.SOFTMAX + attr.post_transform.SOFTMAX_ZERO; logistic = "
                 "attr.post_transform.LOGISTIC; probit = attr.post_transform.PROBIT",
          .costs =
              "float_mac = N*attr.coefficients.count; float_add = attr.intercepts.given*N*models + "
              "N*(E - models) + (2*soft + logistic + probit)*scores; float_cmp = scores + "
              "soft*scores; float_exp = (soft + logistic)*scores; float_div = (soft + "
              "logistic)*scores; float_mul = 2*probit*scores; float_erf = probit*scores"},
     .infer = InferLinearClassifier,
     .mac_operands = FloatOperands,
     .examples =
         {{"float[N,2] x -> int64[N] y, float[N,3] z <coefficients=[1.0,2.0,3.0,4.0,5.0,6.0], "
           "intercepts=[1.0,2.0,3.0], classlabels_ints=[0,1,2], post_transform=\"SOFTMAX\">",
           "mac=6*N add=9*N div=3*N cmp=6*N exp=3*N"},
          {"int64[N,2] x -> string[N] y, float[N,2] z <coefficients=[1.0,2.0], intercepts=[1.0], "
           "classlabels_strings=[\"a\",\"b\"], post_transform=\"LOGISTIC\">",
           "mac=2*N add=4*N div=2*N cmp=2*N exp=2*N"}},
     .note = "K = 1 for two classes (E = 2): the other score is a complement, add = N. Transforms "
             "per score: SOFTMAX add=2 div=1 cmp=1 exp=1, LOGISTIC add=1 div=1 exp=1, PROBIT add=1 "
             "mul=2 erf=1."},
    {.name = "LinearRegressor",
     .formula = "Y[N,T] = transform(X[N,C] coefficients[T,C] + intercepts[T])",
     .data = {.signature = "X -> Y[N, T]",
              .attributes = "coefficients = floats; intercepts = floats; post_transform = "
                            "NONE|SOFTMAX|LOGISTIC|SOFTMAX_ZERO|PROBIT",
              .let = "soft = attr.post_transform.SOFTMAX + attr.post_transform.SOFTMAX_ZERO; "
                     "logistic = attr.post_transform.LOGISTIC; probit = attr.post_transform.PROBIT",
              .costs = "float_mac = N*attr.coefficients.count; float_add = (attr.intercepts.given "
                       "+ 2*soft + logistic + probit)*N*T; float_cmp = soft*N*T; float_exp = (soft "
                       "+ logistic)*N*T; float_div = (soft + logistic)*N*T; float_mul = "
                       "2*probit*N*T; float_erf = probit*N*T"},
     .infer = InferLinearRegressor,
     .mac_operands = FloatOperands,
     .examples = {{"float[N,3] x -> float[N,2] y <targets=2, "
                   "coefficients=[1.0,2.0,3.0,4.0,5.0,6.0], intercepts=[1.0,2.0]>",
                   "mac=6*N add=2*N"}},
     .onnx = {.finds = OnnxInference::Finds::kNothing}},
    {.name = "Normalizer",
     .formula = "Y[N,C] = X / norm of its row",
     .data = {.signature = "X -> Y",
              .attributes = "norm = MAX|L1|L2",
              .costs = "float_div = X.elements; float_cmp = attr.norm.MAX*X.elements; float_add = "
                       "(1 - attr.norm.MAX)*X.elements; float_mul = attr.norm.L2*X.elements; "
                       "float_sqrt = attr.norm.L2*X[:-1]"},
     .infer = InferNormalizer,
     .examples = {{"float[N,4] x -> float[N,4] y <norm=\"L2\">", "add=4*N mul=4*N div=4*N sqrt=N"},
                  {"float[4] x -> float[4] y", "div=4 cmp=4"}},
     .onnx = {.finds = OnnxInference::Finds::kNothing}},
    {.name = "OneHotEncoder",
     .formula = "y[..,V] = 1 at the category of x, else 0",
     .infer = InferOneHotEncoder,
     .examples = {{"int64[N,2] x -> float[N,2,3] y <cats_int64s=[1,2,5]>", "free"}}},
    {.name = "SVMClassifier",
     .formula =
         "kernels of x[N,C] with V vectors: mac = N*V*C (RBF: add = 2*N*V*C, mul = N*V*C) and "
         "the kernel's function; P = E*(E-1)/2 pairs: mac = N*V*(E-1), add = cmp = N*P; the "
         "best: cmp = N*E",
     .infer = InferSvmClassifier,
     .count = CountSvmClassifier,
     .examples =
         {{"float[N,2] x -> int64[N] y, float[N,2] z <kernel_type=\"RBF\", "
           "kernel_params=[0.5,0.0,0.0], vectors_per_class=[1,2], "
           "support_vectors=[1.0,2.0,3.0,4.0,5.0,6.0], coefficients=[1.0,2.0,3.0], rho=[0.1], "
           "prob_a=[1.0], prob_b=[0.5], classlabels_ints=[0,1]>",
           "mac=3*N add=15*N mul=10*N div=N cmp=3*N exp=4*N"},
          {"float[N,2] x -> int64[N] y, float[N,3] z <coefficients=[1.0,2.0,3.0,4.0,5.0,6.0], "
           "rho=[0.1,0.2,0.3], classlabels_ints=[0,1,2]>",
           "mac=6*N add=3*N cmp=3*N"},
          {"float[N,2] x -> int64[N] y, float[N,2] z <vectors_per_class=[1,2], "
           "support_vectors=[1.0,2.0,3.0,4.0,5.0,6.0], coefficients=[1.0,2.0,3.0], rho=[0.1]>",
           "mac=9*N add=N cmp=3*N"}},
     .note = "With prob_a each pair's score goes through a sigmoid; the iteration that makes one "
             "probability per class of them depends on data and is not counted. Without "
             "probabilities, more than two classes have a score per pair, as ONNX Runtime has it."},
    {.name = "SVMRegressor",
     .formula = "Y[N] = sum over V vectors of coefficient * kernel(X[N,C], vector), plus rho",
     .data = {.signature = "X -> Y",
              .attributes = "support_vectors = floats; coefficients = floats; n_supports = 0; "
                            "one_class = 0; kernel_type = LINEAR|POLY|RBF|SIGMOID; post_transform "
                            "= NONE|SOFTMAX|LOGISTIC|SOFTMAX_ZERO|PROBIT",
              .let = "N = if(X.rank == 1, 1, X[0]); soft = attr.post_transform.SOFTMAX + "
                     "attr.post_transform.SOFTMAX_ZERO; logistic = attr.post_transform.LOGISTIC; "
                     "probit = attr.post_transform.PROBIT; used = attr.n_supports != 0; rbf = "
                     "used*attr.kernel_type.RBF; poly = used*attr.kernel_type.POLY; sigmoid = "
                     "used*attr.kernel_type.SIGMOID; products = N*attr.support_vectors.count; "
                     "kernels = N*attr.n_supports",
              .costs =
                  "float_mac = (used - rbf)*products + N*attr.coefficients.count; float_add = N + "
                  "2*rbf*products + (poly + sigmoid)*kernels + (2*soft + logistic + probit)*N; "
                  "float_mul = rbf*(products + kernels) + (poly + sigmoid)*kernels + 2*probit*N; "
                  "float_exp = rbf*kernels + (soft + logistic)*N; float_pow = poly*kernels; "
                  "float_tanh = sigmoid*kernels; float_div = (soft + logistic)*N; float_cmp = "
                  "soft*N + if(attr.one_class, N, 0); float_erf = probit*N"},
     .infer = InferSvmRegressor,
     .mac_operands = FloatOperands,
     .examples =
         {{"float[N,2] x -> float[N,1] y <kernel_type=\"POLY\", kernel_params=[0.5,1.0,3.0], "
           "n_supports=3, support_vectors=[1.0,2.0,3.0,4.0,5.0,6.0], coefficients=[1.0,2.0,3.0], "
           "rho=[0.1]>",
           "mac=9*N add=4*N mul=3*N pow=3*N"}},
     .onnx = {.finds = OnnxInference::Finds::kNothing}},
    {.name = "Scaler",
     .formula = "Y = (X - offset) * scale",
     .data =
         {.signature = "X -> Y",
          .attributes = "offset = floats; scale = floats",
          .costs =
              "float_add = attr.offset.given*X.elements; float_mul = attr.scale.given*X.elements"},
     .infer = InferAsFloat,
     .examples = {{"double[N,4] x -> float[N,4] y <offset=[1.0], scale=[0.5]>", "add=4*N mul=4*N"}},
     .onnx = {.finds = OnnxInference::Finds::kNothing}},
    {.name = "ZipMap",
     .formula = "y = each row of x as a map from labels",
     .infer = InferZipMap,
     .examples =
         {{"g (float[N,2] x) => (int64 y) { s = "
           "ai.onnx.ml.ZipMap<classlabels_strings=[\"a\",\"b\"]>(x) y = SequenceLength(s) }",
           "free"}}},
};

}  // namespace

constinit const OpFamily kMlFamily = {"ai.onnx.ml", kMlRows};

}  // namespace onnxflops
