"""What a wheel holds beside the modules: the project's files, as the package `frugal/project`.

A checkout, `pip install --editable` included, reads them there: core/declarations.py, PROJECT.
"""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

FILES = (
    "LICENSE",
    "Snakefile",
    "config.yaml",
    "config/**/*",
    "docs/examples/*",
    "envs/*",
    "profiles/**/*",
    "workflow/Snakefile",
    "workflow/profiles/**/*",
    "workflow/report/*",
    "workflow/rules/*",
)


def project_files() -> list[str]:
    """The files by their paths from this folder, sorted."""
    paths = (path for pattern in FILES for path in Path().glob(pattern))
    kept = (path for path in paths if path.is_file() and "__pycache__" not in path.parts)
    return sorted(path.as_posix() for path in kept)


class WithProject(build_py):
    """Modules, their data and the project's files."""

    def run(self) -> None:
        """Build; an editable install is left as it is."""
        super().run()
        for name in [] if self.editable_mode else project_files():
            target = Path(self.build_lib, "frugal", "project", name)
            self.mkpath(str(target.parent))
            self.copy_file(name, str(target))

    def get_source_files(self) -> list[str]:
        """For a source distribution."""
        return [*super().get_source_files(), *project_files()]


setup(cmdclass={"build_py": WithProject})
