"""What users of such tools have run into, by number: where each is tested, and the ones that belong nowhere else."""

from __future__ import annotations

import ast
import importlib.util
import pkgutil
import sys
from pathlib import Path

import numpy as np
import pytest

import superjax.cli
from superjax.core.mesh import single_device_mesh
from superjax.packing.anneal import AnnealHparams
from superjax.packing.objectives import Objective
from superjax.packing.rows import anneal_rows
from superjax.packing.starts import random_start
from superjax.toy import Training, grid, train_ensemble

TESTS = Path(__file__).parent

HELD_BY = {
    1: [
        "embeddings/test_checkpoint_torch.py::test_problem_01_nothing_runs_whatever_its_name",
        "embeddings/test_checkpoint_torch.py::test_the_hostile_file_is_real",
        "embeddings/test_checkpoint_torch.py::test_problem_01_torch_below_the_floor_is_refused",
    ],
    2: [
        "embeddings/test_checkpoint.py::test_problem_02_prefixes_give_the_same_matrix",
        "embeddings/test_checkpoint.py::test_problem_02_collision_names_the_file_and_yields_to_tensor",
    ],
    3: [
        "embeddings/test_checkpoint.py::test_problem_03_families_from_a_file",
        "embeddings/test_checkpoint.py::test_problem_03_width_is_not_hidden_size",
        "embeddings/test_checkpoint.py::test_problem_03_a_vocabulary_as_large_as_the_width_decides_nothing",
        "embeddings/test_checkpoint.py::test_problem_03_none_found_lists_what_is_there",
    ],
    4: [
        "embeddings/test_checkpoint.py::test_tied_absent_output",
        "embeddings/test_checkpoint.py::test_problem_04_tied_absent_input",
        "embeddings/test_checkpoint.py::test_problem_04_half_present",
    ],
    5: [
        "embeddings/test_checkpoint.py::test_problem_05_says_tied_but_differs",
        "embeddings/test_checkpoint.py::test_problem_05_says_untied_but_is_a_copy",
        "embeddings/test_checkpoint.py::test_problem_05_nested_flag",
    ],
    6: [
        "embeddings/test_checkpoint_dtypes.py::test_problem_06_dtypes",
        "embeddings/test_checkpoint_dtypes.py::test_problem_06_every_16_bit_and_8_bit_pattern",
        "embeddings/test_checkpoint_formats.py::test_problem_06_bfloat16_that_came_back_as_void",
    ],
    7: [
        "embeddings/test_checkpoint_hostile.py::test_problem_07_truncated_safetensors",
        "embeddings/test_checkpoint_hostile.py::test_problem_07_an_lfs_pointer_in_a_folder",
        "embeddings/test_checkpoint_torch.py::test_problem_07_truncated_zip",
    ],
    8: [
        "embeddings/test_checkpoint_formats.py::test_problem_08_only_the_needed_shards_are_needed",
        "embeddings/test_checkpoint_formats.py::test_problem_08_stale_index",
        "embeddings/test_checkpoint_formats.py::test_problem_08_stray_file_is_left_alone",
    ],
    9: [
        "embeddings/test_checkpoint_formats.py::test_problem_09_index_may_not_leave_its_folder",
        "embeddings/test_checkpoint_formats.py::test_problem_09_links_of_a_download_cache_load",
    ],
    10: [
        "embeddings/test_checkpoint_formats.py::test_problem_10_four_gigabytes_of_sparse_safetensors",
        "embeddings/test_checkpoint_formats.py::test_problem_10_pytorch_is_mapped",
    ],
    11: [
        "embeddings/test_spectrum.py::test_padding_rows_show_as_duplicates_and_vocab_limit_drops_them",
        "cli/test_embed.py::test_padding_rows_are_pointed_out_and_left_out_on_request",
    ],
    12: [
        "embeddings/test_spectrum.py::test_zero_and_nonfinite_rows_are_left_out_and_counted",
        "embeddings/test_spectrum.py::test_two_zero_rows_alone_make_no_pair",
    ],
    13: [
        "core/test_pairwise.py::test_values_on_edges_and_outside_land_in_closed_end_bins",
        "core/test_pairwise.py::test_counts_are_bitwise_repeatable_and_independent_of_tiles_and_devices",
    ],
    14: [
        "core/test_accelerator.py::test_a_row_times_itself_is_one_to_float32",
        "core/test_pairwise.py::test_the_gram_product_states_highest_precision_unless_told_otherwise",
    ],
    15: [
        "core/test_pairwise.py::test_counts_pass_2_to_24_and_2_to_31_exactly",
    ],
    16: [
        "core/test_pairwise.py::test_each_platforms_counting_gives_the_same_counts",
        "core/test_pairwise.py::test_counts_are_bitwise_repeatable_and_independent_of_tiles_and_devices",
    ],
    17: [
        "embeddings/test_spectrum.py::test_the_spread_survives_a_mean_ten_million_times_larger",
    ],
    18: [
        "cli/test_embed.py::test_all_pairs_of_200_000_rows_stay_under_one_and_a_half_gigabytes",
        "core/test_pairwise.py::test_every_pair_is_met_exactly_once",
        "core/test_pairwise.py::test_nothing_larger_than_the_rows_or_a_tile_exists",
    ],
    19: [
        "embeddings/test_checkpoint.py::test_problem_19_unembedding_of_transformer_lens_is_turned",
        "embeddings/test_checkpoint.py::test_problem_19_orientation_by_vocabulary",
        "embeddings/test_spectrum.py::test_centring_removes_the_common_direction_and_is_labelled",
    ],
    20: [
        "embeddings/test_checkpoint.py::test_no_configuration_leaves_the_tie_open",
        "embeddings/test_checkpoint.py::test_configuration_beside_a_single_file",
    ],
    21: ["test_real_problems.py::test_21_sizes_in_one_call_are_the_runs_of_three"],
    22: [
        "toy/test_ensemble.py::test_starts_and_data_are_bitwise_the_same_at_any_width",
        "toy/test_ensemble.py::test_a_member_is_the_same_run_in_any_ensemble",
        "core/test_keys.py::test_streams_differ_by_every_part_of_their_identity",
    ],
    23: ["toy/test_ensemble.py::test_one_rate_of_zero_holds_its_member_still"],
    24: [
        "toy/test_memory.py::test_512_members_stay_below_the_stated_peak",
        "core/test_loop.py::test_the_state_is_donated",
        "packing/test_scale.py::test_memory_grows_with_the_rows_not_with_their_pairs",
    ],
    25: ["toy/test_ensemble.py::test_chunks_change_no_member", "core/test_loop.py::test_chunks_change_no_bit"],
    26: [
        "toy/test_ensemble.py::test_programs_are_compiled_once_a_group",
        "core/test_loop.py::test_one_compilation_for_all_chunks_and_runs",
        "cli/test_cache.py::test_the_cache_is_filled_and_only_for_the_run",
    ],
    27: ["toy/test_ensemble.py::test_a_member_that_diverges_is_frozen_and_touches_no_other"],
    28: [
        "toy/test_ensemble.py::test_a_member_that_diverges_is_frozen_and_touches_no_other",
        "toy/test_resume.py::test_a_frozen_member_stays_frozen",
    ],
    29: ["toy/test_sampling.py::test_marginals_pairs_counts_and_values_follow_the_law"],
    30: [
        "core/test_sphere.py::test_a_zero_row_stays_zero_and_has_a_finite_derivative",
        "packing/test_objectives.py::test_coincident_antipodal_and_zero_rows_give_finite_values",
        "packing/test_pack.py::test_zero_rows_of_an_array_are_drawn_anew_with_a_warning",
    ],
    31: [
        "packing/test_objectives.py::test_coincident_antipodal_and_zero_rows_give_finite_values",
        "packing/test_rows.py::test_coincident_and_antipodal_starts_part",
    ],
    32: ["packing/test_rows.py::test_any_number_of_devices_has_the_same_start_gradients_and_result"],
    33: [
        "packing/test_rows.py::test_any_number_of_devices_has_the_same_start_gradients_and_result",
        "toy/test_ensemble.py::test_starts_and_data_are_bitwise_the_same_at_any_width",
    ],
    34: ["test_real_problems.py::test_34_rows_are_unit_after_ten_thousand_steps"],
    35: ["cli/test_app.py::test_one_cpu_device_a_core_unless_told_otherwise"],
    36: [
        "distributed/test_joining.py::test_a_process_without_the_others_gives_up",
        "distributed/test_joining.py::test_devices_that_have_started",
    ],
    37: ["cli/test_app.py::test_one_line_with_cause_and_remedy_and_nothing_written"],
    38: ["test_imports.py::test_an_import_starts_no_device_and_brings_in_nothing_heavy"],
    39: [
        "runs/test_store.py::test_39_saved_on_8_devices_it_comes_back_on_1_2_or_3",
        "toy/test_resume.py::test_39_stopped_on_8_devices_it_goes_on_on_fewer",
        "packing/test_resume.py::test_39_stopped_on_8_devices_it_goes_on_on_fewer",
        "cli/test_interrupts.py::test_39_interrupted_on_8_devices_it_goes_on_on_fewer",
    ],
    40: [
        "runs/test_store.py::test_40_an_optimisers_state_returns_into_its_own_tree_and_no_other",
        "toy/test_resume.py::test_40_the_checkpoint_of_another_ensemble_is_refused",
        "packing/test_resume.py::test_40_the_checkpoint_of_another_packing_is_refused",
    ],
    41: [
        "runs/test_store.py::test_41_what_a_crash_left_half_written_is_swept_and_in_nobodys_way",
        "faults/test_kills.py::test_41_killed_while_working_and_while_saving_it_ends_with_the_same_bits",
        "faults/test_kills.py::test_sigterm_and_sigint_save_and_the_command_they_print_goes_on",
    ],
    42: [
        "toy/test_resume.py::test_42_one_member_goes_on_bitwise",
        "toy/test_resume.py::test_42_512_members_go_on_bitwise",
        "packing/test_resume.py::test_42_it_goes_on_bitwise_after_several_stops",
        "cli/test_interrupts.py::test_a_changed_configuration_is_refused_by_the_field",
    ],
    43: [
        "test_real_problems.py::test_43_modules_of_the_command_line_can_be_loaded_twice",
        "test_imports.py::test_the_whole_library_defines_no_flag",
    ],
}
"""Numbers as in the list of public reports that the tests were written from."""


@pytest.mark.parametrize("number", HELD_BY)
def test_every_problem_is_held_by_tests_that_exist(number):
    for held in HELD_BY[number]:
        file, name = held.split("::")
        tree = ast.parse((TESTS / file).read_text())
        assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}, held


def test_21_sizes_in_one_call_are_the_runs_of_three():
    training = Training(steps=30, test_batches=2)
    together = train_ensemble(grid(n=24, m=[2, 5, 20], batch=16), training)
    for place, m in enumerate((2, 5, 20)):
        alone = train_ensemble(grid(n=24, m=m, batch=16), training)
        np.testing.assert_array_equal(together.params[place].W, alone.params[0].W)
        assert together.loss[place] == alone.loss[0]


def test_34_rows_are_unit_after_ten_thousand_steps():
    x = random_start(30, 6, seed=0)
    mesh = single_device_mesh()
    found = anneal_rows(Objective("riesz"), x, AnnealHparams(), 10_000, mesh=mesh, block=None, precision="highest")
    np.testing.assert_allclose(np.linalg.norm(found.x.astype(np.float64), axis=1), 1, atol=1e-6)


def test_43_modules_of_the_command_line_can_be_loaded_twice(monkeypatch):
    modules = list(pkgutil.iter_modules(superjax.cli.__path__, "superjax.cli."))
    assert len(modules) > 10
    for module in modules:
        spec = module.module_finder.find_spec(module.name)
        again = importlib.util.module_from_spec(spec)
        with monkeypatch.context() as patched:  # a script is loaded as __main__, and by its name if it is imported too
            patched.setitem(sys.modules, module.name, again)
            spec.loader.exec_module(again)
