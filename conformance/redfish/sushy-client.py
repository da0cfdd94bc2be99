"""Drives a simulated BMC by sushy, the Redfish client of OpenStack, and prints what it saw as JSON.

Arguments: URL, user name, password, "session" or "basic".
"""
import json
import sys
import time

import sushy

url, user, password, kind = sys.argv[1:]
if kind == "basic":
    root = sushy.Sushy(url, verify=False, auth=sushy.auth.BasicAuth(user, password))
else:
    root = sushy.Sushy(url, username=user, password=password, verify=False)
system = root.get_system()


def until(state):
    """Waits up to a minute for a power state."""
    for _ in range(300):
        system.refresh(force=True)
        if system.power_state == state:
            return state.value
        time.sleep(0.2)
    return f"still {system.power_state}"


def on():
    """Switches on, again if it is refused, as with a machine that was just switched off."""
    for _ in range(300):
        try:
            system.reset_system(sushy.ResetType.ON)
            return
        except sushy.exceptions.HTTPError as error:
            if error.status_code != 409:
                raise
        time.sleep(0.2)


seen = {"first": system.power_state.value, "uuid": system.uuid}
system.set_system_boot_options(
    target=sushy.BootSource.PXE, enabled=sushy.BootSourceOverrideEnabled.ONCE
)
system.refresh(force=True)
seen["override"] = [system.boot.target.value, system.boot.enabled.value]
system.reset_system(sushy.ResetType.FORCE_OFF)
seen["off"] = until(sushy.PowerState.OFF)
on()
seen["on"] = until(sushy.PowerState.ON)
seen["processors"] = system.processors.summary.count
seen["memory"] = system.memory_summary.size_gib
seen["macs"] = sorted(system.ethernet_interfaces.summary)
seen["disks"] = sum(len(unit.drives) for unit in system.storage.get_members())
holder = root.get_manager() if "VirtualMedia" in root.get_manager().json else system
slot = next(
    one for one in holder.virtual_media.get_members() if sushy.VirtualMediaType.CD in one.media_types
)
slot.insert_media("http://127.0.0.1:1/talos.iso")
slot.refresh(force=True)
seen["inserted"] = [slot.inserted, slot.image]
slot.eject_media()
slot.refresh(force=True)
seen["ejected"] = slot.inserted
print(json.dumps(seen))
