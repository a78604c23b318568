"""The samples that the callbacks find in the tensors of a batch: masks, positions, labels. What is not installed is skipped."""

import warnings
from types import SimpleNamespace

import onnxflops
import pytest
from onnxflops.monitor import Perf
from training import batch_sums, need

TEXT = SimpleNamespace(decoder="", audio="")  # what told_by() asks of a model of text
N = -100


def found(given):
    """The lengths, and whether a warning was given."""
    torch = need("torch")[0]
    from onnxflops._batch import rows_of, told_by

    told = []
    rows = rows_of(told_by({name: torch.tensor(x) if isinstance(x, list) else x for name, x in given.items()}, None, TEXT), True, told.append)
    return rows.lengths, len(told)


POSITIONS = [
    # what, positions, labels, ids, lengths, warnings
    ("padded on the left", [0, 0, 0, 0, 1, 2, 3], [N, N, N, 4, 5, 6, 7], [0, 0, 0, 4, 5, 6, 7], [4], 0),
    ("labels that are copies", [0, 0, 0, 0, 1, 2, 3], [0, 0, 0, 4, 5, 6, 7], [0, 0, 0, 4, 5, 6, 7], [4], 0),
    ("the same token alone", [0, 0, 0, 0, 1, 2, 3], None, [0, 0, 0, 4, 5, 6, 7], [4], 0),
    ("a sample that is labelled", [0, 0, 0, 1, 2], [4, 5, 6, 7, 8], [4, 5, 6, 7, 8], [1, 1, 3], 0),
    ("nobody knows: it is work", [0, 0, 0, 1, 2, 0, 1], None, [4, 5, 6, 7, 8, 9, 3], [5, 2], 1),
    ("filled with 1", [1, 1, 1, 0, 1, 2, 3], None, [1, 2, 3, 4, 5, 6, 7], [4], 0),
    ("one of these, and labels", [1, 0, 1, 2], [N, 5, 6, 7], [0, 5, 6, 7], [3], 0),
    ("one of these, without labels", [1, 0, 1, 2], None, [4, 5, 6, 7], [4], 1),
    ("filled with 1 on the right", [0, 1, 2, 1], None, [4, 5, 6, 7], [3], 0),
    ("RoBERTa's on the left", [1, 1, 2, 3], [N, N, 5, 6], [1, 1, 5, 6], [2], 0),
    ("positions of its own", [0, 1, 2, 0, 1], [N, N, N, 5, 6], [0, 0, 0, 5, 6], [2], 0),
    ("a sample of one token at first", [0, 0, 1, 2], None, [4, 5, 6, 7], [1, 3], 0),
    ("a piece of a document", [5, 6, 7, 8, 0, 1, 2, 3, 4, 5, 6, 7], None, None, [4, 8], 0),
    ("a long piece", [*range(20, 40), *range(44)], None, None, [20, 44], 0),
    ("its last token", [8, 0, 1, 2], None, None, [1, 3], 0),
    ("negative at the end", [0, 1, 2, 3, -1], None, None, [4], 0),
    ("negative at both ends", [-1, -1, 0, 0, 1, -1], None, None, [1, 2], 0),
    ("negative between", [0, 1, -1, 0, 1, 2], None, None, [2, 3], 0),
    ("negative before what stands still", [2, 3, 0, -1, 1, 1], None, None, [2, 1], 0),
    ("one token before zeros", [0, 1, 2, 0, 0, 0], [4, 5, 6, 7, N, N], [4, 5, 6, 7, 0, 0], [3, 1], 0),
    ("two tokens before zeros", [0, 1, 0, 0, 0, 0], [4, 5, 6, 7, N, N], [4, 5, 6, 7, 0, 0], [2, 1, 1], 0),
    ("one token before pads", [0, 1, 2, 0, 0, 0], None, [4, 5, 6, 7, 0, 0], [3, 1], 0),
    ("one token in a row", [0, 0, 0], [4, N, N], [4, 0, 0], [1], 0),
    ("one token at its end", [0, 0, 0], [N, N, 4], [0, 0, 4], [1], 0),
    ("zeros for all tokens", [0, 0, 0], [4, 5, 6], [4, 5, 6], [3], 1),
]  # fmt: skip


@pytest.mark.parametrize(("places", "labels", "ids", "lengths", "told"), [x[1:] for x in POSITIONS], ids=[x[0] for x in POSITIONS])
def test_positions(places, labels, ids, lengths, told):
    """By hand."""
    batch = {"input_ids": [ids or [5] * len(places)], "position_ids": [places], **({"labels": [labels]} if labels else {})}
    assert found(batch) == (lengths, told)
    assert found({**batch, "position_ids": places}) == (lengths, told)  # of one axis: a row


def test_positions_of_rows_padded_on_the_left(gpt2):
    """Rows of 2, 4 and 3 tokens, beside a mask of pairs; positions on three axes as well."""
    torch = need("torch")[0]
    ids = torch.tensor([[0, 0, 5, 6], [7, 8, 9, 4], [0, 5, 6, 7]])
    places = torch.tensor([[0, 0, 0, 1], [0, 1, 2, 3], [0, 0, 1, 2]])
    batch = {"input_ids": ids, "labels": torch.where(ids == 0, N, ids), "attention_mask": torch.ones(3, 1, 4, 4)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for given in (places, places.expand(3, -1, -1)):
            flops, _, sums = batch_sums(gpt2, {**batch, "position_ids": given})
            assert flops == sum(2 * gpt2.count(batch=1, seq=n).macs for n in (2, 4, 3))
            assert (sums.samples, sums.tokens, sums.places) == (3, 9, 12)
        batch_sums(gpt2, {**batch, "position_ids": torch.arange(4)[None]})  # they tell that there is no padding
    del batch["labels"]
    assert found({**batch, "input_ids": ids + 5, "position_ids": places})[0] == [2, 4, 4]  # of the last row nothing tells it


def test_masks_that_are_no_tensor(gpt2):
    """They tell no lengths, and a warning says so."""
    torch = need("torch")[0]
    rows = {"input_ids": torch.ones(2, 8, dtype=torch.long)}
    for mask, name in (({"full_attention": torch.ones(2, 1, 8, 8)}, "dict"), (SimpleNamespace(shape=(2, 1, 8, 8)), "SimpleNamespace")):
        with pytest.warns(RuntimeWarning, match=f"attention_mask of the type {name}: it does not tell the lengths"):
            assert batch_sums(gpt2, {**rows, "attention_mask": mask})[0] == 2 * gpt2.count(batch=2, seq=8).macs


def test_nested_tokens(gpt2):
    """The rows of a nested tensor have lengths of their own."""
    torch = need("torch")[0]
    rows = [torch.arange(5), torch.arange(3)]
    for layout in (torch.jagged, torch.strided):
        flops, _, sums = batch_sums(gpt2, {"input_ids": torch.nested.nested_tensor(rows, layout=layout)})
        assert flops == sum(2 * gpt2.count(batch=1, seq=n).macs for n in (5, 3))
        assert (sums.samples, sums.tokens) == (2, 8)


def test_counting_never_stops_a_training(gpt2):
    """Not even what onnxflops does not know of."""
    torch, _ = need("torch", "transformers")
    from onnxflops.huggingface import PerfCallback

    class Strange(dict):
        def get(self, name):
            raise AttributeError("no get")

    callback = PerfCallback(Perf(gpt2, peak=1e15, devices=1), {}, "seq")
    with pytest.warns(RuntimeWarning, match="no perf/mfu of these steps: AttributeError: no get"):
        callback.take([Strange(input_ids=torch.ones(2, 8, dtype=torch.long))])
    assert callback._fails


def test_padding_after_the_last_sample():
    """A row that is longer than its samples has padding."""
    torch = need("torch")[0]
    from onnxflops._batch import rows_of, told_by

    told = told_by({"input_ids": torch.ones(1, 13, dtype=torch.long), "cu_seq_lens_q": torch.tensor([0, 8, 11])})
    assert rows_of(told) == ([8, 3], True, 13, None)


def test_numbers_of_samples_in_several_rows():
    """Padding ends a sample, and a number may come again in another row."""
    torch = need("torch")[0]
    from onnxflops._batch import rows_of, told_by

    for kind in (torch.int64, torch.int32, torch.float32, torch.float64):
        mask = torch.tensor([[70000, 70000, 3, 3, 3, 0], [70000, 0, 1, 1, 2, 2]], dtype=kind)
        assert rows_of(told_by({"attention_mask": mask})) == ([2, 3, 1, 2, 2], True, 12, None)


def test_positions_of_a_piece_of_a_row():
    """A row may begin within a sample."""
    torch = need("torch")[0]
    from onnxflops._batch import rows_of

    for places, lengths in (([5, 6, 7, 0, 1, 0, 1], [3, 2, 2]), ([2, 3, 2, 2, 3], [2, 1, 2]), ([0], [1])):
        assert rows_of({"position_ids": torch.tensor([places])}).lengths == lengths


def test_positions_of_several_packed_rows(gpt2):
    """Each row has its own samples, as the masks of transformers have them; one row of positions is that of all."""
    torch = need("torch", "transformers")[0]
    from onnxflops._batch import rows_of, told_by
    from transformers.masking_utils import find_packed_sequence_indices

    ids = torch.ones(2, 8, dtype=torch.long)
    both = torch.tensor([[0, 1, 2, 3, 4, 0, 1, 2], [0, 1, 0, 1, 2, 3, 4, 5]])
    for places in (both, both[:1]):
        numbers = find_packed_sequence_indices(places.expand(2, -1))
        lengths = [int(n) for row in numbers for n in row.unique_consecutive(return_counts=True)[1]]
        flops, _, sums = batch_sums(gpt2, {"input_ids": ids, "position_ids": places})
        assert flops == sum(2 * gpt2.count(batch=1, seq=n).macs for n in lengths)
        assert (sums.samples, sums.tokens, sums.places) == (4, 16, 16)
    assert rows_of(told_by({"position_ids": both.expand(3, -1, -1)})).lengths == [5, 3, 2, 6]  # on three axes
    assert rows_of(told_by({"input_ids": ids, "position_ids": torch.arange(8).expand(2, -1)})) is None  # a rectangle


def test_padding_of_positions():
    """Positions that stand still at the end of a row are padding; so is a last sample of one token, again and again, without labels."""
    torch = need("torch")[0]
    from onnxflops._batch import rows_of, told_by
    from onnxflops._errors import InvalidError

    def lengths(places, **more):
        tensors = {name: torch.tensor(x) for name, x in {"position_ids": places, **more}.items()}
        ids = tensors.pop("input_ids", torch.ones_like(tensors["position_ids"]))
        return rows_of(told_by({"input_ids": ids, **tensors}, None, StepWorkOfText()))

    class StepWorkOfText:
        decoder = audio = ""

    assert lengths([[0, 1, 2, 0, 1, 0, 0, 0]]) == ([3, 2], True, 8, None)
    assert lengths([[0, 1, 2, 3, 3, 3]]) == ([4], True, 6, None)
    assert lengths([[2, 3, 4, 1, 1, 1]]) == ([3], True, 6, None)  # of RoBERTa
    assert lengths([[0, 1, 2, 3], [0, 1, 0, 0]]) == ([4, 2], False, 8, None)
    assert lengths([[0, 1, 0, 1], [0, 0, 0, 0]]) == ([2, 2], True, 8, None)
    assert lengths([[0, 1, 2, 0]]) == ([3, 1], True, 4, None)  # a sample of one token
    labels = {"labels": [[5, 6, 7, -100]], "input_ids": [[5, 6, 7, 0]]}
    assert lengths([[0, 1, 2, 0]], **labels) == ([3], True, 4, None)
    assert lengths([[0, 1, 0, 1]], labels=[[5, 6, -100, -100]], input_ids=[[5, 6, 0, 0]]) == ([2], True, 4, None)
    assert lengths([[0, 1, 0, 1]], labels=[[5, 6, -100, -100]], input_ids=[[5, 6, 7, 8]]) == ([2, 2], True, 4, None)  # a prompt
    with pytest.raises(InvalidError, match="position_ids of padding alone"):
        lengths([[0, 0, 0]])


def test_positions_of_all_rows(gpt2):
    """One row of positions is that of every row of tokens."""
    torch = need("torch")[0]
    rows = {"input_ids": torch.ones(4, 8, dtype=torch.long)}
    flops, _, sums = batch_sums(gpt2, {**rows, "position_ids": torch.arange(8)[None]})
    assert flops == batch_sums(gpt2, rows)[0] == 2 * gpt2.count(batch=4, seq=8).macs
    assert (sums.samples, sums.tokens) == (4, 32)


def test_masks_that_do_not_fit(gpt2):
    """Embeddings have no ids; a mask of pairs tells no lengths, which is a warning, given once."""
    torch = need("torch")[0]
    from onnxflops._batch import rows_of, told_by

    embeds = {"inputs_embeds": torch.zeros(2, 8, 16)}
    assert rows_of(told_by({**embeds, "attention_mask": torch.tensor([[1] * 8, [1] * 5 + [0] * 3])})).lengths == [8, 5]
    with pytest.raises(onnxflops.InvalidError, match=r"attention_mask \[2, 9\] beside inputs_embeds of 16 tokens"):
        rows_of(told_by({**embeds, "attention_mask": torch.ones(2, 9)}))
    rows, pairs = {"input_ids": torch.ones(2, 8, dtype=torch.long)}, torch.ones(2, 1, 8, 8)
    perf = Perf(gpt2, peak=1e15, devices=1)
    with pytest.warns(RuntimeWarning, match=r"attention_mask \[2, 1, 8, 8\], of pairs of tokens") as told:
        perf._add_batch(perf._sums, {**rows, "attention_mask": pairs}, {}, None)
        perf._add_batch(perf._sums, {**rows, "attention_mask": pairs[:, :, :, :4]}, {}, None)
    assert len(told) == 1 and perf._sums.flops == 2 * gpt2.count(batch=2, seq=8).training_flops


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"cu_seq_lens_q": 5}, "cu_seq_lens_q that is wrong: it should be a list of whole numbers, not 5"),
        ({"cu_seq_lens_q": [0, 8, 17]}, "cu_seq_lens_q up to 17, and 16 tokens"),
        ({"cu_seq_lens_q": [0, 8, 3, 13]}, r"not begin with 0 and go up .*: \[0, 8, 3, 13\]"),
        ({"cu_seq_lens_q": [3, 8]}, "does not begin with 0"),
        ({"cu_seq_lens_q": [0]}, "does not begin with 0"),
        ({"cu_seq_lens_q": [0, float("nan"), 13]}, "whole numbers: number 2 is nan"),
        ({"cu_seq_lens_q": [0, 7.5]}, "whole numbers: number 2 is 7.5"),
        ({"cu_seq_lens_q": [0, 0, 0]}, r"cu_seq_lens_q without a token: \[0, 0, 0\]"),
        ({"attention_mask": [[0] * 8, [0] * 8]}, "attention_mask of padding alone"),
        ({"attention_mask": [[1] * 9, [1] * 9]}, r"attention_mask \[2, 9\] beside input_ids \[2, 8\]"),
        ({"attention_mask": [1] * 8}, r"attention_mask \[8\] beside input_ids \[2, 8\]"),
        ({"attention_mask": [[1] * 8, [-1] * 8]}, "negative numbers"),
        ({"attention_mask": [[1.0] * 8, [0.5] * 8]}, "fractions"),
        ({"attention_mask": [[1.0] * 8, [float("-inf")] * 8]}, "negative numbers"),
        ({"image_grid_thw": 5}, "not three numbers"),
        ({"image_grid_thw": [[1, 2, 2], [1, 2.5, 2]]}, "image 2 should be whole numbers: number 2 is 2.5"),
        ({"image_grid_thw": [[1, 0, 2]]}, r"with \[1, 0, 2\] for image 1"),
        ({"mm_token_type_ids": (2, 9)}, "mm_token_type_ids .2, 9. beside attention_mask .2, 8."),
    ],
)
def test_batches_that_contradict_themselves(given, message):
    torch = need("torch")[0]
    from onnxflops._batch import grids_of, rows_of, told_by

    given = {name: torch.zeros(x, dtype=torch.long) if isinstance(x, tuple) else x for name, x in given.items()}
    if "attention_mask" in given:
        given["attention_mask"] = torch.tensor(given["attention_mask"])
    told = told_by({"input_ids": torch.ones(2, 8, dtype=torch.long), "attention_mask": torch.ones(2, 8), **given})
    with pytest.raises(onnxflops.InvalidError, match=message):
        rows_of(told)
        grids_of(told)
