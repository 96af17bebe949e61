"""Source digests: an edit of a reached module changes them, an edit of any other does not."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "workflow" / "frugal"

ONE = (
    "from frugal.learn import trees\nimport frugal.data.tables\nfrom frugal.learn import alone\n"
    "BOTH = 1\n\n\ndef one(*, table):\n    return _near(frugal, trees)\n\n\n"
    "def _near(*given):\n    return BOTH\n\n\n"
    "def beside(*, table):\n    return alone, BOTH\n"
)
TWO = "import numpy\nfrom frugal.studies.s.stages.one import one\n\ndef two(*, table):\n    one()\n"
FILES = {
    "__init__.py": "",
    "core/__init__.py": "",
    "results/__init__.py": "",
    "run/stage_command.py": "def run():\n    from frugal.results.files import read\n",
    "results/files.py": "",
    "run/__init__.py": "",
    "studies/__init__.py": "",
    "studies/s/__init__.py": "",
    "studies/s/columns.py": "",
    "studies/s/stages/__init__.py": "",
    "studies/s/stages/one.py": ONE,
    "studies/s/stages/two.py": TWO,
    "learn/__init__.py": "",
    "learn/trees.py": "def fit():\n    from frugal.learn.deep import inner\n",
    "learn/deep.py": "",
    "learn/alone.py": "",
    "learn/unused.py": "from frugal.learn import trees\n",
    "data/__init__.py": "",
    "data/tables.py": "",
}


@pytest.fixture
def package(tmp_path):
    """A small package beside a copy of the real `sources`, so that edits touch nothing else."""
    root = tmp_path / "workflow" / "frugal"
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name in ("core/declarations.py", "core/errors.py", "results/sources.py"):
        shutil.copy(PACKAGE / name, root / name)
    return root


def ask(package, expression):
    """Value of an expression in a fresh process, as caches live as long as a process."""
    modules = "core.declarations", "results.sources"
    command = "".join(f"from frugal.{name} import *; " for name in modules)
    command += f"print({expression})"
    done = subprocess.run(
        [sys.executable, "-S", "-c", command],
        cwd=package.parent,
        env={k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def digests(package):
    return ask(package, "source_digest('one'), source_digest('two')")


def edit(package, name):
    (package / name).write_text(FILES[name] + "edited = 1\n")


def test_the_project_is_the_checkout_or_lies_in_the_package(package):
    assert ask(package, "PROJECT") == str(package / "project")
    (package.parent.parent / "config.yaml").write_text("seed: 0\n")
    assert ask(package, "PROJECT") == str(package.parent.parent)


@pytest.mark.parametrize(
    "name",
    [
        "learn/trees.py",
        "learn/deep.py",  # imported inside a function of a module that is imported
        "learn/__init__.py",  # runs whenever a module of the folder is imported
        "data/tables.py",
        "studies/s/columns.py",  # described by it, in every manifest
        "run/stage_command.py",
        "results/files.py",  # imported inside a function of the command line
    ],
)
def test_an_edit_of_a_reached_module_changes_the_digest(package, name):
    before = digests(package)
    edit(package, name)
    assert digests(package) != before


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("return BOTH", "return 2", ["one", "two"]),
        ("BOTH = 1", "BOTH = 2", ["one", "beside", "two"]),
        ("return alone, BOTH", "return alone", ["beside"]),
    ],
)
def test_of_several_stages_in_a_module_those_change_that_need_what_was_edited(
    package, old, new, changed
):
    asked = "'\\n'.join(map(source_digest, ('one', 'beside', 'two')))"
    before = ask(package, asked).split()
    (package / "studies/s/stages/one.py").write_text(ONE.replace(old, new))
    after = ask(package, asked).split()
    names = ["one", "beside", "two"]
    assert [n for n, a, b in zip(names, before, after, strict=True) if a != b] == changed


def test_what_another_stage_of_the_module_imports_changes_nothing(package):
    of_one = ask(package, "source_digest('one')")
    (package / "learn/alone.py").write_text("edited = 1\n")
    assert ask(package, "source_digest('one')") == of_one


@pytest.mark.parametrize("name", ["learn/unused.py"])
def test_an_edit_of_an_unreached_module_does_not(package, name):
    before = digests(package)
    edit(package, name)
    assert digests(package) == before


def test_a_version_of_the_same_code_changes_nothing(package):
    before = digests(package)
    (package / "__init__.py").write_text('__version__ = "1.0.1"\n')
    assert digests(package) == before


@pytest.mark.parametrize(
    "text",
    [
        f'"""What it does."""\n{ONE}',
        f"# why\n\n{ONE}  # and this\n",
        ONE.replace("import trees", "import (\n    trees,\n)"),
    ],
    ids=["docstring", "comment", "layout"],
)
def test_words_and_layout_change_nothing(package, text):
    before = digests(package)
    (package / "studies" / "s" / "stages" / "one.py").write_text(text)
    assert digests(package) == before


def test_a_docstring_in_a_function_changes_nothing_and_a_text_that_is_used_does(package):
    def written(body):
        (package / "learn" / "deep.py").write_text(f"def inner():\n    {body}\n")
        return digests(package)

    assert written('"""Words."""\n    return 1') == written("return 1")
    assert written('return "a"') != written('return "b"')


@pytest.mark.parametrize("kept", ["", "[]", "{", '{"key": 1}', "\xff"])
def test_what_is_kept_of_a_file_is_used_for_the_same_text_alone(package, kept):
    before = digests(package)
    edit(package, "learn/deep.py")
    edited = digests(package)
    assert edited != before
    (package / "learn" / "__pycache__" / "deep.code.json").write_text(kept)
    assert digests(package) == edited
    (package / "learn" / "deep.py").write_text(FILES["learn/deep.py"])
    assert digests(package) == before


def test_an_edit_of_one_stage_leaves_a_stage_that_it_imports_alone(package):
    of_one = ask(package, "source_digest('one')")
    edit(package, "studies/s/stages/two.py")
    assert ask(package, "source_digest('one')") == of_one


OPEN = """
from frugal.core.declarations import load_one, load_all
def two(*, name): return load_one("frugal.kinds", "Kind", name), load_all
"""


def test_of_an_open_folder_those_count_that_the_settings_name(package):
    (package / "studies" / "s" / "stages" / "two.py").write_text(OPEN)
    (package / "kinds").mkdir()
    for name in ("__init__", "one", "other"):
        (package / "kinds" / f"{name}.py").write_text("")

    def all_three():
        asked = ("'two', {'x': [{'kind': 'one'}]}", "'two', {'one': 'other'}", "'two'")
        return [ask(package, f"source_digest({words})") for words in asked]

    before = all_three()
    assert len(set(before)) == 3
    (package / "kinds" / "one.py").write_text("edited = 1")
    assert [a != b for a, b in zip(all_three(), before, strict=True)] == [True, False, False]
    (package / "kinds" / "third.py").write_text("")
    assert [a != b for a, b in zip(all_three(), before, strict=True)] == [True, False, False]


@pytest.mark.parametrize(("loader", "changes"), [("one", [True, False]), ("all", [True, True])])
def test_what_a_study_adds_to_a_folder_counts_as_if_it_lay_there(package, loader, changes):
    text = OPEN.replace("load_one(", f"load_{loader}(")
    (package / "studies" / "s" / "stages" / "two.py").write_text(text)
    added = package / "studies" / "t" / "kinds"
    for name in ("kinds", "studies/t", "studies/t/kinds"):
        (package / name).mkdir()
        (package / name / "__init__.py").write_text("")
    (added / "third.py").write_text("")

    def both():
        asked = ("'two', {'x': [{'kind': 'third'}]}", "'two'")
        return [ask(package, f"source_digest({words})") for words in asked]

    before = both()
    (added / "third.py").write_text("edited = 1")
    assert [a != b for a, b in zip(both(), before, strict=True)] == changes


def test_a_folder_that_is_loaded_whole_counts_whole(package):
    text = OPEN.replace("load_one(", "load_all(")
    (package / "studies" / "s" / "stages" / "two.py").write_text(text)
    (package / "kinds").mkdir()
    (package / "kinds" / "__init__.py").write_text("")
    before = digests(package)
    (package / "kinds" / "third.py").write_text("")
    assert digests(package) != before


def test_of_a_folder_whose_literals_are_loaded_the_literals_count(package):
    text = OPEN.replace("load_one(", "load_literals(")
    (package / "studies" / "s" / "stages" / "two.py").write_text(text)
    (package / "kinds").mkdir()
    (package / "kinds" / "__init__.py").write_text("")

    def written(line):
        (package / "kinds" / "one.py").write_text(line)
        return digests(package)

    before = written('A = Kind(name="a", build=print)')
    assert written('def f(): pass\nA = Kind(name="a", build=f)') == before
    assert written('A = Kind(name="a", build=print, place=2)') != before


def test_modules_of_other_packages_do_not_count(package):
    assert "numpy" not in ask(package, "reached_modules('frugal.studies.s.stages.two')")


def test_reached_modules_are_those_that_the_imports_name(package):
    reached = ask(package, "reached_modules('frugal.studies.s.stages.one')")
    assert eval(reached) == (
        "frugal",
        "frugal.data",
        "frugal.data.tables",
        "frugal.learn",
        "frugal.learn.alone",
        "frugal.learn.deep",
        "frugal.learn.trees",
        "frugal.studies",
        "frugal.studies.s",
        "frugal.studies.s.stages",
        "frugal.studies.s.stages.one",
    )


def test_an_unknown_stage_is_refused(package):
    with pytest.raises(subprocess.CalledProcessError) as caught:
        ask(package, "source_digest('three')")
    assert "KeyError: 'three'" in caught.value.stderr


def test_reading_imports_loads_neither_numpy_nor_pandas():
    command = (
        "import sys; from frugal.results.sources import source_digest; "
        "source_digest('roll_out'); print('numpy' in sys.modules, 'pandas' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", command],
        cwd=PACKAGE.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["False", "False"]


def test_the_real_stages_reach_what_they_use_and_not_the_audit():
    command = "reached_modules('frugal.studies.afape.stages.estimates', 'frugal.run.stage_command')"
    reached = set(eval(ask(PACKAGE, command)))
    assert {"frugal.learn.networks", "frugal.core.columns"} <= reached
    assert (
        not {"frugal.run.audit", "frugal.draw.style", "frugal.studies.treatment.planners.ndp"}
        & reached
    )
