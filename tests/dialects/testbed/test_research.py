"""White-box extras on a model whose modules only look like torch's."""

import pytest

from assay.dialects.testbed.testbed_model_bases import ModelBase
from assay.dialects.testbed.testbed_trackers import ForwardTracker, LocalsTracker


class Handle:
    def __init__(self, hooks, hook):
        self.hooks, self.hook = hooks, hook

    def remove(self):
        self.hooks.remove(self.hook)


class Layer:
    """Doubles its input."""

    def __init__(self):
        self.hooks, self.before = [], []

    def forward(self, x):
        doubled = 2 * x
        return doubled

    def __call__(self, x):
        for hook in self.before:
            changed = hook(self, (x,))
            (x,) = (x,) if changed is None else changed  # as torch does
        out = self.forward(x)
        for hook in self.hooks:
            hook(self, (x,), out)
        return out

    def register_forward_hook(self, hook, **options):
        self.hooks.append(hook)
        return Handle(self.hooks, hook)

    def register_forward_pre_hook(self, hook, **options):
        self.before.append(hook)
        return Handle(self.before, hook)


class Net(Layer):
    """Two layers, one after the other."""

    config = None

    def __init__(self):
        super().__init__()
        self.first, self.second = Layer(), Layer()

    @classmethod
    def from_pretrained(cls, root, **options):
        return cls()

    def forward(self, x):
        return self.second(self.first(x))

    def named_modules(self):
        return [("", self), ("first", self.first), ("second", self.second)]


class Processor:
    @classmethod
    def from_pretrained(cls, root, **options):
        return cls()

    def __call__(self, text, padding=True, return_tensors="pt"):
        return {"x": text}


@pytest.fixture
def model():
    return ModelBase("x", Processor, Net)


def test_a_tracker_keeps_what_modules_return_pass_by_pass(model):
    tracker = ForwardTracker(on_device=True)
    model.add_tracker("first|second", tracker)

    model.forward(1), model.forward(5)

    assert tracker.outputs == [[2, 4], [10, 20]]
    assert tracker.inputs == [[(1,), (2,)], [(5,), (10,)]]
    tracker.remove()
    model.forward(7)
    with pytest.raises(RuntimeError, match="follows no model"):
        tracker.outputs


def test_a_tracker_stops_at_the_end_of_its_block(model):
    with ForwardTracker() as tracker:
        model.add_tracker("first", tracker)
        model.forward(1)
        assert tracker.outputs == [[2]]

    assert not tracker.is_tracking
    assert model.model.first.hooks == []


def test_a_tracker_of_locals_sees_them_when_forward_returns(model):
    tracker = LocalsTracker("forward", ["doubled"])
    model.add_tracker(["first", "second"], tracker)

    assert model.forward(3) == 12
    assert tracker.get("doubled") == [[6, 12]]
    with pytest.raises(KeyError, match="doubled are"):
        tracker.get("other")


def test_a_tracker_of_locals_names_a_variable_the_method_does_not_have(model):
    with pytest.raises(
        ValueError, match=r"Layer.forward has no local variable tripled"
    ):
        model.add_tracker("first", LocalsTracker("forward", ["tripled"]))


def test_a_hook_receives_the_name_of_its_module(model):
    seen = []
    model.register_forward_hook(
        "sec",
        lambda module, args, output, module_name: seen.append((module_name, output)),
    )

    model.forward(1)

    assert seen == [("second", 4)]


def test_modules_and_methods_are_replaced_by_name_or_class(model):
    model.replace_module_method(
        ["first"], "forward", lambda self, x, old_method: old_method(x) + 1
    )
    assert model.forward(1) == 6
    model.replace_module("second", Layer())
    assert model.forward(1) == 6
    with pytest.raises(ValueError, match=r"takes \(y\) and must begin with \(x\)"):
        model.replace_module_method("second", "forward", lambda self, y: y)
    with pytest.raises(ValueError, match="no module matches 'third'"):
        model.replace_module("third", Layer)


def test_unknown_attributes_are_looked_up_in_the_wrapped_model(model):
    assert model.first is model.model.first
    with pytest.raises(AttributeError, match="nothing_like_it"):
        model.nothing_like_it


def test_moving_the_model_moves_the_wrapped_torch_module(model):
    torch = pytest.importorskip("torch")
    model.model = torch.nn.Linear(1, 1)

    assert model.to(torch.float64) is model

    assert model.model.weight.dtype is torch.float64
