"""Bytes of a base in 4 bits against the tensors that bitsandbytes made of the same models: "nf4" in tests/data/lora_truth.json. Its FLOPs are in lora_truth_test."""

import json

import pytest
from conftest import ROOT
from training import configured

TRUTH = json.loads((ROOT / "tests/data/lora_truth.json").read_text())


@pytest.mark.parametrize("case", [case for case in TRUTH["cases"] if "nf4" in case], ids=lambda case: f"{case['config']} {case['lora']}")
def test_bytes_of_four_bits(case, tmp_path):
    nf4 = case["nf4"]
    model = configured(TRUTH["configs"][case["config"]], tmp_path)
    packed = model.count(lora=case["lora"], trained=case["trained"], **case["dims"])
    plain = model.count(lora=case["lora"].replace(",base=nf4", ""), trained=case["trained"], **case["dims"])
    assert packed.to_dict()["lora"]["nf4_layers"] == nf4["layers"]
    assert (packed.params, packed.macs) == (plain.params, plain.macs)
    # Weights of four bytes each.
    saved = 4 * nf4["weights"] - nf4["packed_bytes"] - nf4["scale_bytes"]
    assert plain.param_bytes - packed.param_bytes == saved
    assert plain.bytes_read - packed.bytes_read == saved
