"""Lists of words: those that carry no content, those that turn a meaning round, those that hedge or refuse."""

from __future__ import annotations


def word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


STOPWORDS = word_set(
    "a an the this that these those it its he she they them his her their i we you your our me my mine us who "
    "whom which what when where why how is are was were be been being am do does did done has have had having "
    "will would shall should can could may might must of in on at by for with from to into onto about as and or "
    "but if than then so such also both each any all some there here up out over under again very more most just "
    "only own same other another s t d ll re ve not no"
) | word_set(
    # German ones that are no English words.
    "der das dem ein eine einer eines einem einen und oder aber wenn dass ob ist sind waren wird werden wurde wurden "
    "haben kann konnen muss mussen soll sollen durfen im auf aus bei mit von vom zu zum zur fur uber nach vor durch "
    "als auch nur sich es wir ihr nicht kein keine keinen wie wer wo wann diese dieser dieses diesem sowie bzw vgl abs"
)

NEGATORS = word_set(
    "not never neither nor without cannot isnt wasnt arent werent doesnt didnt dont hasnt havent hadnt cant "
    "couldnt wont wouldnt shouldnt aint except excluding unlike false incorrect wrong nicht kein keine keinen nie"
)

TITLES = word_set(
    "dr mr mrs ms miss prof professor sir dame lord lady general gen colonel col captain capt president prime "
    "minister king queen prince princess emperor saint st pope senator governor judge justice chief rev reverend "
    "jr sr phd md coach actor actress singer author"
)

#: Words that place or class a thing and seldom are the answer themselves.
LIGHT = word_set(
    "north south east west northern southern eastern western upper lower central upstate downtown greater metropolitan "
    "early late mid middle old new former current original modern ancient great main major several various many first "
    "city state county country town village river island province region area district street road building place "
    "band group team company project series show song film book season episode album novel character version type kind "
    "form system process family people person member part side world name term called known century year time"
)

#: A country and what belongs to it are one thing to an answer.
_PEOPLES = word_set(
    "french/france spanish/spain german/germany italian/italy english/england scottish/scotland irish/ireland "
    "welsh/wales dutch/netherlands swedish/sweden norwegian/norway danish/denmark finnish/finland polish/poland "
    "russian/russia greek/greece turkish/turkey egyptian/egypt indian/india chinese/china japanese/japan korean/korea "
    "canadian/canada mexican/mexico brazilian/brazil australian/australia african/africa european/europe asian/asia "
    "roman/rome swiss/switzerland austrian/austria portuguese/portugal israeli/israel iranian/iran iraqi/iraq "
    "hawaiian/hawaii californian/california texan/texas bolivian/bolivia cuban/cuba vietnamese/vietnam thai/thailand"
)

#: Different names of one thing, as folded words; the first is the one that is compared.
ALIASES: dict[tuple[str, ...], tuple[str, ...]] = {
    ("united", "states", "of", "america"): ("usa",),
    ("united", "states"): ("usa",),
    ("u", "s", "a"): ("usa",),
    ("u", "s"): ("usa",),
    ("america",): ("usa",),
    ("american",): ("usa",),
    ("united", "kingdom"): ("uk",),
    ("u", "k"): ("uk",),
    ("great", "britain"): ("uk",),
    ("british",): ("uk",),
    ("new", "york", "city"): ("nyc",),
    ("n", "y", "c"): ("nyc",),
    ("world", "war", "1"): ("ww1",),
    ("world", "war", "2"): ("ww2",),
    ("wwi",): ("ww1",),
    ("wwii",): ("ww2",),
    ("mount",): ("mt",),
    ("saint",): ("st",),
    ("versus",): ("vs",),
    ("v",): ("vs",),
    ("per", "cent"): ("%",),
    ("percent",): ("%",),
    ("percentage",): ("%",),
    ("bce",): ("bc",),
    ("television",): ("tv",),
    ("colour",): ("color",),
    ("centre",): ("center",),
    ("theatre",): ("theater",),
    ("movie",): ("film",),
    ("kids",): ("children",),
    ("automobile",): ("car",),
    ("attorney",): ("lawyer",),
    ("physician",): ("doctor",),
}
ALIASES |= {(people,): (country,) for people, _, country in (pair.partition("/") for pair in _PEOPLES)}
LONGEST_ALIAS = max(map(len, ALIASES))
