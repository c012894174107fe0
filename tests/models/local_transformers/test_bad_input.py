"""Bad input of local models: one line with the fix, before a row is asked."""

import shutil

import pytest

from assay.cli.main import main
from assay.core import AssayError, UsageError
from assay.models.local_transformers import LocalTransformers

pytestmark = pytest.mark.torch


@pytest.fixture
def copy(llama_folder, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(llama_folder, folder)
    return folder


def test_a_folder_without_a_tokenizer_is_refused(copy):
    for file in copy.glob("tokenizer*"):
        file.unlink()

    with pytest.raises(UsageError, match=r"no tokenizer.*fix: copy tokenizer.json"):
        LocalTransformers(str(copy))


@pytest.mark.parametrize("dtype", ["int8", "float31", "uint8", "Tensor"])
def test_a_dtype_that_weights_cannot_have_is_refused(llama_folder, dtype):
    with pytest.raises(UsageError, match=f"unknown dtype '{dtype}'; .*bfloat16"):
        LocalTransformers(str(llama_folder), dtype=dtype)


def test_a_context_longer_than_the_models_own_is_refused(llama_folder):
    with pytest.raises(UsageError, match=r"context=513 is longer.*context=512 or less"):
        LocalTransformers(str(llama_folder), context=513)
    assert LocalTransformers(str(llama_folder), context=512).context == 512


@pytest.mark.parametrize("device", ["cuda:7", "gpu0"])
def test_a_device_that_does_not_exist_is_refused(llama_folder, tmp_path, device):
    model = LocalTransformers(str(llama_folder), device=device)

    with pytest.raises(AssayError, match="fix: "):
        model.load()


def test_an_adapter_of_another_base_is_refused(llama_folder, make, tmp_path):
    pytest.importorskip("peft")
    from peft import LoraConfig, get_peft_model
    from transformers import LlamaForCausalLM

    other = make.model(LlamaForCausalLM, make.config(hidden_size=64))
    adapter = get_peft_model(other, LoraConfig(target_modules=["q_proj"], r=2))
    adapter.save_pretrained(tmp_path / "adapter")
    model = LocalTransformers(str(llama_folder), adapter=str(tmp_path / "adapter"))

    with pytest.raises(AssayError, match=r"adapter.*made for this model") as caught:
        model.load()
    assert "\n" not in str(caught.value)


def test_bad_input_ends_a_run_before_rows_are_asked(copy, tmp_path, capsys):
    for file in copy.glob("tokenizer*"):
        file.unlink()
    (tmp_path / "rows.jsonl").write_text('{"question": "2+2?", "answer": "4"}\n')

    code = main(
        [
            "run",
            str(tmp_path / "rows.jsonl"),
            "--model",
            f"hf/{copy}",
            "-o",
            str(tmp_path / "run"),
        ]
    )

    assert code == 2
    assert "the folder has no tokenizer" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_run_notes_which_models_are_asked_by_generate(make, tmp_path):
    from transformers import BloomConfig, BloomForCausalLM

    import assay

    config = BloomConfig(vocab_size=300, hidden_size=32, n_layer=2, n_head=4)
    model = make.model(BloomForCausalLM, config)
    folder = make.folder(tmp_path / "bloom", model, make.tokenizer())
    rows = [{"id": "a", "question": "2+2?", "answer": "4"}]

    done = assay.run(
        assay.Task("qa", dataset=rows),
        f"hf/{folder}",
        model_args={"max_tokens": 2},
        output=str(tmp_path / "run"),
    )

    [note] = [note for note in done.notes if "own generate" in note]
    assert note.endswith("its attention cannot be replaced")


def test_a_gguf_run_does_not_import_the_transformers_engine():
    import subprocess
    import sys

    code = (
        "import sys, assay.models.gguf\n"
        "names = [n for n in sys.modules if 'local_transformers' in n]\n"
        "assert not names, names"
    )

    subprocess.run([sys.executable, "-c", code], check=True)
