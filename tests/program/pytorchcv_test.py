#!/usr/bin/env python3
"""The convention pytorchcv against measure_model itself, and against the zoo's table: pytorchcv_test.py PROGRAM, run at the root of the repository."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))

# Exports that do not show what the tool saw: the optimiser took BatchNorms into convolutions with a bias, or dropped calls (the first five); a module
# stands in several places; TorchScript does not show an adaptive pool of the same size, nor a Swish. The last is counted as the zoo's older counter did.
HIDDEN = {"bninception.dynamo", "fishnet99.dynamo", "irevnet301.dynamo", "lwopenpose2d_mobilenet_cmupan_coco.dynamo", "tv_vgg11_bn.dynamo",
          "diaresnet20_cifar10.dynamo", "diaresnet20_cifar10.plain", "tv_vgg11.ts", "efficientnet_b0.ts", "wrn20_10_1bit_cifar10.dynamo"}
# "FLOPs/2" of pytorch/README.md.
PUBLISHED = {"alexnet.dynamo": "1,132.33M", "resnet10.dynamo": "894.04M", "mobilenet_wd4.dynamo": "44.09M", "darknet_tiny.dynamo": "500.85M",
             "seresnet10.dynamo": "894.27M", "preresnet20_cifar10.dynamo": "41.27M", "densenet40_k12_cifar10.dynamo": "210.80M", "rir_cifar10.dynamo": "1,281.08M",
             "dicenet_wd5.plain": "18.76M", "irevnet301.plain": "14,453.87M", "igcv3_wd4.dynamo": "41.29M", "wrn20_10_1bit_cifar10.dynamo": "4,019.14M"}


def document(*arguments):
    result = subprocess.run([PROGRAM, *arguments, "--format", "json"], capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode in (0, 1), result.stderr
    return json.loads(result.stdout)


class PytorchcvTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        subprocess.run(["tar", "-C", cls.folder.name, "-xJf", "tests/data/pytorchcv.tar.xz"], check=True)
        with open(f"{cls.folder.name}/figures.json", encoding="utf-8") as file:
            cls.figures = json.load(file)["models"]

    def test_figures_are_those_of_measure_model(self):
        """Half of its FLOPs, to the last digit, or no figure where it raises. What is called exact is right without exception."""
        found = {"exact": 0, "assumed": 0, "not_applicable": 0}
        differs = set()
        exports = sorted(name[:-len(".onnx")] for name in os.listdir(self.folder.name) if name.endswith(".onnx"))
        for name in exports:
            flops = self.figures[name.rpartition(".")[0]]["flops"]
            (tool,) = document("compare", f"{self.folder.name}/{name}.onnx", "--with", "pytorchcv")["conventions"]
            found[tool["status"]] += 1
            figure = tool["headline"] and int(tool["headline"]["value"])
            if figure != (None if flops == "none" else flops // 2):
                differs.add(name)
                self.assertNotEqual(tool["status"], "exact", name)
            elif flops == "none":
                # Swin has several reasons, and the exporter folded the parameter that is the first.
                error = "TypeError" if name == "tv_swin_t.dynamo" else self.figures[name.rpartition(".")[0]]["error"].partition(":")[0]
                self.assertIn(f"measure_model stops with {error} at", tool["assumptions"][0], name)
        self.assertEqual(differs, HIDDEN)
        self.assertGreaterEqual(found["exact"], 15, found)
        self.assertEqual({name.rpartition(".")[0] for name in exports}, set(self.figures))

    def test_published_figures_are_named(self):
        for name, figure in PUBLISHED.items():
            model = name.rpartition(".")[0]
            (row,) = document("audit", "--zoo", f"pytorchcv:{model}", f"{self.folder.name}/{name}.onnx")["rows"]
            self.assertEqual((row["status"], row["conventions"]), ("same", ["pytorchcv"]), name)
            self.assertEqual(row["published"], round(float(figure.replace(",", "")[:-1]) * 100) * 10_000, name)


if __name__ == "__main__":
    unittest.main()
