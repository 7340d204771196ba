"""Wrong uses of `probe`: one line each, exit code 2 on the command line, and nothing written."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

import sparsehead as sh
from sparsehead.cli.app import main

ROOT = Path(__file__).parents[2]
DOOR = "an Architecture of your own (architecture=, --architecture package.module:name)"
(COMPASS,) = re.findall(
    r"^```python\n# compass\.py\n(.*?)^```", (ROOT / "CONTRIBUTING.md").read_text(), re.M | re.S
)


def weights(path, names=("q_proj", "k_proj", "v_proj", "o_proj"), d=8):
    save_file({f"layers.0.self_attn.{n}.weight": np.eye(d, dtype=np.float32) for n in names}, path)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with files that are no models, or not quite."""
    folder = tmp_path_factory.mktemp("place")
    configs = {
        "unknown": {"model_type": "rwkv"},
        "remote": {"model_type": "mine", "auto_map": {"AutoModel": "mine.Mine"}},
        "untyped": {"hidden_size": 8},
        "listed": {"model_type": ["bert"]},
        "norms_only": {"model_type": "gptj"},
        "empty_weights": {"model_type": "llama"},
        "pickled": {"model_type": "bert"},
        "cut": {"model_type": "llama"},
        "quantised": {"model_type": "llama", "quantization_config": {"bits": 4}},
        "lacking": {"model_type": "llama"},
        "odd_index": {"model_type": "llama"},
        "climbing": {"model_type": "llama"},
    }
    for name, config in configs.items():
        (folder / name).mkdir()
        (folder / name / "config.json").write_text(json.dumps(config))
    for name in ("remote", "unknown", "quantised", "lacking", "odd_index", "climbing", "norms_only"):
        weights(folder / name / "model.safetensors")
    (folder / "remote" / "mine.py").write_text("open('ran', 'w')\n")
    (folder / "pickled" / "pytorch_model.bin").write_bytes(b"pickle")
    index = "model.safetensors.index.json"
    (folder / "lacking" / index).write_text(
        '{"weight_map": {"a": "model-2.safetensors", "b": "model.safetensors"}}'
    )
    (folder / "odd_index" / index).write_text('{"weight_map": [1]}')
    (folder / "climbing" / index).write_text('{"weight_map": {"a": "../cut/model.safetensors"}}')
    weights(folder / "state.safetensors")
    (folder / "cut" / "model.safetensors").write_bytes((folder / "state.safetensors").read_bytes()[:-9])
    save_file({"dense.weight": np.eye(4, dtype=np.float32)}, folder / "mlp.safetensors")
    weights(folder / "no_key.safetensors", names=("q_proj", "v_proj", "o_proj"))
    save_file(
        {f"h.self_attention.{n}.weight": np.ones((24, 8), np.float32) for n in ("query_key_value", "dense")},
        folder / "bloom.safetensors",
    )
    for name, content in {
        "junk.safetensors": b"12345678901", "long.safetensors": b"\xff" * 16, "x.gguf": b"GGUX" * 9,
        "short.gguf": b"GGUF", "w.pt": b"pickle", "notes.txt": b"text", "bad.txt": b"\xff\xfe\x00",
        "blank.txt": b"\n\n", "there.html": b"mine",
    }.items():  # fmt: skip
        (folder / name).write_bytes(content)
    for name, text in {"bad_json": "{", "json_list": "[1]"}.items():
        (folder / name).mkdir()
        (folder / name / "config.json").write_text(text)
    (folder / "nothing").mkdir()
    sh.save(sh.build("x1 & x2", T=4), folder / "ours.safetensors")
    (folder / "code").mkdir()
    (folder / "code" / "odd_arch.py").write_text(
        "from sparsehead.extend import Architecture\nNUMBER = 3\n"
        "PLAIN = Architecture(module='self_attn', query='q_proj', output='o_proj')\n"
    )
    (folder / "code" / "broken_arch.py").write_text("raise ValueError('no good')\n")
    return folder


WRONG: list[tuple[str, str]] = [
    ("nowhere", "there is no nowhere; probe reads a folder"),
    ("unknown", f"does not know models of type 'rwkv'; it reads bert, roberta, .*gemma2, qwen3, .*; {DOOR}"),
    ("remote", f"does not know models of type 'mine'; .*{DOOR}"),
    ("untyped", f"the configuration has no model_type; .*{DOOR}"),
    ("listed", f"does not know models of type a list, ['bert']; .*{DOOR}"),
    ("norms_only", f"does not know models of type 'gptj'; .*{DOOR}"),
    ("bad_json", "bad_json/config.json is damaged: it is not JSON"),
    ("json_list", "json_list/config.json is damaged: it holds no JSON object"),
    ("nothing", "nothing has no config.json"),
    ("empty_weights", "has a config.json but no weights"),
    ("pickled", "holds only pickled weights, which can run code when read; .*--pickle"),
    ("cut", "cut/model.safetensors: it is damaged, .* bytes long by its header and has"),
    ("quantised", "are quantised (quantization_config), which probe does not read"),
    ("lacking", "lacks 1 of 2 files, first model-2.safetensors"),
    ("odd_index", "does not say in which file each weight is"),
    ("climbing", "does not say in which file each weight is"),
    ("state.safetensors", "does not say how many heads share its matrices; give heads= (--heads)"),
    ("mlp.safetensors --heads 2", "no attention weights among 1 names"),
    ("no_key.safetensors --heads 2", "k_proj.weight is not"),
    ("bloom.safetensors --heads 2", "is stored in another order by each architecture"),
    ("state.safetensors --heads 3", "3 heads do not divide that width"),
    ("junk.safetensors", "it is damaged, its header cannot be read"),
    ("long.safetensors", "it is damaged, its header cannot be read"),
    ("x.gguf", "it has no header of a GGUF file"),
    ("short.gguf", "it has no header of a GGUF file"),
    ("w.pt --heads 2", "holds pickled weights, which can run code when read; .*--pickle"),
    ("notes.txt", "notes.txt is no model that probe can read"),
    ("unknown --architecture nosuch", "architecture 'nosuch' is unknown; the architectures are bert"),
    ("unknown --architecture lllama", "Did you mean 'llama'?"),
    (
        "unknown --architecture nosuch.module:X",
        "there is no module 'nosuch' .* where architectures are imported from",
    ),
    (
        "unknown --architecture odd_arch:",
        "an architecture to be imported is written package.module:name; got 'odd_arch:'",
    ),
    (
        "unknown --architecture odd_arch:NUMBER",
        "architecture is an Architecture (sparsehead.extend), .*; got 3",
    ),
    ("unknown --architecture odd_arch:PLAN", "has no 'PLAN'. Did you mean 'PLAIN'?"),
    ("unknown --architecture broken_arch:X", "importing broken_arch failed: ValueError: no good"),
    (
        "state.safetensors --heads 2 --architecture llama",
        "an architecture reads a model, not the weights alone",
    ),
    ("ours.safetensors --architecture llama", "an architecture reads a model, not the weights alone"),
    ("ours.safetensors --page maps.txt", "a page of attention maps is written as .html; got maps.txt"),
    ("ours.safetensors --page there.html", "--force"),
    ("ours.safetensors --page nowhere/maps.html", "nowhere"),
    ("ours.safetensors --page maps.html --sequence -1", "sequence is a whole number >= 0; got -1"),
    ("ours.safetensors --sequence 1", "--sequence and --page-heads belong to --page"),
    ("ours.safetensors --page-heads 0.0", "--sequence and --page-heads belong to --page"),
    (
        "ours.safetensors --page maps.html --page-heads 0",
        "--page-heads takes layer.head with commas, .*; got '0'",
    ),
    ("ours.safetensors --page maps.html --page-heads 0.x", "--page-heads takes layer.head with commas"),
    (
        "state.safetensors --heads 2 --page maps.html",
        "state.safetensors is a state dict, with weights alone: leave --page",
    ),
    ("ours.safetensors --text nowhere.txt", "cannot read nowhere.txt"),
    ("ours.safetensors --text bad.txt", "bad.txt is no UTF-8 text"),
    ("ours.safetensors --text blank.txt", "blank.txt holds no text"),
    ("ours.safetensors --text notes.txt", "text needs a model with a vocabulary"),
    ("ours.safetensors --chart map.txt", "written as .svg, .png, .pdf or .html"),
    ("ours.safetensors --s 3", "s is one of 1, 2, 4"),
    ("ours.safetensors --longest 1", "longest is a whole number >= 2; got 1"),
    ("ours.safetensors --heads 0", "heads is a whole number >= 1; got 0"),
    ("ours.safetensors --m 0", "m is a whole number >= 1; got 0"),
    ("ours.safetensors --form nosuch", "form 'nosuch' is unknown"),
    ("ours.safetensors --influence -1", "influence is a whole number >= 0; got -1"),
]


def listing(folder):
    return {
        p: 0 if p.is_dir() else p.stat().st_mtime_ns  # Python's cache changes the time of a folder
        for p in folder.rglob("*")
        if "__pycache__" not in p.parts
    }


def fits(words, text):
    """Whether a text has these words in order; `.*` stands for any others."""
    return re.search(".*".join(map(re.escape, words.split(".*"))), text) is not None


@pytest.mark.parametrize(("arguments", "words"), WRONG, ids=[a for a, _ in WRONG])
def test_a_wrong_command_is_one_line_and_writes_nothing(arguments, words, place, capsys, monkeypatch):
    monkeypatch.chdir(place)
    monkeypatch.syspath_prepend(place / "code")
    before = listing(place)
    with pytest.raises(SystemExit) as done:
        main(["probe", *arguments.split()])
    out, err = capsys.readouterr()
    assert (done.value.code, out) == (2, "") and err.count("\n") == 1, err
    assert fits(words, err), err
    assert listing(place) == before


def test_what_fails_after_the_measurement_leaves_no_page(place, capsys, monkeypatch):
    """Sequences and heads are counted when the model has been read; what was measured is printed all the same."""
    monkeypatch.chdir(place)
    before = listing(place)
    for more, words in (
        (["--sequence", "99"], "sequence is 0 to 31, a text or an array of tokens; got 99"),
        (["--page-heads", "0.1"], "heads of a page are layer and head, from 0.0 to 0.0; got 0.1"),
    ):
        with pytest.raises(SystemExit) as done:
            main(["probe", "ours.safetensors", "--no-bounds", "--no-baselines", "--page", "maps.html", *more])
        out, err = capsys.readouterr()
        assert done.value.code == 2 and words in err and "support" in out and "wrote" not in out
    assert listing(place) == before


def test_unknown_and_unsuitable_models_are_refused_without_torch(place):
    """In a process of its own: no torch, no transformers, and well below three seconds of its own time."""
    script = (
        "import sys, resource\nfrom sparsehead.cli.app import main\n"
        "try:\n    main(['probe', sys.argv[1]])\nexcept SystemExit as ended:\n    assert ended.code == 2\n"
        "heavy = {'torch', 'transformers'} & set(sys.modules)\nused = resource.getrusage(resource.RUSAGE_SELF)\n"
        "print(sorted(heavy), used.ru_utime + used.ru_stime)\n"
    )
    for name in ("unknown", "pickled", "cut", "quantised", "state.safetensors", "x.gguf"):
        command = [sys.executable, "-c", script, name]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        start = time.monotonic()
        done = subprocess.run(command, cwd=place, env=env, capture_output=True, text=True, timeout=60)
        heavy, _, seconds = done.stdout.strip().rpartition(" ")
        assert heavy == "[]" and float(seconds) < 3, (
            name,
            done.stdout,
            done.stderr,
            time.monotonic() - start,
        )


# Each: how the template of CONTRIBUTING.md or its call is changed, and the words of the message.
ADAPTERS: list[tuple[str, str]] = [
    (
        "probe(net, architecture=replace(COMPASS, module='layers'))",
        "no module that ends in 'layers' has a weight 'ask'",
    ),
    ("replace(COMPASS, module='[')", "module of an Architecture is a regular expression such as .*; got '['"),
    ("replace(COMPASS, module=3)", "module of an Architecture is a regular expression such as .*; got 3"),
    ("probe(net, architecture=replace(COMPASS, query='asks'))", "has a weight 'asks'; names are such as"),
    ("probe(net, architecture=replace(COMPASS, key='offers'))", "offers.weight is not"),
    ("probe(net, architecture=replace(COMPASS, output='joins'))", "joins.weight is not"),
    ("replace(COMPASS, value=None)", "names both key and value, or neither where query is fused"),
    ("probe(net, architecture=replace(COMPASS, key=None, value=None))", "fused query, key and value are"),
    ("replace(COMPASS, order='halves')", "order of an Architecture is one of 'thirds', .*; got 'halves'"),
    ("replace(COMPASS, positions='rotation')", "positions of an Architecture is one of .*; got 'rotation'"),
    ("replace(COMPASS, tokens='words')", "tokens of an Architecture is one of .*; got 'words'"),
    ("replace(COMPASS, extra=-1)", "extra is a whole number >= 0; got -1"),
    ("probe(net, heads=5)", "says itself how many heads a layer has, 2; heads=5 (--heads) contradicts it"),
    (
        "probe(bare, architecture=replace(COMPASS, heads=None))",
        "give heads= (--heads), or its name as `heads`",
    ),
    (
        "probe(bare, architecture=replace(COMPASS, heads='m'))",
        "give heads= (--heads), or its name as `heads`",
    ),
    ("probe(bare, heads=5)", "5 heads do not divide that width"),
    ("probe(bare)", "has no vocab_size, so tokens= (ids) or text= is needed"),
    (
        "probe(net, architecture=replace(COMPASS, scale=lambda c, l, k: 2 / k))",
        "is not plain softmax attention: .* off by",
    ),
    (
        "probe(net, architecture=replace(COMPASS, scale=lambda c, l, k: 'x'))",
        "scale of an Architecture is a finite number > 0",
    ),
    (
        "probe(net, architecture=replace(COMPASS, scale=lambda c, l, k: 0))",
        "scale of an Architecture is a finite number > 0",
    ),
    (
        "probe(net, architecture=replace(COMPASS, scale=lambda k: 1.0))",
        "scale of the Architecture failed: TypeError",
    ),
    (
        "probe(net, architecture=replace(COMPASS, cap=lambda c: -1))",
        "cap of an Architecture is a finite number > 0; got -1",
    ),
    ("probe(net, architecture=replace(COMPASS, cap=lambda c: 0.1))", "is not plain softmax attention"),
    (
        "probe(net, architecture=replace(COMPASS, rotate=lambda x, a: None))",
        "rotate of an Architecture returns queries or keys",
    ),
    (
        "probe(net, architecture=replace(COMPASS, rotate=lambda x, a: x[:1]))",
        "rotate of an Architecture returns queries or keys",
    ),
    ("probe(net, architecture=replace(COMPASS, rotate=lambda x, a: x))", "is not plain softmax attention"),
    (
        "probe(net, architecture=replace(COMPASS, rotate=lambda x, a: a['angle']))",
        "rotate of the Architecture failed: KeyError",
    ),
    (
        "probe(net, architecture=replace(COMPASS, rotate=None))",
        "not called with position_embeddings, .* a `rotate`",
    ),
    ("probe(net, architecture=replace(COMPASS, mask=None))", "is not plain softmax attention"),
    (
        "probe(net, architecture=replace(COMPASS, mask=lambda m, a, T: ahead(T) < 0))",
        "mask of an Architecture returns numbers",
    ),
    (
        "probe(net, architecture=replace(COMPASS, mask=lambda m, a, T: ahead(T + 1)))",
        "(T, T) or (H, T, T), with T=",
    ),
    ("probe(net, architecture=replace(COMPASS, mask=lambda m, a, T: 'causal'))", "got 'causal'"),
    (
        "probe(net, architecture=replace(COMPASS, mask=lambda m, a, T: 1 / 0))",
        "mask of the Architecture failed: ZeroDivisionError",
    ),
    ("probe(net, architecture=replace(COMPASS, run=None))", "cannot be called with input_ids, .* a `run`"),
    (
        "probe(net, architecture=replace(COMPASS, run=lambda m, x: (m(x), 1)))",
        "run of an Architecture returns hidden states",
    ),
    (
        "probe(net, architecture=replace(COMPASS, run=lambda m, x: m.embed(x)))",
        "called 0 of its 2 attention layers",
    ),
    ("probe(net, architecture=replace(COMPASS, run=lambda m, x: m(m(x))))", "run of the Architecture failed"),
    (
        "probe(net, architecture=replace(COMPASS, run=lambda m, x: m(x) + m(x)))",
        "calls its attention layers more often",
    ),
    (
        "probe(net, architecture=replace(COMPASS, query_norm='norm'))",
        "no submodule 'layers.0.norm', which its Architecture names",
    ),
    ("probe(net, architecture=replace(COMPASS, shared=True))", "have a configuration with inner_group_num"),
    ("probe(net, architecture=3)", "architecture is an Architecture (sparsehead.extend), .*; got 3"),
    ("probe(net, architecture='compas')", "architecture 'compas' is unknown"),
    ("probe(net.state_dict(), heads=2)", "architecture= is for the folder of a model or a torch module"),
    (
        "probe(torch.nn.Linear(2, 2), architecture=None)",
        f"no attention layers found in this Linear; .*{DOOR}",
    ),
    (
        "probe('folder', architecture=replace(COMPASS, make=lambda c: 3))",
        "make of an Architecture returns a torch module; got 3",
    ),
    (
        "probe('folder', architecture=replace(COMPASS, make=lambda c: c['x']))",
        "make of the Architecture failed: KeyError: 'x'",
    ),
    (
        "probe('folder', architecture=replace(COMPASS, make=lambda c: Compass(c | {'d': 24})))",
        "do not fit the module of make",
    ),
    (
        "probe('folder', architecture=replace(COMPASS, make=lambda c: Compass(c | {'layers': 3})))",
        "do not fit the module of make",
    ),
    (
        "probe('folder', architecture=replace(COMPASS, make=None))",
        "transformers does not know the type of model in folder; .*`make`",
    ),
    ("probe('folder', architecture=None)", f"does not know models of type 'compass'; .*{DOOR}"),
    ("probe(net, tokens=[[1, 9]])", "token ids of this model are 0 to 8; 9 arrived"),
    ("probe(net, text='a b')", "has no folder in which a tokenizer could be"),
    ("probe(net).attention('0', 0)", "layer is a whole number from 0 to 1; got '0'"),
    ("probe(net).attention(0, 1.0)", "head is a whole number from 0 to 1; got 1.0"),
    (
        "probe(net).write_page('maps.html', heads=[0])",
        "heads of a page are pairs (layer, head) of whole numbers; got 0",
    ),
    (
        "probe(net).write_page('maps.html', heads=['01'])",
        "heads of a page are pairs (layer, head) of whole numbers; got '01'",
    ),
]
SCRIPT = """
import json, os, sys
from dataclasses import replace
import torch
import sparsehead as sh
from sparsehead._base.errors import SparseheadError
from safetensors.torch import save_file
from compass import COMPASS, Compass, ahead

about = {"model_type": "compass", "d": 12, "n": 2, "layers": 2, "vocab_size": 9}
torch.manual_seed(0)
net, bare = Compass(about), Compass(about)
with torch.no_grad():
    for parameter in net.parameters():
        parameter.mul_(3)
os.mkdir("folder")
open("folder/config.json", "w").write(json.dumps(about))
save_file(net.state_dict(), "folder/model.safetensors")
del bare.config
for layer in bare.layers:
    layer.m, layer.n = None, layer.n

def probe(model, **options):
    return sh.probe(model, **{"architecture": COMPASS, "baselines": False, "bounds": False} | options)

assert probe("folder").recomputed_error < 1e-5 and probe(net).recomputed_error < 1e-5
before, found = sorted(os.listdir()), []
for call in json.load(sys.stdin):
    try:
        eval(call)
        found.append("it worked")
    except SparseheadError as error:
        found.append(str(error))
    except Exception as error:
        found.append(f"{type(error).__name__} escaped: {error}")
assert sorted(os.listdir()) == before
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def messages(tmp_path_factory):
    """What each call of ADAPTERS says, in a process without the type checks of the tests."""
    folder = tmp_path_factory.mktemp("adapters")
    (folder / "code").mkdir()
    (folder / "code" / "compass.py").write_text(COMPASS)
    path = os.pathsep.join([str(folder / "code"), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
        input=json.dumps([call for call, _ in ADAPTERS]),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return dict(zip([call for call, _ in ADAPTERS], json.loads(done.stdout.splitlines()[-1]), strict=True))


@pytest.mark.parametrize(("call", "words"), ADAPTERS, ids=[call for call, _ in ADAPTERS])
def test_a_wrong_architecture_is_one_line(call, words, messages):
    assert fits(words, messages[call]) and "\n" not in messages[call], messages[call]


def test_code_in_a_folder_is_never_run(tiny, tmp_path, monkeypatch):
    """A folder of a known type that names code of its own is loaded by transformers' own class."""
    tiny("bert").save_pretrained(tmp_path / "m")
    config = json.loads((tmp_path / "m" / "config.json").read_text())
    config["auto_map"] = {"AutoModel": "mine.Mine", "AutoConfig": "mine.Config"}
    (tmp_path / "m" / "config.json").write_text(json.dumps(config))
    (tmp_path / "m" / "mine.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    monkeypatch.chdir(tmp_path)
    assert sh.probe(tmp_path / "m", tokens=[[1, 2, 3]], baselines=False, bounds=False).family == "bert"
    assert not (tmp_path / "ran").exists()
