/** What a user can do with the power of a server: the menu of its page, and ⌘K. */
import { type Bmc, bmcGet } from '#contract/bmcs/bmcs.ts'
import { canOrder, powerTitle, serverIdentify, serverPower } from '#contract/bmcs/power.ts'
import type { PowerKind, PowerTarget } from '#contract/bmcs/order.ts'
import { all, no, type Verdict, yes } from '#contract/rule.ts'
import type { ListedServer } from '#contract/servers/servers.ts'
import { call } from '../../api/client.ts'
import { invalidate } from '../../api/query.ts'
import { allowed } from '../../api/session.ts'
import { reasonOf } from '../../lib/reason.ts'
import { toast } from '../../ui/feedback/toast.ts'
import type { Action } from '../../ui/actions.ts'
import { dialog } from '../../ui/overlay/dialogs.ts'

export interface PowerAct {
  server: Pick<ListedServer, 'id' | 'name' | 'cluster'>
  to: PowerTarget
  kind: PowerKind
  seen: Bmc['power']['state']
}
const switchPower = dialog<PowerAct>(() => import('./SwitchPower.tsx'))

const ready = ({ status, reason }: Bmc): Verdict =>
  status === 'ready' ? yes : no(reason ?? 'Its BMC can not be used now')

/** Graceful acts stand before hard ones. */
const acts: readonly [PowerTarget, PowerKind][] = [
  ['on', 'graceful'],
  ['off', 'graceful'],
  ['off', 'hard'],
  ['cycle', 'hard'],
]

export const powerActions = (server: PowerAct['server'], bmc: Bmc): Action[] => [
  ...acts.map(([to, kind]): Action => {
    const seen = bmc.power.state
    return {
      label: to === 'off' && kind === 'graceful' ? 'Shut down by its BMC' : powerTitle(to, kind),
      icon: to === 'cycle' ? 'refresh' : 'power',
      danger: kind === 'hard',
      can: all(allowed(serverPower), ready(bmc), canOrder(to, seen)),
      run: () => switchPower({ server, to, kind, seen }),
    }
  }),
  {
    label: bmc.lit === true ? 'Stop the light' : 'Blink the light',
    icon: 'eye',
    can: all(
      allowed(serverIdentify),
      ready(bmc),
      bmc.capabilities.led === false ? no('Its BMC has no light') : yes,
    ),
    run: () => light(server, bmc.lit !== true),
  },
]

const light = async ({ id, name }: PowerAct['server'], lit: boolean): Promise<void> => {
  try {
    await call(serverIdentify, { params: { id }, body: { lit } })
    await invalidate(bmcGet)
    toast.success(lit ? `The light of ${name} blinks` : `The light of ${name} is off`)
  } catch (error) {
    toast.error(reasonOf(error))
  }
}
