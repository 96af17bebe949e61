# What differs where this workflow is a module of another one: its jobs work within the module's prefix,
# and its rules bear the names that `use rule` gives them.

import os
import shlex
from contextlib import chdir, nullcontext

MODULE = not workflow.modifier.is_main_snakefile()
MODIFIER = workflow.modifier
PREFIX = str(MODIFIER.modify_path("results/x")).removesuffix("results/x")

if f"{PREFIX}logs/x" != str(MODIFIER.modify_path("logs/x")):
    sys.exit(
        "Frugal cannot start: the module has a replace_prefix; allowed is prefix, a folder for all "
        "that is made"
    )
if not MODULE:
    for path in workflow.config_settings.configfiles or ():
        strict(path)


def own_name(rulename):
    """The name of a rule as it stands in the files here."""
    before, mark, after = MODIFIER.modify_rulename("\0").partition("\0")
    if mark:
        return rulename.removeprefix(before).removesuffix(after)
    named = {MODIFIER.modify_rulename(rule): rule for rule in MODIFIER.rule_whitelist}
    return named[rulename]


def own_jobs(jobs):
    """Those of the jobs whose rules stand in the files here, read for this module."""
    return [job for job in jobs if job.rule.module_globals is globals()]


def bare(path):
    """A path as a job sees it that works within the prefix."""
    return str(path).removeprefix(PREFIX)


def within():
    """The working folder is that of the jobs, if it is there."""
    return chdir(PREFIX) if os.path.isdir(PREFIX) else nullcontext()


def in_place(command):
    """The shell line of a job, which works within the prefix; logs are reached by `LOGS`."""
    if not MODULE:
        return command
    folder = shlex.quote(PREFIX or ".").replace("{", "{{").replace("}", "}}")
    return f'{environment_words()}here="$PWD"; cd {folder} && {command}'


LOGS = f'"$here"{os.sep}' if MODULE else ""
