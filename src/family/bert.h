// The encoder of BERT, RoBERTa and their kin, and the decoder of BLIP.
#ifndef ONNXFLOPS_SRC_FAMILY_BERT_H_
#define ONNXFLOPS_SRC_FAMILY_BERT_H_

#include <cstdint>
#include <string>

#include "src/family/blocks.h"
#include "src/family/graph_builder.h"

namespace onnxflops::family {

// Where the norms are: after each part, before it, or before it with names of XLM-RoBERTa-XL's.
enum class BertNorms { kAfter, kBefore, kBeforeXl };

struct BertShape {
  std::string prefix;  // of the classes: "Bert", "Roberta", "XLMRoberta", "BlipText"
  int64_t vocab = 0, positions = 0;
  int64_t types = 0;  // token types; 0: no table of them
  EncoderShape encoder;
  BertNorms norms = BertNorms::kAfter;
  // Width of the tokens that each layer's cross-attention reads; 0: no cross-attention.
  int64_t other_width = 0;
  int64_t embedding = 0;  // width of the embeddings, before a projection; 0: the layers'
  int64_t tasks = 0;      // ERNIE's task types; 0: no table of them
  int64_t places = 0;     // LayoutLM's rows and columns of a page; 0: text without a page
  int64_t head = 0;       // RemBERT's width before the words; 0: another head
  // The longest text: RoBERTa counts positions from 2, after the padding token's.
  int64_t Longest() const;
};

// Embeddings and layers, in the modules that are open: [batch, seq, hidden]. *table: of the words.
// Without `other`, the second attention is left out, and its parameters are there.
Tensor BuildBertBody(GraphBuilder* b, const Tensor& ids, const BertShape& shape, Tensor* table,
                     const Tensor& other = "");
// The first token, through a separate layer: [batch, hidden].
Tensor BuildPooler(GraphBuilder* b, const Tensor& x, const BertShape& shape);
// The head for masked or following words. Bert's is two modules deep, Roberta's is one. `table`: of
// the words, if it is shared. Output "logits".
void BuildMaskedHead(GraphBuilder* b, Tensor x, const BertShape& shape, const Tensor& table);

}  // namespace onnxflops::family

#endif  // ONNXFLOPS_SRC_FAMILY_BERT_H_
