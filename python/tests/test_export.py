"""Exported files: names, dims, weights, what is written where."""

import inspect
import os
import pickle
import re
import threading

import numpy as np
import onnx
import onnxruntime as ort
import pytensor
import pytensor.tensor as pt
import pytest

import ptgc

x, v = pt.dmatrix("x"), pt.dvector("v")


def model(seed=0):
    rng = np.random.default_rng(seed)
    W = pytensor.shared(rng.normal(size=(3, 40)), name="W")
    b = pytensor.shared(np.zeros(40), name="b")
    y = pt.tanh(x @ W + b)
    y.name = "y"
    return W, b, y


def names(values):
    return [value.name for value in values]


def test_exported_file_works_without_ptgc(tmp_path, rng):
    W, _b, y = model()
    e = ptgc.export_onnx([x], [y, y.sum()], tmp_path / "m.onnx", model_name="net", doc_string="a net")
    assert os.listdir(tmp_path) == ["m.onnx"]
    m = onnx.load(tmp_path / "m.onnx")
    onnx.checker.check_model(m, full_check=True)
    assert (m.graph.name, m.graph.doc_string or m.doc_string) == ("net", "a net")
    assert names(m.graph.input) == e.inputs == ["x"]
    assert names(m.graph.output) == e.outputs == ["y", "out1"]
    assert "W" in {t.name for t in m.graph.initializer}
    a = rng.normal(size=(2, 3))
    got = ort.InferenceSession(tmp_path / "m.onnx").run(None, {"x": a})
    np.testing.assert_allclose(got[0], np.tanh(a @ W.get_value()), rtol=1e-12)
    assert (tmp_path / "m.onnx").read_bytes() == e.model
    assert "graph net(" in e.text


def test_shared_variables_are_initializers_that_can_be_exchanged():
    """Each under its own name, dims and dtype, whatever ops see it first; the model goes by them alone."""
    values = {
        "b": np.zeros(3), "b2": np.zeros(3), "scale": np.float64(1), "half": np.float32(0.5),
        "counts": np.arange(3), "flat": np.arange(12.0), "base": np.zeros((2, 3)), "at": np.array([2, 0, 1], "int8"),
    }  # fmt: skip
    s = {name: pytensor.shared(value, name=name) for name, value in values.items()}
    y = (x @ s["flat"].reshape((4, 3)) + s["b"] + s["b2"]) * s["scale"] / s["counts"].astype("float64")
    z = pt.set_subtensor(s["base"][0], y[0] * s["half"])[:, s["at"]]
    e = ptgc.compile_onnx([x], [y, z, 1 / s["scale"] * x])
    m = onnx.load_from_string(e.model)
    kept = {t.name: onnx.numpy_helper.to_array(t) for t in m.graph.initializer}
    for name, value in values.items():
        assert name in kept and kept[name].dtype == value.dtype, name
        np.testing.assert_array_equal(kept[name], value, strict=True)
    new = {
        "b": np.ones(3), "b2": np.arange(3.0), "scale": np.float64(3), "half": np.float32(4), "counts": np.array([4, 5, 6]),
        "flat": np.linspace(0, 1, 12), "base": np.ones((2, 3)), "at": np.array([0, 0, 2], "int8"),
    }  # fmt: skip
    for t in m.graph.initializer:
        if t.name in new:
            t.CopyFrom(onnx.numpy_helper.from_array(np.asarray(new[t.name]), t.name))
        s.get(t.name, s["b"]).set_value(new.get(t.name, s["b"].get_value()))
    a = np.linspace(-1, 1, 20).reshape(5, 4)
    got = ort.InferenceSession(m.SerializeToString()).run(None, {"x": a})
    for g, w in zip(got, pytensor.function([x], [y, z, 1 / s["scale"] * x], mode="FAST_COMPILE")(a), strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-14)


def test_names_and_dims(tmp_path):
    u = pt.tensor("u", dtype="float32", shape=(None, 5, None))
    e = ptgc.export_onnx(
        [u], [u * 2], tmp_path / "m.onnx", input_names=["a b"], output_names=["if"],
        dynamic_dims={u: {0: "batch", -1: "time"}},
    )  # fmt: skip
    m = onnx.load(tmp_path / "m.onnx")
    dims = m.graph.input[0].type.tensor_type.shape.dim
    assert names(m.graph.input) == ["a b"] and names(m.graph.output) == ["if"] == e.outputs
    assert [d.dim_param or d.dim_value for d in dims] == ["batch", 5, "time"]
    dims = m.graph.output[0].type.tensor_type.shape.dim
    assert [d.dim_param or d.dim_value for d in dims] == ["batch", 5, "time"]


def test_dims_by_name_and_list():
    e = ptgc.compile_onnx([x, v], [x.sum() + v.sum()], dynamic_dims={"x": ["n", "k"], "v": {0: "k"}})
    assert "x: float64[?n, ?k], v: float64[?k]" in e.text


def test_dims_may_be_called_by_words_of_the_language():
    e = ptgc.compile_onnx([x], [x * 2], dynamic_dims={"x": ["if", "float32"]})
    dims = onnx.load_from_string(e.model).graph.output[0].type.tensor_type.shape.dim
    assert [d.dim_param for d in dims] == ["if", "float32"]


@pytest.mark.parametrize("opset", [13, 15, 18, 21, 23])
def test_opsets(opset):
    e = ptgc.compile_onnx([x], [pt.exp(x).sum(axis=1)], opset=opset)
    assert e.model == ptgc.compile_onnx([x], [pt.exp(x).sum(axis=1)], opset_version=opset).model
    assert onnx.load_from_string(e.model).opset_import[0].version == opset
    assert e.verify([np.ones((2, 3))])


def test_verify_compiles_no_c(monkeypatch):
    """Calling g++ for each op took most of the time, Scan's inner functions among them."""
    from pytensor.link.c.cmodule import ModuleCache

    def refuse(*args, **named):
        raise AssertionError("verify compiles C")

    monkeypatch.setattr(ModuleCache, "module_from_key", refuse)
    hs = pytensor.scan(lambda a, h: pt.tanh(h + a), sequences=[v], outputs_info=[v[0] * 0], return_updates=False)
    e = ptgc.compile_onnx([v], [hs, pytensor.grad(hs.sum(), v), pt.gammaln(v).sum()])
    assert e.verify([np.arange(1.0, 5.0)])
    assert e.first_difference([np.arange(1.0, 5.0)], 1e-9, 0.0) == ""


def test_shared_variables_as_inputs(rng):
    _W, _b, y = model()
    e = ptgc.compile_onnx([x], [y], shared="input")
    assert set(e.inputs) == {"x", "W", "b"} and e.inputs[0] == "x"
    values = {"x": rng.normal(size=(4, 3)), "W": rng.normal(size=(3, 40)), "b": np.ones(40)}
    assert e.verify(values)
    np.testing.assert_allclose(e(**values)[0], np.tanh(values["x"] @ values["W"] + 1), rtol=1e-12)


def test_shared_variables_that_are_not_read_are_no_inputs(tmp_path):
    x = pt.vector("x")
    read, unread = pytensor.shared(np.ones(3), "read"), pytensor.shared(np.ones(3), "unread")
    outputs = [x * read + unread * 0, unread.shape[0]]
    e = ptgc.compile_onnx([x], [outputs[0] - unread * 0], shared="input", optimize=True)
    assert "read" in e.inputs
    f = pytensor.function([x], x * read, updates={unread: unread + 1})
    assert "unread" in ptgc.export_function_onnx(f, tmp_path / "f.onnx", shared="input").inputs  # it is updated
    e = ptgc.compile_onnx([x], [pt.second(unread.sum() * 0, x * read)], shared="input")
    assert e.inputs == ["x", "read"]


def test_options_of_the_compiler(tmp_path):
    x = pt.fvector("x")
    y = pt.tanh(x)
    places = ptgc.compile_onnx([x], [y]).model
    stripped = ptgc.export_onnx([x], [y], tmp_path / "m.onnx", strip=True).model
    assert len(stripped) < len(places) and b"main.ptg" in places and b"main.ptg" not in stripped
    sizes = [len(onnx.load_from_string(ptgc.compile_onnx([x], [y], **k).model).graph.node)
             for k in ({"math": "exact"}, {"math": "standard"}, {"flags": ["fwide-functions"]})]  # fmt: skip
    assert sizes == [3, 1, 3]
    about = {"model_name": "net", "doc_string": "A net.", "model_version": 7, "metadata": {"data": "of = May", "none": ""}}
    e = ptgc.compile_onnx([x], [y], **about)
    seen = e.session().get_modelmeta()
    assert (seen.graph_name, seen.description, seen.version) == ("net", "A net.", 7)
    assert seen.custom_metadata_map == about["metadata"] | {"least_runtime": f"onnxruntime 1.{e.least_runtime}"}
    assert ptgc.compile_onnx([x], [y]).session().get_modelmeta().version == 1
    for wrong in ({"model_version": -1}, {"metadata": {"": "x"}}):
        with pytest.raises(ValueError):
            ptgc.compile_onnx([x], [y], **wrong)
    for f in (ptgc.export_onnx, ptgc.export_function_onnx):
        assert {"opset", "math", "strip", "flags", "external_data"} <= set(inspect.signature(f).parameters)


def test_a_generator_whose_draws_are_not_needed():
    """Of a random variable only the shape is used: the model has no generator, whether shared variables are inputs
    or not."""
    shared = pytensor.shared(np.random.default_rng(1), name="shared")
    shape = pt.random.normal(v, 1, rng=shared, return_next_rng=True)[1].shape
    for how in ("initializer", "input"):
        e = ptgc.compile_onnx([v], [shape, v * 2], shared=how, input_names=["a"])
        assert e.inputs == ["a"] and e.verify([np.ones(3)])


def test_external_data(tmp_path):
    W, b, y = model()
    W.set_value(np.random.default_rng(0).normal(size=(3, 400))), b.set_value(np.zeros(400))
    e = ptgc.export_onnx([x], [y], tmp_path / "m.onnx", external_data="weights.bin")
    assert sorted(os.listdir(tmp_path)) == ["m.onnx", "weights.bin"]
    onnx.checker.check_model(str(tmp_path / "m.onnx"))
    a = np.ones((1, 3))
    got = ort.InferenceSession(tmp_path / "m.onnx").run(None, {"x": a})[0]
    np.testing.assert_allclose(got, np.tanh(a @ W.get_value()), rtol=1e-12)
    assert e.verify([a])
    ptgc.export_onnx([x], [y], tmp_path / "n.onnx", external_data=True)
    data = [f.name for f in tmp_path.iterdir() if re.fullmatch(r"n\.onnx-[0-9a-f]{16}\.data", f.name)]
    assert len(data) == 1 and data[0].encode() in (tmp_path / "n.onnx").read_bytes()
    with pytest.raises(ValueError, match="beside"):
        ptgc.export_onnx([x], [y], tmp_path / "n.onnx", external_data="../w.bin")


def test_optimize_false_leaves_out_the_rewrites():
    y = pt.log(1 + pt.exp(x))
    plain, better = ptgc.compile_onnx([x], [y], optimize=False), ptgc.compile_onnx([x], [y])
    assert "Softplus" in better.text and "Softplus" not in plain.text
    assert plain.verify([np.ones((2, 2))], rtol=1e-12)


def test_models_that_are_too_large_have_their_weights_beside_them(tmp_path, monkeypatch):
    """What models over 2 GB do, with a limit that is reached earlier."""
    import ptgc.export

    plain = ptgc.export.compile_graph
    monkeypatch.setattr(ptgc.export, "compile_graph", lambda *a, **k: plain(*a, model_limit=100_000, **k))
    table = np.zeros((2000, 50))
    table[[0, 7, -1]] = np.arange(150.0).reshape(3, 50)
    rows, small = pytensor.shared(table, name="rows"), pytensor.shared(np.arange(50.0), name="small")
    i = pt.lvector("i")
    y = rows[i] * small + pt.constant(np.arange(200) % 3 == 1)[i][:, None]
    e = ptgc.export_onnx([i], [y], tmp_path / "m.onnx")
    assert sorted(f.name for f in tmp_path.iterdir()) == sorted(["m.onnx", e.external_name])
    assert (tmp_path / e.external_name).stat().st_size >= table.nbytes > 100_000 > len(e.model)
    values = np.array([0, 7, 120])
    want = pytensor.function([i], y, mode="FAST_COMPILE")(values)
    onnx.checker.check_model(str(tmp_path / "m.onnx"), full_check=True)
    session = ort.InferenceSession(str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"])
    np.testing.assert_array_equal(session.run(None, {"i": values})[0], want)
    np.testing.assert_array_equal(e(values)[0], want)
    assert e.verify([values])
    f = pytensor.function([i], y, mode="FAST_COMPILE")
    e = ptgc.export_function_onnx(f, tmp_path / "f.onnx")
    assert re.fullmatch(r"f\.onnx-[0-9a-f]{16}\.data", e.external_name) and e.verify([values])
    e = ptgc.export_onnx([i], [small[i]], tmp_path / "s.onnx")  # below the limit
    assert not e.external and not [f for f in tmp_path.iterdir() if f.name.startswith("s.onnx-")]


MODES = ["FAST_COMPILE", "FAST_RUN", "CVM", "NUMBA", "ONNX"]


@pytest.mark.parametrize("mode", MODES)
def test_compiled_functions_of_any_mode(tmp_path, mode):
    """Whatever the mode made of the graph: loops fused, BLAS called, results put into arguments."""
    _W, _b, y = model()
    state = pytensor.shared(np.ones(40), name="state")
    grad = pytensor.grad(pt.tanh(y.sum(axis=1) ** 2).sum(), x)
    first = pt.set_subtensor(y[0], y[1] * 2)
    f = pytensor.function([x], [y, y.sum(axis=1), grad, first], updates={state: state * 2 + y.sum(axis=0)}, mode=mode)
    e = ptgc.export_function_onnx(f, tmp_path / "f.onnx")
    assert e.inputs == ["x", "state"] and e.outputs[0] == "y" and e.outputs[-1] == "state_next"
    a = np.linspace(-1, 1, 6).reshape(2, 3)
    assert e.verify([a, np.ones(40)])
    got = e(a, np.ones(40))
    for g, want in zip(got, [*f(a), state.get_value()], strict=True):
        np.testing.assert_allclose(g, want, rtol=1e-12, atol=1e-15)
    assert {"W", "b"} <= {t.name for t in onnx.load(tmp_path / "f.onnx").graph.initializer}
    with pytest.raises(TypeError, match=r"compiled by pytensor.function"):
        ptgc.export_function_onnx(y, tmp_path / "g.onnx")


def test_compiled_function_with_state(tmp_path):
    s = pytensor.shared(1.0, name="s")
    k = pytensor.shared(3.0, name="k")
    f = pytensor.function([v], v.sum() * s * k, updates={s: s + 1})
    e = ptgc.export_function_onnx(f, tmp_path / "f.onnx")
    assert e.inputs == ["v", "s"] and e.outputs == ["out0", "s_next"]
    assert e(np.ones(2), np.array(2.0)) == [12.0, 3.0]
    assert s.get_value() == 1.0


def test_inputs_constants_and_duplicates_as_outputs():
    y = pt.exp(v)
    e = ptgc.compile_onnx([v], [v, y, y, pt.constant(2.5), pt.constant(np.arange(50.0))])
    assert len(set(e.outputs)) == 5
    assert e.verify([np.ones(3)])


def test_verify_names_the_element_that_differs():
    inner = pt.exp(v)
    inner.name = "inner"
    e = ptgc.compile_onnx([v], [inner * 2 + 1])
    assert e.verify([np.array([1.0, 2.0])])
    assert e.verify({"v": np.array([1.0, 2.0])})
    wrong = ptgc.compile_onnx([v], [pt.exp(v) * 3 + 1])
    e.model = wrong.model
    with pytest.raises(AssertionError, match=r"out\[0\] is .*PyTensor gives"):
        e.verify([np.array([1.0, 2.0])])
    with pytest.raises(ValueError, match="1 inputs but 2 values"):
        e.verify([1, 2])


def test_verify_names_the_inner_value_that_differs_first():
    inner = pt.exp(v)
    inner.name = "inner"
    e = ptgc.compile_onnx([v], [pt.sqr(inner) + inner])
    with pytest.raises(AssertionError, match=r"(?s)inner\[0\].*in line \d+: inner = Exp\(v\)"):
        e.verify([np.array([1.0, 2.0])], rtol=-1.0)  # nothing is that close


@pytest.mark.parametrize(
    "options, error",
    [
        ({"opset_version": 9}, ValueError),
        ({"opset": 18, "opset_version": 17}, ValueError),
        ({"math": "fast"}, ValueError),
        ({"flags": ["fno-such-rewrite"]}, ValueError),
        ({"opset_version": "18"}, ValueError),
        ({"output_names": ["a", "a"]}, ValueError),
        ({"output_names": ["a"]}, ValueError),
        ({"input_names": ["y"], "output_names": ["y", "z"]}, ValueError),
        ({"input_names": [""]}, ValueError),
        ({"target": "tpu"}, ValueError),
        ({"shared": "maybe"}, ValueError),
        ({"dynamic_dims": {"q": {0: "n"}}}, ValueError),
        ({"dynamic_dims": {"x": {5: "n"}}}, ValueError),
        ({"dynamic_dims": {"x": {0: "1n"}}}, ValueError),
        ({"dynamic_dims": {"x": {0: 7}}}, ValueError),
        ({"external_data": "m.onnx"}, ValueError),
        ({"external_data": "../m"}, ValueError),
        ({"external_data": 3}, TypeError),
        ({"model_name": 3}, TypeError),
        ({"nonsense": 1}, TypeError),
    ],
)
def test_wrong_options(tmp_path, options, error):
    _, _, y = model()
    with pytest.raises(error):
        ptgc.export_onnx([x], [y, y.sum()], tmp_path / "m.onnx", **options)
    assert os.listdir(tmp_path) == []


def test_files_that_cannot_be_written(tmp_path):
    _, _, y = model()
    with pytest.raises(FileNotFoundError):
        ptgc.export_onnx([x], [y], tmp_path / "none" / "m.onnx")
    (tmp_path / "d.onnx").mkdir()
    with pytest.raises(IsADirectoryError):
        ptgc.export_onnx([x], [y], tmp_path / "d.onnx", external_data="w.bin")
    assert os.listdir(tmp_path) == ["d.onnx"]
    with pytest.raises(OSError):
        ptgc.export_onnx([x], [y], "/dev/full/m.onnx")


def test_failed_export_keeps_the_old_file(tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(b"old")
    z = pt.zvector("z")
    with pytest.raises(ptgc.UnsupportedError):
        ptgc.export_onnx([z], [pt.erf(z)], path)
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["m.onnx"]


def test_save_ptg_leaves_out_what_only_lengths_are_read_of(tmp_path):
    data = pytensor.shared(np.zeros(5), "data", shape=(5,))
    text = ptgc.save_ptg(tmp_path / "n.ptg", [], [data.shape[0]])
    assert "data" not in text.text and [f.name for f in tmp_path.iterdir()] == ["n.ptg"]


def test_save_ptg_stands_alone(tmp_path, rng):
    W, _b, y = model()
    big = y * np.arange(40.0)
    ptgc.save_ptg(tmp_path / "net.ptg", [x], [y, big], name="net")
    assert sorted(os.listdir(tmp_path)) == ["net-W.npy", "net-b.npy", "net-factor.npy", "net.ptg"]
    f = ptgc.load(tmp_path / "net.ptg")
    a = rng.normal(size=(2, 3))
    want = np.tanh(a @ W.get_value())
    np.testing.assert_allclose(f(a)[0], want, rtol=1e-12)
    np.testing.assert_allclose(f(x=a)[1], want * np.arange(40.0), rtol=1e-12)
    assert onnx.load_from_string(ptgc.compile(tmp_path / "net.ptg")).graph.name == "net"


def test_save_ptg_writes_a_constant_once(tmp_path):
    c = pt.constant(np.arange(1000.0) ** 0.5)
    ptgc.save_ptg(tmp_path / "c.ptg", [y := pt.dvector("y")], [sum(pt.exp(y * k + c) * c for k in (1, 2, 3))])
    assert sorted(os.listdir(tmp_path)) == ["c-offset.npy", "c.ptg"]


def test_load_checks_its_arguments():
    f = ptgc.load("graph g(a: float32[?], k: int64[]) -> (y) { y = a * k }")
    np.testing.assert_array_equal(f([1.0, 2.0], 3), np.array([3.0, 6.0]))
    for args, named in (((1,), {}), ((1, 2, 3), {}), ((1, 2), {"a": 3}), ((1,), {"z": 3})):
        with pytest.raises(TypeError):
            f(*args, **named)


def test_exported_checks_its_arguments():
    f = ptgc.compile_onnx([x], [x * 2])
    for args, named in (((), {}), ((1, 2), {}), ((1,), {"x": 3}), ((), {"z": 3})):
        with pytest.raises(TypeError):
            f(*args, **named)


@pytest.mark.parametrize("value", [np.zeros((2, 2)), np.zeros(2, "int32"), np.zeros(3)])
def test_failed_runs_do_not_show_onnx_runtimes_words(value):
    a, b = pt.dvector("a"), pt.dvector("b")
    text = "graph g(a: float64[n], b: float64[n]) -> (y) { y = a * b }"
    for f in (ptgc.load(text), ptgc.compile_onnx([a, b], [a * b])):
        with pytest.raises(ValueError if value.shape == (3,) else TypeError) as e:
            f(np.zeros(2), value)
        assert "ONNXRuntimeError" not in str(e.value) and "onnxruntime_src" not in str(e.value)


def test_models_can_be_pickled_and_take_any_byte_order():
    text = "graph g(a: float64[n], c: complex64[n]) -> (y, z) {\n  y = a * 2\n  z = c * 2\n}\n"
    a, c = np.array([1.0, 2.0]), np.array([1 + 2j, 3], "complex64")
    for f in (ptgc.load(text), pickle.loads(pickle.dumps(ptgc.load(text)))):
        y, z = f(a.astype(">f8"), c.astype(">c8"))
        np.testing.assert_array_equal(y, [2.0, 4.0])
        np.testing.assert_array_equal(z, [[2, 4], [6, 0]])
    exported = ptgc.compile_onnx([v], [v * 2])
    np.testing.assert_array_equal(exported(a.astype(">f8"))[0], [2.0, 4.0])


def test_bytes_that_are_not_utf_8():
    with pytest.raises(ptgc.CompileError, match="byte 0xff is not valid UTF-8"):
        ptgc.compile(b"graph g(a: float64[]) -> (y) { y = a \xff }\n")


def test_files_have_the_usual_rights(tmp_path):
    (tmp_path / "usual").write_bytes(b"")
    ptgc.export_onnx([x], [x * 2], tmp_path / "m.onnx")
    assert (tmp_path / "m.onnx").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_links_devices_and_rights_stay(tmp_path):
    (tmp_path / "real.onnx").write_bytes(b"")
    (tmp_path / "real.onnx").chmod(0o600)
    (tmp_path / "link.onnx").symlink_to("real.onnx")
    exported = ptgc.export_onnx([x], [x * 2], tmp_path / "link.onnx")
    assert (tmp_path / "link.onnx").is_symlink()
    assert (tmp_path / "real.onnx").read_bytes() == exported.model
    assert (tmp_path / "real.onnx").stat().st_mode & 0o777 == 0o600
    os.mkfifo(tmp_path / "pipe.onnx")
    got = []
    reader = threading.Thread(target=lambda: got.append((tmp_path / "pipe.onnx").read_bytes()))
    reader.start()
    ptgc.export_onnx([x], [x * 2], tmp_path / "pipe.onnx")
    reader.join()
    assert got == [exported.model] and (tmp_path / "pipe.onnx").is_fifo()
    with pytest.raises(IsADirectoryError):
        ptgc.export_onnx([x], [x * 2], tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["link.onnx", "pipe.onnx", "real.onnx"]


def test_tensors_by_name():
    text = 'graph g(x: float64[2]) -> (y) {\n  y = x + file("w")\n}\n'
    f = ptgc.load(text, tensors={"w": np.array([1.0, 2.0])})
    np.testing.assert_array_equal(f([1.0, 1.0]), [2, 3])
    with pytest.raises(ptgc.CompileError):
        ptgc.compile(text)


def test_same_bytes_every_time():
    _, _, y = model()
    assert ptgc.compile_onnx([x], [y]).model == ptgc.compile_onnx([x], [y]).model


def test_arguments_that_are_wrong_together():
    fixed = pt.tensor("fixed", shape=(3,))
    with pytest.raises(ValueError, match="has the length 3"):
        ptgc.compile_onnx([fixed], [fixed * 2], dynamic_dims={"fixed": {0: "n"}})
    with pytest.raises(ValueError, match="x is given twice"):
        ptgc.compile_onnx([x, x], [x * 2])
    with pytest.raises(TypeError, match="flags is a list"):
        ptgc.compile("graph g(x: int8[]) -> (x) { }", flags="Werror")
    assert repr(ptgc.compile_onnx([x], [x * 2])).startswith("Exported(x -> out; ")


def test_equal_weights_are_one():
    """Two bodies compute the same constant, as two calls of a log density with data do: 24 kB stand in the model once."""
    w = np.random.default_rng(1).normal(size=(50, 60))

    def last(x, steps):
        return pytensor.scan(
            lambda s: pt.tanh(pt.dot(s, pt.constant(w).T + 1.0)) @ pt.constant(w), outputs_info=[x], n_steps=steps,
            return_updates=False,
        )[-1]  # fmt: skip

    x, n = pt.dvector("x"), pt.lscalar("n")
    e = ptgc.compile_onnx([x, n], [last(x, n), last(x * 2, n + 1)])
    assert len(e.model) < 2.5 * w.nbytes
    e.verify([np.linspace(-1, 1, 60), 3])
