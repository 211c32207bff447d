"""The modules of all table functions and algorithms, so that one of them can be imported alone.

Generated: `python -m tests.support.generated` writes this module.
"""

from collections.abc import Mapping

FUNCTIONS_BY_MODULE: Mapping[str, str] = {
    "release.explain": """
        explain_release explain_step
    """,
    "release.functions": """
        adaptive_k adaptive_k_classes adaptive_k_metrics best best_classes best_metrics bhaladhare bhaladhare_classes
        bhaladhare_metrics bottom_up_generalization bottom_up_generalization_classes bottom_up_generalization_metrics
        datafly datafly_classes datafly_metrics dhkmeans dhkmeans_classes dhkmeans_metrics dissimilarity_tree
        dissimilarity_tree_classes dissimilarity_tree_metrics eld eld_classes eld_metrics fmdav fmdav_classes
        fmdav_metrics ga_clustering ga_clustering_classes ga_clustering_metrics gaa_cp gaa_cp_classes gaa_cp_metrics
        gccg gccg_classes gccg_metrics ikac ikac_classes ikac_metrics incognito incognito_classes incognito_metrics
        k_optimize k_optimize_classes k_optimize_metrics k_similar k_similar_classes k_similar_metrics kaca kaca_classes
        kaca_metrics kacpc kacpc_classes kacpc_metrics kapp kapp_classes kapp_metrics kl_member kl_member_classes
        kl_member_metrics kmcssa kmcssa_classes kmcssa_metrics kmeans_no1 kmeans_no1_classes kmeans_no1_metrics
        kmeans_no2 kmeans_no2_classes kmeans_no2_metrics kmeans_no3 kmeans_no3_classes kmeans_no3_metrics kmeanspp_cloud
        kmeanspp_cloud_classes kmeanspp_cloud_metrics kmember kmember_classes kmember_metrics kmembers_random
        kmembers_random_classes kmembers_random_metrics knn_anon knn_anon_classes knn_anon_metrics knn_gs knn_gs_classes
        knn_gs_metrics ldiversity_mondrian ldiversity_mondrian_classes ldiversity_mondrian_metrics loukides_shao
        loukides_shao_classes loukides_shao_metrics mckl mckl_classes mckl_metrics mdav mdav_classes mdav_metrics
        mondrian mondrian_classes mondrian_metrics mr_mondrian mr_mondrian_classes mr_mondrian_metrics multilevel_mdav
        multilevel_mdav_classes multilevel_mdav_metrics mwck mwck_classes mwck_metrics oka oka_classes oka_metrics
        oka_kmember oka_kmember_classes oka_kmember_metrics organized organized_classes organized_metrics pppc
        pppc_classes pppc_metrics r_cellular r_cellular_classes r_cellular_metrics r_gather r_gather_classes
        r_gather_metrics rka rka_classes rka_metrics s_cpm s_cpm_classes s_cpm_metrics samarati samarati_classes
        samarati_metrics simdiv simdiv_classes simdiv_metrics systematic systematic_classes systematic_metrics tds
        tds_classes tds_metrics v_mdav v_mdav_classes v_mdav_metrics wfcmeans wfcmeans_classes wfcmeans_metrics wkmca
        wkmca_classes wkmca_metrics anonymize anonymize_classes anonymize_metrics inference
    """,
    "release.streams.functions": """
        b_castle b_castle_classes b_castle_metrics castle castle_classes castle_metrics cudsa cudsa_classes
        cudsa_metrics faanst faanst_classes faanst_metrics fads fads_classes fads_metrics fast fast_classes fast_metrics
        idea idea_classes idea_metrics iot_anonymity iot_anonymity_classes iot_anonymity_metrics k_varp k_varp_classes
        k_varp_metrics kl_clustering kl_clustering_classes kl_clustering_metrics puri_haritha puri_haritha_classes
        puri_haritha_metrics swaf swaf_classes swaf_metrics ubdsa ubdsa_classes ubdsa_metrics
    """,
    "algorithms.algorithms_function": """
        algorithms
    """,
    "policy.attached_databases": """
        attached_databases
    """,
    "policy.checks.policy_problems": """
        policy_problems
    """,
    "policy.checks.review": """
        policy_review
    """,
    "policy.hierarchies.arx_files": """
        hierarchy_from_file hierarchy_builtin hierarchy_to_arx
    """,
    "policy.hierarchies.builders": """
        hierarchy_flat hierarchy_prefix hierarchy_intervals hierarchy_dates
    """,
    "policy.hierarchies.hierarchy_functions": """
        hierarchies hierarchy_problems uncovered_values
    """,
    "policy.profiling.postgres_labels": """
        policy_from_labels
    """,
    "policy.profiling.profile": """
        profile
    """,
    "audit.anonymity": """
        k_anonymity l_diversity t_closeness alpha_k p_sensitive beta_likeness delta_disclosure anonymity
    """,
    "audit.attacks.attack": """
        attack attack_summary
    """,
    "audit.comparison.compare": """
        compare
    """,
    "audit.comparison.tradeoffs": """
        tradeoffs
    """,
    "audit.influence": """
        influence
    """,
    "audit.ml_utility": """
        ml_utility
    """,
    "audit.query_error": """
        query_error
    """,
    "audit.risk": """
        risk reidentification uniqueness disclosure exposure distortion infeasible_classes
    """,
    "ledger.composition.composition_function": """
        composition
    """,
    "ledger.published_files": """
        published_files
    """,
    "ledger.release_status": """
        release_status refresh_problems
    """,
    "ledger.releases": """
        releases
    """,
    "ledger.streams": """
        stream_status
    """,
    "publishing.certificate": """
        certificate
    """,
    "publishing.report.report": """
        report
    """,
}
"""The names of the table functions of each module, separated by blanks, in the order of the manual."""

ALGORITHM_MODULES: Mapping[str, str] = {
    "adaptive_k": "centroid.adaptive_k",
    "best": "optimizing.best",
    "bhaladhare": "centroid.bhaladhare",
    "bottom_up_generalization": "single_dimension.bottom_up_generalization",
    "datafly": "full_domain.datafly",
    "dhkmeans": "partitioning.dhkmeans",
    "dissimilarity_tree": "partitioning.dissimilarity_tree",
    "eld": "greedy.eld",
    "fmdav": "nearest_neighbour.fmdav",
    "ga_clustering": "hybrid.ga_clustering",
    "gaa_cp": "greedy.gaa_cp",
    "gccg": "nearest_neighbour.gccg",
    "ikac": "nearest_neighbour.ikac",
    "incognito": "full_domain.incognito",
    "k_optimize": "single_dimension.k_optimize",
    "k_similar": "partitioning.k_similar",
    "kaca": "agglomerative.kaca",
    "kacpc": "nearest_neighbour.kacpc",
    "kapp": "agglomerative.kapp",
    "kl_member": "greedy.kl_member",
    "kmcssa": "nearest_neighbour.kmcssa",
    "kmeans_no1": "centroid.kmeans",
    "kmeans_no2": "centroid.kmeans",
    "kmeans_no3": "centroid.kmeans",
    "kmeanspp_cloud": "centroid.kmeanspp_cloud",
    "kmember": "greedy.kmember",
    "kmembers_random": "greedy.kmember",
    "knn_anon": "nearest_neighbour.knn_anon",
    "knn_gs": "diversity.knn_gs",
    "ldiversity_mondrian": "partitioning.ldiversity_mondrian",
    "loukides_shao": "greedy.loukides_shao",
    "mckl": "greedy.mckl",
    "mdav": "nearest_neighbour.mdav",
    "mondrian": "partitioning.mondrian",
    "mr_mondrian": "partitioning.mr_mondrian",
    "multilevel_mdav": "nearest_neighbour.multilevel_mdav",
    "mwck": "greedy.mwck",
    "oka": "centroid.oka",
    "oka_kmember": "hybrid.oka_kmember",
    "organized": "centroid.organized",
    "pppc": "diversity.pppc",
    "r_cellular": "nearest_neighbour.r_cellular",
    "r_gather": "hybrid.r_gather",
    "rka": "greedy.rka",
    "s_cpm": "diversity.s_cpm",
    "samarati": "full_domain.samarati",
    "simdiv": "diversity.simdiv",
    "systematic": "centroid.systematic",
    "tds": "single_dimension.tds",
    "v_mdav": "nearest_neighbour.v_mdav",
    "wfcmeans": "centroid.wfcmeans",
    "wkmca": "greedy.wkmca",
}
"""The module of each algorithm for tables, in `dbanon.algorithms`, by name."""
