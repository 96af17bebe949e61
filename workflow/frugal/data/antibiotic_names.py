"""Which texts in a hospital's prescriptions mean an antibiotic, and which means one of the six.

Word lists of the MIMIC-III cohort of `treatment` (Håkansson et al. 2020, sec. C.2). Reads no file.
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
_GIVEN = {  # action → pattern in the prescriptions, lower case
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
    for action, pattern in _GIVEN.items():
        if re.search(pattern, name):
            return action
    return OTHER if _OTHERS.search(name) else ""
