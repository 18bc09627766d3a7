# SPDX-License-Identifier: Apache-2.0
"""What every chain means, in lists and loops: the executor must agree with this package."""
