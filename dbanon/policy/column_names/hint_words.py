"""Words in the names of columns with their meaning, in many languages; read by dbanon/policy/column_names/hints.py.

A word matches itself; `birth*` matches words with this beginning, `*datum` words with this ending, `*geburt*` words
that contain it. Words are written without accents, as both sides are compared: `große` and `groesse` are `grosse`. In
scripts without spaces (Chinese, Japanese, Korean) every word matches wherever it occurs.

Stems are long enough not to occur in other words by accident. A word with another meaning in another language is listed
with the meaning that reveals less, or not at all.
"""

from dbanon.policy.column_names.identifying_words import IDENTIFYING_WORDS

VOCABULARY = IDENTIFYING_WORDS | {
    # Positions on earth as numbers; precise ones are an address.
    "coordinate": """
        en: lat lats lon lons lng lngs long latitude* longitude* *latitude *longitude latlon* latlng* lonlat* coord*
            *coords geo geoloc* geohash* geom geometry* geopoint* geocode* gps easting* northing* utm wgs pluscode*
        de: *breitengrad* *langengrad* *koordinat* rechtswert* hochwert*
        fr: *coordonn*
        es: latitud* longitud* *coordenad*
        pt: *coordenad*
        it: latitudin* longitudin* *coordinat*
        nl: *breedtegraad* *lengtegraad* *coordina*
        pl: szerokosc* dlugosc* wspolrzedn*
        nordic: breddgrad* breddegrad* langdgrad* lengdegrad* laengdegrad* leveysaste* pituusaste* *koordinat*
        ru: *широт* *долгот* *координат* shirot* dolgot*
        uk: *широт* *довгот* *координат*
        tr: enlem* boylam* *koordinat*
        id: lintang* bujur* *koordinat*
        el: πλατος* μηκος* συντεταγμεν*
        zh: 纬度 緯度 经度 經度 坐标 座標 weidu jingdu
        ja: 緯度 経度 ido keido
        ko: 위도 경도 좌표 wido gyeongdo
        ar: *احداثي*
        hi: *अक्षांश* *देशांतर*
        """,
    # Words that contain a word of these lists by accident.
    "accident": """
        en: paid unpaid prepaid postpaid valid invalid fluid solid liquid rapid bid grid mid humid void avoid hybrid
            acid amino thyroid steroid steroids opioid opioids calendar* balloon* saloon* learning* market*
            donation* combination* termination* coordination* alternation* explanation* imagination* origination*
            mandatory mandate* validate* conditioning* conditional* unconditional* lilac* excursion*
        """,
    # Sensitive values.
    "sensitive": """
        en: icd icd9 icd10 diag diags dx hiv aids drug* lab labs glu *result* wage wages pay payment payroll bonus debt*
            credit* loan* balance capital party crime* offence* offense* verdict* cause reason readmi* outcome* insulin
            *disease* *diagnos* reasoncode reasondesc* *illness* *disorder* *symptom* *condition* *medication*
            *prescription* *treatment* *therap* *procedure* *surgery* *allerg* *genetic* *genotype* pregnan* mental*
            *salar* *income* *earning* *religi* belief* *politic* orientation convict* *abuse* addict* medicine*
            *diabet* cancer* tumor* tumour* covid* asthma* hypertens* cholesterol* glucose blood pressure bmi vaccin*
            disab* claim* premium* payout* grade grades gpa score scores mark marks rating exam exams examination test
            tests rent mortgage net gross revenue turnover smok* alcohol* depress* suicid* sexual* union ideology price
            prices amount* cost costs discount* tax fare fares attrition churn* survived survival arm arms treat trt
            satisfaction* involvement* rate rates habit
            rx bleed* hemorrhag* haemorrhag* hemo* haemo* stroke* ischem* infarct* infect* sepsis fever pain nausea
            complication* comorbidit* carcinom* metasta* malignan* lesion* biops* relapse* recurren* remission*
            toxicit* platelet* hematocrit* albumin* bilirubin* creatinin* triglyceride* hdl ldl sgot sgpt wbc rbc crp
            psa ekg ecg sbp dbp bp systol* diastol* pulse dose doses dosage* placebo* aspirin asa *trt transplant*
            dialys* intubat* inject* *inj cholec* chole brush brushing* cytolog* acinar* anxiety
            stress fatigue hormon* menopaus* hepat* *stent *stents stent* *sphinc
            sphincter* pancrea* *panc karnof* ecog severity cured recover* adverse censor* cens histolog*
            homo hetero gay homosex* heterosex* bisex* contracept* condom* abortion* miscarr* fertil* tobacco cigar*
            marijuana cannabis cocaine heroin narcotic* drinker* drinking voted votes voting democrat* republican*
            liberal* conservativ* church* pray* arrest* jail* prison* felon* recidiv* probation guilty murder*
            assault* victim* weapon* violen* bankrup* default* delinquen* fico invest* dividend* pension welfare
            benefit* saving savings spend* spending expens* expendit* wealth* assets liabilit* profit* charge charges
            fee fees tip tips compensat* stipend* poverty iq performance achievement* absen* affair affairs
            happy happin* attitude* opinion* trust ideolog* risk risks hike raise raises alive inc *rinc
            repay* deposit* worklife
        de: *krankheit* *medika* *befund* *gehalt* *lohn* *einkommen* *schulden* *vorerkrankung* *behandlung*
            *operation* *arznei* *wirkstoff* *glaube* *konfession* *partei* *straf* *vermogen* *kredit* *zensur*
            *punkte* *schaden* *beitrag* *blutdruck* *laborwert* *impf* *behinder* *schwanger* *ergebnis* *prufung*
            *miete* *preis* *betrag* *rabatt* *zufrieden* *umsatz*
        fr: *maladie* *medicament* *traitement* *salaire* *revenu* *ordonnance* *dette* *pathologie* *chirurgie*
            *grossesse* motif resultat* prix montant* *satisfaction*
        es: *enfermedad* *medicament* *tratamient* *salario* *sueldo* *ingreso* *receta* *deuda* *padecimiento*
            *cirugia* *embaraz* resultado* calificacion* farmaco* motivo precio* importe* *satisfaccion*
        pt: *doenca* *medicament* *tratament* *salario* *renda* *receita* *divida* *cirurgia* *gravidez* resultado*
            motivo preco*
        it: *malatti* *farmac* *trattament* *stipendi* *reddit* *terapi* *patologi* *intervento* *gravidanza* esito voto
            voti motivo prezzo* importo* *soddisfazion*
        nl: *ziekte* *medicijn* *behandeling* *salaris* *loon* *inkomen* *schuld* *aandoening* *geneesmiddel* *uitslag*
            cijfer prijs* bedrag*
        pl: *chorob* *rozpozn* *leki* lek *leczeni* *wynagrodz* *zarobk* *dochod* *pensja* *wynik* ocena oceny cena*
            kwota*
        nordic: *sjukdom* *sygdom* *sykdom* *lakemedel* *laegemid* *legemid* *inkomst* *indkomst* *inntekt* lon lonn
            karakter pris* belopp*
        ru: *диагноз* *болезн* *заболев* *лекарств* *зарплат* *доход* *лечен* *препарат* *результат* оценка оценки
            diagnoz* bolezn* zarplat* dohod* lekarstv* *цена* *сумма* tsena
        tr: *hastaligi* hastalik* tani teshis* *ilac* *tedavi* *maas* *gelir* *ucret* borc* sonuc* puan* fiyat* tutar*
        id: penyakit* diagnosa obat* pengobatan* gaji* pendapatan* penghasilan* utang* hasil nilai harga*
        vi: chandoan luong
        zh: 诊断 診斷 疾病 症状 药 藥 收入 工资 薪 病名 手术 治疗 检查结果 成绩 贷款 宗教 zhenduan jibing shouru
            gongzi 价格 金额
        ja: 診断 病名 疾患 症状 薬 処方 収入 給与 年収 手術 治療 検査 成績 shindan byomei shunyu kyuyo 価格 金額
        ko: 진단 질병 질환 증상 약물 처방 소득 급여 연봉 수술 치료 성적 jindan sodeuk 가격 금액
        ar: *تشخيص* *مرض* *دواء* *راتب* *دخل* *علاج* tashkhis* *سعر*
        hi: *निदान* *बीमारी* *रोग* *दवा* *वेतन* *आय* bimari vetan *मूल्य*
        """,
    # Values that someone may know about a person: numbers and few words.
    "trait": """
        en: age ages *birth* born dob yob sex *gender* race ethnic* *marital* relationship* household* height weight
            death* died deceas* veteran* children* child kids native tall hours working dependents insurer payer
            insurance tenure seniority plan tariff browser useragent agent os platform inpatient outpatient emergency
            length mage fage mature premie gained waist* distance* travel* overtime
            sib sibs sibsp siblings childs parch pclass
            embarked wtkg records home housing rooms bedrooms bathrooms married single divorced widow* hispanic latino
            white black asian nonwhite urban rural suburban male female man woman men women boy girl adult adults
            senior elder* infant* baby babies newborn* parity gravida gravidity gestat* *birthweight handed* hair skin
            waist hip wrist experience prestig* prestg* skill* military army immigra* native* foreign* commut*
            transport* car cars vehicles internet exercis* diet* physical train trained trainee* training nchild
            nkids promotion* role rank position companies wt ht hgt wgt
        de: alter *alter *geburt* geb gebdat* gebdatum *geschlecht* *familienstand* *groesse* korpergrosse* grosse
            *gewicht* *verstorben* *todes* *kinder* *haushalt* *krankenkasse* *versicherung* *tarif* zivilstand*
        fr: age *naissance* naiss sexe genre *matrimonial* *taille* *poids* *deces* enfant* civil
        es: edad *nacimiento* nacido sexo genero *civil* altura estatura peso fallec* defuncion* hijos raza
        pt: idade *nascimento* nasc sexo genero civil altura peso obito* filhos raca
        it: eta *nascita* nato nata sesso genere civile altezza peso decess* figli
        nl: leeftijd* *geboorte* geslacht* burgerlijk* lengte gewicht overleden* kinderen
        pl: wiek lat *urodzeni* plec stan wzrost waga zgon* dzieci
        nordic: alder *fodelse* *fodsel* kon kjonn civilstand* hojd vikt syntyma* ika sukupuoli
        ru: *возраст* *рожден* пол *семейн* рост вес vozrast* rozhd* pol
        tr: yas yasi *dogum* cinsiyet* *medeni* boy kilo olum*
        id: umur* usia* lahir* kelahiran* kelamin* perkawinan* tinggi berat
        cs: vek narozeni* pohlavi
        hu: kor eletkor szulet* nem
        ro: varsta nasterii
        el: ηλικι* φυλο γεννησ*
        vi: tuoi gioitinh ngaysinh
        zh: 年龄 年齡 出生 生日 性别 性別 婚姻 民族 身高 体重 死亡 nianling chusheng* xingbie shengri
        ja: 年齢 生年月日 誕生日 性別 婚姻 身長 体重 nenrei seibetsu seinengappi tanjobi
        ko: 나이 연령 생년월일 생일 성별 결혼 혼인 키 체중 nai seongbyeol saengnyeonworil
        ar: *العمر* *عمر* *جنس* *ميلاد* *ولادة* umr jins milad
        hi: *आयु* *उम्र* *लिंग* *जन्म* umar ling janm*
        """,
    # Such values that may be names of places, employers and professions.
    "proper": """
        en: zip zip5 zipcode* postal* postcode* city cities town towns village* state states county country
            countries region* district* province* *municipal* *nation* *citizenship* citizen* *educat* *degree*
            *occupation* *profession* *workclass* employment* *language* job jobs work
            location* place birthplace* neighbourhood* neighborhood* borough* parish* school*
            university* college* employer* company companies industry sector origin residence* area
            occ occup* wrk educ edu schooling site sites center centre centers centres institution* team league division
            zone* destination dest cabin* deck
        de: plz *postleitzahl* ort wohnort* *stadt* stadte *gemeinde* *bezirk* *kreis* land lander *bundesland*
            *staats* *herkunft* *beruf* *tatigkeit* *bildung* *abschluss* *arbeitgeber* *sprache* *region*
            *wohnsitz* *schule* branche firma
        fr: *postal* cp ville* commune* departement* pays *nationalite* *profession* *metier* *langue* *diplome*
            employeur* lieu ecole*
        es: *postal* ciudad* municipio* provincia* pais* *nacionalidad* *ocupacion* *profesion* *idioma* *educacion*
            *escolaridad* lugar escuela* empresa
        pt: cep cidade* municipio* estado* pais* bairro* *nacionalidade* *ocupacao* *profissao* *escolaridade* lugar
            naturalidade escola*
        it: cap citta* comune* provincia* regione* paese* *nazionalita* *cittadinanza* *professione* *istruzione*
            luogo lingua
        nl: *postcode* woonplaats* stad* *gemeente* provincie* land* *nationaliteit* *beroep* *opleiding* plaats
        pl: *pocztow* miasto* miejscowosc* wojewodztw* powiat* gmina* kraj* *obywatelstw* zawod* wyksztalc*
        nordic: *postnummer* *postnr* stad kommun* *nationalit* yrke* erhverv* utbildning*
        ru: *индекс* *город* *регион* *страна* *область* *район* *граждан* *професси* *должность* *образован* gorod*
            strana* oblast* indeks
        tr: *posta* sehir* il ilce* ulke* *uyruk* *meslek* *egitim* mahalle*
        id: *kodepos* kota* provinsi* kabupaten* kecamatan* kelurahan* negara* *pekerjaan* *pendidikan*
            kewarganegaraan*
        vi: thanhpho nghenghiep
        zh: 邮编 郵編 城市 省份 地区 區域 国籍 國籍 职业 職業 学历 教育 籍贯 youbian chengshi guoji zhiye
        ja: 郵便番号 都道府県 市区町村 国籍 職業 学歴 出身 yubin* kokuseki shokugyo
        ko: 우편번호 도시 지역 국적 직업 학력 시도 시군구 gukjeok jigeop
        ar: *مدينة* *بلد* *جنسية* *مهنة* *منطقة* madina balad
        hi: *शहर* *जिला* *राज्य* *देश* *पेशा* *पिन* shahar pincode
        """,
    # Relatives of a person: what is said of them may be known to others, and their names are names of persons.
    "relative": """
        en: mother* father* mom mum dad *mom parent parents spouse* spous husband* wife partner* sister* brother*
            grandmother* grandfather*
        de: mutter vater *mutter *vater ehefrau ehemann ehepartner* eltern
        fr: mere pere epoux epouse conjoint*
        es: madre padre esposo esposa conyuge*
        pt: mae pai conjuge*
        it: madre padre coniuge
        nl: moeder vader echtgeno*
        pl: matka ojciec
        nordic: moder fader
        """,
    # When something happened, which anyone present knows.
    "event": """
        en: date dates *date datetime ts time times timestamp* *timestamp day days month months year years week hour
            admit* admission* discharg* visit* arrival* departure* appointment* encounter* hospitalization*
            hospitalisation* checkin checkout stay los enrolled hired hire start stop begin started ended created
            update updated ordered purchased
            weeks wk season* quarter* weekday* weekend* duration* dur wait* followup futime elapsed since period* wave
            waves decade* cohort* event events
        de: *datum* datum *zeit zeit* tag tage monat* jahr *jahr *aufnahme* *entlass* *einweis* *besuch* *termin*
            *eintritt* *austritt* *einlieferung* *verweildauer* wann
        fr: jour mois annee *admission* *sortie* *entree* *visite* *rendezvous* heure
        es: *fecha* dia mes ano alta *ingres* *egreso* *visita* *cita hora
        pt: mes ano dia *internac* alta *entrada* *saida* *consulta* hora
        it: giorno mese anno *ricover* *dimission* *ammission* *visita* ora
        nl: *datum* dag maand jaar *opname* *ontslag* *bezoek* tijd
        pl: dzien miesiac rok *przyjeci* *wypis* *wizyt* godzina
        nordic: *dato* dag manad maned ar *inskriv* *utskriv* *indlagg* *besok*
        ru: *дата* *время* год месяц день *поступлен* *выписк* *приема* *госпитализ* postuplen* vypisk* god
        tr: *tarih* gun ay yil *yatis* *cikis* *taburcu* *basvuru* saat
        id: tanggal* tgl bulan tahun *masuk* *keluar* *kunjungan* waktu jam
        zh: 日期 时间 時間 入院 出院 就诊 就診 年月 年份 riqi shijian ruyuan chuyuan
        ja: 日付 日時 入院 退院 受診 来院 年月 nyuin taiin hizuke
        ko: 날짜 일자 일시 입원 퇴원 방문 내원 naljja
        ar: *تاريخ* *دخول* *خروج* *زيارة* tarikh*
        hi: *तारीख* *दिनांक* *भर्ती* *छुट्टी* tarikh
        """,
    # Establishments, things and their measurements: neither identifying nor sensitive.
    "neutral": """
        en: hospital* ward wards clinic clinics department* dept specialty speciality specialties branch store stores
            shop shops warehouse* product* article* item items sku category categories brand brands currency quantity
            qty unit units sensor* temperature* humidity voltage* current power flow speed http https method protocol
            bytes channel* course courses semester* subjectname vehicle line machine* firmware
            stock option options strat stratum strata cluster color colour model mileage version batch
        de: *krankenhaus* *klinik* *abteilung* *station* fachabteilung* *filiale* *produkt* *artikel* *kategorie*
            *marke* *wahrung* *menge* *anzahl* *einheit* *temperatur* *feuchte* *spannung* *leistung* *maschine* *kurs*
            fach facher warengruppe*
        fr: hopital* clinique* service services produit* article* categorie* marque* devise* quantite* magasin* capteur*
            temperature* humidite* matiere*
        es: hospital* clinica* departamento* servicio* producto* articulo* categoria* marca* moneda* cantidad* tienda*
            sensor* temperatura* humedad* asignatura*
        pt: hospital* clinica* departamento* servico* produto* categoria* marca* moeda* quantidade* valor loja* sensor*
            temperatura* umidade* disciplina*
        it: ospedale* clinica* reparto* prodotto* prodotti categoria* marca* valuta* quantita* negozio* sensore*
            temperatura* umidita* materia
        nl: ziekenhuis* kliniek* afdeling* product* artikel* categorie* merk* valuta aantal* winkel* sensor*
            temperatuur* vak
        pl: szpital* klinika* oddzial* produkt* kategoria* marka* waluta* ilosc* sklep* czujnik* temperatura* przedmiot*
        nordic: sjukhus* sykehus* avdelning* avdeling* produkt* kategori* antal* butik*
        ru: *больниц* *клиник* *отделени* *товар* *продукт* *категори* *бренд* *валют* *количеств* *магазин* *датчик*
            *температур* bolnits* otdeleni* tovar* kolichestv*
        tr: hastane* klinik* bolum* urun* kategori* marka* miktar* magaza* sensor* sicaklik*
        id: rumahsakit* klinik* departemen* poli produk* barang* kategori* merek* jumlah* toko* sensor* suhu*
        zh: 医院 醫院 科室 病房 产品 商品 类别 品牌 数量 门店 传感器 温度 湿度 yiyuan keshi chanpin
        ja: 病院 診療科 病棟 商品 製品 分類 数量 店舗 センサー 温度 湿度 byoin
        ko: 병원 진료과 병동 상품 제품 분류 수량 매장 센서 온도 습도 byeongwon
        ar: *مستشفى* *قسم* *منتج* *كمية* mustashfa
        hi: *अस्पताल* *विभाग* *उत्पाद* *मात्रा* aspatal
        """,
    # Types of things, for which a list has one code each.
    "category": """
        en: type types status kind class group disposition source category concept
        de: art typ
        fr: type statut
        es: tipo estatus
        pt: tipo
        it: tipo
        pl: typ
        ru: тип tip
        tr: turu
        id: jenis
        """,
    # Words that qualify another word.
    "generic": """
        en: flag value values level main primary secondary count counts total avg average min max sum medical
            current monthly daily weekly yearly annual annually hourly percent pct percentage proportion ratio log
            overall mean median baseline final change delta prior previous past recent ever real nominal adjusted
            worked self
        de: kennzahl anzahl
        """,
    # Words that connect others.
    "filler": """
        en: of the a an and for in at on to from by per data code codes
        de: des der die das den dem vom von und im am zum zur
        fr: de du des d l le la les et
        es: de del la el los las y codigo
        pt: de do da dos das e o data
        it: di del della dei delle data codice
        nl: van het een de
        pl: data kod z
        ru: код kod data
        tr: ve kodu
        id: dan kode
        hi: का की के
        """,
}
