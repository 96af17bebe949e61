from frugal.library import Answer as Answer
from frugal.library import FrugalError as FrugalError
from frugal.library import KeptAnswer as KeptAnswer
from frugal.library import Masks as Masks
from frugal.library import Policy as Policy
from frugal.library import StoredPolicy as StoredPolicy
from frugal.library import Table as Table
from frugal.library import advise as advise
from frugal.library import decide as decide
from frugal.library import load as load
from frugal.library import load_answer as load_answer
from frugal.library import load_policy as load_policy
from frugal.library import missingness as missingness
from frugal.library import train as train
from frugal.studies.afape.verbs import Evaluation as Evaluation
from frugal.studies.afape.verbs import Rollouts as Rollouts
from frugal.studies.afape.verbs import evaluate as evaluate
from frugal.studies.afape.verbs import roll_out as roll_out
from frugal.studies.afape.verbs import verdict as verdict
from frugal.studies.dadi.verbs import FairForm as FairForm
from frugal.studies.dadi.verbs import fair_form as fair_form
from frugal.studies.over_time.verbs import TimedAnswer as TimedAnswer
from frugal.studies.over_time.verbs import load_over_time as load_over_time
from frugal.studies.over_time.verbs import order_plan as order_plan
from frugal.studies.over_time.verbs import over_time as over_time

__version__: str
