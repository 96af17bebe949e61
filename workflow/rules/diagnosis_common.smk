# What the rules of the diagnosis study share: its checked settings, and the files of a run.

from frugal.studies.diagnosis.config_checks import load_diagnosis_study
from frugal.studies.diagnosis.spec import EVERY

try:
    DIAGNOSIS = load_diagnosis_study(config, STUDY.descriptions)
except FrugalError as error:
    cannot_start(error)

CHOSEN_AMONG = ["baselines", "selection", EVERY]
FRONT = "dataset={dataset}/family={family}/criterion={criterion}/seed={seed}"


def diagnosed(family):
    """The three payloads of a run, as declared outputs."""
    folder = f"results/diagnoses/dataset={{dataset}}/family={family}/criterion={{criterion}}/seed={{seed}}"
    return audited(
        **{
            name: f"{folder}/{name}.parquet"
            for name in ("outcomes", "decisions", "scores")
        }
    )
