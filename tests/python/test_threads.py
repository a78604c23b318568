"""Eight threads share models and reports. embedded_main.cc runs this file by itself under the thread sanitizer."""

import pathlib
import threading

import onnxflops

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_eight_threads(rounds=2):
    path = ROOT / "models/gpt2.onnx"
    shared = onnxflops.load(path)
    report = shared.count()
    expected = shared.count(batch=1, seq=64).to_json()
    faults = []
    start = threading.Barrier(8)

    def work(number):
        try:
            start.wait()
            for _ in range(rounds):
                assert shared.count(batch=1, seq=64).to_json() == expected
                assert onnxflops.load(path).count(batch=number + 1).flops == report.at(batch=number + 1).flops
                assert report.flops.evaluate(batch=1, seq=number) == report.at(batch=1, seq=number).flops
                assert report.modules[""].flops == report.flops and report.rows("op")
                shared.compare(["thop"])
                onnxflops.mfu(shared, batch=1, seq=8, step_time=1, peak=1e12)
                try:
                    shared.count(nosuch=1)
                except onnxflops.InvalidError:
                    pass
        except BaseException as error:  # it is told by the main thread
            faults.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults, faults


if __name__ == "__main__":
    test_eight_threads(rounds=1)
    print("eight threads: fine")
