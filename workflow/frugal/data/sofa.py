"""Sequential Organ Failure Assessment (SOFA) from the worst values of a day. [diagnosis, sec. 6]

Vincent et al. (1996), as Sepsis-3 uses it: six organ systems, 0 to 4 points each; a system without
a measurement counts 0. Knows no file and no cohort.
"""

import numpy as np
from jaxtyping import Bool, Float, Int


def respiration(
    ratio_unaided: Float[np.ndarray, " n"], ratio_ventilated: Float[np.ndarray, " n"]
) -> Int[np.ndarray, " n"]:
    """Points by the lowest PaO₂/FiO₂ (mmHg) without and with a ventilator; NaN: none taken. (n,)

    3 (below 200) and 4 (below 100) need a ventilator; without one, such ratios count 2.
    """
    unaided = _below(ratio_unaided, (400.0, 300.0))
    return np.maximum(unaided, _below(ratio_ventilated, (400.0, 300.0, 200.0, 100.0)))


def coagulation(platelets: Float[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    """Points by the lowest platelet count (10⁹/L). (n,)"""
    return _below(platelets, (150.0, 100.0, 50.0, 20.0))


def liver(bilirubin: Float[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    """Points by the highest bilirubin (mg/dL). (n,)"""
    return _at_least(bilirubin, (1.2, 2.0, 6.0, 12.0))


def circulation(
    mean_pressure: Float[np.ndarray, " n"], rates: dict[str, Float[np.ndarray, " n"]]
) -> Int[np.ndarray, " n"]:
    """Points by the lowest mean pressure (mmHg) and the highest rates of drugs (µg/kg/min). (n,)

    Args:
        mean_pressure: NaN where none was taken. (n,)
        rates: `norepinephrine`, `epinephrine`, `dopamine`, `dobutamine`; 0 where not given. (n,)
    """
    catecholamine = np.maximum(rates["norepinephrine"], rates["epinephrine"])
    dopamine, dobutamine = rates["dopamine"], rates["dobutamine"]
    return np.select(
        [
            (catecholamine > 0.1) | (dopamine > 15),
            (catecholamine > 0) | (dopamine > 5),
            (dopamine > 0) | (dobutamine > 0),
            mean_pressure < 70,
        ],
        [4, 3, 2, 1],
        default=0,
    ).astype(np.int64)


def consciousness(coma_scale: Float[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    """Points by the lowest Glasgow coma scale (3 to 15). (n,)"""
    return _below(coma_scale, (15.0, 13.0, 10.0, 6.0))


def kidney(
    creatinine: Float[np.ndarray, " n"], urine: Float[np.ndarray, " n"]
) -> Int[np.ndarray, " n"]:
    """Points by the highest creatinine (mg/dL) and the urine of the day (mL). (n,)"""
    by_urine = np.select([urine < 200, urine < 500], [4, 3], default=0)
    return np.maximum(_at_least(creatinine, (1.2, 2.0, 3.5, 5.0)), by_urine).astype(np.int64)


def suspected_infection(
    culture_day: Int[np.ndarray, " m"], antibiotic_day: Int[np.ndarray, " m"]
) -> Bool[np.ndarray, " m"]:
    """Pairs of a culture and an antibiotic that mean suspicion, in days. (m,)

    The antibiotic follows within three days of the culture, or the culture within one day of the
    antibiotic (72 and 24 hours; prescriptions know the day only).
    """
    wait = antibiotic_day - culture_day
    return (wait >= -1) & (wait <= 3)


def _below(value: Float[np.ndarray, " n"], limits: tuple[float, ...]) -> Int[np.ndarray, " n"]:
    return (value[:, None] < np.array(limits)).sum(axis=1)


def _at_least(value: Float[np.ndarray, " n"], limits: tuple[float, ...]) -> Int[np.ndarray, " n"]:
    return (value[:, None] >= np.array(limits)).sum(axis=1)
