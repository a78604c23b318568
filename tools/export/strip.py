"""Takes the weights out of an exported file: tensors of more than 1,024 elements, or of floats of more than `limit`, become external data that does not exist."""
import onnx

LIMIT = 1024


def strip_weights(path, limit=LIMIT):
    model = onnx.load(path, load_external_data=False)
    for tensor in model.graph.initializer:
        elements = 1
        for dim in tensor.dims:
            elements *= dim
        if elements <= (limit if tensor.data_type == onnx.TensorProto.FLOAT else LIMIT):
            continue
        for field in ("raw_data", "float_data", "int32_data", "int64_data", "double_data", "uint64_data", "external_data"):
            tensor.ClearField(field)
        tensor.data_location = onnx.TensorProto.EXTERNAL
        location = tensor.external_data.add()
        location.key, location.value = "location", "weights-not-here.data"
    onnx.save(model, path)
