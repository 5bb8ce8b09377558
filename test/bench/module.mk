# SPDX-License-Identifier: GPL-2.0-or-later
# srun: what the plugins cost a user, on a real Slurm
BENCHES += srun
