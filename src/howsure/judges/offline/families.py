"""Words of one family: `environment` and `environmental`, `legislature` and `legislative`, `die` and `died`. Two words
are kin when they begin alike and what is left of each is an ending; nothing is cut that is not compared."""

from __future__ import annotations

from functools import lru_cache

from howsure.judges.offline.folding import is_code, is_number
from howsure.judges.offline.vocabulary import word_set

SHARED = 5
"""So many letters at least begin words that are made of each other; forms of one word may share fewer."""
#: The forms of one word, by what its plain form ends in: `tax`, `bake`, `carry`.
_FORMS = (
    word_set("s es ed ing") | {""},
    word_set("e es ed ing"),
    word_set("y ies ied ying ication"),
    word_set("ed ing er ers"),
    word_set("en") | {""},
    word_set("de des ded ding sion sive"),
    word_set("y tic tically"),
    *map(word_set, ("on a", "um a", "us i", "is es", "ex ices", "a ae", "f fe ves", "sis ses tic")),
)
_DOUBLED = word_set("ed ing er ers")
_PLAIN = word_set("e y s es") | {""}
_ENDINGS = word_set(
    "ed d ing ings er ers or ors r rs al als ally ial ic ical ics ion ions ation ations ment ments mental ness ity ive "
    "ives ly ily iness ism ist ists ous able ible ance ence ant ent ants ents ful less en ened ening hood ship ies ied "
    "ier iest est ary ery ure ures ition itive ative ize ise ized ised izing ising ization isation"
)
#: A verb's forms that share a stem which is no word itself: legislat-, construct-, decis-.
_OF_VERBS = word_set(
    "e es ed ing ion ions ional or ors ive ives ure ures able ory s ively ically ic ical ics y ies ist ists"
)
_OF_ACTIONS = word_set("e es ed ing al als")
_IRREGULAR = (
    "be was were been being/go went gone goes/write wrote written writing/win won winning/"
    "begin began begun beginning/die dead death died dying/bear born birth/speak spoke spoken speech/"
    "sing sang sung song/make made making/take took taken/give gave given/see saw seen/fight fought/buy bought/"
    "build built/sell sold sale/lose lost loss/man men/woman women/foot feet/tooth teeth/mouse mice/goose geese/"
    "wolf wolves/leaf leaves/life lives live living/wife wives/knife knives/half halves/person people/ox oxen/"
    "datum data/bacterium bacteria/fungus fungi/choose chose chosen choice/freeze froze frozen/fly flew flown flight/"
    "grow grew grown growth/know knew known/hang hung hanged/shoot shot/run ran/swim swam/drink drank/eat ate eaten/"
    "fall fell fallen/marry married marriage/poison poisoned poisoning/drown drowned drowning/"
    "behead beheaded beheading/strong strength/long length/wide width/deep depth/high height/hot heat/proud pride/"
    "warm warmth/wise wisdom/free freedom/sun solar/moon lunar/star stellar/tree trees/sea marine/king royal/"
    "mouth oral/heart cardiac/lung pulmonary lungs/kidney renal kidneys/liver hepatic/brain cerebral/skin dermal/"
    "tooth dental/bone osseous bones/blood sanguine/judge judicial/law legal/city urban/islam islamic muslim muslims/"
    "christianity christian christians/judaism jewish jews jew/hinduism hindu hindus/buddhism buddhist buddhists/"
    "catholicism catholic catholics/abdomen abdominal/stomach gastric/eye ocular optic eyes/"
    "nerve neural nervous nerves/muscle muscular muscles/vein venous veins/artery arterial arteries/"
    "cell cellular cells/virus viral viruses/spine spinal/nose nasal/mind mental/water aquatic/"
    "circle circular circles/triangle triangular/east eastern/west western/north northern/south southern/"
    "abundant abundance/different difference/poor poverty/rich wealth wealthy/hungry hunger/"
    "famine starvation starve starved/sick sickness/illness ill/hate hatred/anger angry/young youth/old elderly/"
    "true truth/thief theft/believe belief/destroy destruction/describe description/absorb absorption/"
    "explain explanation/produce production/reduce reduction/receive reception/conclude conclusion/"
    "digest digestion digestive/drug drugs/crash crashed/collide collision/invade invasion/pronounce pronunciation/"
    "compete competition/repeat repetition/permit permission/admit admission/analyze analysis analyse/"
    "democracy democratic democrat/bureaucracy bureaucratic/aristocracy aristocratic/monarchy monarch/"
    "fiction fictional"
)
_KIN = {word: at for at, family in enumerate(_IRREGULAR.split("/")) for word in family.split()}


@lru_cache(maxsize=16384)
def same_family(one: str, other: str) -> bool:
    """One word in two forms. Numbers and codes have none; short words must share more."""
    if one == other:
        return True
    if is_number(one) or is_number(other) or is_code(one) or is_code(other):
        return False
    kin = _kin(one)
    if kin is not None and kin == _kin(other):
        return True
    return one[0] == other[0] and _same_beginning(one, other)


def _kin(word: str) -> int | None:
    """The family of a word that follows no rule, in its plain form or bent (`destroyed` beside `destruction`)."""
    if word in _KIN:
        return _KIN[word]
    ending = next((ending for ending in ("ed", "ing", "s") if word.endswith(ending)), "")
    return _KIN.get(word.removesuffix(ending)) if ending else None


def _same_beginning(one: str, other: str) -> bool:
    most = min(len(one), len(other))
    shared = next((at for at in range(most) if one[at] != other[at]), most)
    # The endings may begin before the words part: `decide` and `deciding` share `decid`, `happy` and `happily` `happ`.
    return any(_endings_fit(one, other, cut) for cut in range(shared, max(shared - 2, 2), -1))


def _endings_fit(one: str, other: str, cut: int) -> bool:
    left, right = one[cut:], other[cut:]
    if any(left in forms and right in forms for forms in _FORMS) or _doubled(one[:cut], left, right):
        return True
    if cut < SHARED:
        return False
    if (left in _PLAIN and right in _ENDINGS) or (right in _PLAIN and left in _ENDINGS):
        return True
    if left in _OF_ACTIONS and right in _OF_ACTIONS:
        return True
    return one[cut - 1] in "tsz" and left in _OF_VERBS and right in _OF_VERBS


def _doubled(stem: str, left: str, right: str) -> bool:
    """`swim` and `swimming`."""
    bare, bent = sorted((left, right), key=len)
    return not bare and len(bent) > 2 and bent[0] == stem[-1] and bent[1:] in _DOUBLED
