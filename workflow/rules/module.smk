# What differs where this workflow is a module of another one: its jobs work within the module's prefix,
# and its rules bear the names that `use rule` gives them.

import os

from frugal.results.sources import STAGES
from snakemake_logger_plugin_frugal import LogHandler
from snakemake_logger_plugin_frugal.terminal import speak_tersely

MODULE = not workflow.modifier.is_main_snakefile()
MODIFIER = workflow.modifier


def own_prefix():
    """The folder, from the working folder on, in which `results/` lies; a store has it too."""
    return MODIFIER.path_modifier.replace_prefix("results/x").removesuffix("results/x")


MODULE_PREFIX = own_prefix()

if f"{MODULE_PREFIX}logs/x" != MODIFIER.path_modifier.replace_prefix("logs/x"):
    sys.exit(
        "Frugal cannot start: the module has a replace_prefix; allowed is prefix, a folder for all "
        "that is made"
    )


def warn_of_another_profile():
    """A line where Snakemake has taken a profile of the start folder, which may run code, for ours."""
    handlers = workflow.logger_manager.get_log_handlers()
    named = any(word.startswith("--workflow-profile") for word in sys.argv)
    if named or any(isinstance(one, LogHandler) for one in handlers):
        return
    starts = {os.environ.get("PWD", "."), workflow.workdir_init}
    for path in (Path(s, n) for s in starts for n in ("default", "profiles/default")):
        if path.is_dir() and workflow.is_main_process:
            warning = f"Frugal: Snakemake uses the profile {path}, not that of {PROJECT}"
            print(warning, file=sys.stderr)


if not MODULE:
    speak_tersely()
    warn_of_another_profile()
    for path in workflow.config_settings.configfiles or ():
        strict(path)


def own_name(rulename):
    """The name of a rule as the files here write it."""
    before, mark, after = MODIFIER.modify_rulename("\0").partition("\0")
    if mark:
        return rulename.removeprefix(before).removesuffix(after)
    named = {MODIFIER.modify_rulename(rule): rule for rule in MODIFIER.rule_whitelist}
    return named[rulename]


def require_all_rules():
    """End the run where single steps are taken or left out, for each names what others make."""
    taken = {
        r
        for r in MODIFIER.rule_whitelist or ()
        if not workflow.is_rule(MODIFIER.modify_rulename(r))
    }
    left_out = {*(MODIFIER.rule_exclude_list or ())} & STAGES.keys()
    if partial := sorted(taken | left_out):
        sys.exit(
            f"Frugal cannot start: `use rule` takes or excludes {', '.join(partial)}; allowed is `use rule * "
            "from NAME as NAME_*`, after which a rule may be changed under the name it has then"
        )


require_all_rules()


def own_jobs(jobs):
    """Those of the jobs whose rules are in the files here, read for this module."""
    return [job for job in jobs if job.rule.module_globals is globals()]
