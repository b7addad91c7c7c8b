"""The egress broker on this kernel, whose Landlock knows less than the newest: nothing of TCP ports."""

import os
import shutil


def test_both_halves_of_the_broker_are_locked_down(vm):
    if not shutil.which("ip") or not shutil.which("setpriv"):
        vm.skip("no ip(8) here")
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    vm.run([f"{here}/egress/run", vm.build, "-f", "^lockdown"], 280).must_succeed()


test_both_halves_of_the_broker_are_locked_down.timeout = 290
