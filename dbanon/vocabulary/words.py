"""Words in the names of columns and what they say, in the large languages; read by dbanon/vocabulary/column_names.py.

A word stands for itself; `birth*` for words that begin so, `*datum` for words that end so, `*geburt*` for words that
hold it. Words are written without accents, as both sides are compared: `große` and `groesse` are `grosse`. In scripts
that write words together (Chinese, Japanese, Korean) every word counts wherever it occurs.

Stems are long enough that no other word has them by accident. A word that means something else in another language
stands where it tells a reader less, or not at all.
"""

from __future__ import annotations

VOCABULARY = {
    # Numbers that a person has for life.
    "number": """
        en: ssn mrn nhs nino nin hic mbi sin aadhaar aadhar taxid tin emirates
        de: *sozialversicherung* *steuernummer* *steuerid* steueridentifikation* svnr *versichertennummer*
            *krankenversicherungsnummer* *ausweis* personalausweis*
        fr: nir insee cni *securitesociale*
        es: dni nie nif curp rut cedula nss rfc
        pt: cpf rg nif sus cns
        it: fiscale codicefiscale cf
        nl: bsn burgerservicenummer sofinummer rijksregister*
        pl: pesel nip dowod*
        nordic: personnummer* fodselsnummer* cpr hetu
        ru: inn snils *снилс* инн *паспорт* pasport*
        tr: tckn tckimlik kimlik tcno
        id: nik ktp npwp
        zh: 身份证 身份證 社保号 护照 shenfenzheng*
        ja: マイナンバー 個人番号 保険証
        ko: 주민등록 주민번호 여권
        ar: *الهوية* *هوية* *جواز*
        hi: *आधार* pan
        """,
    # Names that are a person's without another word.
    "full": """
        en: surname* forename* firstname* lastname* fullname* maidenname* username* middlename* givenname*
            familyname* nickname* firstnm lastnm patname patientname* ptname fname lname
        de: nachname* vorname* familienname* zuname* rufname* geburtsname* patientenname* kundenname*
            mitarbeitername* nachnam* versichertenname* arztname* anrede
        fr: prenom* patronym*
        es: apellido* nombrecompleto primerapellido
        pt: sobrenome* apelido*
        it: cognom*
        nl: achternaam* voornaam* voorletters roepnaam tussenvoegsel
        pl: nazwisk* imie imiona
        nordic: efternam* fornam* etternavn* fornavn* sukunimi etunimi
        ru: fio *фио* *фамили* *отчеств* familiya* familia* imya otchestvo*
        uk: прізвищ* *батькові*
        tr: soyad* soyisim* adsoyad* isim
        id: namalengkap namadepan namabelakang
        cs: prijmeni jmeno
        hu: vezeteknev keresztnev
        ro: prenume nume
        el: ονομα* επωνυμ*
        vi: hoten
        zh: 姓名 姓氏 患者名 客户名 xingming
        ja: 氏名 名前 お名前 フリガナ ふりがな カナ氏名 shimei namae furigana
        ko: 이름 성명 성함 ireum seongmyeong
        ar: *اسم* *الاسم* *لقب*
        hi: *नाम* *उपनाम*
        """,
    # A name: whose, other words say. Alone it is a person's.
    "name": """
        en: name names first last maiden given family middle nick full initials salutation preferred legal suffix
            prefix nm
        de: name namen *name *namen titel initialen
        fr: nom noms initiales
        es: nombre nombres iniciales
        pt: nome nomes iniciais
        it: nome nomi iniziali
        nl: naam namen *naam
        pl: nazwa
        nordic: namn navn nimi
        ru: imena имя имени наименован* инициал*
        tr: ad adi adlari
        id: nama
        hi: naam
        ar: ism
        vi: ten
        """,
    # What reaches or marks a person.
    "direct": """
        en: passport* licence license drivers email* mail mails *phone* tel telephone* mobile* cell cellphone fax
            *address* addr street* url urls website homepage ip ipaddr* mac iban bic card cardno creditcard* vin
            plate login* logon password* passwd pwd photo* picture portrait signature* fingerprint* biometric*
            account* acct contact* imei imsi msisdn cookie* session* deviceid whatsapp telegram skype twitter
            facebook instagram house housenumber apt apartment doctor* physician* nurse* clerk* cashier* guardian*
            emergencycontact kin handle author* surgeon* therapist* teacher* referer referrer
        de: *telefon* *handy* *mobil* *adress* *anschrift* *strasse* str hausnr *hausnummer* *konto* *kennzeichen*
            *unterschrift* *passwort* *benutzer* *ansprechpartner* *angehorig* arzt *arzte* *arztin* hausarzt*
            behandler* betreuer* vormund* *lehrer* sachbearbeiter*
        fr: courriel* *adresse* rue voie *portable* medecin* infirmier* compte* tuteur*
        es: correo* *direccion* calle domicilio* telefono* movil celular* medico cuenta* tutor* enfermer*
        pt: *endereco* rua logradouro* celular telemovel correio conta medica
        it: indirizzo* via cellulare* posta recapito* medici conto infermier*
        nl: *adres* straat* huisnummer* *telefoon* mobiel* rekening* arts huisarts
        pl: *adres* ulica nrtelefonu komork* lekarz* konto
        nordic: *adress* gata gade vej tlf mobil lakare laege
        ru: *адрес* *телефон* *почта* *улица* *врач* adres* telefon* ulitsa vrach*
        tr: adres* telefon* cep eposta* sokak cadde hekim* doktor*
        id: alamat* telepon* telp hp surel jalan dokter*
        cs: ulice lekar*
        vi: diachi dienthoai
        zh: 电话 電話 手机 手機 邮箱 郵箱 住址 地址 账号 账户 医生 醫師 联系人 联系方式 dianhua* shouji* dizhi*
            youxiang* yisheng
        ja: 住所 携帯 メール 番地 口座 担当医 医師 連絡先 jusho denwa*
        ko: 주소 전화 휴대폰 이메일 계좌 연락처 의사 juso jeonhwa*
        ar: *عنوان* *هاتف* *جوال* *بريد* *طبيب* hatif* unwan*
        hi: *पता* *फोन* *मोबाइल* *चिकित्सक* pata
        """,
    # Free text.
    "prose": """
        en: comment* remark* note notes *notes freetext free narrative* memo* message* observation* anamnes* history
            summary letter* feedback review reviews complaint* transcript* conversation* body annotation*
        de: *bemerkung* *kommentar* *anmerkung* *notiz* *freitext* *hinweis* *beschreibung* *verlauf* *brief*
            *nachricht* *vermerk* *beschwerde* *zusatz*
        fr: remarque* commentaire* libre message* lettre* courrier
        es: comentario* observacion* nota notas mensaje* texto
        pt: comentario* observac* obs anotac* mensagem* texto
        it: commento commenti osservazion* nota note annotazion* messaggi* testo
        nl: opmerking* commentaar* notitie* toelichting* bericht*
        pl: uwagi uwaga komentarz* notatk* opis* wiadomosc*
        nordic: kommentar* anteckning* bemaerkning* merknad* huomautus*
        ru: *коммент* *примечан* *заметк* *описан* *сообщен* kommentari* primechani*
        tr: aciklama* yorum* mesaj* notlar
        id: catatan* keterangan* komentar* pesan*
        cs: poznamk*
        hu: megjegyz*
        vi: ghichu
        zh: 备注 備註 评论 說明 说明 留言 描述 意见 病史 beizhu pinglun
        ja: 備考 コメント メモ 所見 感想 自由記述 biko
        ko: 비고 메모 의견 댓글 소견
        ar: *ملاحظ* *تعليق* mulahazat
        hi: *टिप्पणी* *विवरण*
        """,
    # People whose data these are.
    "subject": """
        en: patient* person persons people subject member customer* client clients employee* student* user users
            respondent* participant* beneficiary insured citizen resident voter donor applicant individual
            individuals pupil* tenant borrower claimant* subscriber* policyholder* cardholder* passenger* guest
            candidate candidates pt pat
        en: pid patid ptid custid userid uid personid empid patno custno memberid kd
        de: *patient* *kunde* *mitarbeiter* *schuler* *person* *versicherte* *mitglied* *teilnehmer* *burger*
            *einwohner* *mieter* *proband* *klient* *beschaftigte*
        fr: patient* personne* client* salarie* employe* eleve* etudiant* assure* usager* adherent* beneficiaire*
        es: paciente* persona* cliente* empleado* alumno* estudiante* usuario* asegurado* socio*
        pt: paciente* pessoa* cliente* funcionario* aluno* estudante* usuario* segurado* utente*
        it: paziente* pazienti persona* cliente clienti dipendent* alunno alunni student* utente* assicurat*
        nl: patient* persoon* klant* medewerker* leerling* student* gebruiker* verzekerde* client* deelnemer*
        pl: pacjent* osoba osoby klient* pracownik* uczen ucznia student* uzytkownik* ubezpiecz*
        nordic: patient* pasient* kund* kunde* elev* anstall* bruker* bruger* asiakas* potilas*
        ru: *пациент* *клиент* *сотрудник* *работник* *ученик* *студент* *пользовател* patsient* klient* sotrudnik*
        tr: hasta* musteri* calisan* ogrenci* kisi* kullanici* sigortali*
        id: pasien* pelanggan* karyawan* siswa* mahasiswa* pengguna* peserta* nasabah*
        zh: 患者 病人 客户 客戶 员工 學生 学生 用户 会员 个人 受试者 huanzhe bingren kehu yonghu
        ja: 患者 顧客 社員 生徒 会員 利用者 被験者 kanja kokyaku
        ko: 환자 고객 직원 학생 회원 사용자 hwanja
        ar: *مريض* *عميل* *موظف* *طالب* marid
        hi: *मरीज* *रोगी* *ग्राहक* *छात्र* rogi marij
        """,
    # What tells records apart.
    "key": """
        en: id ids nbr no nr num number key uuid guid rowid identifier pk serial ref reference *id
        de: nummer *nummer *nr kennung* *kennung lfd laufende schlussel* aktenzeichen* *fallnummer* fallnr
        fr: numero* identifiant* matricule* cle no
        es: numero* identificador* clave folio expediente*
        pt: numero* identificador* matricula* codigo prontuario*
        it: numero* identificativo* chiave matricola* codice
        nl: nummer* *nummer sleutel
        pl: numer* identyfikator*
        nordic: nummer* lopenr*
        ru: *номер* *идентификатор* *ключ* nomer*
        tr: no numara* *numarasi sira
        id: nomor* kode no
        zh: 编号 編號 序号 号码 號碼 病历号 住院号 门诊号 学号 工号 主键 bianhao
        ja: 番号 識別子 bango
        ko: 번호 아이디 식별자 beonho
        ar: *رقم* *معرف* raqm
        hi: *संख्या* *क्रमांक*
        """,
    # What must not be learned.
    "sensitive": """
        en: icd icd9 icd10 diag diags dx hiv aids drug* lab labs glu *result* wage wages pay payment payroll bonus
            debt* credit* loan* balance capital party crime* offence* offense* verdict* cause reason readmi*
            outcome* insulin *disease* *diagnos* reasoncode reasondesc* *illness* *disorder* *symptom* *condition*
            *medication* *prescription* *treatment* *therap* *procedure* *surgery* *allerg* *genetic* *genotype*
            pregnan* mental* *salar* *income* *earning* *religi* belief* *politic* orientation convict* *abuse*
            addict* medicine* *diabet* cancer* tumor* tumour* covid* asthma* hypertens* cholesterol* glucose blood
            pressure bmi vaccin* disab* claim* premium* payout* grade grades gpa score scores mark marks rating exam
            exams examination test tests rent mortgage net gross revenue turnover smok* alcohol* depress* suicid*
            sexual* union ideology
        de: *krankheit* *medika* *befund* *gehalt* *lohn* *einkommen* *schulden* *vorerkrankung* *behandlung*
            *operation* *arznei* *wirkstoff* *glaube* *konfession* *partei* *straf* *vermogen* *kredit* *zensur*
            *punkte* *schaden* *beitrag* *blutdruck* *laborwert* *impf* *behinder* *schwanger* *ergebnis* *prufung*
            *miete*
        fr: *maladie* *medicament* *traitement* *salaire* *revenu* *ordonnance* *dette* *pathologie* *chirurgie*
            *grossesse* motif resultat*
        es: *enfermedad* *medicament* *tratamient* *salario* *sueldo* *ingreso* *receta* *deuda* *padecimiento*
            *cirugia* *embaraz* resultado* calificacion* farmaco* motivo
        pt: *doenca* *medicament* *tratament* *salario* *renda* *receita* *divida* *cirurgia* *gravidez* resultado*
            motivo
        it: *malatti* *farmac* *trattament* *stipendi* *reddit* *terapi* *patologi* *intervento* *gravidanza* esito
            voto voti motivo
        nl: *ziekte* *medicijn* *behandeling* *salaris* *loon* *inkomen* *schuld* *aandoening* *geneesmiddel*
            *uitslag* cijfer
        pl: *chorob* *rozpozn* *leki* lek *leczeni* *wynagrodz* *zarobk* *dochod* *pensja* *wynik* ocena oceny
        nordic: *sjukdom* *sygdom* *sykdom* *lakemedel* *laegemid* *legemid* *inkomst* *indkomst* *inntekt* lon lonn
            karakter
        ru: *диагноз* *болезн* *заболев* *лекарств* *зарплат* *доход* *лечен* *препарат* *результат* оценка оценки
            diagnoz* bolezn* zarplat* dohod* lekarstv*
        tr: *hastaligi* hastalik* tani teshis* *ilac* *tedavi* *maas* *gelir* *ucret* borc* sonuc* puan*
        id: penyakit* diagnosa obat* pengobatan* gaji* pendapatan* penghasilan* utang* hasil nilai
        vi: chandoan luong
        zh: 诊断 診斷 疾病 症状 药 藥 收入 工资 薪 病名 手术 治疗 检查结果 成绩 贷款 宗教 zhenduan jibing shouru
            gongzi
        ja: 診断 病名 疾患 症状 薬 処方 収入 給与 年収 手術 治療 検査 成績 shindan byomei shunyu kyuyo
        ko: 진단 질병 질환 증상 약물 처방 소득 급여 연봉 수술 치료 성적 jindan sodeuk
        ar: *تشخيص* *مرض* *دواء* *راتب* *دخل* *علاج* tashkhis*
        hi: *निदान* *बीमारी* *रोग* *दवा* *वेतन* *आय* bimari vetan
        """,
    # What somebody could know of a person: numbers and few words.
    "trait": """
        en: age ages *birth* born dob yob sex *gender* race ethnic* *marital* relationship* household* height weight
            death* died deceas* veteran* children* child kids native tall hours working dependents insurer payer
            insurance tenure seniority plan tariff browser useragent agent os platform inpatient outpatient
            emergency length
        de: alter *alter *geburt* geb gebdat* gebdatum *geschlecht* *familienstand* *groesse* korpergrosse* grosse
            *gewicht* *verstorben* *todes* *kinder* *haushalt* *krankenkasse* *versicherung* *tarif* zivilstand*
        fr: age *naissance* naiss sexe genre *matrimonial* *taille* *poids* *deces* enfant* civil
        es: edad *nacimiento* nacido sexo genero *civil* altura estatura peso fallec* defuncion* hijos raza
        pt: idade *nascimento* nasc sexo genero civil altura peso obito* filhos raca
        it: eta *nascita* nato nata sesso genere civile altezza peso decess* figli
        nl: leeftijd* *geboorte* geslacht* burgerlijk* lengte gewicht overleden* kinderen
        pl: wiek *urodzeni* plec stan wzrost waga zgon* dzieci
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
    # The same whose values may be names of places, employers and professions.
    "proper": """
        en: zip zip5 zipcode* postal* postcode* city cities town towns village* state states county country
            countries region* district* province* *municipal* *nation* *citizenship* citizen* *educat* *degree*
            *occupation* *profession* *workclass* employment* *language* job jobs work latitude* longitude* lat lon
            lng latlon geo location place birthplace* neighbourhood* neighborhood* borough* parish* school*
            university* college* employer* company companies industry sector origin residence* area
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
    # When something happened: who was there knows it.
    "event": """
        en: date dates *date datetime ts time times timestamp* *timestamp day days month months year years week hour
            admit* admission* discharg* visit* arrival* departure* appointment* encounter* hospitalization*
            hospitalisation* checkin checkout stay los enrolled hired hire start stop begin started ended created
            update updated ordered purchased
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
    # Establishments, things and measurements of things: neither who somebody is nor a secret of theirs.
    "neutral": """
        en: hospital* ward wards clinic clinics department* dept specialty speciality specialties branch store
            stores shop shops warehouse* product* article* item items sku category categories brand brands currency
            quantity qty price prices amount* cost costs discount* tax unit units sensor* temperature* humidity
            voltage* current power flow speed http https method protocol bytes channel* course courses semester*
            subjectname vehicle line machine* firmware
        de: *krankenhaus* *klinik* *abteilung* *station* fachabteilung* *filiale* *produkt* *artikel* *kategorie*
            *marke* *wahrung* *menge* *preis* *betrag* *anzahl* *rabatt* *einheit* *temperatur* *feuchte* *spannung*
            *leistung* *maschine* *kurs* fach facher warengruppe*
        fr: hopital* clinique* service services produit* article* categorie* marque* devise* quantite* prix montant*
            magasin* capteur* temperature* humidite* matiere*
        es: hospital* clinica* departamento* servicio* producto* articulo* categoria* marca* moneda* cantidad*
            precio* importe* tienda* sensor* temperatura* humedad* asignatura*
        pt: hospital* clinica* departamento* servico* produto* categoria* marca* moeda* quantidade* preco* valor
            loja* sensor* temperatura* umidade* disciplina*
        it: ospedale* clinica* reparto* prodotto* prodotti categoria* marca* valuta* quantita* prezzo* importo*
            negozio* sensore* temperatura* umidita* materia
        nl: ziekenhuis* kliniek* afdeling* product* artikel* categorie* merk* valuta aantal* prijs* bedrag* winkel*
            sensor* temperatuur* vak
        pl: szpital* klinika* oddzial* produkt* kategoria* marka* waluta* ilosc* cena* kwota* sklep* czujnik*
            temperatura* przedmiot*
        nordic: sjukhus* sykehus* avdelning* avdeling* produkt* kategori* antal* pris* belopp* butik*
        ru: *больниц* *клиник* *отделени* *товар* *продукт* *категори* *бренд* *валют* *количеств* *цена* *сумма*
            *магазин* *датчик* *температур* bolnits* otdeleni* tovar* kolichestv* tsena
        tr: hastane* klinik* bolum* urun* kategori* marka* miktar* fiyat* tutar* magaza* sensor* sicaklik*
        id: rumahsakit* klinik* departemen* poli produk* barang* kategori* merek* jumlah* harga* toko* sensor* suhu*
        zh: 医院 醫院 科室 病房 产品 商品 类别 品牌 数量 价格 金额 门店 传感器 温度 湿度 yiyuan keshi chanpin
        ja: 病院 診療科 病棟 商品 製品 分類 数量 価格 金額 店舗 センサー 温度 湿度 byoin
        ko: 병원 진료과 병동 상품 제품 분류 수량 가격 금액 매장 센서 온도 습도 byeongwon
        ar: *مستشفى* *قسم* *منتج* *كمية* *سعر* mustashfa
        hi: *अस्पताल* *विभाग* *उत्पाद* *मात्रा* *मूल्य* aspatal
        """,
    # What kind of thing is said of another word.
    "generic": """
        en: type types status flag value values class kind level group current main primary secondary count counts
            source disposition total avg average min max sum medical
        de: art typ kennzahl anzahl
        fr: type statut
        es: tipo estatus
        pt: tipo
        it: tipo
        pl: typ
        ru: тип tip
        tr: turu
        id: jenis
        """,
    # Words that join others.
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
