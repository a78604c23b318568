#!/usr/bin/env python3
"""Exports models at several fixed batches each, without weights: what `count --at-batch` is held to.

Usage: batch_sizes.py FOLDER [NAME...]
Writes NAME.EXPORTER.BATCH.onnx; EXPORTER is ts (TorchScript, opset 17) or dy (dynamo, opset 20). Names that begin with "full_" are models in their published size, which only a call that names them writes.
Needs: pip install torch torchvision transformers onnx onnxscript
"""
import os
import sys

import torch
import torch.nn.functional as F
import torchvision
from torch import nn
from transformers import BertConfig, BertModel, CLIPConfig, CLIPModel, CLIPTextConfig, CLIPTextModelWithProjection, GPT2Config, GPT2LMHeadModel

from image_sizes import Wrapped, drop_traces
from strip import strip_weights


def image(batch, size=32):
    return (torch.zeros(batch, 3, size, size),)


def ids(batch, length=12):
    return (torch.ones(batch, length, dtype=torch.int64),)


def text_and_mask(batch):
    return ids(batch) + (torch.ones(batch, 12, dtype=torch.int64),)


def bert(**sizes):
    model = BertModel(BertConfig(**sizes))
    return Wrapped(lambda s, x, m: s.m(x, attention_mask=m).pooler_output, m=model)


def clip_text(**sizes):
    return Wrapped(lambda s, x: s.m(x).text_embeds, m=CLIPTextModelWithProjection(CLIPTextConfig(**sizes)))


def clip():
    small = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = CLIPConfig(text_config=dict(small, vocab_size=99, max_position_embeddings=12), vision_config=dict(small, image_size=32, patch_size=16), projection_dim=16)
    return Wrapped(lambda s, x, y: s.m(input_ids=x, pixel_values=y).logits_per_image, m=CLIPModel(config))


def gpt2(**sizes):
    return Wrapped(lambda s, x: s.m(x, use_cache=False).logits, m=GPT2LMHeadModel(GPT2Config(**sizes)))


def states(s, x):
    """States that the caller makes, of zeros."""
    h = torch.zeros(1, x.shape[0], 16)
    return s.o(s.r(x, (h, h))[0][:, -1])


def group_views(s, x):
    """Channel shuffle: a view of five dimensions and back."""
    x = s.a(x)
    n, c, h, w = x.shape
    return s.b(x.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)).mean((2, 3))


def frames(s, x):
    """[batch, frames, ...] as frames * batch images and back."""
    n, t = x.shape[:2]
    return s.f(s.a(x.flatten(0, 1)).mean((2, 3)).view(n, t, -1).mean(1))


def experts(s, x):
    """Weights of a convolution that depend on the sample (CondConv): samples as groups of one."""
    n, c, h, w = x.shape
    weights = (s.r(x.mean((2, 3))).softmax(1) @ s.w.view(4, -1)).view(n * 8, c, 3, 3)
    return F.conv2d(x.reshape(1, n * c, h, w), weights, groups=n).view(n, 8, h - 2, w - 2)


def flat_statistics(s, x):
    """A mean of each channel over all samples."""
    y = s.a(x)
    return y - y.transpose(0, 1).reshape(y.shape[1], -1).mean(1).view(1, -1, 1, 1)


def encoder(first):
    def call(s, x):
        x = s.e(x)
        return s.f(s.t(x if first else x.transpose(0, 1)).mean(1 if first else 0))

    layer = nn.TransformerEncoderLayer(32, 2, 64, batch_first=first)
    return Wrapped(call, e=nn.Embedding(99, 32), t=nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), f=nn.Linear(32, 4))


def unet(s, x):
    a = s.a(x)
    return s.c(torch.cat([a, F.interpolate(s.b(a), size=a.shape[-2:])], 1))


def queries(s, x):
    """Learned queries, one set for each sample, that attend to pixels."""
    memory = s.a(x).flatten(2).transpose(1, 2)
    q = s.q.unsqueeze(0).expand(x.shape[0], -1, -1)
    return s.f((q @ memory.transpose(1, 2)).softmax(-1) @ memory)


def guided(s, x):
    """Classifier-free guidance: the batch twice."""
    a, b = s.b(s.a(torch.cat([x, x]))).chunk(2)
    return a + 7.5 * (b - a)


MODELS = {
    "resnet": (lambda: torchvision.models.ResNet(torchvision.models.resnet.BasicBlock, [1, 1, 1, 1]), image),
    "shuffle": (lambda: Wrapped(group_views, a=nn.Conv2d(3, 8, 3), b=nn.Conv2d(8, 4, 1)), image),
    "convnext": (lambda: torchvision.models.ConvNeXt([torchvision.models.convnext.CNBlockConfig(16, 32, 1), torchvision.models.convnext.CNBlockConfig(32, None, 1)]), image),
    "vit": (lambda: torchvision.models.VisionTransformer(32, 16, 2, 2, 64, 128, num_classes=10), image),
    "swin": (lambda: torchvision.models.SwinTransformer([4, 4], 24, [2, 2], [2, 4], [4, 4], num_classes=10), lambda n: image(n, 64)),
    "bert": (lambda: bert(vocab_size=99, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, max_position_embeddings=20), text_and_mask),
    "clip_text": (lambda: clip_text(vocab_size=99, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, max_position_embeddings=12, projection_dim=16, eos_token_id=98), ids),
    "clip": (clip, lambda n: ids(n) + image(n)),
    "gpt2": (lambda: gpt2(vocab_size=99, n_embd=32, n_layer=2, n_head=2, n_positions=20), ids),
    "lstm": (lambda: Wrapped(lambda s, x: s.o(s.r(x)[0][:, -1]), r=nn.LSTM(8, 16, batch_first=True, num_layers=2, bidirectional=True), o=nn.Linear(32, 10)), lambda n: (torch.zeros(n, 7, 8),)),
    "gru": (lambda: Wrapped(lambda s, x: s.o(s.r(x)[1][0]), r=nn.GRU(8, 16), o=nn.Linear(16, 10)), lambda n: (torch.zeros(7, n, 8),)),
    "states": (lambda: Wrapped(states, r=nn.LSTM(8, 16, batch_first=True), o=nn.Linear(16, 10)), lambda n: (torch.zeros(n, 7, 8),)),
    "encoder": (lambda: encoder(True), ids),
    "encoder_seq": (lambda: encoder(False), ids),
    "frames": (lambda: Wrapped(frames, a=nn.Conv2d(3, 8, 3), f=nn.Linear(8, 4)), lambda n: (torch.zeros(n, 5, 3, 8, 8),)),
    "experts": (lambda: Wrapped(experts, r=nn.Linear(3, 4), w=nn.Parameter(torch.zeros(4, 8 * 27))), lambda n: image(n, 8)),
    "flat_statistics": (lambda: Wrapped(flat_statistics, a=nn.Conv2d(3, 8, 3)), lambda n: image(n, 8)),
    "group_norm": (lambda: Wrapped(lambda s, x: s.b(s.n(s.a(x))).mean((2, 3)), a=nn.Conv2d(3, 8, 3), n=nn.GroupNorm(2, 8), b=nn.Conv2d(8, 4, 1)), image),
    "unet": (lambda: Wrapped(unet, a=nn.Conv2d(3, 8, 3, 1, 1), b=nn.Conv2d(8, 8, 3, 2, 1), c=nn.Conv2d(16, 3, 1)), image),
    "queries": (lambda: Wrapped(queries, a=nn.Conv2d(3, 16, 4, 4), q=nn.Parameter(torch.zeros(5, 16)), f=nn.Linear(16, 4)), image),
    "guided": (lambda: Wrapped(guided, a=nn.Conv2d(3, 8, 3, 1, 1), b=nn.Conv2d(8, 3, 3, 1, 1)), image),
    "full_resnet50": (torchvision.models.resnet50, lambda n: image(n, 224)),
    "full_vit_b_16": (torchvision.models.vit_b_16, lambda n: image(n, 224)),
    "full_swin_t": (torchvision.models.swin_t, lambda n: image(n, 224)),
    "full_bert": (bert, lambda n: ids(n, 128) + (torch.ones(n, 128, dtype=torch.int64),)),
    "full_clip_text": (clip_text, lambda n: ids(n, 77)),
    "full_gpt2": (gpt2, lambda n: ids(n, 128)),
    "full_lstm": (lambda: Wrapped(lambda s, x: s.o(s.r(x)[0][:, -1]), r=nn.LSTM(128, 512, batch_first=True, num_layers=2, bidirectional=True), o=nn.Linear(1024, 10)), lambda n: (torch.zeros(n, 100, 128),)),
}
BATCHES = (1, 2, 8)


def main():
    folder = sys.argv[1]
    names = sys.argv[2:] or [name for name in MODELS if not name.startswith("full_")]
    torch.backends.mha.set_fastpath_enabled(False)
    for name in names:
        make, inputs_of = MODELS[name]
        model = make().eval()
        for batch in BATCHES[::2] if name.startswith("full_") else BATCHES:
            for exporter, options in (("ts", {"dynamo": False, "opset_version": 17}), ("dy", {"dynamo": True, "opset_version": 20, "external_data": name.startswith("full_"), "verbose": False})):
                path = f"{folder}/{name}.{exporter}.{batch}.onnx"
                if os.path.exists(path):
                    continue
                inputs = inputs_of(batch)
                try:
                    with torch.no_grad():
                        torch.onnx.export(model, inputs, path, input_names=["x", "y"][: len(inputs)], **options)
                except Exception as error:  # one exporter may lack an operator that the other has
                    print(f"{path}: {type(error).__name__}: {error}".splitlines()[0][:200])
                    continue
                strip_weights(path)
                drop_traces(path)
                if os.path.exists(path + ".data"):
                    os.remove(path + ".data")


if __name__ == "__main__":
    main()
