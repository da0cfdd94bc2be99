/** The computer system: power, boot, light, and links to its parts. */
import type { Bmc } from './bmc.ts'
import { aBoolean, anObject, aText, oneOf, parameterOf, parameters, patched } from './fields.ts'
import { inventory } from './inventory.ts'
import { MODES, OVERRIDES, TARGETS } from './kept.ts'
import { addMedia } from './media.ts'
import { addLogs } from './logs.ts'
import { RESET_TYPES } from './power-switch.ts'
import type { Json } from './refusal.ts'
import { addCollection, type Answer, document, link, NO_CONTENT, ROOT, type Tree } from './tree.ts'

/** A UUID with its first three groups in the other byte order (SMBIOS 3.7, 7.2.1). */
const turned = (uuid: string): string =>
  uuid
    .split('-')
    .map((group, at) => (at < 3 ? group.match(/../g)!.toReversed().join('') : group))
    .join('-')

/** The system's health, of its parts. */
const healthOf = (bmc: Bmc): 'OK' | 'Warning' | 'Critical' => {
  const { faults } = bmc.kept.state
  const has = (...kinds: string[]) => faults.some(({ kind }) => kinds.includes(kind))
  if (has('supply-without-input', 'fan-stopped')) return 'Critical'
  return has('memory-errors', 'disk-predicts-failure', 'hot') ? 'Warning' : 'OK'
}

/** How far the boot is, from what the operating system has reached. */
const bootProgress = ({ machine }: Bmc): string => {
  if (!machine.isOn) return 'None'
  if (machine.mode !== 'off') return 'OSRunning'
  if (machine.plan.isBare && machine.disk.state.installed === null)
    return 'SystemHardwareInitializationComplete'
  return machine.stage.stage === 'unknown' ? 'MemoryInitializationStarted' : 'OSBootStarted'
}

const LIT = { true: 'Blinking', false: 'Off' } as const

/** The light, under the name that the maker has for it. */
export const lightFields = (bmc: Bmc): Json =>
  bmc.personality.light === 'location'
    ? { LocationIndicatorActive: bmc.kept.state.isLit }
    : { IndicatorLED: LIT[`${bmc.kept.state.isLit}`] }

/** Properties that switch the light, for the system and the chassis. */
export const lightSetters = (bmc: Bmc): Parameters<typeof patched>[1] => {
  const set = (isLit: boolean) => () => bmc.kept.change((state) => (state.isLit = isLit))
  return bmc.personality.light === 'location'
    ? { LocationIndicatorActive: (value) => set(aBoolean(value, 'LocationIndicatorActive')) }
    : {
        IndicatorLED: (value) =>
          set(oneOf(value, ['Lit', 'Blinking', 'Off'] as const, 'IndicatorLED') !== 'Off'),
      }
}

const setBoot = (bmc: Bmc, value: unknown): (() => void) => {
  const wanted = anObject(value, 'Boot')
  const change: Partial<Bmc['kept']['state']['boot']> = {}
  const document = bootOf(bmc)
  patched(
    wanted,
    {
      BootSourceOverrideEnabled: (one) => {
        const enabled = oneOf(one, OVERRIDES, 'BootSourceOverrideEnabled')
        return () => (change.enabled = enabled)
      },
      BootSourceOverrideTarget: (one) => {
        const target = oneOf(one, TARGETS, 'BootSourceOverrideTarget')
        return () => (change.target = target)
      },
      BootSourceOverrideMode: (one) => {
        const mode = oneOf(one, MODES, 'BootSourceOverrideMode')
        return () => (change.mode = mode)
      },
      HttpBootUri: (one) => {
        const httpUri = aText(one, 'HttpBootUri', 1000)
        return () => (change.httpUri = httpUri)
      },
    },
    document,
  )
  // Without an override there is no target (ComputerSystem, BootSourceOverrideEnabled).
  if (change.enabled === 'Disabled') change.target = 'None'
  return () => {
    if (!bmc.has('override-lost')) bmc.kept.change(({ boot }) => Object.assign(boot, change))
  }
}

const bootOf = (bmc: Bmc): Json => {
  const { boot } = bmc.kept.state
  return {
    BootSourceOverrideEnabled: boot.enabled,
    'BootSourceOverrideEnabled@Redfish.AllowableValues': OVERRIDES,
    BootSourceOverrideTarget: boot.target,
    'BootSourceOverrideTarget@Redfish.AllowableValues': TARGETS,
    BootSourceOverrideMode: boot.mode,
    'BootSourceOverrideMode@Redfish.AllowableValues': MODES,
    HttpBootUri: boot.httpUri === '' ? null : boot.httpUri,
  }
}

const systemDocument = (bmc: Bmc, path: string): Json => {
  const { machine, personality } = bmc
  const { hardware } = machine
  const { uuid, serial } = machine.disk.identity
  const health = healthOf(bmc)
  const cores = hardware.sockets.reduce((sum, { processor }) => sum + processor.cores, 0)
  const threads = hardware.sockets.reduce((sum, { processor }) => sum + processor.threads, 0)
  const memoryMib = hardware.memory.reduce((sum, { module }) => sum + (module?.sizeMib ?? 0), 0)
  return document(path, 'ComputerSystem.v1_28_0.ComputerSystem', personality.ids.system, 'System', {
    SystemType: 'Physical',
    Manufacturer: hardware.manufacturer,
    Model: hardware.product,
    SKU: hardware.sku,
    SerialNumber: serial,
    UUID: bmc.has('uuid-order') ? turned(uuid) : uuid,
    AssetTag: bmc.kept.state.assetTag,
    HostName: machine.mode === 'off' ? '' : machine.hostname,
    BiosVersion: '2.4.1',
    PowerState: bmc.has('null-power') ? null : bmc.power.state,
    Status: { State: machine.isOn ? 'Enabled' : 'Disabled', Health: health, HealthRollup: health },
    ...lightFields(bmc),
    BootProgress: { LastState: bootProgress(bmc) },
    Boot: bootOf(bmc),
    ProcessorSummary: {
      Count: hardware.sockets.length,
      Model: hardware.sockets[0]?.processor.product ?? null,
      CoreCount: cores,
      LogicalProcessorCount: threads,
      Status: { State: 'Enabled' },
    },
    MemorySummary: { TotalSystemMemoryGiB: memoryMib / 1024, Status: { State: 'Enabled' } },
    Processors: link(`${path}/Processors`),
    Memory: link(`${path}/Memory`),
    Storage: link(`${path}/Storage`),
    EthernetInterfaces: link(`${path}/EthernetInterfaces`),
    LogServices: link(`${path}/LogServices`),
    ...(personality.mediaUnder === 'system' && { VirtualMedia: link(`${path}/VirtualMedia`) }),
    Links: {
      Chassis: [link(`${ROOT}/Chassis/${personality.ids.chassis}`)],
      ManagedBy: [link(`${ROOT}/Managers/${personality.ids.manager}`)],
    },
    Actions: {
      '#ComputerSystem.Reset': {
        target: `${path}/Actions/ComputerSystem.Reset`,
        'ResetType@Redfish.AllowableValues': RESET_TYPES,
      },
    },
    Oem: { Simulated: { '@odata.type': '#Simulated.v1_0_0.Simulated', IsSimulated: true } },
  })
}

const reset = (bmc: Bmc, body: Json): Answer => {
  const action = 'ComputerSystem.Reset'
  const type = parameterOf(
    parameters(body, action, ['ResetType']),
    action,
    'ResetType',
    RESET_TYPES,
  )
  const work = bmc.power.reset(type, bmc.personality.refusesOnForMs)
  bmc.counters.resets++
  bmc.kept.log('manager', {
    at: bmc.now(),
    severity: 'OK',
    message: `Reset ${type} was requested.`,
    part: 'Management',
  })
  if (!bmc.personality.resetsAsTask) return NO_CONTENT
  const task = bmc.tasks.follow(`Reset ${type}`, work)
  return taskAnswer(task.id)
}

/** The response that names a task. */
const taskAnswer = (id: string): Answer => {
  const path = `${ROOT}/TaskService/Tasks/${id}`
  return {
    status: 202,
    headers: { Location: `${ROOT}/TaskService/TaskMonitors/${id}`, 'Retry-After': '1' },
    body: document(path, 'Task.v1_7_4.Task', id, 'Task', { TaskState: 'Running' }),
  }
}

export const addSystems = (tree: Tree, bmc: Bmc): void => {
  const systems = `${ROOT}/Systems`
  const path = `${systems}/${bmc.personality.ids.system}`
  const second = `${systems}/second`
  const hasTwo = bmc.has('two-systems')
  addCollection(tree, systems, 'ComputerSystemCollection', () => (hasTwo ? [path, second] : [path]))
  if (hasTwo)
    tree.set(second, {
      read: () =>
        document(second, 'ComputerSystem.v1_28_0.ComputerSystem', 'second', 'Second system', {
          SystemType: 'Physical',
          PowerState: 'Off',
          Status: { State: 'Disabled', Health: 'OK' },
        }),
    })
  tree.set(path, {
    read: () => systemDocument(bmc, path),
    needs: () => ['ConfigureComponents'],
    patch: ({ body }) => {
      patched(
        body,
        {
          ...lightSetters(bmc),
          AssetTag(value) {
            const tag = aText(value, 'AssetTag', 63)
            return () => bmc.kept.change((state) => (state.assetTag = tag))
          },
          Boot: (value) => setBoot(bmc, value),
        },
        systemDocument(bmc, path),
      )
      return { status: 200, body: systemDocument(bmc, path) }
    },
  })
  tree.set(`${path}/Actions/ComputerSystem.Reset`, {
    needs: () => ['ConfigureComponents'],
    post: ({ body }) => reset(bmc, body),
  })
  inventory(tree, bmc, path)
  addLogs(tree, bmc, path, 'system')
  if (bmc.personality.mediaUnder === 'system') addMedia(tree, bmc, path)
}
