#!/usr/bin/env python3
"""Figures of a training step against sums by hand: training_test.py PROGRAM, run at the root of the repository."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))
HIDDEN, INNER, BATCH, SEQ, RANK, BYTES = 64, 160, 2, 32, 4, 4
LENGTHS = (7, 5, 31, 5)


def document(*words):
    done = subprocess.run([PROGRAM, *words, "--format", "json"], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class Training(unittest.TestCase):
    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.path = os.path.join(folder, "config.json")

    def llama(self, layers, heads):
        config = {
            "model_type": "llama", "hidden_size": HIDDEN, "intermediate_size": INNER, "num_hidden_layers": layers, "num_attention_heads": heads,
            "num_key_value_heads": heads, "head_dim": 16, "vocab_size": 100, "max_position_embeddings": 64, "torch_dtype": "float32",
        }  # fmt: skip
        with open(self.path, "w", encoding="utf-8") as file:
            json.dump(config, file)
        return self.path

    def test_a_recomputed_layer_keeps_its_input_alone(self):
        """A layer more takes its parameters, those of its adapters, and its input. Training makes no KV cache, 2 x 16,384 bytes a layer."""
        words = ("--dim", f"batch={BATCH},seq={SEQ}", "--lora", f"r={RANK}:q_proj,v_proj", "--memory", "--attention", "flash", "--recompute", "blocks")
        peaks = [document("count", self.llama(layers, 4), *words)["memory"]["training_peak_bytes"]["value"] for layers in (2, 3, 4)]
        params = 4 * HIDDEN * HIDDEN + 3 * HIDDEN * INNER + 2 * HIDDEN + 2 * RANK * (HIDDEN + HIDDEN)
        layer = BYTES * (params + BATCH * SEQ * HIDDEN)
        self.assertEqual([b - a for a, b in zip(peaks, peaks[1:])], [layer, layer])

    def test_half_of_the_pairs_of_an_odd_number_of_heads(self):
        """The sum over samples is that of each sample twice less once, and what a run does once."""
        def flops(*lengths, packed=()):
            return int(document("count", self.llama(2, 3), "--causal", "half", "--lengths", ",".join(map(str, lengths)), *packed)["totals"]["flops"]["value"])

        each = sum(flops(n, n) - flops(n) for n in LENGTHS)
        once = 2 * flops(LENGTHS[0]) - flops(LENGTHS[0], LENGTHS[0])
        self.assertEqual((flops(*LENGTHS), flops(*LENGTHS, packed=["--packed"])), (each + once, each + once))

    def test_a_rate_of_samples_in_a_row(self):
        """4 samples at 8 a second are half a second, however attention takes their row."""
        for layout in ((), ("--packed",), ("--packed-as-row",)):
            words = ("--lengths", ",".join(map(str, LENGTHS)), *layout, "--samples-per-second", "8", "--peak", "1e15")
            self.assertEqual(document("mfu", "models/gpt2.onnx", *words)["step_seconds"], 0.5, layout)


if __name__ == "__main__":
    unittest.main()
