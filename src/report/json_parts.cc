#include "src/report/json_parts.h"

namespace onnxflops::report {

void WriteModel(const ModelInfo& model, JsonWriter* json, absl::string_view key) {
  json->Key(key).BeginObject();
  json->Key("path").String(model.path);
  json->Key("ir_version").Int(model.ir_version);
  json->Key("opsets").BeginObject(kOneLine);
  for (const auto& [domain, version] : model.opsets) json->Key(domain).Int(version);
  json->EndObject();
  json->Key("producer").String(model.producer);
  json->Key("nodes").Int(model.nodes);
  if (!model.positions.empty()) {
    json->Key("positions").BeginArray();
    for (const std::string& text : model.positions) json->String(text);
    json->EndArray();
  }
  json->EndObject();
}

void WriteTensor(const TensorInfo& tensor, JsonWriter* json) {
  json->BeginObject(kOneLine);
  json->Key("name").String(tensor.name);
  json->Key("dtype").String(tensor.type);
  json->Key("shape");
  if (tensor.shape.ranked()) {
    json->BeginArray(kOneLine);
    for (const Expr& dim : tensor.shape.dims()) json->String(dim.ToString());
    json->EndArray();
  } else {
    json->Null();
  }
  json->EndObject();
}

void WriteOmitted(absl::string_view key, int64_t items, JsonWriter* json) {
  if (items > 0) json->Key(key).Int(items);
}

void WriteRaised(const std::vector<SymbolOrigin>& raised, JsonWriter* json) {
  json->Key("upper_bounds").BeginObject();
  for (const SymbolOrigin& symbol : raised) json->Key(symbol.name).Quantity(*symbol.at_most);
  json->EndObject();
}

void WriteSizes(absl::string_view key, const Bindings& sizes, JsonWriter* json) {
  json->Key(key).BeginObject(JsonWriter::Layout::kOneLine);
  for (const auto& [name, size] : sizes) json->Key(name).Int(size);
  json->EndObject();
}

void WriteTexts(absl::string_view key, const std::vector<std::string>& texts, JsonWriter* json,
                JsonWriter::Layout layout) {
  json->Key(key).BeginArray(layout);
  for (const std::string& text : texts) json->String(text);
  json->EndArray();
}

}  // namespace onnxflops::report
