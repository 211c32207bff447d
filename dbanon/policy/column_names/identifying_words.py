"""Words in the names of columns that identify a person or a record: names, numbers, keys; see hint_words.py."""

IDENTIFYING_WORDS = {
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
    # Names of persons, even without another word.
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
    # Names of anything, as other words indicate; alone they are names of persons.
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
    # Ways to reach or recognize a person.
    "direct": """
        en: passport* licence license drivers email* mail mails *phone* tel telephone* mobile* cell cellphone fax
            *address* addr street* url urls website homepage ip ipaddr* mac iban bic card cardno creditcard* vin
            plate login* logon password* passwd pwd photo* picture portrait signature* fingerprint* biometric*
            account* acct contact* imei imsi msisdn cookie* session* deviceid whatsapp telegram skype twitter
            facebook instagram reddit house housenumber apt apartment doctor* physician* nurse* clerk* cashier*
            guardian* emergencycontact kin handle author* surgeon* therapist* teacher* referer referrer
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
    # Data subjects.
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
        uk: *пацієнт* *клієнт* *працівник* *учень* *студент* *користувач*
        cs: pacient* klient* zakaznik* zamestnan* student* pojistenec* uzivatel*
        hu: beteg* paciens* ugyfel* munkavallalo* tanulo* felhasznalo* biztositott*
        ro: pacient* client* angajat* elev* utilizator* asigurat*
        el: ασθεν* πελατ* υπαλληλ* μαθητ* φοιτητ* χρηστ*
        vi: benhnhan khachhang nhanvien hocsinh
        id: pasien* pelanggan* karyawan* siswa* mahasiswa* pengguna* peserta* nasabah*
        zh: 患者 病人 客户 客戶 员工 學生 学生 用户 会员 个人 受试者 huanzhe bingren kehu yonghu
        ja: 患者 顧客 社員 生徒 会員 利用者 被験者 kanja kokyaku
        ko: 환자 고객 직원 학생 회원 사용자 hwanja
        ar: *مريض* *عميل* *موظف* *طالب* marid
        hi: *मरीज* *रोगी* *ग्राहक* *छात्र* rogi marij
        """,
    # Keys of records.
    "key": """
        en: id ids nbr no nos nr num nums numb number numbers *number key keys uuid guid rowid identifier* pk fk serial*
            ref refs reference references regno registration* accession* certificate* cert barcode* token* hash policy
            policyno policynum *id
        de: nummer nummern *nummer *nummern *nr kennung* *kennung kennziffer* lfd laufende schlussel* *schlussel ident
            aktenzeichen* *fallnummer* fallnr *ausweisnr police* urkunde*
        fr: numero* num identifiant* matricule* cle cles no dossier* police* certificat*
        es: numero* num nro identificador* clave* folio expediente* poliza* certificado*
        pt: numero* num nro identificador* matricula* prontuario* chave* apolice* certidao* inscricao*
        it: numero* num nr identificativo* chiave* matricola* polizza* tessera* certificato*
        nl: nummer* *nummer *nr sleutel* kenmerk* polis*
        pl: numer* nr identyfikator* klucz* polis* legitymacj*
        nordic: nummer* *nummer nr lopenr* nyckel* noegle* nogle* nokkel* tunnus* numero*
        ru: *номер* *идентификатор* *ключ* *полис* nomer* polis* identifikator*
        uk: *номер* *ідентифікатор* *ключ* *поліс*
        tr: no numara* *numarasi sira police* kimlik* anahtar*
        id: nomor* no polis* kunci*
        cs: cislo* klic*
        hu: szam *szama azonosito* kulcs*
        ro: numar* nr identificator* cheie*
        el: αριθμ* κωδικ* ταυτοτητ*
        vi: sohieu maso
        zh: 编号 編號 序号 号 號 码号 主键 证件 編碼 编码 bianhao haoma
        ja: 番号 識別子 証書 bango
        ko: 번호 아이디 식별자 식별번호 beonho
        ar: *رقم* *معرف* raqm
        hi: *संख्या* *क्रमांक* *आईडी*
        """,
    # Keys that mean a count if another word follows: number of children, no. of visits.
    "count": """
        en: number numbers num no nos nr nbr
        fr: numero num
        es: numero num nro
        pt: numero num nro
        it: numero num nr
        ro: numar nr
        """,
}
