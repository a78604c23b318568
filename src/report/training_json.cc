// The objects "lora" and "training" of "onnxflops.report/1".
#include "src/render/format.h"
#include "src/render/json_writer.h"
#include "src/report/json_parts.h"

namespace onnxflops::report {
namespace {

void WriteGradients(const TrainingReport& training, JsonWriter* json) {
  json->Key("by_op").BeginArray();
  for (const GradientRow& row : training.by_op) {
    json->BeginObject(kOneLine);
    json->Key("op").String(row.op);
    json->Key("domain").String(row.domain);
    json->Key("nodes").Quantity(row.nodes);
    json->Key("flops").Quantity(row.flops);
    json->Key("macs").Quantity(row.macs);
    json->EndObject();
  }
  json->EndArray();
  json->Key("unknown").BeginArray();
  for (const UnknownGradient& row : training.unknown) {
    json->BeginObject(kOneLine);
    json->Key("node").String(row.node);
    json->Key("op").String(row.op);
    json->Key("domain").String(row.domain);
    json->Key("reason").String(row.reason);
    json->EndObject();
  }
  json->EndArray();
  WriteOmitted("items_omitted", training.unknown_omitted, json);
}

void WriteLoraList(const LoraOptions& list, bool nf4, JsonWriter* json) {
  json->Key("r").Int(list.r);
  json->Key("alpha");
  json->Number(list.alpha);
  json->Key("rslora").Bool(list.rslora);
  json->Key("dora").Bool(list.dora);
  json->Key("base").String(nf4 ? "nf4" : "as_stored");
  WriteTexts("targets", list.targets, json, kOneLine);
}

}  // namespace

void WriteLora(const LoraSummary& lora, JsonWriter* json) {
  json->Key("lora").BeginObject();
  WriteLoraList(lora.options, HasNf4Base(lora.options), json);
  if (!lora.options.more.empty()) {
    json->Key("more").BeginArray();
    for (const LoraOptions& list : lora.options.more) {
      json->BeginObject();
      WriteLoraList(list, HasNf4Base(lora.options), json);
      json->EndObject();
    }
    json->EndArray();
  }
  json->Key("layers").Int(lora.layers);
  json->Key("params").Int(lora.params);
  json->Key("nf4_layers").Int(lora.nf4_layers);
  json->EndObject();
}

void WriteTraining(const TrainingReport& training, JsonWriter* json) {
  const TrainingOptions& options = training.options;
  json->Key("training").BeginObject();
  json->Key("backward").String("exact");
  WriteTexts("frozen", options.frozen, json, kOneLine);
  WriteTexts("trained", options.trained, json, kOneLine);
  json->Key("input_gradients").Bool(options.input_gradients);
  json->Key("attention").String(AttentionName(options.attention));
  json->Key("recompute").String(RecomputeName(options.recompute));
  json->Key("optimizer").String(InfoOf(options.optimizer).name);
  json->Key("trained_params").Int(training.trained_params);
  json->Key("params").Int(training.params);
  json->Key("recompute_flops").Quantity(training.recompute_flops);
  json->Key("recompute_macs").Quantity(training.recompute_macs);
  json->Key("optimizer_flops").Quantity(training.optimizer_flops);
  json->Key("attentions").Int(training.attentions);
  json->Key("flash_attentions").Int(training.flash_attentions);
  WriteGradients(training, json);
  json->EndObject();
}

}  // namespace onnxflops::report
