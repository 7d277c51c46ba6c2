"""Different names of one thing, as folded words: peoples and their countries, abbreviations, renamed places, British
and American spellings, everyday synonyms. Whatever is compared is renamed first, so that both sides have one name."""

from __future__ import annotations

from collections.abc import Iterator

Words = tuple[str, ...]

#: A country and what belongs to it are one thing to an answer. `_` joins the words of one name.
_PEOPLES = """
afghan/afghanistan albanian/albania algerian/algeria angolan/angola argentine/argentina argentinian/argentina
armenian/armenia australian/australia austrian/austria azerbaijani/azerbaijan bahamian/bahamas bahraini/bahrain
bangladeshi/bangladesh barbadian/barbados belarusian/belarus belgian/belgium belizean/belize bhutanese/bhutan
bolivian/bolivia bosnian/bosnia brazilian/brazil bulgarian/bulgaria burmese/myanmar cambodian/cambodia
cameroonian/cameroon canadian/canada chadian/chad chilean/chile chinese/china colombian/colombia congolese/congo
costa_rican/costa_rica croatian/croatia croat/croatia cuban/cuba cypriot/cyprus czech/czech_republic danish/denmark
dane/denmark dutch/netherlands ecuadorian/ecuador egyptian/egypt emirati/united_arab_emirates english/england
eritrean/eritrea estonian/estonia ethiopian/ethiopia fijian/fiji finnish/finland filipino/philippines french/france
gabonese/gabon gambian/gambia georgian/georgia german/germany ghanaian/ghana greek/greece grenadian/grenada
guatemalan/guatemala guinean/guinea guyanese/guyana haitian/haiti honduran/honduras hungarian/hungary
icelandic/iceland indian/india indonesian/indonesia iranian/iran persian/iran iraqi/iraq irish/ireland
israeli/israel italian/italy ivorian/ivory_coast jamaican/jamaica japanese/japan jordanian/jordan kazakh/kazakhstan
kenyan/kenya korean/korea kuwaiti/kuwait laotian/laos latvian/latvia lebanese/lebanon liberian/liberia libyan/libya
lithuanian/lithuania macedonian/macedonia malagasy/madagascar malawian/malawi malaysian/malaysia malian/mali
maltese/malta mauritanian/mauritania mauritian/mauritius mexican/mexico moldovan/moldova mongolian/mongolia
moroccan/morocco mozambican/mozambique namibian/namibia nepalese/nepal nepali/nepal nicaraguan/nicaragua
nigerian/nigeria norwegian/norway omani/oman pakistani/pakistan palestinian/palestine panamanian/panama
paraguayan/paraguay peruvian/peru polish/poland portuguese/portugal qatari/qatar romanian/romania russian/russia
rwandan/rwanda salvadoran/el_salvador samoan/samoa saudi/saudi_arabia scottish/scotland scots/scotland
senegalese/senegal serbian/serbia singaporean/singapore slovak/slovakia slovenian/slovenia slovene/slovenia
somali/somalia spanish/spain sri_lankan/sri_lanka sudanese/sudan surinamese/suriname swedish/sweden swiss/switzerland
syrian/syria taiwanese/taiwan tajik/tajikistan tanzanian/tanzania thai/thailand togolese/togo tunisian/tunisia
turkish/turkey turkmen/turkmenistan ugandan/uganda ukrainian/ukraine uruguayan/uruguay uzbek/uzbekistan
venezuelan/venezuela vietnamese/vietnam welsh/wales yemeni/yemen zambian/zambia zimbabwean/zimbabwe
african/africa european/europe asian/asia roman/rome hawaiian/hawaii californian/california texan/texas
alaskan/alaska floridian/florida sicilian/sicily bavarian/bavaria tibetan/tibet venetian/venice florentine/florence
athenian/athens viennese/vienna babylonian/babylon
"""

#: Names that hold another name and are left whole: South America is not in the USA.
_WHOLE = """
north america, south america, central america, latin america, captain america, bank of america, miss america,
new england, new mexico, new south wales, gulf of mexico, papua new guinea, equatorial guinea, north korea, south korea,
british columbia, british museum, west indies, east indies, great wall of china, indian ocean, south africa,
saudi arabia, central african republic, french guiana
"""

#: The name that is compared, then its other names.
_NAMES = """
usa = united states of america, united states, u s a, u s, america, american, americans
uk = united kingdom of great britain and northern ireland, united kingdom, u k, great britain, britain, british, britons
ussr = soviet union, union of soviet socialist republics, u s s r, soviet
eu = european union, e u
un = united nations organization, united nations, u n
new york = new york city, n y c, nyc
washington = washington d c, washington dc, washington district of columbia
celsius = degrees celsius, degree celsius, degrees centigrade, ° c, ° celsius, degrees c
fahrenheit = degrees fahrenheit, degree fahrenheit, ° f, ° fahrenheit, degrees f
la = los angeles, l a
ww1 = world war 1, wwi, 1 world war, great war
ww2 = world war 2, wwii, 2 world war
netherlands = holland
myanmar = burma
mumbai = bombay
kolkata = calcutta
chennai = madras
iran = persia
sri lanka = ceylon
thailand = siam
ho chi minh city = saigon
ivory coast = cote divoire
czech republic = czechia
eswatini = swaziland
cape verde = cabo verde
vatican city = vatican, holy see
united arab emirates = uae, u a e, emirates
mt = mount
st = saint
vs = versus, v
% = per cent, percent, percentage
bc = bce, b c, b c e
ad = a d, c e
tv = television
film = movie, motion picture
children = kids, child, kid
car = automobile, motor car, motorcar
lawyer = attorney, solicitor
doctor = physician
airplane = aeroplane, aircraft, plane
bicycle = bike
phone = telephone
photo = photograph, picture
soccer = association football
mph = miles per hour, mile per hour
kmh = km h, kph, kilometers per hour, kilometres per hour
color = colour
center = centre
theater = theatre
gray = grey
tire = tyre
curb = kerb
plow = plough
check = cheque
jewelry = jewellery
program = programme
catalog = catalogue
dialog = dialogue
draft = draught
esophagus = oesophagus
estrogen = oestrogen
math = maths, mathematics
carbon dioxide = co 2
water = h 2 o
table salt = sodium chloride, nacl
baking soda = sodium bicarbonate, sodium hydrogen carbonate
vitamin c = ascorbic acid
aspirin = acetylsalicylic acid
acetaminophen = paracetamol
adrenaline = epinephrine
heart attack = myocardial infarction
high blood pressure = hypertension
low blood pressure = hypotension
stroke = cerebrovascular accident
windpipe = trachea
collarbone = clavicle
kneecap = patella
shinbone = tibia, shin bone
thighbone = femur, thigh bone
breastbone = sternum
jawbone = mandible, lower jaw
shoulder blade = scapula
voice box = larynx
white blood cells = leukocytes, leucocytes, white blood cell
red blood cells = erythrocytes, red blood cell
platelets = thrombocytes
dna = deoxyribonucleic acid
rna = ribonucleic acid
atp = adenosine triphosphate
tb = tuberculosis
nazi party = nazis, national socialist german workers party
company = corporation, corp, inc, ltd
department = dept
government = govt
university = univ
avenue = ave
boulevard = blvd
mother = mom, mum
december 25 = christmas day
january 1 = new years day, new year day
february 14 = valentines day, valentine day
october 31 = halloween day
1920 s = twenties, 20 s
1930 s = thirties, 30 s
1940 s = forties, 40 s
1950 s = fifties, 50 s
1960 s = sixties, 60 s
1970 s = seventies, 70 s
1980 s = eighties, 80 s
1990 s = nineties, 90 s
father = dad
"""


def _words(name: str) -> Words:
    return tuple(name.replace("_", " ").split())


def _pairs() -> dict[Words, Words]:
    found: dict[Words, Words] = {}
    for people, _, country in (pair.partition("/") for pair in _PEOPLES.split()):
        found[_words(people)] = _words(country)
        if people.endswith(("an", "i", "ch", "k", "t", "ot")) and not people.endswith(("french", "dutch", "czech")):
            found[_words(people + "s")] = _words(country)
    for line in _NAMES.strip().splitlines():
        known, _, others = line.partition(" = ")
        found |= {_words(other): _words(known) for other in others.split(",")}
    # The name that is compared is not renamed again in part: a Czech Republic stays one.
    return found | {name: name for name in found.values() if len(name) > 1} | {name: name for name in _whole()}


def _whole() -> Iterator[Words]:
    return map(_words, _WHOLE.split(","))


ALIASES: dict[Words, Words] = _pairs()
LONGEST_ALIAS = max(map(len, ALIASES))
