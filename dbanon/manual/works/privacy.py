"""Papers on privacy models, risk, attacks and measures."""

from __future__ import annotations

from dbanon.manual.works.work import Work

WORKS = (
    Work(
        "Samarati and Sweeney 1998",
        "Samarati, P. and Sweeney, L.",
        "Protecting privacy when disclosing information: k-anonymity and its enforcement through generalization and "
        "suppression",
        "Technical report, SRI International",
    ),
    Work(
        "Machanavajjhala et al. 2006",
        "Machanavajjhala, A., Gehrke, J., Kifer, D. and Venkitasubramaniam, M.",
        "l-diversity: privacy beyond k-anonymity",
        "ICDE 2006",
        "10.1109/ICDE.2006.1",
    ),
    Work(
        "Li et al. 2007",
        "Li, N., Li, T. and Venkatasubramanian, S.",
        "t-closeness: privacy beyond k-anonymity and l-diversity",
        "ICDE 2007, 106-115",
        "10.1109/ICDE.2007.367856",
    ),
    Work(
        "Wong et al. 2006",
        "Wong, R. C.-W., Li, J., Fu, A. W.-C. and Wang, K.",
        "(alpha, k)-anonymity: an enhanced k-anonymity model for privacy preserving data publishing",
        "KDD 2006, 754-759",
        "10.1145/1150402.1150499",
    ),
    Work(
        "Truta and Vinay 2006",
        "Truta, T. M. and Vinay, B.",
        "Privacy protection: p-sensitive k-anonymity property",
        "ICDE Workshops 2006",
        "10.1109/ICDEW.2006.116",
    ),
    Work(
        "Cao and Karras 2012",
        "Cao, J. and Karras, P.",
        "Publishing microdata with a robust privacy guarantee",
        "Proceedings of the VLDB Endowment 5(11), 1388-1399",
        "10.14778/2350229.2350255",
    ),
    Work(
        "Brickell and Shmatikov 2008",
        "Brickell, J. and Shmatikov, V.",
        "The cost of privacy: destruction of data-mining utility in anonymized data publishing",
        "KDD 2008, 70-78",
        "10.1145/1401890.1401904",
    ),
    Work(
        "El Emam and Dankar 2008",
        "El Emam, K. and Dankar, F. K.",
        "Protecting privacy using k-anonymity",
        "Journal of the American Medical Informatics Association 15(5), 627-637",
        "10.1197/jamia.M2716",
    ),
    Work(
        "Wong et al. 2007",
        "Wong, R. C.-W., Fu, A. W.-C., Wang, K. and Pei, J.",
        "Minimality attack in privacy preserving data publishing",
        "VLDB 2007, 543-554",
    ),
    Work(
        "Cohen 2022",
        "Cohen, A.",
        "Attacks on deidentification's defenses",
        "USENIX Security Symposium 2022",
    ),
    Work(
        "Chhillar et al. 2025",
        "Chhillar, S., Righi, M. K., Sutter, R. E. and Kornaropoulos, E. M.",
        "Exposing privacy risks in anonymizing clinical data: combinatorial refinement attacks on k-anonymity without "
        "auxiliary information",
        "arXiv:2509.03350",
    ),
    Work(
        "Minka 2000",
        "Minka, T. P.",
        "Estimating a Dirichlet distribution",
        "Technical report, MIT",
    ),
    Work(
        "Xu et al. 2006",
        "Xu, J., Wang, W., Pei, J., Wang, X., Shi, B. and Fu, A. W.-C.",
        "Utility-based anonymization using local recoding",
        "KDD 2006, 785-790",
        "10.1145/1150402.1150504",
    ),
    Work(
        "Ghinita et al. 2007",
        "Ghinita, G., Karras, P., Kalnis, P. and Mamoulis, N.",
        "Fast data anonymization with low information loss",
        "VLDB 2007, 758-769",
    ),
    Work(
        "Nergiz et al. 2009",
        "Nergiz, M. E., Clifton, C. and Nergiz, A. E.",
        "Multirelational k-anonymity",
        "IEEE Transactions on Knowledge and Data Engineering 21(8), 1104-1117",
        "10.1109/TKDE.2008.210",
    ),
    Work(
        "Terrovitis et al. 2008",
        "Terrovitis, M., Mamoulis, N. and Kalnis, P.",
        "Privacy-preserving anonymization of set-valued data",
        "VLDB 2008",
    ),
    Work(
        "Rubner et al. 2000",
        "Rubner, Y., Tomasi, C. and Guibas, L. J.",
        "The earth mover's distance as a metric for image retrieval",
        "International Journal of Computer Vision 40(2), 99-121",
        "10.1023/A:1026543900054",
    ),
)
