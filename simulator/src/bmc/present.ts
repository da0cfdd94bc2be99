import type { Bmc } from './bmc.ts'

/** A BMC as the control socket shows it, marked as simulated. */
export const presentBmc = (bmc: Bmc) => {
  const { machine, kept, sessions, counters } = bmc
  const [account] = kept.state.accounts
  return {
    simulated: true,
    name: machine.plan.name,
    address: bmc.address,
    port: bmc.port.port,
    uuid: machine.disk.identity.uuid,
    serial: machine.disk.identity.serial,
    personality: kept.state.personality,
    power: bmc.power.state,
    fingerprint: bmc.fingerprint,
    userName: account?.userName ?? null,
    password: account?.password ?? null,
    sessions: sessions.all.length,
    mostSessions: sessions.most,
    boot: kept.state.boot,
    media: kept.state.media,
    isLit: kept.state.isLit,
    ...counters,
    faults: kept.state.faults,
  }
}
