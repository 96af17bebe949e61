"""placeholder"""


def mimic_diagnosis(files, *, task):
    raise NotImplementedError
