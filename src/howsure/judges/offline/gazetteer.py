"""Which place lies in which: continents and regions, countries, their parts and well-known cities. General knowledge,
by no means complete; names as they are compared (aliases.py), a place in several wholes stands in each."""

from __future__ import annotations

_WORLD = """
africa: north africa, west africa, east africa, southern africa, central africa, sub saharan africa
north africa: algeria, egypt, libya, morocco, tunisia, sudan, western sahara
west africa: benin, burkina faso, cape verde, gambia, ghana, guinea, guinea bissau, ivory coast, liberia, mali,
 mauritania, niger, nigeria, senegal, sierra leone, togo
east africa: burundi, comoros, djibouti, eritrea, ethiopia, kenya, madagascar, malawi, mauritius, rwanda, seychelles,
 somalia, south sudan, tanzania, uganda
southern africa: botswana, eswatini, lesotho, namibia, south africa, zimbabwe, zambia, mozambique, angola
central africa: cameroon, central african republic, chad, congo, equatorial guinea, gabon
europe: western europe, eastern europe, northern europe, southern europe, central europe, scandinavia, balkans, eu
western europe: france, belgium, netherlands, luxembourg, monaco, ireland, uk, germany, switzerland, austria
eastern europe: russia, ukraine, belarus, moldova, poland, romania, bulgaria, hungary, czech republic, slovakia
northern europe: denmark, sweden, norway, finland, iceland, estonia, latvia, lithuania
southern europe: italy, spain, portugal, greece, malta, andorra, san marino, vatican city, cyprus
central europe: germany, austria, switzerland, liechtenstein, czech republic, slovakia, poland, hungary, slovenia
scandinavia: denmark, sweden, norway
balkans: albania, bosnia, bulgaria, croatia, greece, kosovo, macedonia, montenegro, serbia, slovenia, yugoslavia
asia: east asia, south asia, southeast asia, central asia, middle east, western asia
east asia: china, japan, korea, north korea, south korea, mongolia, taiwan, hong kong, macau, tibet
south asia: india, pakistan, bangladesh, nepal, bhutan, sri lanka, maldives, afghanistan
southeast asia: thailand, vietnam, cambodia, laos, myanmar, malaysia, singapore, indonesia, philippines, brunei,
 east timor
central asia: kazakhstan, uzbekistan, turkmenistan, tajikistan, kyrgyzstan
middle east: turkey, syria, lebanon, israel, palestine, jordan, iraq, iran, kuwait, saudi arabia, bahrain, qatar, oman,
 yemen, united arab emirates, egypt, mesopotamia
western asia: armenia, azerbaijan, georgia, turkey, syria, iraq, iran
north america: usa, canada, mexico, greenland, central america, caribbean, bermuda
central america: belize, costa rica, el salvador, guatemala, honduras, nicaragua, panama
caribbean: cuba, jamaica, haiti, dominican republic, puerto rico, bahamas, barbados, trinidad, grenada, dominica,
 antigua, st lucia, aruba, curacao
south america: argentina, bolivia, brazil, chile, colombia, ecuador, guyana, paraguay, peru, suriname, uruguay,
 venezuela, french guiana, amazon, patagonia, andes
latin america: mexico, central america, south america, cuba
oceania: australia, new zealand, fiji, papua new guinea, samoa, tonga, vanuatu, solomon islands, polynesia, guam
mediterranean: italy, greece, malta, cyprus, sicily, sardinia, corsica, crete
"""

_COUNTRIES = """
usa: alabama, alaska, arizona, arkansas, california, colorado, connecticut, delaware, florida, georgia, hawaii, idaho,
 illinois, indiana, iowa, kansas, kentucky, louisiana, maine, maryland, massachusetts, michigan, minnesota, mississippi,
 missouri, montana, nebraska, nevada, new hampshire, new jersey, new mexico, new york, north carolina, north dakota,
 ohio, oklahoma, oregon, pennsylvania, rhode island, south carolina, south dakota, tennessee, texas, utah, vermont,
 virginia, washington, west virginia, wisconsin, wyoming, new england, midwest, puerto rico, great plains,
 rocky mountains, appalachia
canada: alberta, british columbia, manitoba, new brunswick, newfoundland, nova scotia, ontario, prince edward island,
 quebec, saskatchewan, yukon, northwest territories, nunavut
uk: england, scotland, wales, northern ireland
england: london, manchester, liverpool, birmingham, leeds, bristol, oxford, cambridge, york, newcastle, sheffield,
 nottingham, southampton, portsmouth, plymouth, brighton, norwich, cornwall, devon, kent, yorkshire, essex, sussex,
 surrey, lancashire, wembley, greenwich, canterbury, bath, stratford
scotland: edinburgh, glasgow, aberdeen, dundee, inverness, highlands, st andrews
wales: cardiff, swansea
northern ireland: belfast, derry
ireland: dublin, cork, galway, limerick
france: paris, marseille, lyon, nice, bordeaux, toulouse, cannes, strasbourg, normandy, brittany, burgundy, provence,
 versailles, reims, alsace, corsica
germany: berlin, munich, hamburg, frankfurt, cologne, dresden, leipzig, nuremberg, stuttgart, bavaria, saxony, bonn,
 prussia, hanover
italy: rome, milan, venice, florence, naples, turin, sicily, sardinia, tuscany, genoa, bologna, pisa, verona, lombardy,
 pompeii, palermo
spain: madrid, barcelona, seville, valencia, granada, catalonia, andalusia, bilbao, canary islands, majorca
portugal: lisbon, porto, azores, madeira
netherlands: amsterdam, rotterdam, hague, utrecht
belgium: brussels, antwerp, bruges, flanders, ghent, waterloo, ypres
switzerland: zurich, geneva, bern, basel, lausanne, lucerne
austria: vienna, salzburg, innsbruck, tyrol
greece: athens, sparta, crete, thessaloniki, corinth, rhodes, delphi, macedonia
russia: moscow, st petersburg, siberia, volgograd, stalingrad, leningrad, sochi
ukraine: kiev, kyiv, odessa, crimea, chernobyl
poland: warsaw, krakow, gdansk, auschwitz
turkey: istanbul, ankara, constantinople, anatolia, troy
sweden: stockholm, gothenburg
norway: oslo, bergen, lillehammer
denmark: copenhagen
finland: helsinki, lapland
hungary: budapest
czech republic: prague, bohemia
serbia: belgrade
croatia: zagreb, dubrovnik, split
bosnia: sarajevo
romania: bucharest, transylvania
egypt: cairo, alexandria, giza, luxor, nile, sinai
morocco: casablanca, marrakech, rabat
south africa: johannesburg, cape town, durban, pretoria, soweto
nigeria: lagos, abuja
kenya: nairobi, mombasa
ethiopia: addis ababa
senegal: dakar
tanzania: zanzibar, kilimanjaro, serengeti
israel: jerusalem, tel aviv, haifa, galilee, nazareth
palestine: bethlehem, gaza, west bank
iraq: baghdad, mosul, babylon
iran: tehran
saudi arabia: mecca, medina, riyadh
united arab emirates: dubai, abu dhabi
lebanon: beirut
syria: damascus, aleppo
india: delhi, new delhi, mumbai, kolkata, chennai, bangalore, hyderabad, kerala, punjab, goa, gujarat, rajasthan,
 tamil nadu, karnataka, maharashtra, uttar pradesh, bihar, assam, kashmir, west bengal, andhra pradesh, telangana,
 madhya pradesh, odisha, jaipur, agra, varanasi, pune, lucknow
pakistan: karachi, lahore, islamabad
nepal: kathmandu
bangladesh: dhaka
china: beijing, shanghai, hong kong, guangzhou, wuhan, nanjing, sichuan, yunnan, tibet, xian, manchuria, macau
japan: tokyo, osaka, kyoto, hiroshima, nagasaki, hokkaido, okinawa, yokohama
south korea: seoul, busan, pyeongchang, incheon
north korea: pyongyang
thailand: bangkok, phuket
vietnam: hanoi, ho chi minh city
indonesia: jakarta, bali, java, sumatra
philippines: manila, luzon
malaysia: kuala lumpur, borneo
australia: sydney, melbourne, brisbane, perth, adelaide, canberra, tasmania, queensland, victoria, new south wales,
 south australia, western australia, northern territory, hobart, darwin
new zealand: auckland, wellington, christchurch
ontario: toronto, ottawa, hamilton, niagara falls
quebec: montreal, quebec city
british columbia: vancouver, victoria
alberta: calgary, edmonton
manitoba: winnipeg
nova scotia: halifax
mexico: mexico city, cancun, guadalajara, tijuana, acapulco, yucatan, chiapas, monterrey
cuba: havana, guantanamo
brazil: rio de janeiro, sao paulo, brasilia, salvador
argentina: buenos aires
peru: lima, cusco, machu picchu
chile: santiago, easter island
colombia: bogota, medellin
venezuela: caracas
ecuador: quito, galapagos
bolivia: la paz
"""

_STATES = """
new england: maine, new hampshire, vermont, massachusetts, rhode island, connecticut
midwest: ohio, indiana, illinois, michigan, wisconsin, minnesota, iowa, missouri, kansas, nebraska, north dakota,
 south dakota
alabama: birmingham, montgomery, mobile, selma, tuscaloosa, huntsville
alaska: anchorage, juneau, fairbanks
arizona: phoenix, tucson, scottsdale, flagstaff, grand canyon
arkansas: little rock
california: la, san francisco, san diego, sacramento, oakland, san jose, hollywood, malibu, beverly hills, pasadena,
 santa monica, anaheim, long beach, silicon valley, berkeley, santa barbara, palm springs, fresno, bay area, burbank
colorado: denver, boulder, aspen, colorado springs
connecticut: hartford, new haven
florida: miami, orlando, tampa, jacksonville, key west, tallahassee, cape canaveral, st augustine, daytona, pensacola
georgia: atlanta, savannah, augusta, macon, athens, tbilisi
hawaii: honolulu, maui, oahu, pearl harbor
idaho: boise
illinois: chicago, springfield, peoria
indiana: indianapolis, gary, fort wayne
iowa: des moines
kansas: wichita, topeka, kansas city
kentucky: louisville, lexington, fort knox
louisiana: new orleans, baton rouge, shreveport
maine: portland, bangor
maryland: baltimore, annapolis, camp david
massachusetts: boston, cambridge, salem, plymouth, springfield, lexington, concord, cape cod
michigan: detroit, lansing, ann arbor, flint, grand rapids
minnesota: minneapolis, st paul, duluth, rochester
mississippi: jackson, biloxi, tupelo
missouri: st louis, kansas city, branson
montana: helena, billings, butte
nebraska: omaha, lincoln
nevada: las vegas, reno, carson city
new hampshire: concord, manchester
new jersey: newark, atlantic city, trenton, princeton, jersey city, hoboken
new mexico: albuquerque, santa fe, roswell, las cruces, los alamos
new york: buffalo, albany, rochester, syracuse, long island, niagara falls, ithaca, woodstock, west point,
 manhattan, brooklyn, queens, bronx, staten island, harlem, broadway, times square, wall street, central park
north carolina: charlotte, raleigh, durham, greensboro, wilmington, kitty hawk
ohio: cleveland, cincinnati, columbus, toledo, akron, dayton, canton
oklahoma: oklahoma city, tulsa
oregon: portland, salem, eugene
pennsylvania: philadelphia, pittsburgh, gettysburg, harrisburg, hershey, valley forge, scranton
rhode island: providence, newport
south carolina: charleston, columbia, myrtle beach
south dakota: deadwood, mt rushmore
tennessee: nashville, memphis, knoxville, chattanooga
texas: houston, dallas, austin, san antonio, el paso, fort worth, galveston, waco, alamo, arlington
utah: salt lake city, provo
virginia: richmond, norfolk, jamestown, williamsburg, yorktown, alexandria, arlington, charlottesville
washington: seattle, spokane, tacoma, olympia
west virginia: charleston
wisconsin: milwaukee, madison, green bay
wyoming: cheyenne, yellowstone
"""

_POSTAL = """
AL Alabama, AK Alaska, AZ Arizona, AR Arkansas, CA California, CO Colorado, CT Connecticut, DE Delaware, FL Florida,
GA Georgia, HI Hawaii, ID Idaho, IL Illinois, IN Indiana, IA Iowa, KS Kansas, KY Kentucky, LA Louisiana, ME Maine,
MD Maryland, MA Massachusetts, MI Michigan, MN Minnesota, MS Mississippi, MO Missouri, MT Montana, NE Nebraska,
NV Nevada, NH New Hampshire, NJ New Jersey, NM New Mexico, NY New York, NC North Carolina, ND North Dakota, OH Ohio,
OK Oklahoma, OR Oregon, PA Pennsylvania, RI Rhode Island, SC South Carolina, SD South Dakota, TN Tennessee, TX Texas,
UT Utah, VT Vermont, VA Virginia, WA Washington, WV West Virginia, WI Wisconsin, WY Wyoming, DC District of Columbia
"""
POSTAL = {state.split()[0]: state.split(maxsplit=1)[1] for state in _POSTAL.strip().split(",")}

Name = tuple[str, ...]


def _wholes() -> dict[Name, frozenset[Name]]:
    """Every place with those that it lies in directly."""
    found: dict[Name, set[Name]] = {}
    for line in "".join((_WORLD.strip(), _COUNTRIES.rstrip(), _STATES.rstrip())).replace("\n ", " ").splitlines():
        whole, _, parts = line.partition(": ")
        found.setdefault(tuple(whole.split()), set())
        for part in parts.split(","):
            found.setdefault(tuple(part.split()), set()).add(tuple(whole.split()))
    return {place: frozenset(wholes) for place, wholes in found.items()}


WHOLES = _wholes()
REGIONS = frozenset(tuple(line.partition(":")[0].split()) for line in _WORLD.strip().splitlines() if line[0] != " ")
"""Continents and parts of them: too wide to stand for anything smaller than a country."""
LONGEST_PLACE = max(map(len, WHOLES))
