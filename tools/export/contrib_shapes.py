#!/usr/bin/env python3
"""Runs operators of ONNX Runtime, one node at a time, and writes down what goes in and the types and shapes that come out.

Usage: contrib_shapes.py [-o tests/data/contrib_shapes.json]      needs: pip install onnx onnxruntime numpy

An input is TYPE, SIZES and CONTENT: f2x3 is a float tensor of 2 x 3, l2=3,4 an initializer of two int64 numbers, l=5 a scalar one, f2! an
initializer for the runtime only, - an input left out. An operator that the CPU build has no kernel for (INFERRED) has the shapes that its
schema infers; the runtime tells them in what it says of outputs that are declared otherwise. What neither gives is reported and left out.
"""
import argparse
import json
import re

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

TYPES = {
    "f": TensorProto.FLOAT, "h": TensorProto.FLOAT16, "d": TensorProto.DOUBLE, "u": TensorProto.UINT8, "b": TensorProto.INT8,
    "w": TensorProto.BFLOAT16, "i": TensorProto.INT32, "l": TensorProto.INT64, "B": TensorProto.BOOL, "S": TensorProto.INT16, "U": TensorProto.UINT16, "s": TensorProto.STRING,
}
MS, NCHWC, NHWC = "com.microsoft", "com.microsoft.nchwc", "com.ms.internal.nhwc"

# Operator, inputs, attributes, number of outputs.
CASES = [
    ("Attention", "f2x5x8 f8x24 f24", {"num_heads": 2}, 1),
    ("Attention", "f2x5x8 f8x24 f24 - - f2x2x5x5", {"num_heads": 2}, 1),
    ("Attention", "f2x5x8 f8x24 f24 i2=5,4", {"num_heads": 2}, 1),
    ("Attention", "f2x5x8 f8x24 f24 i2x5", {"num_heads": 2, "unidirectional": 1}, 1),
    ("Attention", "f2x5x8 f8x22 f22", {"num_heads": 2, "qkv_hidden_sizes": [8, 8, 6]}, 1),
    ("Attention", "f2x5x8 f8x24 f24 - f2x2x2x3x4", {"num_heads": 2, "unidirectional": 1}, 2),
    ("BiasGelu", "f2x3x4 f4", {}, 1),
    ("BifurcationDetector", "l10 l4 l=0 l11", {}, 2),
    ("BifurcationDetector", "l10 l4 l=0", {}, 2),
    ("BitmaskDropout", "f2x40", {}, 2),
    ("BitmaskBiasDropout", "f2x40 f40", {}, 2),
    ("BiasDropout", "f2x40 f40", {}, 2),
    ("CausalConvWithState", "f2x6x5 f6x1x4 f6 f2x6x3", {"activation": "silu"}, 2),
    ("CausalConvWithState", "f2x6x5 f6x1x4", {}, 2),
    ("CDist", "f5x8 f9x8", {"metric": "euclidean"}, 1),
    ("CDist", "d5x8 d9x8", {"metric": "sqeuclidean"}, 1),
    ("ConvTransposeWithDynamicPads", "f2x4x8x8 f4x2x4x4 l4=1,1,1,1 f2", {"strides": [2, 2]}, 1),
    ("ConvTransposeWithDynamicPads", "f1x4x5x6 f4x2x3x2 l4=0,1,0,1", {"strides": [2, 3], "output_padding": [1, 1]}, 1),
    ("CropAndResize", "f2x3x20x20 f5x4 i5=0,1,0,1,0 i2=6,7", {}, 1),
    ("CropAndResize", "f2x3x20x20 f5x4 i5=0,1,0,1,0 i2=6,7", {"mode": "nearest"}, 1),
    ("DecoderMaskedMultiHeadAttention", "f2x1x8 f2x1x8 f2x1x8 - - f2x2x16x4 f2x2x16x4 i1=7", {"num_heads": 2, "past_present_share_buffer": 1}, 3),
    ("DecoderMaskedMultiHeadAttention", "f2x1x8 f2x2x7x4 f2x2x7x4", {"num_heads": 2}, 1),
    ("DequantizeLinear", "u2x3 f u", {}, 1),
    ("DequantizeLinear", "S2x3 f3 S3", {"axis": 1}, 1),
    ("DynamicQuantizeLSTM", "f7x2x4 b1x4x20 b1x5x20 f1x40 - - - - f1 b1 f1 b1", {"hidden_size": 5}, 3),
    ("DynamicQuantizeMatMul", "f2x5x8 b8x9 f b f9", {}, 1),
    ("DynamicQuantizeMatMul", "f2x5x8 u8x9 f9 u9", {}, 1),
    ("DynamicTimeWarping", "f6x9", {}, 1),
    ("EmbedLayerNormalization", "i2x5 i2x5 f99x8 f50x8 f2x8 f8 f8 i2x5", {}, 2),
    ("EmbedLayerNormalization", "i2x5 - f99x8 f50x8 - f8 f8 - i1x5", {"mask_index_type": 0}, 3),
    ("ExpandDims", "f2x3 i=1", {}, 1),
    ("ExpandDims", "f2x3 i=-1", {}, 1),
    ("FastGelu", "f2x3x4 f4", {}, 1),
    ("FusedConv", "f2x3x8x8 f4x3x3x3 f4 f2x4x6x6", {"activation": "Relu"}, 1),
    ("FusedConv", "f2x4x9x8 f4x2x3x2 f4", {"activation": "LeakyRelu", "activation_params": [0.1], "group": 2, "strides": [2, 2], "pads": [1, 0, 1, 1], "dilations": [1, 2]}, 1),
    ("FusedGemm", "f4x8 f9x8 f9", {"transB": 1, "activation": "LeakyRelu", "activation_alpha": 0.01, "alpha": 1.0, "beta": 1.0}, 1),
    ("FusedGemm", "f8x4 f8x9 f", {"transA": 1, "activation": "Relu", "alpha": 1.0, "beta": 2.0}, 1),
    ("FusedMatMul", "f2x4x8 f2x9x8", {"transB": 1, "alpha": 0.5}, 1),
    ("FusedMatMul", "f3x2x8 f8x9", {}, 1),
    ("FusedMatMul", "f4x2x8 f2x8x9", {"transBatchA": 1}, 1),
    ("FusedMatMul", "f8x2x4 f2x8x9", {"transBatchA": 1, "transA": 1}, 1),
    ("FusedMatMul", "f3x1x4x8 f5x8x2", {}, 1),
    ("FusedMatMul", "f8 f8x9", {}, 1),
    ("FusedMatMul", "f4x8 f8", {}, 1),
    ("TransposeMatMul", "f2x8x4 f2x8x9", {"transA": 1}, 1),
    ("GatedDeltaNet", "f7x2x4 f7x2x4 f7x4x3 i3=0,3,7 f7x4 f7x4", {"scale": 0.5}, 2),
    ("GatherBlockQuantized", "u100x16 l2x5 f100x2 u100x1", {"block_size": 16, "bits": 4}, 1),
    ("GatherBlockQuantized", "u100x32 l2x5 f100x2", {"block_size": 16, "bits": 8}, 1),
    ("GatherND", "f3x4x5 l2x2", {}, 1),
    ("GatherND", "f3x4x5 i2x3x1", {}, 1),
    ("Gelu", "f2x3", {}, 1),
    ("GridSample", "f2x3x5x6 f2x4x7x2", {}, 1),
    ("GroupQueryAttention", "f1x3x128 - - f1x2x32x16 f1x2x32x16 i1=10 i=11 f50x8 f50x8", {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1}, 3),
    ("GroupQueryAttention", "f2x3x32 f2x3x16 f2x3x16 - - i2=2,2 i=3", {"num_heads": 4, "kv_num_heads": 2}, 3),
    ("GroupQueryAttention", "f2x1x32 f2x1x16 f2x1x16 f2x2x7x8 f2x2x7x8 i2=7,7 i=8", {"num_heads": 4, "kv_num_heads": 2}, 3),
    ("Inverse", "f2x3x3", {}, 1),
    ("Inverse", "d3x3", {}, 1),
    ("IsAllFinite", "f2x3 f4", {}, 1),
    ("Irfft", "f2x9x2", {"signal_ndim": 1, "normalized": 0, "onesided": 1}, 1),
    ("LinearAttention", "f2x10x16 f2x10x8 f2x10x6 - f2x10x2 f2x10x2", {"q_num_heads": 4, "kv_num_heads": 2}, 2),
    ("LinearAttention", "f2x10x16 f2x10x8 f2x10x6 f2x2x4x3", {"q_num_heads": 4, "kv_num_heads": 2, "update_rule": "linear"}, 2),
    ("MatMulBnb4", "f5x64 u1536 f48", {"K": 64, "N": 48, "block_size": 64, "quant_type": 1}, 1),
    ("MatMulFpQ4", "f5x64 u2000 l2=64,48", {"blk_quant_type": 0}, 1),
    ("MatMulInteger16", "S5x8 S8x9", {}, 1),
    ("MatMulIntegerToFloat", "u2x5x8 b8x9 f f9 u b9 f9", {}, 1),
    ("MatMulIntegerToFloat", "u5x8 u2x8x9 f f", {}, 1),
    ("MatMulNBits", "f2x5x64 u48x2x16 f48x2", {"K": 64, "N": 48, "block_size": 32, "bits": 4}, 1),
    ("MatMulNBits", "f5x64 u48x2x16 f48x2 u48x1 - f48", {"K": 64, "N": 48, "block_size": 32, "bits": 4}, 1),
    ("MatMulNBits", "f64 u48x2x16 f48x2", {"K": 64, "N": 48, "block_size": 32, "bits": 4}, 1),
    ("MatMulNBits", "f2x3x70 u48x3x32 f48x3", {"K": 70, "N": 48, "block_size": 32, "bits": 8}, 1),
    ("MatMulNBitsMlp", "f5x64 - f64 u48x2x16 f48x2 - u48x2x16 f48x2", {"K": 64, "N": 48, "block_size": 32, "activation": "silu"}, 1),
    ("MaxpoolWithMask", "f2x3x8x8 i2x3x8x8", {"kernel_shape": [2, 2], "strides": [2, 2]}, 1),
    ("MaxpoolWithMask", "f2x3x9x8 i1x1x9x8", {"kernel_shape": [3, 2], "pads": [1, 0, 1, 0], "strides": [2, 3]}, 1),
    ("MoE", "f6x8 f6x4 f4x16x8 f4x16 f4x8x16 f4x8", {"k": 2}, 1),
    ("MoE", "f2x3x8 f6x4 f4x16x8 - f4x8x16", {"k": 1, "activation_type": "gelu"}, 1),
    ("MultiHeadAttention", "f2x5x8 f2x7x8 f2x7x6", {"num_heads": 2}, 1),
    ("MultiHeadAttention", "f2x5x8 f2x5x8 f2x5x8 f24", {"num_heads": 2}, 3),
    ("MultiHeadAttention", "f2x5x8 f2x2x7x4 f2x2x7x4", {"num_heads": 2}, 1),
    ("MultiHeadAttention", "f2x5x8 f2x5x8 f2x5x8 - - - f2x2x3x4 f2x2x3x4", {"num_heads": 2}, 3),
    ("MultiHeadAttention", "f2x5x8 f2x7x8 f2x7x8 - i2x7", {"num_heads": 2, "unidirectional": 0}, 1),
    ("MultiHeadAttention", "f2x5x8 f2x7x8 f2x7x8 - - f1x2x5x7", {"num_heads": 2}, 1),
    ("MurmurHash3", "l2x3", {}, 1),
    ("MurmurHash3", "i4", {"positive": 0}, 1),
    ("NGramRepeatBlock", "l2x10 f2x100", {"ngram_size": 3}, 1),
    ("NhwcMaxPool", "b2x8x9x3", {"kernel_shape": [2, 3], "strides": [2, 1], "pads": [1, 1, 0, 1]}, 1),
    ("NhwcMaxPool", "u2x8x9x3", {"kernel_shape": [2, 2], "dilations": [2, 1], "ceil_mode": 1, "strides": [2, 2]}, 1),
    ("NhwcFusedConv", "h2x8x8x3 h4x3x3x3 h4", {"activation": "Relu"}, 1),
    ("Pad", "f2x3 l4=1,2,3,4 f", {}, 1),
    ("Pad", "f2x3 l4=0,0,-1,1", {"mode": "edge"}, 1),
    ("QAttention", "u2x5x8 b8x24 f24 f f i2=5,5 u b", {"num_heads": 2}, 1),
    ("QAttention", "u2x5x8 u8x24 f24 f f - u u f2x2x2x3x4", {"num_heads": 2, "unidirectional": 1}, 2),
    ("QEmbedLayerNormalization", "i2x5 i2x5 u99x8 u50x8 u2x8 u8 u8 i2x5 f f f f f u u u u u", {}, 2),
    ("QGemm", "u4x8 f u u8x9 f u i9 f u", {}, 1),
    ("QGemm", "u8x4 f u b9x8 f b", {"transA": 1, "transB": 1}, 1),
    ("QLinearAdd", "u2x3 f u u3 f u f u", {}, 1),
    ("QLinearAveragePool", "u2x3x8x9 f u f u", {"kernel_shape": [2, 3], "strides": [2, 2], "pads": [0, 1, 1, 1]}, 1),
    ("QLinearAveragePool", "b2x9x9x3 f b f b", {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1, "channels_last": 1}, 1),
    ("QLinearConcat", "f u u2x3 f u u2x5 f u", {"axis": 1}, 1),
    ("QLinearConv", "u2x8x8x2 f u b3x2x3x3 f b f u i3", {"channels_last": 1}, 1),
    ("QLinearConv", "u2x2x8x8 f u u4x1x3x2 f u f u", {"group": 2, "strides": [2, 1], "auto_pad": "SAME_UPPER"}, 1),
    ("QLinearGlobalAveragePool", "u2x3x8x8 f u f u", {}, 1),
    ("QLinearGlobalAveragePool", "b2x8x8x3 f b f b", {"channels_last": 1}, 1),
    ("QLinearLeakyRelu", "u2x3 f u f u", {"alpha": 0.1}, 1),
    ("QLinearMul", "b2x3 f b b2x1 f b f b", {}, 1),
    ("QLinearReduceMean", "u2x3x4 f u f u", {"axes": [1], "keepdims": 0}, 1),
    ("QLinearSigmoid", "b2x3 f b f b", {}, 1),
    ("QLinearSoftmax", "u2x3 f u f u", {"axis": -1, "opset": 13}, 1),
    ("QLinearWhere", "B2x3 u2x3 f u u3 f u f u", {}, 1),
    ("QMoE", "f6x8 f6x4 u4x16x4 f4x16 - u4x8x8 f4x8", {"k": 2, "expert_weight_bits": 4}, 1),
    ("QuantizeLinear", "f2x3 f u", {}, 1),
    ("QuantizeLinear", "f2x3 f3 S3", {"axis": 1}, 1),
    ("QuickGelu", "f2x3", {"alpha": 1.0}, 1),
    ("Range", "l=2 l=7 l=2", {}, 1),
    ("Range", "f=0 f=5", {}, 1),
    ("Rfft", "f2x16", {"signal_ndim": 1, "normalized": 0, "onesided": 1}, 1),
    ("RotaryEmbedding", "f2x5x16 l2x5 f50x4 f50x4", {"num_heads": 2, "rotary_embedding_dim": 8}, 1),
    ("RotaryEmbedding", "f2x2x5x8 l1 f50x4 f50x4", {"interleaved": 1}, 1),
    ("SampleOp", "f2x3", {}, 1),
    ("SkipLayerNormalization", "f2x5x8 f2x5x8 f8 f8 f8", {}, 1),
    ("SkipLayerNormalization", "f2x5x8 f1x5x8 f8", {}, 4),
    ("SkipLayerNormalization", "f2x5x8 f5x8 f8 f8", {}, 1),
    ("SkipSimplifiedLayerNormalization", "f2x5x8 f2x5x8 f8", {}, 4),
    ("Tokenizer", "s2", {"mark": 1, "pad_value": "#", "separators": [" "], "mincharnum": 1}, 1),
    ("TorchEmbedding", "f10x4 l2x3", {}, 1),
    ("Trilu", "f2x3x3 l=1", {"upper": 0}, 1),
    ("Unique", "f6", {}, 3),
    ("WordConvEmbedding", "i4x12 f16x1x3x8 f16 f99x8", {"embedding_size": 16, "conv_window_size": 3, "char_embedding_size": 8}, 1),
    ("AttnLSTM", "f7x2x4 f1x20x10 f1x20x5 f1x40 i2=7,7 - - - f1x5x3 f1x8x3 f1x3 f2x9x8 i2=9,9 f1x13x6", {"hidden_size": 5}, 3),
    (NCHWC + ".ReorderInput", "f2x12x6x6", {}, 1),
    (NCHWC + ".ReorderInput", "f2x6x6x32", {"channels_last": 1}, 1),
    (NCHWC + ".ReorderOutput", "f2x16x6x6", {"channels": 13}, 1),
    (NCHWC + ".ReorderOutput", "f2x16x6x6", {"channels": 13, "channels_last": 1}, 1),
    (NCHWC + ".Conv", "f2x16x8x8 f32x16x3x3 f32 f2x32x6x6", {"activation": "Relu"}, 1),
    (NCHWC + ".Conv", "f2x16x9x8 f16x1x3x3", {"group": 16, "strides": [2, 2], "pads": [1, 1, 1, 1]}, 1),
    (NCHWC + ".MaxPool", "f2x16x9x8", {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 0]}, 1),
    (NCHWC + ".AveragePool", "f2x16x9x8", {"kernel_shape": [2, 2], "strides": [2, 2], "count_include_pad": 1, "ceil_mode": 1}, 1),
    (NCHWC + ".GlobalMaxPool", "f2x16x9x8", {}, 1),
    (NCHWC + ".GlobalAveragePool", "f2x16x9x8", {}, 1),
    (NCHWC + ".Upsample", "f2x16x3x4", {"scales": [1, 1, 2, 2]}, 1),
    (NCHWC + ".Upsample", "f2x16x3x4", {"scales": [1, 1, 3, 2], "mode": "linear", "coordinate_transformation_mode": "half_pixel"}, 1),
    (NHWC + ".QLinearConv", "u2x8x8x2 f u b3x2x3x3 f b f u i3", {}, 1, 10),
    (NHWC + ".MaxPool", "u2x8x9x3", {"kernel_shape": [2, 2], "strides": [2, 2]}, 1, 12),
    (NHWC + ".Conv", "f2x8x8x3 f4x3x3x3 f4", {}, 1, 11),
    ("GatedAdd", "f2x5 f2x5 f2x1", {}, 1),
    ("GatedDeltaNet", "f7x2x4 f7x2x4 f7x4x3 i3=0,3,7 f7x4x4 f7x4 f2x4x3x4 f4 f4x4 i2=1,2", {"scale": 0.5, "gate_activation": "kda", "state_update_capacity": 5}, 3),
    ("GatedDeltaNet", "f7x2x4 f7x2x4 f7x4x3 i3=0,3,7 f7x4 f7x4 f2x4x3x4 f4 f4", {"scale": 0.5, "gate_activation": "softplus"}, 2),
    ("GatherPacked", "u100x66 l2x5", {"packed_type": 16, "K": 256, "output_dtype": 10}, 1),
    ("GatherPacked", "u100x176 i5", {"packed_type": 13, "K": 256, "output_dtype": 1}, 1),
    ("GatherPacked", "u100x36 l2x5", {"packed_type": 42, "K": 128, "output_dtype": 1}, 1),
    ("GroupQueryAttention", "f2x3x32 f2x3x16 f2x3x16 f2x2x20x8 f2x2x20x8 i2=5,7 i=12 - - - - - - - - - i2=3,2", {"num_heads": 4, "kv_num_heads": 2}, 3),
    ("MoEGroupRouter", "f5x32 f32", {"top_k": 4, "n_group": 4, "topk_group": 2}, 1),
    ("MoEGroupRouter", "h2x5x32 f32", {"top_k": 4, "n_group": 4, "topk_group": 2}, 1),
    ("QMoE", "f6x8 f6x4 u4x16x4 f4x16 - u4x8x8 f4x8 - - - - - - - f6x4", {"k": 2, "expert_weight_bits": 4}, 1),
    ("VarlenCausalConvWithState", "f7x6 f6x1x4 i3=0,3,7 f6 f2x6x3", {"activation": "silu"}, 2),
]

# The same without a kernel.
INFERRED = [
    ("CausalConvWithState", "h2x5x12 h6x1x4", {"channels_last": 1, "input_channels": 6, "input_channel_offset": 3, "state_update_capacity": 2}, 3),
    ("CausalConvWithState", "h2x5x6 h6x1x4", {"channels_last": 1, "state_length": 7, "state_channels_last": 0, "state_update_capacity": 2}, 3),
    ("ConvStateReplay", "f100 f200 f300 l8", {}, 1),
    (NHWC + ".DepthToSpace", "f2x3x5x8", {"blocksize": 2, "mode": "CRD"}, 1, 28),
    ("DynamicSparseAttention", "h5x3x16 h5x3x8 h5x3x8 b5x2x64x4 b5x2x64x4 - - i15x8 i15 i5 i=40 - - - - - - i5 f8 f8", {"num_heads": 4, "kv_num_heads": 2, "output_bf16": 1}, 4),
    ("GatedAdd", "w3x5 w3x5 w3x7 w7x1", {}, 1),
    ("GatedDeltaNetStateReplay", "f100 f200 f300 l11", {}, 1),
    ("HyperConnectionLowRankMix", "h2x5x24 h24 h24x7 h7x24 h24x3 h2x5x8 h2x5x3", {"num_branches": 3}, 3),
    ("Mamba2Verify", "w6x1028 w3x768x3 f3x4x128x64 w768x4 w768 f4 f4 f4 f256 i1", {"n_groups": 2, "heads": 4}, 5),
    ("MatMulNBitsQLoRA", "h2x5x64 u48x2x16 h48x2 u9x2x32 h9x2 u48x1x32 h48x1", {"K": 64, "N": 48}, 1),
    ("MatMulNBitsQLoRA", "f64 u48x2x16 f48x2 u0x2x32 f9x2 u48x0x32 f48x1", {"K": 64, "N": 48}, 1),
    ("MatMulPacked", "h2x5x256 u48x66", {"packed_type": 16, "K": 256, "N": 48}, 1),
    ("MoE", "h6x8 h6x4 h4x32x8 - h4x8x16", {"k": 2, "activation_type": "geglu", "swiglu_fusion": 1}, 1),
    ("MoEPacked", "h3x256 h3x4 u4x512x66 u4x512x66 u4x256x132", {"gate_type": 16, "up_type": 16, "down_type": 16, "k": 2}, 1),
    ("PackedSparseAttentionIndexer", "h8x32 h8x16 h8 h8 h64x4 h64x4 i3 i2 h8x16 h4x16 h8x4 l8 h2x16x8 h2x7x16 h2x7x16 i2x2", {"policy_mode": "csa", "compress_ratio": 4, "index_topk": 5, "state_capacity": 16}, 6),
    ("PackedSparseAttentionIndexerMerge", "i6x8 i6 i9 i9 i9", {"max_output_entries": 11, "policy_mode": "append_range"}, 3),
    ("RMSNormRotary", "h2x5x4x24 f16 l1 f50x4 f50x4", {"rotary_embedding_dim": 8, "input_width": 16}, 2),
    ("RMSNormRotary", "h2x5x4x24 f24 l2x5 f50x4 f50x4", {"rotary_embedding_dim": 8, "flatten_batch": 1, "output_fp16": 1}, 2),
    ("RouterGateUpProj", "h3x5x8 h8x13", {"router_size": 3}, 2),
    (NHWC + ".SpaceToDepth", "f3x6x10x2", {"blocksize": 2, "mode": "CRD"}, 1, 28),
    ("SpeculativePrefixCommit", "l2x8 l2x8 i3 l2x16 l2x2 l2x16 l2", {}, 3),
    ("SpeculativePrefixCommit", "l8 l8 i3 l16 l2 l16 l2", {}, 3),
    ("SwiGLU", "f3x5x8", {}, 1),
    ("SwiGLU", "f3x5x8 f3x5x8", {}, 1),
    ("VarlenCausalConvWithState", "h7x6 h6x1x2 i3 - h2x6x1 - h7x4x3 h7x1", {"group_size": 2}, 2),
]
NUMBERS = {"float": TensorProto.FLOAT, "float16": TensorProto.FLOAT16, "bfloat16": TensorProto.BFLOAT16, "int8": TensorProto.INT8, "int32": TensorProto.INT32, "int64": TensorProto.INT64}


def parse(text):
    """A type, sizes and, for an initializer, content."""
    kind, sizes, content = re.fullmatch(r"([a-zA-Z])([0-9x]*)!?(?:=(.*))?", text).groups()
    shape = [int(n) for n in sizes.split("x")] if sizes else []
    values = [float(v) for v in content.split(",")] if content else None
    return TYPES[kind], shape, values


def array(dtype, shape, values, rng):
    if dtype == TensorProto.STRING:
        return np.full(shape, "a bc", dtype=object)
    target = helper.tensor_dtype_to_np_dtype(dtype)
    if values is not None:
        return np.array(values).reshape(shape).astype(target)
    if dtype in (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.DOUBLE):
        return np.asarray(rng.random(shape) + 0.1).astype(target)
    return np.asarray(rng.integers(0, 2, shape)).astype(target)


def build(op, inputs, attributes, outputs, opset, declared=None):
    """The case without its outputs, what its inputs are fed, and the model; `declared` is output, type and shape where it says one."""
    domain, _, name = op.rpartition(".")
    domain = domain or MS
    rng = np.random.default_rng(1)
    names, values, initializers, feeds = [], [], [], {}
    case = {"domain": domain, "op": name, "opset": opset, "inputs": []}
    for i, text in enumerate(inputs.split()):
        names.append("" if text == "-" else f"x{i}")
        if text == "-":
            case["inputs"].append(None)
            continue
        dtype, shape, content = parse(text)
        entry = {"dtype": dtype, "shape": shape}
        data = array(dtype, shape, content, rng)
        if content is not None:
            entry["content"] = [int(v) for v in content]
        if content is not None or text.endswith("!"):
            initializers.append(numpy_helper.from_array(data, names[-1]))
        else:
            values.append(helper.make_tensor_value_info(names[-1], dtype, shape))
            feeds[names[-1]] = data
        case["inputs"].append(entry)
    case["attributes"] = attributes
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(name, names, results, domain=domain, **attributes)
    infos = [onnx.ValueInfoProto(name=r) for r in results]
    if declared is not None:
        infos = [helper.make_tensor_value_info(f"y{declared[0]}", declared[1], declared[2])]
    graph = helper.make_graph([node], "g", values, infos, initializers)
    return case, feeds, helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid(domain, opset)], ir_version=10)


def open_session(model, strict=False):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    if strict:
        options.add_session_config_entry("session.strict_shape_type_inference", "1")
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def run(*node):
    """The case with the outputs it gave."""
    case, feeds, model = build(*node)
    case["outputs"] = []
    for value in open_session(model).run(None, feeds):
        string = value.dtype.kind in "OU"
        dtype = TensorProto.STRING if string else helper.np_dtype_to_tensor_dtype(value.dtype)
        case["outputs"].append({"dtype": int(dtype), "shape": list(value.shape)})
    return case


def infer(*node):
    """The case with the outputs that its schema infers."""

    def says(pattern, *declared):
        try:
            open_session(build(*node, declared)[2], strict=True)
        except Exception as error:  # its text is what is asked for
            found = re.search(pattern, str(error))
            return found and found.group(1), str(error)
        return None, "nothing"

    case = build(*node)[0]
    case["outputs"] = []
    for i in range(node[3]):
        wrong = [7] * 9
        dtype = NUMBERS[says(r"does not match expected type \(tensor\((\w+)\)\)", i, TensorProto.FLOAT, wrong)[0] or "float"]
        rank, text = says(r"inferred=(\d+) declared=9", i, dtype, wrong)
        if rank is None:
            raise ValueError(text)
        shape = []
        for d in range(int(rank)):
            unlike = [987654 if j == d else f"s{j}" for j in range(int(rank))]
            size, text = says(r"[Ii]nferred=(\d+)\s+[Dd]eclared=987654", i, dtype, unlike)
            if size is None:
                raise ValueError(text)
            shape.append(int(size))
        case["outputs"].append({"dtype": int(dtype), "shape": shape})
    return case


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-o", "--output", default="tests/data/contrib_shapes.json")
    args = parser.parse_args()
    cases = []
    for find, (op, inputs, attributes, outputs, *opset) in [(run, c) for c in CASES] + [(infer, c) for c in INFERRED]:
        try:
            cases.append(find(op, inputs, attributes, outputs, opset[0] if opset else 1))
        except Exception as error:  # whatever the build says
            print(f"{op}({inputs}): {str(error).splitlines()[0][-220:]}")
    with open(args.output, "w", encoding="utf-8") as out:
        head = json.dumps(f"onnxruntime {onnxruntime.__version__}, written by tools/export/contrib_shapes.py")
        out.write('{"source": ' + head + ', "cases": [\n' + ",\n".join(json.dumps(c) for c in cases) + "\n]}\n")
    print(f"{len(cases)} of {len(CASES) + len(INFERRED)} cases")


if __name__ == "__main__":
    main()
