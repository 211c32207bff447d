"""Papers on algorithms."""

from __future__ import annotations

from dbanon.manual.works.work import Work

WORKS = (
    Work(
        "Wang et al. 2022",
        "Wang, H., He, J. and Zhu, N.",
        "Improving data utilization of k-anonymity through clustering optimization",
        "Transactions on Data Privacy 15(3)",
        also="KACPC paper",
    ),
    Work(
        "Majeed et al. 2024",
        "Majeed, A., Khan, S. and Hwang, S. O.",
        "Toward optimization of privacy-utility trade-off using similarity and diversity based clustering",
        "IEEE Transactions on Emerging Topics in Computing 12(1)",
        also="similarity-and-diversity paper",
        note="Numbers of equations, tables and figures are those of the authors' manuscript.",
    ),
    Work(
        "Three-variants paper",
        "",
        "",
        "",
        note="It proposes three algorithms of k-means for k-anonymity, No. 1 to No. 3, and compares them with k-member "
        "and one-pass k-means on data of the UCI repository. The copy that was used has neither authors nor title, "
        "year and venue.",
    ),
    Work(
        "k-members paper",
        "Wang, C., Liu, L. and Gao, L.",
        "Research on k-anonymity algorithm in privacy protection",
        "",
        note="The copy that was used has neither year nor venue.",
    ),
    Work(
        "Review of clustering methods",
        "",
        "A systematic review: cluster based k-anonymization approaches for big data privacy",
        "Journal of Electrical Systems",
        note="The copy that was used has neither authors nor year.",
    ),
    Work(
        "Abdollahzadeh et al. 2021",
        "Abdollahzadeh, B., Gharehchopogh, F. S. and Mirjalili, S.",
        "African vultures optimization algorithm: a new nature-inspired metaheuristic algorithm for global "
        "optimization problems",
        "Computers and Industrial Engineering 158, 107408",
        "10.1016/j.cie.2021.107408",
    ),
    Work(
        "Aggarwal et al. 2006",
        "Aggarwal, G., Feder, T., Kenthapadi, K., Khuller, S., Panigrahy, R., Thomas, D. and Zhu, A.",
        "Achieving anonymity via clustering",
        "PODS 2006, 153-162",
        "10.1145/1142351.1142374",
    ),
    Work(
        "Li et al. 2006",
        "Li, J., Wong, R. C.-W., Fu, A. W.-C. and Pei, J.",
        "Achieving k-anonymity by clustering in attribute hierarchical structures",
        "DaWaK 2006, LNCS 4081, 405-416",
    ),
    Work(
        "Byun et al. 2007",
        "Byun, J.-W., Kamra, A., Bertino, E. and Li, N.",
        "Efficient k-anonymization using clustering techniques",
        "DASFAA 2007, LNCS 4443, 188-200",
        "10.1007/978-3-540-71703-4_18",
    ),
    Work(
        "Domingo-Ferrer and Torra 2005",
        "Domingo-Ferrer, J. and Torra, V.",
        "Ordinal, continuous and heterogeneous k-anonymity through microaggregation",
        "Data Mining and Knowledge Discovery 11(2), 195-212",
        "10.1007/s10618-005-0007-5",
    ),
    Work(
        "Domingo-Ferrer et al. 2006",
        "Domingo-Ferrer, J., Martinez-Balleste, A., Mateo-Sanz, J. M. and Sebe, F.",
        "Efficient multivariate data-oriented microaggregation",
        "The VLDB Journal 15(4), 355-369",
        "10.1007/s00778-006-0007-0",
    ),
    Work(
        "Hansen and Mukherjee 2003",
        "Hansen, S. L. and Mukherjee, S.",
        "A polynomial algorithm for optimal univariate microaggregation",
        "IEEE Transactions on Knowledge and Data Engineering 15(4), 1043-1044",
        "10.1109/TKDE.2003.1209020",
    ),
    Work(
        "Jiang et al. 2017",
        "Jiang, H. W., Zeng, G. S. and Ma, H. Y.",
        "Clustering-anonymity method for privacy preservation of table data-publishing",
        "Journal of Software 28(2), 341-351",
        note="In Chinese.",
    ),
    Work(
        "LeFevre et al. 2005",
        "LeFevre, K., DeWitt, D. J. and Ramakrishnan, R.",
        "Incognito: efficient full-domain k-anonymity",
        "SIGMOD 2005, 49-60",
        "10.1145/1066157.1066164",
    ),
    Work(
        "LeFevre et al. 2006",
        "LeFevre, K., DeWitt, D. J. and Ramakrishnan, R.",
        "Mondrian multidimensional k-anonymity",
        "ICDE 2006",
        "10.1109/ICDE.2006.101",
    ),
    Work(
        "Lin and Wei 2008",
        "Lin, J.-L. and Wei, M.-C.",
        "An efficient clustering method for k-anonymization",
        "PAIS 2008, 46-50",
        "10.1145/1379287.1379297",
    ),
    Work(
        "Qian et al. 2021",
        "Qian, X., Li, X. and Zhou, Z.",
        "An efficient privacy-preserving approach for data publishing",
        "Journal of Ambient Intelligence and Humanized Computing",
    ),
    Work(
        "Song et al. 2019",
        "Song, F., Ma, T., Tian, Y. and Al-Rodhaan, M.",
        "A new method of privacy protection: random k-anonymous",
        "IEEE Access 7, 75434-75445",
    ),
    Work(
        "Zhang et al. 2022",
        "Zhang, X., Qi, L., Dou, W., He, Q., Leckie, C., Kotagiri, R. and Salcic, Z.",
        "MRMondrian: scalable multidimensional anonymisation for big data privacy preservation",
        "IEEE Transactions on Big Data 8(1), 125-139",
        note="Published online in 2017.",
    ),
    Work(
        "Zheng et al. 2018",
        "Zheng, W., Wang, Z., Lv, T., Ma, Y. and Jia, C.",
        "K-anonymity algorithm based on improved clustering",
        "ICA3PP 2018, LNCS 11335, 462-476",
    ),
    Work(
        "Zheng et al. 2019",
        "Zheng, W., Ma, Y., Wang, Z., Jia, C. and Li, P.",
        "Effective l-diversity anonymization algorithm based on improved clustering",
        "International Symposium on Cyberspace Safety and Security 2019, Springer, 318-329",
    ),
    Work(
        "Breiman 2001",
        "Breiman, L.",
        "Random forests",
        "Machine Learning 45(1), 5-32",
        "10.1023/A:1010933404324",
    ),
    Work(
        "Vigna 2016",
        "Vigna, S.",
        "An experimental exploration of Marsaglia's xorshift generators, scrambled",
        "ACM Transactions on Mathematical Software 42(4), 30",
        "10.1145/2845077",
    ),
)
