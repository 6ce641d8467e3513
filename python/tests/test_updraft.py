"""The module as its users see it."""

import contextlib
import gc
import inspect
import io
import json
import pathlib
import re
import threading
import unittest

import numpy as np

import updraft

SMALL = {"domain": {"cells": [24, 36, 20], "voxel": 0.04}}


def small(**settings):
    return updraft.Scene("plume", **SMALL, **settings)


class Scenes(unittest.TestCase):
    def test_settings_are_keys_of_the_scene(self):
        scene = small(fluid={"vorticity": 1}, render={"size": (64, 48), "outline": False})
        self.assertEqual((scene.cells, scene.size, scene.name), ((24, 36, 20), (64, 48), "plume"))
        self.assertAlmostEqual(scene.voxel, 0.04, places=6)
        self.assertIn("24 x 36 x 20", repr(scene))
        self.assertEqual(scene.replace(domain={"cells": [30, 40, 30]}).cells, (30, 40, 30))
        self.assertIn("plume", updraft.scenes())

    def test_a_wrong_key_is_a_value_error_with_a_suggestion(self):
        with self.assertRaisesRegex(ValueError, "did you mean `vorticity`"):
            small(fluid={"vorticty": 1})
        with self.assertRaisesRegex(ValueError, "finite"):
            small(fluid={"vorticity": float("nan")})
        with self.assertRaises(TypeError):
            small(fluid={"vorticity": object()})
        with self.assertRaises(OSError):
            updraft.Scene("no-such-scene.toml")
        with self.assertRaisesRegex(ValueError, "text:2:1"):
            updraft.Scene.parse("[fluid]\nvorticty = 1\n")

    def test_lists_and_text_reach_the_scene(self):
        source = {"shape": {"sphere": {"center": np.array([0.4, 0.2, 0.4]), "radius": np.float32(0.1)}}, "emit": {"green": 3}}
        solver = small(source=[source]).solver()
        solver.step()
        self.assertEqual(solver.red.max(), 0)
        self.assertGreater(solver.green.max(), 0.05)


class Fields(unittest.TestCase):
    def test_fields_have_their_shapes_and_are_not_copied(self):
        solver = small().solver(threads=1)
        self.assertEqual(solver.red.shape, (24, 36, 20))
        self.assertEqual([solver.u.shape, solver.v.shape, solver.w.shape], [(25, 36, 20), (24, 37, 20), (24, 36, 21)])
        self.assertEqual(solver.red.dtype, np.float32)
        address = lambda array: array.__array_interface__["data"][0]
        self.assertEqual(address(solver.red) + 4, address(solver.green), "interleaved, where the solver keeps them")
        self.assertFalse(solver.red.flags.owndata)
        with self.assertRaises(ValueError):
            solver.red[0, 0, 0] = 1

    def test_an_array_keeps_its_instant_and_outlives_its_solver(self):
        solver = small().solver()
        for _ in range(3):
            solver.step()
        kept, copied = solver.temperature, solver.temperature.copy()
        expected = small().solver()
        for _ in range(6):
            expected.step()
        for _ in range(3):
            solver.step()
        self.assertTrue(np.array_equal(kept, copied))
        self.assertFalse(np.array_equal(kept, solver.temperature))
        self.assertTrue(np.array_equal(solver.temperature, expected.temperature), "the copy goes on with the same bits")
        self.assertTrue(np.array_equal(solver.v, expected.v))
        del solver
        gc.collect()
        self.assertTrue(np.array_equal(kept, copied))

    def test_results_do_not_depend_on_threads(self):
        one, two = (small().solver(threads=n) for n in (1, 2))
        for _ in range(4):
            one.step()
            two.step()
        self.assertTrue(np.array_equal(one.red, two.red) and np.array_equal(one.u, two.u))

    def test_other_threads_run_during_a_step(self):
        solver = updraft.Scene("plume", domain={"cells": [48, 72, 48], "voxel": 0.02}).solver(threads=1)
        ticks, done = [], threading.Event()

        def tick():
            while not done.wait(0.001):
                ticks.append(1)

        thread = threading.Thread(target=tick)
        thread.start()
        for _ in range(6):
            solver.step()
        done.set()
        thread.join()
        self.assertGreater(len(ticks), 3)


class Changes(unittest.TestCase):
    def test_smoke_and_heat_from_arrays_rise(self):
        scene = updraft.Scene.parse("source = []\n", **SMALL)
        solver = scene.solver()
        x, y, z = updraft.centers(scene)
        ball = np.exp(-((x - 0.48) ** 2 + (y - 0.4) ** 2 + (z - 0.4) ** 2) / 0.01)
        solver.set(red=ball, temperature=100 * ball)
        self.assertTrue(np.allclose(solver.red, ball, atol=1e-6))
        height = lambda: float((solver.red * y).sum() / solver.red.sum())
        before = height()
        for _ in range(8):
            solver.step()
        self.assertGreater(height(), before + 0.02)
        solver.add(red=1.0)
        self.assertGreaterEqual(solver.red.min(), 0.999)

    def test_a_set_velocity_is_projected(self):
        scene = updraft.Scene.parse("source = []\n", **SMALL)
        solver = scene.solver()
        x, y, _ = updraft.faces(scene, 0)
        solver.set(u=np.sin(np.pi * x / 0.96) * np.cos(np.pi * y / 1.44) + 0 * updraft.faces(scene, 0)[2])
        h = scene.voxel
        divergence = (np.diff(solver.u, axis=0) + np.diff(solver.v, axis=1) + np.diff(solver.w, axis=2)) / h
        self.assertGreater(np.abs(solver.u).max(), 0.1)
        self.assertLess(np.abs(divergence).max() * h / np.abs(solver.u).max(), 1e-5)

    def test_wrong_arrays_are_refused_and_change_nothing(self):
        solver = small().solver()
        with self.assertRaisesRegex(ValueError, r"`red` has the shape \[24, 36, 20\], the array \[3\]"):
            solver.set(red=[1, 2, 3])
        with self.assertRaisesRegex(TypeError, "no field `smoke`"):
            solver.set(smoke=1)
        with self.assertRaisesRegex(RuntimeError, "finite"):
            solver.add(temperature=float("nan"))
        with self.assertRaises(ValueError):
            solver.dab((0, 0, 0), -1)

    def test_dabs_and_changes_act_at_once(self):
        solver = small(source=[]).solver()
        solver.dab((0.48, 0.5, 0.4), 0.2, blue=1, push=(1, 0, 0))
        self.assertGreater(solver.blue.max(), 0.5)
        solver.change(smoke={"blue": {"dissipation": 50}})
        for _ in range(4):
            solver.step()
        self.assertLess(solver.blue.max(), 0.01)
        with self.assertRaisesRegex(ValueError, "fixed"):
            solver.change(domain={"cells": [8, 8, 8]})

    def test_a_copy_goes_on_by_itself(self):
        solver = small().solver()
        solver.step()
        other = solver.copy()
        other.step()
        self.assertGreater(other.time, solver.time)


class Pictures(unittest.TestCase):
    def test_a_picture_shows_the_smoke(self):
        solver = small().solver()
        for _ in range(20):
            solver.step()
        picture = solver.render(size=[96, 80], outline=False)
        self.assertEqual((picture.shape, picture.dtype), ((80, 96, 4), np.uint8))
        empty = small().solver().render(size=[96, 80], outline=False)
        self.assertGreater(np.abs(picture.astype(int) - empty).max(), 60)


class Documentation(unittest.TestCase):
    def test_the_notebook_prints_what_is_stored_in_it(self):
        folder = pathlib.Path(__file__).parent.parent / "examples"
        notebook = json.loads((folder / "validation.ipynb").read_text())
        names, count = {}, 0
        with contextlib.chdir(folder):
            for cell in notebook["cells"]:
                if cell["cell_type"] != "code":
                    continue
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed):
                    exec("".join(cell["source"]), names)
                stored = [text for output in cell["outputs"] for text in output.get("text", [])]
                self.assertEqual(printed.getvalue(), "".join(stored))
                count += bool(stored)
        self.assertEqual(count, 2)

    def test_everything_public_has_a_docstring_and_a_stub(self):
        stub = (pathlib.Path(updraft.__file__).parent / "__init__.pyi").read_text()
        for name in ("Scene", "Solver"):
            for member, value in inspect.getmembers(getattr(updraft, name)):
                if not member.startswith("_"):
                    self.assertIn(f"def {member}(", stub)
                    self.assertTrue(value.__doc__, member)
        self.assertTrue(re.match(r"\d+\.\d+\.\d+$", updraft.__version__))


if __name__ == "__main__":
    unittest.main()
