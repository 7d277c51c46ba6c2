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
    "madame madam monsieur herr sultan tsar czar duke duchess earl count baron archbishop bishop cardinal admiral "
    "major gov sen rep sgt lt sergeant lieutenant commander chancellor jr sr phd md esq coach actor actress "
    "singer author"
)

#: What somebody or something is called before its name: `the explorer Hernando de Soto`, `the planet Mars`.
ROLES = word_set(
    "actor actress artist architect astronaut astronomer author band biologist boxer brother brothers businessman "
    "captain chef chemist coach comedian commander company composer dancer daughter designer detective director "
    "doctor drummer duo economist emperor engineer explorer father footballer general goddess god golfer group "
    "guitarist historian host industrialist inventor journalist judge king lawyer mathematician minister model "
    "mother musician novelist painter philosopher photographer physicist pianist pilot pitcher planet playwright "
    "poet politician pope president priest prince princess producer professor prophet psychologist quarterback "
    "queen rapper river saint scientist sculptor senator singer sister soldier songwriter statesman swimmer team "
    "trio wife husband son wrestler writer ship novel film"
)

#: Words that place or class a thing and seldom are the answer themselves.
LIGHT = word_set(
    "north south east west northern southern eastern western upper lower central upstate downtown greater metropolitan "
    "early late mid middle old new former current original modern ancient great main major several various many first "
    "city state county country town village river island province region area district street road building place "
    "band group team company project series show song film book season episode album novel character version type kind "
    "form system process family people person member part side world name term called known century year time"
)
