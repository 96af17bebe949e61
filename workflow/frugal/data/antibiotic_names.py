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
TESTED: dict[str, str] = {  # action → ab_name in the tests
    "ceftazidime": "CEFTAZIDIME",
    "piperacillin_tazobactam": "PIPERACILLIN/TAZO",
    "cefepime": "CEFEPIME",
    "tobramycin": "TOBRAMYCIN",
    "gentamicin": "GENTAMICIN",
    "meropenem": "MEROPENEM",
}
_GIVEN = {  # action → pattern in the prescriptions, lower case
    "ceftazidime": r"ceftazidime|fortaz|tazicef",
    "piperacillin_tazobactam": r"piperacillin.{0,3}tazo|zosyn",
    "cefepime": r"cefepime|maxipime",
    "tobramycin": r"tobramycin",
    "gentamicin": r"gentamicin",
    "meropenem": r"meropenem|merrem",
}
# Antibacterial drugs for the whole body other than the six; drugs against mycobacteria, fungi,
# viruses and parasites alone are not counted as antibiotics.
_OTHERS = re.compile(
    r"amikacin|streptomycin|neomycin|kanamycin|amoxicillin|augmentin|ampicillin|unasyn|penicillin|"
    r"nafcillin|oxacillin|ticarcillin|timentin|piperacillin|cefazolin|ancef|cephalexin|cefadroxil|"
    r"cefuroxime|cefaclor|cefprozil|cefoxitin|cefotetan|cefotaxime|ceftriaxone|cefpodoxime|"
    r"cefixime|cefdinir|ceftaroline|ceftolozane|ertapenem|imipenem|doripenem|aztreonam|vancomycin|"
    r"telavancin|dalbavancin|oritavancin|daptomycin|linezolid|tedizolid|quinupristin|floxacin|"
    r"azithromycin|clarithromycin|erythromycin|fidaxomicin|clindamycin|metronidazole|doxycycline|"
    r"minocycline|tetracycline|demeclocycline|tigecycline|sulfameth|sulfadiazine|trimethoprim|"
    r"bactrim|nitrofurantoin|fosfomycin|rifampin|rifaximin|colisti|polymyxin|chloramphenicol"
)
_LOCAL_ROUTES = frozenset(
    ["TP", "OU", "OD", "OS", "AU", "AD", "AS", "IH", "NEB", "PR", "VG", "IR", "IRR", "DWELL"]
) | {"BOTH EYES", "RIGHT EYE", "LEFT EYE", "BOTH EARS", "RIGHT EAR", "LEFT EAR"}
_LOCAL_FORMS = re.compile(r"ophth|otic\b|opht\.|cream|ointment|\boint|topical|enema|inhal")
OTHER = "other"


def antibiotic_of(drug: str, route: str) -> str:
    """One of the six actions, `other` for another antibiotic, or nothing.

    Drugs that act where they are put (eyes, ears, skin, lung, bowel) are not counted.

    Args:
        drug: name as prescribed.
        route: as prescribed; empty if unknown.
    """
    name = drug.lower()
    if route.strip().upper() in _LOCAL_ROUTES or _LOCAL_FORMS.search(name):
        return ""
    for action, pattern in _GIVEN.items():
        if re.search(pattern, name):
            return action
    return OTHER if _OTHERS.search(name) else ""
