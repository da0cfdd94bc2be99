/**
 * Power of a system: what its state is, and which reset brings it to another (DSP0268
 * `ComputerSystem.Reset`). A reset proves nothing: whoever acts reads the state back.
 */
import { RedfishError } from '../errors.ts'
import type { Done, RedfishClient } from '../client/client.ts'
import type { Read } from '../readers/readers.ts'
import type { Facts } from '../vendors/vendors.ts'

export type PowerState = 'on' | 'off' | 'turning_on' | 'turning_off' | 'unknown'

const words: Readonly<Record<string, PowerState>> = {
  on: 'on',
  off: 'off',
  poweringon: 'turning_on',
  poweringoff: 'turning_off',
}
/** Unknown is never off: a missing, null or strange state is unknown. */
export const powerStateOf = (
  word: string | null,
  { powerWords }: Pick<Facts, 'powerWords'>,
): PowerState => {
  const key = (word ?? '').replaceAll(/[^a-z]/gi, '').toLowerCase()
  return words[key] ?? powerWords[key] ?? 'unknown'
}

export interface PowerAct {
  readonly to: 'on' | 'off'
  readonly kind: 'graceful' | 'hard'
}

/** Reset types for an act, the best first. */
const types = ({ to, kind }: PowerAct): readonly string[] => {
  if (to === 'on') return ['On', 'ForceOn']
  return kind === 'graceful' ? ['GracefulShutdown'] : ['ForceOff']
}

/** What the BMC allows: in the system, or in a document of its own; null if it doesn't tell. */
export async function allowedResets(
  client: Pick<RedfishClient, 'get'>,
  system: Pick<Read<'system'>, 'Actions'>,
  signal: AbortSignal,
): Promise<readonly string[] | null> {
  const reset = system.Actions['#ComputerSystem.Reset']
  const listed = reset['ResetType@Redfish.AllowableValues']
  if (listed !== null) return listed
  const info = reset['@Redfish.ActionInfo']
  if (info === null) return null
  const { document } = await client.get('actionInfo', info, signal)
  return document.Parameters.find((one) => one.Name === 'ResetType')?.AllowableValues ?? null
}

/** The reset of an act; an error says what the BMC can't. @throws RedfishError */
export function resetType(act: PowerAct, allowed: readonly string[] | null): string {
  const wanted = types(act)
  const found = allowed === null ? wanted[0] : wanted.find((type) => allowed.includes(type))
  if (found !== undefined) return found
  const what =
    act.to === 'on'
      ? 'switch the server on'
      : act.kind === 'graceful'
        ? 'shut the server down: switch it off hard instead'
        : 'switch the server off'
  throw new RedfishError('refused', `This BMC can't ${what}`)
}

/** Sends one reset. @throws RedfishError; `busy` if the BMC isn't ready for it */
export async function sendReset(
  client: RedfishClient,
  system: Pick<Read<'system'>, 'Actions'>,
  act: PowerAct,
  signal: AbortSignal,
): Promise<Done> {
  const target = system.Actions['#ComputerSystem.Reset'].target
  if (target === null) throw new RedfishError('refused', "This BMC can't switch its server")
  const type = resetType(act, await allowedResets(client, system, signal))
  return client.post(target, { ResetType: type }, signal)
}

/** Whether the BMC can switch a light, and how. */
export const lightOf = (
  system: Pick<Read<'system'>, 'LocationIndicatorActive' | 'IndicatorLED'>,
): 'active' | 'led' | null => {
  if (system.LocationIndicatorActive !== null) return 'active'
  // Some answer "Unknown", and can't.
  return system.IndicatorLED !== null && !/unknown/i.test(system.IndicatorLED) ? 'led' : null
}

/** Whether the light is on; null if unknown. */
export const isLit = (
  system: Pick<Read<'system'>, 'LocationIndicatorActive' | 'IndicatorLED'>,
): boolean | null => {
  if (system.LocationIndicatorActive !== null) return system.LocationIndicatorActive
  const word = system.IndicatorLED?.toLowerCase() ?? ''
  return word === 'blinking' || word === 'lit' ? true : word === 'off' ? false : null
}

/** Switches the light that finds a server in its rack. @throws RedfishError */
export async function setLight(
  client: RedfishClient,
  path: string,
  lit: boolean,
  signal: AbortSignal,
): Promise<boolean> {
  const before = await client.get('system', path, signal)
  const how = lightOf(before.document)
  if (how === null) throw new RedfishError('refused', 'This BMC has no light to switch')
  const change =
    how === 'active' ? { LocationIndicatorActive: lit } : { IndicatorLED: lit ? 'Blinking' : 'Off' }
  const { task } = await client.patch(path, change, signal, before.etag)
  if (task !== null) await client.finished(task, signal, 30_000)
  const { document } = await client.get('system', path, signal)
  if (isLit(document) !== lit)
    throw new RedfishError(
      'refused',
      `The BMC accepted the change, but its light is not ${lit ? 'on' : 'off'}`,
    )
  return lit
}
