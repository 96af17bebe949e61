"""Names and numbers of MIMIC-III: its items, antibiotics and organisms, under our own names.

Item numbers (laboratory, charts, drips, urine) are after the tables D_LABITEMS and D_ITEMS, and the
lists in public use for SOFA on these data; those below 100,000 of the charts are CareVue's, those
of six digits MetaVision's. Which texts in prescriptions mean an antibiotic, and which one of six,
are word lists of the cohort of `treatment` (Håkansson et al. 2020, sec. C.2). Reads no file.
"""

import re

ORGANISMS: dict[str, str] = {  # name → org_name in the tests
    "E. coli": "ESCHERICHIA COLI",
    "P. aeruginosa": "PSEUDOMONAS AERUGINOSA",
    "K. pneumoniae": "KLEBSIELLA PNEUMONIAE",
    "P. mirabilis": "PROTEUS MIRABILIS",
}
RESULTS = ("R", "I", "S")  # interpretations, from the worst to the best
TESTED: dict[str, str] = {  # action → ab_name in the tests
    "ceftazidime": "CEFTAZIDIME",
    "piperacillin_tazobactam": "PIPERACILLIN/TAZO",
    "cefepime": "CEFEPIME",
    "tobramycin": "TOBRAMYCIN",
    "gentamicin": "GENTAMICIN",
    "meropenem": "MEROPENEM",
}
_PRESCRIPTION_PATTERNS = {  # action → pattern in the prescriptions, lower case
    "ceftazidime": r"ceftazidime|fortaz|tazicef|ceptaz",
    "piperacillin_tazobactam": r"piperacillin.{0,3}tazo|zosyn",
    "cefepime": r"cefepime|maxipime",
    "tobramycin": r"tobramycin|nebcin",
    "gentamicin": r"gentamicin|garamycin",
    "meropenem": r"meropenem|merrem",
}
# Antibacterial drugs for the whole body other than the six; drugs against mycobacteria, fungi,
# viruses and parasites alone are not counted as antibiotics. Substances, then names of brands.
_OTHERS = re.compile(
    r"amikacin|streptomycin|kanamycin|amoxicillin|ampicillin|penicillin|nafcillin|oxacillin|"
    r"ticarcillin|piperacillin|cefazolin|cephalexin|cefadroxil|cefuroxime|cefaclor|cefprozil|"
    r"cefoxitin|cefotetan|cefotaxime|ceftriaxone|ceftizoxime|cefoperazone|cefpodoxime|cefixime|"
    r"cefdinir|ceftaroline|ceftolozane|ertapenem|imipenem|doripenem|aztreonam|vancomycin|"
    r"telavancin|dalbavancin|oritavancin|daptomycin|linezolid|tedizolid|quinupristin|floxacin|"
    r"azithromycin|clarithromycin|erythromycin|clindamycin|metronidazole|doxycycline|minocycline|"
    r"tetracycline|demeclocycline|tigecycline|sulfameth|sulfadiazine|sulfisoxazole|trimethoprim|"
    r"nitrofurantoin|fosfomycin|rifampin|colisti|polymyxin|chloramphenicol|"
    r"augmentin|amoxil|unasyn|bicillin|timentin|ancef|kefzol|keflex|duricef|ceftin|zinacef|"
    r"mefoxin|cefotan|claforan|rocephin|cefizox|cefobid|vantin|suprax|omnicef|teflaro|invanz|"
    r"primaxin|doribax|azactam|vancocin|vibativ|cubicin|zyvox|synercid|\bcipro\b|levaquin|avelox|"
    r"noroxin|zithromax|biaxin|erythrocin|\bery-tab|cleocin|flagyl|vibramycin|minocin|tygacil|"
    r"bactrim|septra|gantrisin|macrobid|macrodantin|monurol|rifadin|coly-mycin"
)
# What is swallowed and stays in the bowel. Rifaximin, fidaxomicin and neomycin have no other use
# (neomycin also on the skin) and are in no list.
_BOWEL_DRUGS = re.compile(r"vancomycin|vancocin")
_BOWEL_ROUTES = frozenset(
    ["PO", "ORAL", "PO/NG", "NG", "OG", "NG/OG", "GT", "G TUBE", "J TUBE", "PEG", "DOBHOFF"]
)
_LOCAL_ROUTES = frozenset(
    ["TP", "OU", "OD", "OS", "AU", "AD", "AS", "IH", "NEB", "PR", "VG", "IR", "IRR", "DWELL"]
) | {"BOTH EYES", "RIGHT EYE", "LEFT EYE", "BOTH EARS", "RIGHT EAR", "LEFT EAR"}
_LOCAL_FORMS = re.compile(r"ophth|otic\b|opht\.|cream|ointment|\boint|topical|enema|inhal")
OTHER = "other"
LABS: dict[str, tuple[int, ...]] = {
    # basic metabolic panel
    "sodium": (50983,),
    "potassium": (50971,),
    "chloride": (50902,),
    "bicarbonate": (50882,),
    "urea_nitrogen": (51006,),
    "creatinine": (50912,),
    "glucose": (50931,),
    "calcium": (50893,),
    "anion_gap": (50868,),
    # comprehensive metabolic panel, in addition to these
    "albumin": (50862,),
    "alkaline_phosphatase": (50863,),
    "alanine_transaminase": (50861,),
    "aspartate_transaminase": (50878,),
    "bilirubin": (50885,),
    # blood count
    "haematocrit": (51221,),
    "haemoglobin": (51222,),
    "leukocytes": (51300, 51301),
    "platelets": (51265,),
    "erythrocytes": (51279,),
    "cell_volume": (51250,),
    "cell_haemoglobin": (51248,),
    "cell_haemoglobin_concentration": (51249,),
    "cell_width": (51277,),
    "neutrophils": (51256,),
    "lymphocytes": (51244,),
    # coagulation
    "partial_thromboplastin_time": (51275,),
    "prothrombin_time": (51274,),
    "inr": (51237,),
    # arterial blood gas
    "ph": (50820,),
    "carbon_dioxide_pressure": (50818,),
    "oxygen_pressure": (50821,),
    "base_excess": (50802,),
    "lactate": (50813,),
    # of a blood gas, for SOFA only
    "gas_inspired_oxygen": (50816,),
}

CHARTS: dict[str, tuple[int, ...]] = {
    "heart_rate": (211, 220045),
    "systolic_pressure": (51, 442, 455, 6701, 220050, 220179),
    "diastolic_pressure": (8368, 8440, 8441, 8555, 220051, 220180),
    "mean_pressure": (52, 443, 456, 6702, 220052, 220181, 225312),
    "respiratory_rate": (615, 618, 220210, 224690),
    "temperature_c": (676, 223762),
    "temperature_f": (678, 223761),
    "pulse_oximetry": (646, 220277),
    "weight": (762, 763, 3580, 224639, 226512),
    "inspired_oxygen": (190, 3420, 3422, 223835),
    "coma_total": (198,),
    "coma_eye": (184, 220739),
    "coma_verbal": (723, 223900),
    "coma_motor": (454, 223901),
    "ventilator": (720, 722, 223848, 223849),
}
INTUBATED = ("No Response-ETT", "1.0 ET/Trach")  # texts of coma_verbal: speech cannot be judged
NOT_VENTILATED = ("Other/Remeasured", "None", "")  # texts of ventilator
POSSIBLE = {  # lowest and highest value that is no error of recording
    "heart_rate": (10, 300),
    "systolic_pressure": (20, 300),
    "diastolic_pressure": (10, 220),
    "mean_pressure": (10, 250),
    "respiratory_rate": (1, 100),
    "temperature": (25, 45),
    "pulse_oximetry": (20, 100),
    "weight": (20, 400),
}

DRIPS: dict[str, tuple[int, ...]] = {
    "norepinephrine": (30047, 30120, 221906),
    "epinephrine": (30044, 30119, 30309, 221289),
    "dopamine": (30043, 30307, 221662),
    "dobutamine": (30042, 30306, 221653),
}
URINE = (
    40055,
    40056,
    40057,
    40061,
    40065,
    40069,
    40085,
    40086,
    40094,
    40096,
    40405,
    40428,
    40473,
    40651,
    40715,
    43175,
    226557,
    226558,
    226559,
    226560,
    226561,
    226563,
    226564,
    226565,
    226567,
    226584,
    227489,
)
IRRIGANT = (227488,)  # put in, so taken off

HISTORY: dict[str, tuple[tuple[int, int], ...]] = {  # ranges of three-digit ICD-9 categories
    "diabetes": ((250, 250),),
    "hypertension": ((401, 405),),
    "heart_failure": ((428, 428),),
    "chronic_lung_disease": ((490, 496),),
    "chronic_liver_disease": ((571, 572),),
    "chronic_kidney_disease": ((585, 586),),
    "cancer": ((140, 209),),
}


def antibiotic_of(drug: str, route: str) -> str:
    """One of the six actions, `other` for another antibiotic, or nothing.

    Drugs that act where they are put are not counted: in eyes, ears, lung and on the skin, and in
    the bowel (rifaximin, fidaxomicin, neomycin, and vancomycin by mouth or tube).

    Args:
        drug: name as prescribed.
        route: as prescribed; empty if unknown.
    """
    name = drug.lower()
    if route.strip().upper() in _LOCAL_ROUTES or _LOCAL_FORMS.search(name):
        return ""
    swallowed = route.strip().upper() in _BOWEL_ROUTES or "oral" in name
    if swallowed and _BOWEL_DRUGS.search(name):
        return ""
    for action, pattern in _PRESCRIPTION_PATTERNS.items():
        if re.search(pattern, name):
            return action
    return OTHER if _OTHERS.search(name) else ""
