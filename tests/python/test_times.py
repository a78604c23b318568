"""Times on a device: seconds everywhere, and one bound for a run."""

import onnxflops
import pytest
from conftest import ROOT


def test_times_are_seconds():
    model = onnxflops.load(str(ROOT / "models/resnet50.onnx"))
    report = model.count(device="h100-sxm", dtype="bf16")
    written = report.to_dict()["totals"]["time_bound_seconds"]["value"]
    # 4.09 G multiply-accumulates, but for those of no use, at 989.4 TFLOP/s
    assert isinstance(report.time_bound_seconds, float) and 7.5e-6 < report.time_bound_seconds < 8.3e-6
    assert report.time_bound_seconds == pytest.approx(written, rel=1e-15)
    figure = report.figures["time_bound_seconds"]
    assert figure.unit == "s" and str(figure).endswith(" s") and float(str(figure)[:-2]) == pytest.approx(written, rel=1e-15)
    assert model.count().time_bound_seconds is None
    lstm = onnxflops.load(str(ROOT / "models/lstm.onnx")).count(device="h100-sxm", dtype="bf16")
    assert lstm.time_bound_seconds is None and "1e-21*(" in str(lstm.figures["time_bound_seconds"])
    assert lstm.at(batch=2, seq=3).time_bound_seconds > 0


def test_one_bound_for_a_run(gpt2):
    """The bytes of so small a run take longer than its arithmetic."""
    on = {"batch": 1, "seq": 8, "device": "t4", "dtype": "fp16"}
    report = gpt2.count(**on)
    bound = report.time_bound_seconds
    assert bound > 5 * sum(module.time_bound_seconds for module in next(iter(report.modules)).children)
    assert next(iter(report.modules)).time_bound_seconds == bound
    assert not onnxflops.check(gpt2, max={"time_bound_seconds": f"{bound * 0.99} s"}, **on)
    assert onnxflops.check(gpt2, max={"time_bound_seconds": f"{bound * 1.01} s"}, **on)


@pytest.mark.parametrize("seconds, limit", [
    (148e-6, "0.000148 s"), (1.2345678901234567e-06, "0.00000123456789 s"), (2, "2 s"), (2.5, "2.5 s"), ("20 ms", "20 ms")])
def test_a_limit_is_a_number_of_seconds(seconds, limit, gpt2):
    on = {"batch": 1, "seq": 8, "device": "t4", "dtype": "fp16"}
    row = onnxflops.check(gpt2, max={"time_bound_seconds": seconds}, **on).rows()[0]
    assert row["limit"] == limit and (row["verdict"] == "passed") == (row["actual_value"] <= row["limit_value"])
    assert onnxflops.check(gpt2, max={"m.*:time_bound_seconds": 1, "flops": 4e13}, **on)
    for wrong in (-1.0, float("nan"), float("inf"), True):
        with pytest.raises(onnxflops.InvalidError, match="it should be"):
            onnxflops.check(gpt2, max={"time_bound_seconds": wrong}, **on)


def test_a_diff_is_in_seconds(gpt2):
    sizes = {"seq": 8, "device": "t4", "dtype": "fp16"}
    base, head = gpt2.count(batch=1, **sizes), gpt2.count(batch=64, **sizes)
    diff = onnxflops.diff(base, head)
    for key in ("time_bound_seconds", "time_estimate_seconds"):
        change = getattr(head, key) - getattr(base, key)
        assert diff.delta(key) == pytest.approx(change, rel=1e-12)
        assert next(row for row in diff.rows() if row["path"] == "")[f"{key}_delta"] == pytest.approx(change, rel=1e-12)
    # A report is read back with its times.
    assert onnxflops.diff(base.to_json(), base).is_empty


def test_times_of_unequal_devices_are_not_compared():
    model = onnxflops.load(str(ROOT / "models/resnet50.onnx"))
    t4, h100 = model.count(device="t4", dtype="fp16"), model.count(device="h100-sxm", dtype="bf16")
    reason = "t4 with fp16 in the base, h100-sxm with bf16 in the head"
    for base in (t4, t4.to_json()):
        assert f"compared on unequal devices: {reason}" in " ".join(str(onnxflops.diff(base, h100)).replace("|", " ").split())
        check = onnxflops.check(h100, against=base, max={"time_bound_seconds": "+0%", "flops": "+0%"})
        verdicts = {row["name"]: (row["verdict"], row["detail"]) for row in check.rows()}
        assert verdicts == {"budget.time_bound_seconds": ("not_proven", f"the times are of unequal devices: {reason}"), "budget.flops": ("passed", "")}
    assert onnxflops.check(t4, against=t4.to_json(), max={"time_bound_seconds": "+0%"})


def test_measures_that_no_rule_judges(gpt2):
    with pytest.raises(onnxflops.InvalidError, match="rules of \\[mfu\\], and the budgets have none"):
        onnxflops.check(gpt2, max={"flops": "1T"}, batch=1, seq=8, step_time=1)
